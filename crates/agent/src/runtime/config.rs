//! How an agent is set up.

use std::path::PathBuf;
use std::time::Duration;

use super::cgroup::Cgroups;
use crate::data::DataError;
use crate::policy::{BadPolicy, Policy};
use crate::process::Starter;
use crate::session::Profile;
use crate::spool::SpoolLimits;

#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The agent's own directory.
    pub data: PathBuf,
    /// Where to begin; the servers name each other then.
    pub seeds: Vec<ServerAddress>,
    /// Needed only until the agent has an identity.
    pub token: Option<JoinToken>,
    /// Who vouches for the servers (PEM), instead of what was learned when joining.
    pub ca: Option<PathBuf>,
    pub profile: Profile,
    pub shim: Starter,
    /// Where tasks get control groups of their own.
    pub cgroups: Cgroups,
    /// The longest pause between two tries to reach the server.
    pub redial_max: Duration,
    /// Output that no server took is dropped after this long.
    pub log_keep: Duration,
    pub spool: SpoolLimits,
    /// What this machine lets tasks do.
    pub policy: Policy,
}

impl AgentConfig {
    pub fn new(data: impl Into<PathBuf>, seeds: Vec<ServerAddress>, profile: Profile) -> AgentConfig {
        AgentConfig {
            data: data.into(),
            seeds,
            token: None,
            ca: None,
            profile,
            shim: Starter::nearest(),
            cgroups: Cgroups::default(),
            redial_max: Duration::from_secs(2),
            log_keep: Duration::from_secs(7 * 24 * 3600),
            spool: SpoolLimits::default(),
            policy: Policy::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    /// Such as `http://host:port`.
    Fixed(String),
    /// A file whose first line is the address; read again at each try, because a restarted server may have moved.
    Written(PathBuf),
}

/// Lets an agent join once.
#[derive(Clone, PartialEq, Eq)]
pub enum JoinToken {
    Given(String),
    /// The first line of a file.
    Written(PathBuf),
}

impl std::fmt::Debug for JoinToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JoinToken::Given(_) => write!(f, "Given(…)"),
            JoinToken::Written(path) => write!(f, "Written({path:?})"),
        }
    }
}

/// Why an agent cannot run at all. A server that cannot be reached is no reason.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Policy(#[from] BadPolicy),
    #[error("this agent was given no server")]
    NoServer,
    #[error("cannot {doing}")]
    Io {
        doing: &'static str,
        #[source]
        source: std::io::Error,
    },
}

impl AgentError {
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> AgentError {
        move |source| AgentError::Io { doing, source }
    }
}
