//! The agent's side of its tasks: start one under a shim, notice its end, find it again after a restart, stop it.
//! Plain calls and one thread, no runtime. Never waits for a task and never owns one: a task outlives us.

mod adopt;
mod conclude;
mod files;
mod log;
mod script;
mod start;
mod stop;
mod sweep;
mod watch;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

pub use adopt::{Found, State, adopt};
pub use conclude::Ending;
pub use files::{extend_leash, raise_open_files, remove};
pub use log::{LogPart, read_log};
pub use script::{ScriptError, ScriptKind, Scripts};
pub use start::Starter;
pub use stop::{Stopping, stop};
pub use watch::Watcher;

/// A shim that is ours to watch. Dropping it changes nothing for the task.
#[derive(Debug)]
pub struct Owned {
    attempt: i64,
    dir: PathBuf,
    /// None when it is known to be dead already.
    pidfd: Option<OwnedFd>,
}

impl Owned {
    pub fn attempt(&self) -> i64 {
        self.attempt
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }
}
