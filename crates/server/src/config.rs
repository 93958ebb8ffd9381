//! What a server is told at its start. One struct, documented here; faults are reported together by who fills it in.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::agent_port::OwnCertificate;
use crate::egress::EgressRules;
use crate::oidc::OidcConfig;
use crate::stores::StorePlace;
use crate::vault::SecretKeys;
use crate::visitor::Network;
use crate::xxl::{Pace, TokenRules};

#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The embedded store, logs, lock and endpoint file live here; made 0700.
    pub data: PathBuf,
    /// Where people and programs come in. Loopback only until set-up is done.
    pub listen: SocketAddr,
    /// Where agents dial in. Loopback only without TLS.
    pub agent_listen: SocketAddr,
    /// The host, and the port if it is another one, under which agents elsewhere reach that.
    pub agent_address: Option<String>,
    /// Speak TLS there, with a certificate of the authority in the store.
    pub agent_tls: bool,
    /// Or with one that somebody else made.
    pub agent_certificate: Option<OwnCertificate>,
    /// What this server is called among others; the machine's name if absent.
    pub name: Option<String>,
    /// Where other servers of the cluster call, with certificates of the cluster's own.
    pub peer_listen: SocketAddr,
    /// How others reach this server, where that is not where it listens: for servers, and people.
    pub peer_address: Option<String>,
    pub api_address: Option<String>,
    /// How long what this server owns stays its own without a renewal. The same on every server.
    pub lease: Duration,
    /// Instances, attempts and gaps are kept this long after their planned day.
    pub keep_history: Duration,
    /// Task output is kept this long.
    pub keep_logs: Duration,
    /// Entries of the audit are kept this long; for ever if absent.
    pub keep_audit: Option<Duration>,
    /// Where everything is kept.
    pub store: StorePlace,
    /// Pages of the embedded store kept in memory by the writer.
    pub store_cache_mb: u32,
    /// Under which keys secrets are kept.
    pub secret_keys: SecretKeys,
    /// Files it was given keys and tokens in: nobody else should be able to read them.
    pub key_files: Vec<PathBuf>,
    /// What executors of XXL-JOB must show.
    pub xxl_tokens: TokenRules,
    /// A further address they are served under, beside `/` and `/xxl-job-admin`.
    pub xxl_prefix: Option<String>,
    pub xxl_pace: Pace,
    /// How browsers reach this server, like `https://duly.example.org`; with https, cookies are sent over TLS only.
    pub public_url: Option<String>,
    /// Whose word about a caller's address and TLS is taken.
    pub trusted_proxies: Vec<Network>,
    /// The identity provider, if people sign in by one; or why it cannot be used.
    pub oidc: Option<Result<OidcConfig, String>>,
    /// Where executors may be, and which tenants may call private networks.
    pub egress: EgressRules,
    /// The agent on this machine, if this server looks after one.
    pub local_agent: Option<LocalAgent>,
}

#[derive(Clone, Debug)]
pub struct LocalAgent {
    /// The program to start, with its arguments.
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Its own data directory; its output goes to `agent.log` there.
    pub data: PathBuf,
    /// Locked by the agent as long as it lives.
    pub lock_file: PathBuf,
    /// Where it looks for a join token when nobody knows it.
    pub token_file: PathBuf,
}

impl ServerConfig {
    pub fn new(data: PathBuf) -> ServerConfig {
        ServerConfig {
            data,
            listen: SocketAddr::from(([127, 0, 0, 1], 7070)),
            agent_listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            agent_address: None,
            agent_tls: false,
            agent_certificate: None,
            name: None,
            peer_listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            peer_address: None,
            api_address: None,
            lease: Duration::from_secs(4),
            keep_history: Duration::from_secs(90 * 86_400),
            keep_logs: Duration::from_secs(30 * 86_400),
            keep_audit: None,
            store: StorePlace::default(),
            store_cache_mb: 64,
            secret_keys: SecretKeys::default(),
            key_files: Vec::new(),
            xxl_tokens: TokenRules::default(),
            xxl_prefix: None,
            xxl_pace: Pace::default(),
            public_url: None,
            trusted_proxies: Vec::new(),
            oidc: None,
            egress: EgressRules::default(),
            local_agent: None,
        }
    }
}
