//! The agent role: an agent in this process, until it is told to stop. Its tasks go on without it.

use std::process::ExitCode;

use agent::runtime::{AgentConfig, JoinToken, ServerAddress};
use agent::session::Profile;
use tokio_util::sync::CancellationToken;

use crate::options::AgentOptions;
use crate::server_role::{report, start_log, stop_signal};

pub(crate) fn run(options: AgentOptions) -> ExitCode {
    start_log(&options.log);
    // One TLS stack for every HTTP task: rustls with ring.
    let _ = rustls::crypto::ring::default_provider().install_default();
    report(serve(options))
}

fn serve(options: AgentOptions) -> Result<(), anyhow::Error> {
    let config = config(options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let stop = CancellationToken::new();
        let told = stop.clone();
        tokio::spawn(async move {
            stop_signal().await;
            told.cancel();
        });
        Ok(agent::runtime::run(config, stop).await?)
    })
}

fn config(options: AgentOptions) -> Result<AgentConfig, anyhow::Error> {
    let seeds: Vec<ServerAddress> = match options.server_file {
        Some(file) => vec![ServerAddress::Written(file)],
        None => options.servers.into_iter().map(ServerAddress::Fixed).collect(),
    };
    if seeds.is_empty() {
        anyhow::bail!("say where a server is, with --server or --server-file");
    }
    let name = match options.name {
        Some(name) => name,
        None => host_name(),
    };
    let profile = Profile {
        name,
        pools: options.pools,
        labels: options.labels.into_iter().collect(),
        slots: options.slots,
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let mut config = AgentConfig::new(options.data, seeds, profile);
    config.cgroups = options.cgroup;
    config.token = options.join_token_file.map(JoinToken::Written);
    Ok(config)
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").map_or_else(|_| "agent".into(), |name| name.trim().to_string())
}
