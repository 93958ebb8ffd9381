//! The few system calls no safe wrapper offers: become a task, wait with its usage, signal by pidfd.
//! `unsafe` is here and nowhere else in the crate. A new process borrows the shim's memory until it runs its program,
//! which is sound because a shim has one thread, blocks all signals, and sleeps meanwhile; it never happens in the
//! agent. Copying even so small a process would cost as much as all else a shim does.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use crate::order::RunAs;
use crate::result::Exit;

const STACK_BYTES: usize = 32 * 1024;

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
    pub(crate) open_files: Option<u64>,
    /// The `cgroup.procs` of the group to join.
    pub(crate) cgroup: Option<BorrowedFd<'a>>,
    pub(crate) run_as: Option<&'a RunAs>,
    /// The directory must be `cwd` to the letter, without a link on the way.
    pub(crate) cwd_exact: bool,
}

/// What the new process could not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Make(i32),
    /// Become the user it is to run as.
    Become(i32),
    Enter(i32),
    /// It would start in another directory than the one that was judged.
    Elsewhere,
    Execute(i32),
}

/// What both processes see until the new one runs its program.
struct Shared<'a> {
    launch: &'a Launch<'a>,
    argv: Vec<*const libc::c_char>,
    env: Vec<*const libc::c_char>,
    shim: i32,
    joined: bool,
    failure: Option<Failure>,
}

pub(crate) struct Launched {
    pub(crate) pid: i32,
    /// Whether it is in the cgroup it was to join.
    pub(crate) joined: bool,
}

/// Starts a task in a process group of its own, which dies with us. Returns when it runs, or cannot.
pub(crate) fn launch(launch: &Launch) -> Result<Launched, Failure> {
    let shim = std::process::id() as i32;
    let mut shared =
        Shared { launch, argv: pointers(launch.argv), env: pointers(launch.env), shim, joined: false, failure: None };
    let mut stack: Vec<u128> = Vec::with_capacity(STACK_BYTES / size_of::<u128>());
    // SAFETY: the new process runs on a stack of its own, aligned and alive until it has left our memory: we sleep until
    // then (CLONE_VFORK). It allocates nothing and touches nothing but `shared`.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.capacity());
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        libc::clone(new_process, top.cast(), flags, (&raw mut shared).cast())
    };
    match (pid, shared.failure) {
        (-1, _) => Err(Failure::Make(errno())),
        (_, Some(failure)) => Err(failure),
        (pid, None) => Ok(Launched { pid, joined: shared.joined }),
    }
}

extern "C" fn new_process(shared: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the pointer is the one given to clone; its owner sleeps until we are done with it.
    unsafe {
        let shared = &mut *shared.cast::<Shared>();
        shared.failure = Some(become_task(shared));
        libc::_exit(127)
    }
}

/// # Safety
/// Only in the process made by [`launch`].
unsafe fn become_task(shared: &mut Shared) -> Failure {
    let launch = shared.launch;
    // SAFETY: plain system calls on descriptors and strings that outlive us here.
    unsafe {
        libc::setpgid(0, 0);
        let joins = |procs: BorrowedFd| libc::write(procs.as_raw_fd(), c"0".as_ptr().cast(), 1) == 1;
        shared.joined = launch.cgroup.is_some_and(joins);
        for (from, to) in [(launch.stdin, 0), (launch.stdout, 1), (launch.stderr, 2)] {
            if libc::dup2(from.as_raw_fd(), to) < 0 {
                return Failure::Make(errno());
            }
        }
        // Before anything is looked for: what the user may not enter or run, the task may not.
        if let Some(user) = launch.run_as
            && !become_user(user)
        {
            return Failure::Become(errno());
        }
        // After that, because another user's mark would be taken off again.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // It may have died before the line above: then nobody owns us.
        if libc::getppid() != shared.shim {
            libc::_exit(127);
        }
        if libc::chdir(launch.cwd.as_ptr()) != 0 {
            return Failure::Enter(errno());
        }
        if launch.cwd_exact && !is_in(launch.cwd) {
            return Failure::Elsewhere;
        }
        restore_signals();
        if let Some(soft) = launch.open_files {
            set_open_files(soft);
        }
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
        execute(launch.programs, &shared.argv, &shared.env)
    }
}

/// Groups first, while we still may; then the group, then the user, each with what it could be turned back to. By bare
/// calls: the library's would reach for threads of a process whose memory we only borrow.
///
/// # Safety
/// As [`become_task`].
unsafe fn become_user(user: &RunAs) -> bool {
    // SAFETY: plain system calls; the groups outlive the first.
    unsafe {
        libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()) == 0
            && libc::syscall(libc::SYS_setresgid, user.gid, user.gid, user.gid) == 0
            && libc::syscall(libc::SYS_setresuid, user.uid, user.uid, user.uid) == 0
            // Nothing is left to go back with.
            && (user.uid == 0 || libc::syscall(libc::SYS_setresuid, -1, 0, -1) != 0)
    }
}

/// # Safety
/// As [`become_task`].
unsafe fn is_in(cwd: &CStr) -> bool {
    let mut place = [0_u8; libc::PATH_MAX as usize];
    // SAFETY: the kernel writes at most as much as there is, and ends it with zero.
    let length = unsafe { libc::syscall(libc::SYS_getcwd, place.as_mut_ptr(), place.len()) };
    length > 0 && place[..length as usize] == *cwd.to_bytes_with_nul()
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
pub fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor returned is new and ours.
    unsafe {
        match libc::syscall(libc::SYS_pidfd_open, pid, 0) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd as i32)),
        }
    }
}

pub fn pidfd_signal(pidfd: BorrowedFd, signal: i32) -> io::Result<()> {
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
