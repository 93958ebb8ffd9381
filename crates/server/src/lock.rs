//! One server per data directory: the lock file names the process that holds it, so that a second one can say whom it
//! met. The lock goes with the process, however that ends.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};

/// Held as long as this lives.
pub struct DirLock {
    _lock: Flock<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "another duly server (pid {pid}) uses {dir}; stop it first, or give this one a --data directory of its own"
    )]
    Held { pid: String, dir: String },
    #[error("cannot use data directory {dir}")]
    Io {
        dir: String,
        #[source]
        source: std::io::Error,
    },
}

pub(crate) fn take(dir: &Path) -> Result<DirLock, LockError> {
    let io = |source| LockError::Io { dir: dir.display().to_string(), source };
    let path = dir.join("server.lock");
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(mut lock) => {
            lock.set_len(0).and_then(|()| lock.rewind()).map_err(io)?;
            write!(*lock, "{}", std::process::id()).map_err(io)?;
            Ok(DirLock { _lock: lock })
        }
        Err((mut file, _)) => {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            Err(LockError::Held { pid: pid.trim().to_string(), dir: dir.display().to_string() })
        }
    }
}

/// Whether some process holds a lock on this file.
pub(crate) fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    Flock::lock(file, FlockArg::LockSharedNonblock).is_err()
}
