//! The few system calls no safe wrapper offers: fork into a task, wait with its usage, signal by pidfd.
//! `unsafe` is here and nowhere else in the crate. The fork is sound because a shim has one thread; it never happens
//! in the agent, which is large and threaded.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use super::result::Exit;

/// A task ready to become a process.
pub(crate) struct Launch<'a> {
    /// Where the program may be, in the order to try.
    pub(crate) programs: &'a [CString],
    pub(crate) argv: &'a [CString],
    pub(crate) env: &'a [CString],
    pub(crate) cwd: &'a CStr,
    pub(crate) stdin: BorrowedFd<'a>,
    pub(crate) stdout: BorrowedFd<'a>,
    pub(crate) stderr: BorrowedFd<'a>,
    /// The process runs nothing of the task's before it has read a byte from here.
    pub(crate) gate: BorrowedFd<'a>,
    /// Gets a [`Failure`] when the task cannot run; closed without a word when it does.
    pub(crate) errors: BorrowedFd<'a>,
    pub(crate) open_files: Option<u64>,
}

/// What the new process could not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Enter(i32),
    Execute(i32),
}

impl Failure {
    pub(crate) const SIZE: usize = 5;

    pub(crate) fn decode(bytes: &[u8]) -> Option<Failure> {
        let errno = i32::from_le_bytes(bytes.get(1..Failure::SIZE)?.try_into().ok()?);
        match bytes[0] {
            b'd' => Some(Failure::Enter(errno)),
            b'x' => Some(Failure::Execute(errno)),
            _ => None,
        }
    }

    fn encode(self) -> [u8; Failure::SIZE] {
        let (stage, errno) = match self {
            Failure::Enter(errno) => (b'd', errno),
            Failure::Execute(errno) => (b'x', errno),
        };
        let [a, b, c, d] = errno.to_le_bytes();
        [stage, a, b, c, d]
    }
}

/// Makes the process of a task, which then waits at the gate. It leads a session of its own and dies with us.
pub(crate) fn fork(launch: &Launch) -> io::Result<i32> {
    let argv = pointers(launch.argv);
    let env = pointers(launch.env);
    // SAFETY: getpid cannot fail; after fork the child only makes system calls on memory prepared above.
    unsafe {
        let parent = libc::getpid();
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let failure = become_task(launch, &argv, &env, parent).encode();
                libc::write(launch.errors.as_raw_fd(), failure.as_ptr().cast(), failure.len());
                libc::_exit(127)
            }
            pid => Ok(pid),
        }
    }
}

/// # Safety
/// Only in the child of a fork of a process with one thread; `argv` and `env` end with a null pointer.
unsafe fn become_task(
    launch: &Launch,
    argv: &[*const libc::c_char],
    env: &[*const libc::c_char],
    parent: i32,
) -> Failure {
    // SAFETY: plain system calls on descriptors and strings that live in this copy of the parent's memory.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let mut opened = 0u8;
        // The parent may have died before the line above: then nobody owns us.
        if libc::getppid() != parent || libc::read(launch.gate.as_raw_fd(), (&raw mut opened).cast(), 1) != 1 {
            libc::_exit(0);
        }
        for (from, to) in [(launch.stdin, 0), (launch.stdout, 1), (launch.stderr, 2)] {
            if libc::dup2(from.as_raw_fd(), to) < 0 {
                return Failure::Execute(errno());
            }
        }
        if libc::chdir(launch.cwd.as_ptr()) != 0 {
            return Failure::Enter(errno());
        }
        restore_signals();
        if let Some(soft) = launch.open_files {
            set_open_files(soft);
        }
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
        execute(launch.programs, argv, env)
    }
}

/// # Safety
/// As [`become_task`].
unsafe fn execute(programs: &[CString], argv: &[*const libc::c_char], env: &[*const libc::c_char]) -> Failure {
    let mut worst = libc::ENOENT;
    for program in programs {
        // SAFETY: strings and arrays end with null and outlive the call.
        unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), env.as_ptr()) };
        match errno() {
            libc::ENOENT | libc::ENOTDIR => {}
            // A later directory may hold one we may run.
            libc::EACCES => worst = libc::EACCES,
            other => return Failure::Execute(other),
        }
    }
    Failure::Execute(worst)
}

/// What we ignore or block must not be ignored or blocked in the task.
///
/// # Safety
/// As [`become_task`].
unsafe fn restore_signals() {
    // SAFETY: a zeroed sigset is a valid value to empty.
    unsafe {
        for signal in 1..32 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
    }
}

/// # Safety
/// As [`become_task`].
unsafe fn set_open_files(soft: u64) {
    // SAFETY: the kernel fills and reads a plain struct of ours.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = soft.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// An answer about our children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Ended {
        pid: i32,
        exit: Exit,
        cpu_micros: u64,
        peak_kb: u64,
    },
    StillRunning,
    /// Nobody is left: for a subreaper, the whole tree is gone.
    NoChildren,
}

pub(crate) fn wait_any() -> io::Result<Waited> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zero is a value; the kernel fills both.
    let (pid, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(-1, &mut status, libc::WNOHANG, &mut usage), usage)
    };
    match pid {
        0 => Ok(Waited::StillRunning),
        -1 if errno() == libc::ECHILD => Ok(Waited::NoChildren),
        -1 => Err(io::Error::last_os_error()),
        pid => {
            let exit = match libc::WIFSIGNALED(status) {
                true => Exit::Signal(libc::WTERMSIG(status)),
                false => Exit::Code(libc::WEXITSTATUS(status)),
            };
            let cpu_micros = micros(usage.ru_utime) + micros(usage.ru_stime);
            Ok(Waited::Ended { pid, exit, cpu_micros, peak_kb: usage.ru_maxrss as u64 })
        }
    }
}

/// Closes every descriptor but the three standard ones: whoever waits for the end of a pipe must not wait for us.
pub(crate) fn close_inherited() {
    // SAFETY: called first thing in a shim, before anything of ours is open.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// A handle on a process that no later process under the same pid can inherit.
pub(crate) fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor returned is new and ours.
    unsafe {
        match libc::syscall(libc::SYS_pidfd_open, pid, 0) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd as i32)),
        }
    }
}

pub(crate) fn pidfd_signal(pidfd: BorrowedFd, signal: i32) -> io::Result<()> {
    let no_info = ptr::null::<libc::siginfo_t>();
    // SAFETY: the only pointer is null, which the call allows.
    match unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal, no_info, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

fn micros(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
