//! One agent per directory. The lock goes with its holder, however that ends; the pid in it is for people.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{DataError, io_error};

#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    pub(super) fn take(dir: &Path) -> Result<Lock, DataError> {
        let path = dir.join("lock");
        let open = OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(&path);
        let mut file = open.map_err(|source| io_error(&path, source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = file.read_to_string(&mut pid);
                return Err(DataError::InUse { dir: dir.to_owned(), pid: pid.trim().to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(io_error(&path, source)),
        }
        let sign = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        sign.map_err(|source| io_error(&path, source))?;
        Ok(Lock { path, file })
    }

    /// Whether another agent would find it. One that was removed with its directory keeps nobody out of the next.
    pub(super) fn is_in_place(&self) -> bool {
        let number = |file: Metadata| (file.dev(), file.ino());
        match fs::metadata(&self.path) {
            Ok(found) => self.file.metadata().is_ok_and(|ours| number(ours) == number(found)),
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }
}
