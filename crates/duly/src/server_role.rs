//! The server roles: `up`, `server`, and the two commands that work on a data directory nobody has open.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use server::{LocalAgent, OwnCertificate, SecretKeys, ServerConfig, short_slice};
use tokio_util::sync::CancellationToken;

use cli::remembered::Remembered;

use crate::agent_role;
use crate::options::{RestoreOptions, ServerOptions, SetupOptions, UpOptions};
use crate::settings;

pub(crate) fn up(options: UpOptions) -> ExitCode {
    let local = local_agent(&options);
    let warning = local.as_ref().ok().and_then(Option::as_ref).map(|local| {
        agent_role::policy(options.agent_policy.as_deref(), &local.data).map(|policy| agent_role::root_warning(&policy))
    });
    match warning.transpose() {
        Ok(warning) => serve(options.server, local, warning.flatten()),
        Err(bad) => report(Err(bad.into())),
    }
}

pub(crate) fn server(options: ServerOptions) -> ExitCode {
    serve(options, Ok(None), None)
}

fn local_agent(options: &UpOptions) -> std::io::Result<Option<LocalAgent>> {
    let program = std::env::current_exe()?;
    let server_data = std::path::absolute(&options.server.data)?;
    let data = server_data.join("agent");
    let token_file = data.join("join-token");
    let text = |path: &Path| path.display().to_string();
    let mut args = vec![
        "agent".into(),
        "--data".into(),
        text(&data),
        "--server-file".into(),
        text(&server_data.join(server::app::AGENT_ENDPOINT)),
        "--join-token-file".into(),
        text(&token_file),
        "--slots".into(),
        options.slots.to_string(),
        "--cgroup".into(),
        options.cgroup.clone(),
        "--log".into(),
        options.server.log.clone(),
    ];
    if let Some(policy) = &options.agent_policy {
        args.extend(["--policy".into(), text(&std::path::absolute(policy)?)]);
    }
    Ok(Some(LocalAgent { program, args, lock_file: data.join("lock"), token_file, data }))
}

fn serve(
    options: ServerOptions,
    local_agent: std::io::Result<Option<LocalAgent>>,
    warning: Option<String>,
) -> ExitCode {
    start_log(&options.log);
    // One TLS stack for executors that are called over it: rustls with ring.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let result = runtime().and_then(|runtime| {
        let config = config(options, local_agent?)?;
        runtime.block_on(run(config, warning)).map_err(|error| error.into())
    });
    report(result)
}

fn config(options: ServerOptions, local_agent: Option<LocalAgent>) -> Result<ServerConfig, anyhow::Error> {
    let days = |days: u64| Duration::from_secs(days * 86_400);
    let settings = settings::read(options.config.as_deref())?;
    let key_files = settings::key_files(&options, &settings);
    let secret_keys = secret_keys(options.secret_key_file.as_deref(), options.secret_key)?;
    let (xxl_tokens, xxl_prefix) = settings::xxl(options.xxl, settings.xxl)?;
    let proxies: Vec<String> = [options.trusted_proxies, settings.trusted_proxies].concat();
    let trusted =
        proxies.iter().map(|text| text.parse().map_err(|why: String| anyhow::anyhow!("trusted_proxies: {why}")));
    let egress = settings::egress(options.egress, settings.egress)?;
    Ok(ServerConfig {
        public_url: options.public_url.or(settings.public_url),
        trusted_proxies: trusted.collect::<Result<_, _>>()?,
        oidc: settings::oidc(settings.oidc),
        listen: options.listen,
        agent_listen: options.agent_listen,
        agent_address: options.agent_address,
        agent_tls: !options.agent_plain,
        agent_certificate: own_certificate(options.agent_cert, options.agent_key, options.agent_ca),
        name: options.name,
        peer_listen: options.peer_listen,
        peer_address: options.peer_address,
        api_address: options.api_address,
        lease: Duration::from_millis(options.lease_ms),
        keep_history: days(options.keep_history_days),
        keep_logs: days(options.keep_logs_days),
        keep_audit: options.keep_audit_days.map(days),
        store: options.store,
        store_cache_mb: options.store_cache_mb,
        local_agent,
        secret_keys,
        key_files,
        xxl_tokens,
        xxl_prefix,
        egress,
        xxl_pace: server::Pace::from_env(),
        ..ServerConfig::new(options.data)
    })
}

fn secret_keys(file: Option<&Path>, given: Option<String>) -> Result<SecretKeys, anyhow::Error> {
    use anyhow::Context;
    Ok(match (file, given) {
        (Some(file), _) => {
            let text = std::fs::read_to_string(file);
            SecretKeys::Given(text.with_context(|| format!("cannot read the key in {}", file.display()))?.into())
        }
        (None, Some(text)) => SecretKeys::Given(text.into()),
        (None, None) => SecretKeys::Own,
    })
}

fn own_certificate(
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    authority: Option<PathBuf>,
) -> Option<OwnCertificate> {
    Some(OwnCertificate { certificate: certificate?, key: key?, authority: authority? })
}

