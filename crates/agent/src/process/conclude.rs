//! What became of an attempt whose shim is dead. Believes the result file first, and kills what a dead shim left.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::files::{read_if_there, result};
use super::sweep::sweep;
use crate::shim::{Claim, RESULT, SHIM, ShimResult};

/// How an attempt ended for its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Result(ShimResult),
    /// The shim died without a result, by the machine's end or a kill. The task may have done anything; what was left
    /// of it was killed, but for so many processes that would not die.
    Vanished {
        survivors: usize,
    },
    /// The shim died before it could start anything.
    NeverStarted,
}

const READ_AGAIN: Duration = Duration::from_millis(50);

/// To be called only when the shim is known to be dead. Waits for as long as its files cannot be read: an agent
/// without free descriptors must not report a result as lost.
pub(super) fn conclude(dir: &Path) -> Ending {
    loop {
        match try_to_conclude(dir) {
            Ok(ending) => return ending,
            Err(_) => thread::sleep(READ_AGAIN),
        }
    }
}

fn try_to_conclude(dir: &Path) -> io::Result<Ending> {
    if let Some(result) = result(dir)? {
        return Ok(Ending::Result(result));
    }
    Ok(match read_if_there(&dir.join(SHIM))? {
        None => Ending::NeverStarted,
        // A signature we cannot read is still one: something may have run.
        Some(file) => Ending::Vanished { survivors: Claim::decode(&file).map_or(0, |claim| sweep(&claim)) },
    })
}

/// Whether the end can be told at once, without a search for processes.
pub(super) fn is_quick(dir: &Path) -> bool {
    dir.join(RESULT).exists()
}
