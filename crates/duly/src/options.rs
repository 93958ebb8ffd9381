//! The command line: what the binary can be, and what each role is told. Client commands are the `cli` crate's.

use std::net::SocketAddr;
use std::path::PathBuf;

use agent::runtime::Cgroups;
use clap::{Args, Parser, Subcommand};
use model::egress::Net;
use server::{PrivateNetworks, StorePlace};

/// Runs jobs when they are due: exactly one instance per planned time, on the right machine, with a record of why.
#[derive(Parser)]
#[command(name = "duly", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub client: cli::ClientOptions,
    #[command(subcommand)]
    pub role: Role,
}

#[derive(Subcommand)]
pub(crate) enum Role {
    /// Start everything on this machine: server, embedded store and a local agent.
    Up(UpOptions),
    /// Start a server without a local agent.
    Server(ServerOptions),
    /// Start an agent that dials a server.
    Agent(AgentOptions),
    /// Make the first account without a browser.
    Setup(SetupOptions),
    /// Put a backup in place of a data directory.
    Restore(RestoreOptions),
    /// Move an embedded store into PostgreSQL.
    MigrateStore(MigrateStoreOptions),
    /// In a task's script: go on only while no newer attempt has touched the same data.
    FenceCheck(crate::fence_role::FenceOptions),
    #[command(flatten)]
    Client(cli::Commands),
}

#[derive(Args)]
pub(crate) struct ServerOptions {
    /// Where store, logs and locks live.
    #[arg(long, env = "DULY_DATA", default_value = "duly-data")]
    pub data: PathBuf,
    /// Where everything is kept: embedded (a file in the data directory), or postgres://user:password@host/database.
    #[arg(long, env = "DULY_STORE", hide_env_values = true, default_value = "embedded")]
    pub store: StorePlace,
    /// Where people and programs come in; loopback only until set-up is done.
    #[arg(long, env = "DULY_LISTEN", default_value = "127.0.0.1:7070")]
    pub listen: SocketAddr,
    /// Where agents dial in; loopback only with --agent-plain. Port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub agent_listen: SocketAddr,
    /// The host (or host:port) by which agents elsewhere reach it, if that is not the address it listens on.
    #[arg(long, value_name = "HOST")]
    pub agent_address: Option<String>,
    /// Speak no TLS with agents; then they can only be on this machine. Otherwise certificates are made by the server, and
    /// join tokens carry what agents know it by.
    #[arg(long, conflicts_with_all = ["agent_tls", "agent_cert"])]
    pub agent_plain: bool,
    /// Once switched on what is the default now.
    #[arg(long, hide = true)]
    pub agent_tls: bool,
    /// A certificate of your own for the agents' port (PEM), followed by those between it and its authority.
    #[arg(long, value_name = "FILE", requires = "agent_key", requires = "agent_ca")]
    pub agent_cert: Option<PathBuf>,
    /// Its key (PEM).
    #[arg(long, value_name = "FILE", requires = "agent_cert")]
    pub agent_key: Option<PathBuf>,
    /// The authority that signed it (PEM); agents are told it when they join.
    #[arg(long, value_name = "FILE", requires = "agent_cert")]
    pub agent_ca: Option<PathBuf>,
    /// What this server is called among others; this machine's name if absent.
    #[arg(long, env = "DULY_NAME", help_heading = "Cluster (store in PostgreSQL)")]
    pub name: Option<String>,
    /// Where other servers call. Both sides show certificates that Duly makes itself.
    #[arg(long, default_value = "127.0.0.1:0", help_heading = "Cluster (store in PostgreSQL)")]
    pub peer_listen: SocketAddr,
    /// How other servers reach this one, if not where it listens: host, or host:port.
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Cluster (store in PostgreSQL)")]
    pub peer_address: Option<String>,
    /// How people and programs reach this server, likewise.
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Cluster (store in PostgreSQL)")]
    pub api_address: Option<String>,
    /// Milliseconds for which what this server owns stays its own without a renewal; the same on every server.
    #[arg(long, env = "DULY_LEASE_MS", default_value_t = 4_000, value_parser = clap::value_parser!(u64).range(500..=60_000),
          help_heading = "Cluster (store in PostgreSQL)")]
    pub lease_ms: u64,
    /// Days of history kept.
    #[arg(long, default_value_t = 90)]
    pub keep_history_days: u64,
    /// Days of task output kept.
    #[arg(long, default_value_t = 30)]
    pub keep_logs_days: u64,
    /// Days for which the audit is kept; for ever if absent.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..))]
    pub keep_audit_days: Option<u64>,
    /// Memory for the embedded store's pages, in MB.
    #[arg(long, default_value_t = 64)]
    pub store_cache_mb: u32,
    /// A file with the key secrets are kept under, in base64: the same for all servers of a cluster. A newer key goes
    /// before the old one. Without it a server with the embedded store makes its own.
    #[arg(long, value_name = "FILE")]
    pub secret_key_file: Option<PathBuf>,
    /// The key itself; several with commas between them.
    #[arg(long, env = "DULY_SECRET_KEY", hide_env_values = true, hide = true)]
    pub secret_key: Option<String>,
    /// How browsers reach this server, like https://duly.example.org; with https, cookies are sent over TLS only.
    #[arg(long, env = "DULY_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// A proxy (or network of proxies) in front of this server, whose word about callers is taken; may be repeated.
    #[arg(long = "trusted-proxy", value_name = "ADDRESS[/BITS]")]
    pub trusted_proxies: Vec<String>,
    #[command(flatten)]
    pub xxl: XxlOptions,
    #[command(flatten)]
    pub egress: EgressOptions,
    /// A file of settings (TOML); what is given here as well counts more.
    #[arg(long, env = "DULY_CONFIG")]
    pub config: Option<PathBuf>,
    /// How much to say: error, warn, info, debug; or a filter by module.
    #[arg(long, env = "DULY_LOG", default_value = "info")]
    pub log: String,
}

