//! Gives the floor's threads the same short scheduler slice and timer slack the product asks for, so that neither side
//! wins by waiting less for the processor.
//!
//! Unsafe: `sched_setattr` has no wrapper in libc or nix. The one call passes a live struct of the size it states and
//! touches no memory of ours.
#![allow(unsafe_code)]

/// `struct sched_attr` in its first version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

pub(crate) fn ask() {
    let _ = nix::sys::prctl::set_timerslack(1_000);
    let attributes = Attributes { size: size_of::<Attributes>() as u32, runtime: 100_000, ..Attributes::default() };
    // SAFETY: the kernel reads `size` bytes of a struct that lives until the call returns.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}
