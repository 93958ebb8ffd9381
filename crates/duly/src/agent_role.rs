//! The agent role: an agent in this process, until it is told to stop. Its tasks go on without it.

use std::path::Path;
use std::process::ExitCode;

use agent::policy::{BadPolicy, Policy};
use agent::runtime::{AgentConfig, JoinToken, ServerAddress};
use agent::session::Profile;
use model::TaskSorts;
use server::short_slice;
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
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .on_thread_start(short_slice::ask)
        .enable_all()
        .build()?;
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
    let policy = policy(options.policy.as_deref(), &options.data)?;
    if let Some(warning) = root_warning(&policy) {
        tracing::warn!("{warning}");
    }
    let profile = Profile {
        name,
        pools: options.pools,
        labels: options.labels.into_iter().collect(),
        slots: options.slots,
        version: env!("CARGO_PKG_VERSION").into(),
        tasks: match policy.tasks {
            TaskSorts::ALL => Vec::new(),
            some => some.iter().map(|sort| sort.key().to_string()).collect(),
        },
        policy: serde_json::to_string(&policy.view(is_root())).expect("a policy is plain data"),
    };
    let mut config = AgentConfig::new(options.data, seeds, profile);
    config.policy = policy;
    config.ca = options.ca;
    config.cgroups = options.cgroup;
    config.token = options.join_token_file.map(JoinToken::Written);
    Ok(config)
}

/// What a machine lets tasks do: in the file that is named, or beside what its agent keeps.
pub(crate) fn policy(named: Option<&Path>, data: &Path) -> Result<Policy, BadPolicy> {
    match named {
        Some(file) => agent::policy::read(file, true),
        None => agent::policy::read(&data.join("agent.toml"), false),
    }
}

/// Whoever runs everything as root should know.
pub(crate) fn root_warning(policy: &Policy) -> Option<String> {
    (is_root() && policy.users.run_as.is_none()).then(|| {
        "tasks run as root, because the agent does; give it another user, or name one with run_as in its policy file \
         (docs/agents.md, What an agent lets tasks do)"
            .to_string()
    })
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").map_or_else(|_| "agent".into(), |name| name.trim().to_string())
}