/// How executors of XXL-JOB are let in.
#[derive(Args)]
pub(crate) struct XxlOptions {
    /// What executors must show, and are shown.
    #[arg(long, env = "DULY_XXL_TOKEN", hide_env_values = true, help_heading = "XXL-JOB")]
    pub xxl_token: Option<String>,
    /// A file holding it; counts more than the token itself.
    #[arg(long, help_heading = "XXL-JOB")]
    pub xxl_token_file: Option<PathBuf>,
    /// Take the well-known token of the sample configuration, too: then anybody can register executors.
    #[arg(long, help_heading = "XXL-JOB")]
    pub xxl_allow_default_token: bool,
    /// Take executors that show nothing: then anybody can register them.
    #[arg(long, help_heading = "XXL-JOB")]
    pub xxl_allow_empty_token: bool,
    /// Serve executors under this path, too, beside / and /xxl-job-admin.
    #[arg(long, value_name = "PATH", help_heading = "XXL-JOB")]
    pub xxl_prefix: Option<String>,
}

/// Where HTTP tasks and executors may lead.
#[derive(Args)]
pub(crate) struct EgressOptions {
    /// Which tenants' tasks and executors may be in private networks and on loopback: tenant (as each tenant says), all, none.
    #[arg(long, env = "DULY_PRIVATE_NETWORKS", help_heading = "Egress")]
    pub private_networks: Option<PrivateNetworks>,
    /// An address or network executors may be at whatever else is said, like 169.254.7.1 or 127.0.0.1:7070; may be given
    /// again.
    #[arg(long = "executor-allow", value_name = "NETWORK", help_heading = "Egress")]
    pub allow: Vec<Net>,
    /// One that is never called; may be given again.
    #[arg(long = "executor-deny", value_name = "NETWORK", help_heading = "Egress")]
    pub deny: Vec<Net>,
}

#[derive(Args)]
pub(crate) struct UpOptions {
    #[command(flatten)]
    pub server: ServerOptions,
    /// Tasks the local agent runs at once.
    #[arg(long, default_value_t = 64)]
    pub slots: u32,
    /// What the local agent lets tasks do (TOML); agent.toml in its data directory if there is one.
    #[arg(long, env = "DULY_AGENT_POLICY", value_name = "FILE")]
    pub agent_policy: Option<PathBuf>,
    /// Where each task of the local agent gets a cgroup v2 of its own: auto, off, or a delegated directory.
    #[arg(long, env = "DULY_CGROUP", default_value = "auto")]
    pub cgroup: String,
}

