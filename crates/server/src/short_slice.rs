//! Asks the kernel for a short scheduler slice for the calling thread. On a busy machine a thread that waits for the
//! disk or the clock then gets the processor back in microseconds instead of milliseconds (measured: ten times the
//! commits beside two compilers). Whoever works for long gives it back as soon: all threads of ours ask, so that none of
//! them waits three milliseconds for another. Needs no privilege; where the kernel does not know it, nothing happens.
//!
//! Unsafe: `sched_setattr` has no wrapper in libc or nix. The one call passes a live struct of the size it states and
//! touches no memory of ours.
#![allow(unsafe_code)]

#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

const SLICE_NANOS: u64 = 100_000;

/// What this thread forks has the usual slice: people's tasks are none of ours.
const RESET_ON_FORK: u64 = 1;

/// For whoever waits for an instant: wake-ups rounded to 50 µs would show in every start.
pub(crate) fn ask_on_time() {
    let _ = nix::sys::prctl::set_timerslack(1_000);
    ask();
}

pub fn ask() {
    let attr = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        policy: 0,
        flags: RESET_ON_FORK,
        nice: 0,
        priority: 0,
        runtime: SLICE_NANOS,
        deadline: 0,
        period: 0,
        util_min: 0,
        util_max: 0,
    };
    // SAFETY: the kernel reads `size` bytes of a struct that lives until the call returns.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
}