async fn run(config: ServerConfig, warning: Option<String>) -> Result<(), server::ServerError> {
    let stop = CancellationToken::new();
    let open_to_all = config.xxl_tokens.warning();
    let running = server::start(config, stop.clone()).await?;
    println!("duly is serving at {}", running.url);
    for warning in open_to_all.map(str::to_string).into_iter().chain(warning) {
        println!("\nWARNING: {warning}\n");
    }
    if let Some(token) = running.app.setup.take_token() {
        println!("\nIt is not set up yet. Open this link once, on this machine, to make the first account:\n");
        println!("    {}/ui/setup#{token}\n", running.url);
        println!("or stop it and run: duly setup --data DIR --admin NAME --password-file FILE --token-out FILE");
    }
    let _ = std::io::stdout().flush();
    tokio::spawn(async move {
        stop_signal().await;
        stop.cancel();
    });
    running.wait().await
}

pub(crate) async fn stop_signal() {
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).expect("signals work");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = term.recv() => {}
    }
}

pub(crate) fn setup(options: SetupOptions) -> ExitCode {
    report(set_up(&options))
}

fn set_up(options: &SetupOptions) -> Result<(), anyhow::Error> {
    use anyhow::Context;
    let password = cli::password::choose(options.password_file.as_deref(), &options.admin);
    let password = password.context("cannot read the password")?;
    // The token is shown once: there must be a place for it before it is made. A token of an earlier set-up, which a
    // script that is run again would name, stays as it is if this one is refused.
    let place = match &options.token_out {
        Some(path) => TokenPlace::File { is_new: !path.exists(), file: private_file(path)?, path },
        None => TokenPlace::Remembered(
            Remembered::of_this_user().context("there is no home directory to keep the token in; name --token-out")?,
        ),
    };
    let xxl = options.xxl_token_out.as_deref().map(private_file).transpose()?;
    let made = server::setup::of_directory(&options.data, &options.store, &options.admin, &password);
    if let (Err(_), TokenPlace::File { is_new: true, path, .. }) = (&made, &place) {
        let _ = std::fs::remove_file(path);
    }
    place.keep(&made?, options)?;
    if let (Some(mut file), Some(out)) = (xxl, &options.xxl_token_out) {
        let token = server::setup::executor_token(&options.data, &options.store, &options.admin)?;
        file.set_len(0)?;
        file.write_all(token.as_bytes())?;
        println!("XXL-JOB executors show the token in {}", out.display());
    }
    Ok(())
}

/// Where the first account's token goes.
enum TokenPlace<'a> {
    File { is_new: bool, file: std::fs::File, path: &'a Path },
    Remembered(Remembered),
}

impl TokenPlace<'_> {
    fn keep(self, token: &str, options: &SetupOptions) -> Result<(), anyhow::Error> {
        use anyhow::Context;
        match self {
            TokenPlace::File { mut file, path, .. } => {
                if file.metadata()?.is_file() {
                    file.set_len(0)?;
                }
                file.write_all(token.as_bytes())?;
                println!("{} may sign in; an API token for it is in {}", options.admin, path.display());
            }
            TokenPlace::Remembered(kept) => {
                let unwritten = || format!("cannot write {}; sign in with `duly login`", kept.path().display());
                kept.keep(&options.url, token).with_context(unwritten)?;
                println!("{} may sign in, and is who you are to {} from now on", options.admin, options.url);
            }
        }
        Ok(())
    }
}

fn private_file(path: &Path) -> Result<std::fs::File, anyhow::Error> {
    use anyhow::Context;
    let opened = std::fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
    opened.with_context(|| format!("cannot write the token to {}", path.display()))
}

pub(crate) fn restore(options: RestoreOptions) -> ExitCode {
    report(restore_into(&options))
}

fn restore_into(options: &RestoreOptions) -> Result<(), anyhow::Error> {
    if options.store != server::StorePlace::Embedded {
        anyhow::bail!(
            "a store in PostgreSQL is brought back with pg_restore, from what pg_dump wrote; only the embedded store is \
             restored from `duly backup`"
        );
    }
    let _nobody_else = server::own_directory(&options.data)?;
    let now = server::clock::Clock::new().now();
    let restored = store::sqlite::restore(&options.from, &options.data, now, options.replace)?;
    server::setup::record_command(&options.data, &options.store, "store_restore")?;
    println!("restored into {}", options.data.display());
    println!("{} attempts were open in the backup; each is held until its agent has answered", restored.uncertain);
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime, anyhow::Error> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .on_thread_start(short_slice::ask)
        .enable_all()
        .build()?)
}

pub(crate) fn start_log(filter: &str) {
    let filter = tracing_subscriber::EnvFilter::try_new(filter).unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
}

/// The chain of causes, once, the way people read it.
pub(crate) fn report(result: Result<(), anyhow::Error>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  because: {cause}");
            }
            ExitCode::FAILURE
        }
    }
}