#[derive(Args)]
pub(crate) struct AgentOptions {
    /// Identity, reports under way and running tasks live here.
    #[arg(long, env = "DULY_AGENT_DATA", default_value = "duly-agent")]
    pub data: PathBuf,
    /// A server's agent address, like http://127.0.0.1:7071. Of a cluster one that answers is enough, it names the
    /// others; several, or a list with commas, help when one is down.
    #[arg(
        long = "server",
        value_name = "ADDRESS",
        env = "DULY_AGENT_SERVER",
        value_delimiter = ',',
        required_unless_present = "server_file"
    )]
    pub servers: Vec<String>,
    /// A file holding that address, read again at each connection.
    #[arg(long, conflicts_with = "servers")]
    pub server_file: Option<PathBuf>,
    /// A file holding a one-time token from `duly join-token`; used if the agent has no identity the server knows.
    #[arg(long)]
    pub join_token_file: Option<PathBuf>,
    /// Who vouches for the servers (PEM), instead of whom the join token names.
    #[arg(long, env = "DULY_AGENT_CA", value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// The agent's name; this machine's if absent.
    #[arg(long)]
    pub name: Option<String>,
    /// Tasks it runs at once.
    #[arg(long, default_value_t = 64)]
    pub slots: u32,
    /// Pools it joins.
    #[arg(long = "pool")]
    pub pools: Vec<String>,
    /// Labels it carries, as key=value.
    #[arg(long = "label", value_parser = label)]
    pub labels: Vec<(String, String)>,
    /// What this machine lets tasks do (TOML); agent.toml in the data directory if there is one.
    #[arg(long, env = "DULY_AGENT_POLICY", value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Where each task gets a cgroup v2 of its own: auto, off, or a delegated directory.
    #[arg(long, env = "DULY_CGROUP", default_value = "auto")]
    pub cgroup: Cgroups,
    #[arg(long, env = "DULY_LOG", default_value = "info")]
    pub log: String,
}

#[derive(Args)]
pub(crate) struct SetupOptions {
    #[arg(long, env = "DULY_DATA", default_value = "duly-data")]
    pub data: PathBuf,
    /// Where everything is kept, as the server is told.
    #[arg(long, env = "DULY_STORE", hide_env_values = true, default_value = "embedded")]
    pub store: StorePlace,
    /// Name of the first account.
    #[arg(long)]
    pub admin: String,
    /// A file holding its password (ten characters or more; one line end at its end is ignored). Asked for if absent,
    /// or read from standard input.
    #[arg(long)]
    pub password_file: Option<PathBuf>,
    /// Where to write an API token for it (made with mode 0600), for programs. Without it the commands of this user
    /// know who you are.
    #[arg(long)]
    pub token_out: Option<PathBuf>,
    /// The server's address as commands will name it.
    #[arg(long, env = "DULY_URL", default_value = "http://127.0.0.1:7070")]
    pub url: String,
    /// Where to write a token for XXL-JOB executors, if any will connect (made with mode 0600).
    #[arg(long)]
    pub xxl_token_out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct RestoreOptions {
    /// The file `duly backup` wrote.
    pub from: PathBuf,
    /// Only the embedded store is restored this way.
    #[arg(long, env = "DULY_STORE", hide_env_values = true, default_value = "embedded")]
    pub store: StorePlace,
    /// The data directory to make.
    #[arg(long, env = "DULY_DATA", default_value = "duly-data")]
    pub data: PathBuf,
    /// Replace the store that is there; it is kept beside the new one.
    #[arg(long)]
    pub replace: bool,
}

#[derive(Args)]
pub(crate) struct MigrateStoreOptions {
    /// The data directory of a server that is stopped.
    #[arg(long, env = "DULY_DATA", default_value = "duly-data")]
    pub from: PathBuf,
    /// The database it moves to, like postgres://user:password@host/database; without a store in it.
    #[arg(long, env = "DULY_STORE", hide_env_values = true)]
    pub to: StorePlace,
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err(format!("{text:?} is not a label; write key=value")),
    }
}
