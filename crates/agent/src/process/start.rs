//! Starts shims. The program is spawned without a fork of the agent, however large that has grown.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::Owned;
use crate::shim::{ORDER, Secrets, ShimOrder, boot_id, pidfd_open, write};

/// Begins the names of directories in which nothing was ever started.
pub(super) const UNFINISHED: &str = ".new-";

/// How to become a shim.
#[derive(Debug, Clone)]
pub struct Starter {
    program: PathBuf,
    args: Vec<OsString>,
}

impl Starter {
    /// `args` come before the directory.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<OsString>>) -> Starter {
        Starter { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// The small program beside ours if it is installed, else ourselves with `shim` as first argument.
    pub fn nearest() -> Starter {
        let beside = std::env::current_exe().ok().map(|path| path.with_file_name("duly-shim"));
        match beside.filter(|path| path.is_file()) {
            Some(program) => Starter::new(program, [""; 0]),
            // By this name we find ourselves even when an upgrade has replaced our file.
            None => Starter::new("/proc/self/exe", ["shim"]),
        }
    }

    /// Starts the order in `dir`, which must not exist and is named after the attempt. An error means that nothing was
    /// started and nothing will be.
    pub fn start(&self, dir: &Path, order: &ShimOrder) -> io::Result<Owned> {
        self.spawn(dir, order, Stdio::null())
    }

    /// The same for a task that is told secrets: they go to the shim through memory that it alone inherits.
    pub fn start_with(&self, dir: &Path, order: &ShimOrder, secrets: &Secrets) -> io::Result<Owned> {
        let bytes = secrets.encode();
        let mut memory = File::from(memfd_create(c"duly-secrets", MFdFlags::MFD_CLOEXEC)?);
        memory.write_all(&bytes)?;
        memory.rewind()?;
        let order = ShimOrder { secrets: Some(bytes.len() as u64), ..order.clone() };
        self.spawn(dir, &order, memory.into())
    }

    fn spawn(&self, dir: &Path, order: &ShimOrder, stdin: Stdio) -> io::Result<Owned> {
        let dir = std::path::absolute(dir)?;
        lay_out(&dir, order)?;
        let mut shim = self.command(&dir, stdin).spawn().inspect_err(|_| {
            let _ = fs::remove_dir_all(&dir);
        })?;
        let pidfd = match pidfd_open(shim.id() as i32) {
            Ok(pidfd) => Some(pidfd),
            // What cannot be watched must not run on; the files say how far it came.
            Err(_) => {
                shim.kill()?;
                shim.wait()?;
                None
            }
        };
        Ok(Owned { attempt: order.attempt, dir, pidfd })
    }

    fn command(&self, dir: &Path, stdin: Stdio) -> Command {
        let mut command = Command::new(&self.program);
        // An empty environment, so that no secret stays in it. Its own session it makes itself.
        command.args(&self.args).arg(dir).env_clear();
        command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// Makes the directory with its order in one step: a crash leaves all of it or none.
fn lay_out(dir: &Path, order: &ShimOrder) -> io::Result<()> {
    let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Err(io::Error::other("an attempt needs a directory of its own"));
    };
    if dir.exists() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "this attempt was started before"));
    }
    let mut unfinished = OsString::from(UNFINISHED);
    unfinished.push(name);
    let unfinished = parent.join(unfinished);
    match fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&unfinished)?;
    write(&unfinished.join(ORDER), &order.encode(&boot_id()))?;
    fs::rename(&unfinished, dir)
}
