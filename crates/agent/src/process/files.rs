//! What an agent finds and does in the directory of an attempt. A file that is not there is `None`; one that cannot be
//! read just now is an error, and never taken for absence.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::shim::{Claim, LEASH, RESULT, SHIM, ShimResult, boot_id, pidfd_open, replace, stat};

/// Moves the deadline of a leashed task on, in microseconds of [`crate::shim::boot_micros`].
pub fn extend_leash(dir: &Path, deadline: u64) -> io::Result<()> {
    replace(&dir.join(LEASH), deadline.to_string().as_bytes())
}

/// Forgets an ended attempt. Refuses while its shim lives.
pub fn remove(dir: &Path) -> io::Result<()> {
    match File::open(dir).map(|lock| lock.try_lock()) {
        Ok(Err(TryLockError::WouldBlock)) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, "the shim of this attempt is alive"))
        }
        Ok(Err(TryLockError::Error(error))) => Err(error),
        Ok(Ok(())) | Err(_) => match fs::remove_dir_all(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        },
    }
}

/// Lets this process watch as many tasks as the system allows, and answers the limit it had before, which is the one
/// its tasks should get ([`crate::shim::ShimOrder::open_files`]).
pub fn raise_open_files() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    Ok(soft)
}

pub(super) fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A result cut short, by the machine going down, is none.
pub(super) fn result(dir: &Path) -> io::Result<Option<ShimResult>> {
    Ok(read_if_there(&dir.join(RESULT))?.and_then(|file| ShimResult::decode(&file).ok()))
}

/// A handle on the shim that signed, dead or alive, and on no other process that has its pid now.
pub(super) fn handle(dir: &Path) -> io::Result<Option<OwnedFd>> {
    let claim = read_if_there(&dir.join(SHIM))?.and_then(|file| Claim::decode(&file).ok());
    let Some(claim) = claim.filter(|claim| claim.boot == boot_id()) else { return Ok(None) };
    let pidfd = match pidfd_open(claim.shim.pid) {
        Ok(pidfd) => pidfd,
        Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EINVAL)) => return Ok(None),
        Err(error) => return Err(error),
    };
    // Asked after opening: whoever has the pid now is the one we hold.
    let same = stat(claim.shim.pid)?.is_some_and(|stat| claim.shim.is(&stat));
    Ok(same.then_some(pidfd))
}
