//! As many open files as the system allows: every connection is one. What is started from here has the limit that this
//! process was started with, because some programs take a high one for a long list to walk.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

static BEFORE: OnceLock<Option<u64>> = OnceLock::new();

pub(crate) fn raise() {
    BEFORE.get_or_init(|| {
        let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
            setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
            Ok(soft)
        });
        if let Err(error) = &raised {
            tracing::warn!(%error, "cannot raise the limit of open files; that many connections cannot be taken");
        }
        raised.ok()
    });
}

pub(crate) fn as_before(command: &mut Command) {
    let Some(soft) = BEFORE.get().copied().flatten() else { return };
    let lower = move || {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        Ok(setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?)
    };
    // Two system calls and no memory: allowed between fork and exec.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(lower)
    };
}
