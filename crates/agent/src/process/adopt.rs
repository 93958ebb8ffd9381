//! Finds the tasks of an agent that went away: each directory is running, ended, vanished, or never started.
//! What it says never started cannot start later.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Owned;
use super::conclude::{Ending, conclude};
use super::files::{handle, read_if_there};
use super::start::UNFINISHED;
use crate::shim::{ORDER, SHIM, ShimOrder, VOID, boot_id};

const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// Far longer than a shim takes from its lock to its signature, or from its death to the end of its lock.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Found {
    pub attempt: i64,
    pub dir: PathBuf,
    pub state: State,
}

#[derive(Debug)]
pub enum State {
    /// To be watched; its end may be near or just over.
    Running(Owned),
    Ended(Ending),
}

/// Looks through `run_dir`, in which each attempt has a directory named by its id. To be called once, before anything
/// is started there.
pub fn adopt(run_dir: &Path) -> io::Result<Vec<Found>> {
    let entries = match fs::read_dir(run_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let dir = entry?.path();
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Ok(attempt) = name.parse() {
            found.push(Found { attempt, state: look(&dir, attempt)?, dir });
        } else if name.starts_with(UNFINISHED) {
            fs::remove_dir_all(&dir)?;
        }
    }
    Ok(found)
}

fn look(dir: &Path, attempt: i64) -> io::Result<State> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(pidfd) = living(dir)? {
            return Ok(State::Running(Owned { attempt, dir: dir.to_owned(), pidfd: Some(pidfd) }));
        }
        // A shim holds the lock for as long as it lives: with the lock, we know that there is none.
        if let Some(_lock) = lock(dir)? {
            return Ok(State::Ended(match dir.join(SHIM).try_exists()? {
                true => conclude(dir),
                false => forbid(dir)?,
            }));
        }
        // It is about to sign, or has just died.
        std::thread::sleep(LOOK_AGAIN);
    }
    Err(io::Error::new(
        io::ErrorKind::ResourceBusy,
        format!("a shim that cannot be seen from here holds {}", dir.display()),
    ))
}

fn living(dir: &Path) -> io::Result<Option<OwnedFd>> {
    let Some(pidfd) = handle(dir)? else { return Ok(None) };
    let mut ended = [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
    let alive = poll(&mut ended, PollTimeout::ZERO)? == 0;
    Ok(alive.then_some(pidfd))
}

fn lock(dir: &Path) -> io::Result<Option<File>> {
    let file = File::open(dir)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// While we hold the lock and nobody signed: whoever comes later finds the door shut.
fn forbid(dir: &Path) -> io::Result<Ending> {
    fs::write(dir.join(VOID), b"")?;
    let order = read_if_there(&dir.join(ORDER))?.and_then(|file| ShimOrder::decode(&file).ok());
    match order {
        Some((_, boot)) if boot == boot_id() => Ok(Ending::NeverStarted),
        // The machine went down: the signature of a shim that did run may not have reached the disk.
        Some(_) | None => Ok(Ending::Vanished { survivors: 0 }),
    }
}
