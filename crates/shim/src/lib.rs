//! The task owner: one small process per attempt, which starts the task, keeps its output, limits its time, ends its
//! whole tree and leaves a result. It outlives the agent that started it, and needs nobody while the task runs.
//! Never talks to a network, never starts a thread, never decides whether a result is good.
//!
//! All it has to say is in files of the attempt's directory. The directory itself is the lock that a living shim holds,
//! and that an agent takes to forbid a late start.
//!
//! | file | written by | meaning |
//! |---|---|---|
//! | `order` | agent | what to run; the signature takes its place |
//! | `void` | agent | nothing may start here any more |
//! | `shim` | shim | who owns the attempt; there before the task runs |
//! | `log` | shim | output in frames |
//! | `leash` | agent | the deadline on the boot clock that the agent moves on while its server answers |
//! | `stop` | agent | somebody wants the attempt to end; a `SIGUSR1` makes the shim look |
//! | `result` | shim | how it ended |

mod claim;
mod clock;
mod ending;
mod frame;
mod log;
mod mask;
mod order;
mod outputs;
mod owner;
mod printed;
mod procfs;
mod record;
mod result;
mod secrets;
mod stop;
mod sys;
mod task;
mod tree;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nix::sys::signal::SigSet;

pub use claim::Claim;
pub use clock::boot_micros;
pub use frame::{FRAME_MAX, HEADER, parse_header};
pub use frame::{Frame, Stream};
pub use log::Log;
pub use mask::{MASK, Masker, Masks};
pub use order::{RunAs, ShimOrder};
pub use outputs::{NAME_BYTES_MAX, OUTPUT_BYTES_MAX, OUTPUTS_MAX};
pub use procfs::{Stat, all, below, boot_id, stat};
pub use result::{Exit, Reason, ShimResult};
pub use secrets::Secrets;
pub use stop::Stop;
pub use sys::{pidfd_open, pidfd_signal};

pub const ORDER: &str = "order";
pub const VOID: &str = "void";
pub const SHIM: &str = "shim";
pub const LOG: &str = "log";
pub const LEASH: &str = "leash";
pub const STOP: &str = "stop";
pub const RESULT: &str = "result";

/// The variable in every task's environment that ties its processes to their shim.
pub const TASK_TAG: &str = "DULY_TASK";

/// Owns the attempt in the directory given as the only argument. To be entered before any runtime or thread starts.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(run(args))
}

/// As [`main`], with the exit code as the C runtime wants it.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let mut args = args.into_iter();
    let (Some(dir), None) = (args.next(), args.next()) else {
        eprintln!("usage: duly shim <directory of the attempt>");
        return 2;
    };
    match own(&PathBuf::from(dir)) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("duly shim: {error}");
            1
        }
    }
}

fn own(dir: &Path) -> io::Result<()> {
    // From here on signals wait until we look for them: those of a terminal never, those of the agent in the loop.
    SigSet::all().thread_block()?;
    sys::close_inherited();
    std::env::set_current_dir(dir)?;
    let _lock = lock()?;
    // Away from the agent's terminal. Refused only to the leader of a group, whom its signals pass by anyway.
    let _ = nix::unistd::setsid();
    let (order, boot) = ShimOrder::decode(&fs::read(ORDER)?)?;
    // Before we sign: whoever cannot be told its secrets has never started.
    let secrets = order.secrets.map(Secrets::from_stdin).transpose()?;
    owner::run(order, secrets, boot)
}

/// The lock makes us the only shim here for as long as we live, and `void` tells that we come too late.
fn lock() -> io::Result<File> {
    let file = File::open(".")?;
    file.try_lock()?;
    if fs::exists(VOID)? || fs::exists(SHIM)? {
        return Err(io::Error::other("nothing may start here any more"));
    }
    Ok(file)
}

/// Replaces a file so that a reader sees the old bytes or the new ones, never some of both.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    write(temporary.as_ref(), bytes)?;
    fs::rename(&temporary, path)
}

/// For our eyes only: what is in orders and outputs concerns nobody else.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)?.write_all(bytes)
}
