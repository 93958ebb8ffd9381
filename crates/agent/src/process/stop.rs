//! Asks a shim to end its task. The wish is written first, so a shim that is only just starting finds it.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use super::files::{handle, read_if_there, result};
use crate::shim::{STOP, Stop, pidfd_signal, replace};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopping {
    /// The end will come as any other: a result, or vanished.
    Asked,
    /// There is a result already; it stands.
    AlreadyEnded,
}

/// May be repeated; who asked first is remembered, and the shorter grace counts.
pub fn stop(dir: &Path, by: &str, grace: Duration) -> io::Result<Stopping> {
    if result(dir)?.is_some() {
        return Ok(Stopping::AlreadyEnded);
    }
    let file = dir.join(STOP);
    let earlier = read_if_there(&file)?.and_then(|file| Stop::decode(&file).ok());
    let stop = match &earlier {
        Some(earlier) => Stop { by: earlier.by.clone(), grace: grace.min(earlier.grace) },
        None => Stop { by: by.to_owned(), grace },
    };
    if earlier.as_ref() != Some(&stop) {
        replace(&file, &stop.encode())?;
    }
    wake(dir)?;
    Ok(Stopping::Asked)
}

/// Only a shim that signed is deaf to nothing and killed by nothing we send.
fn wake(dir: &Path) -> io::Result<()> {
    match handle(dir)?.map(|shim| pidfd_signal(shim.as_fd(), libc::SIGUSR1)) {
        Some(Err(error)) if error.raw_os_error() != Some(libc::ESRCH) => Err(error),
        Some(_) | None => Ok(()),
    }
}
