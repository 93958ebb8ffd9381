//! One agent per directory. The lock goes with its holder, however that ends; the pid in it is for people.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{DataError, io_error};

#[derive(Debug)]
pub struct Lock {
    _file: File,
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
        Ok(Lock { _file: file })
    }
}
