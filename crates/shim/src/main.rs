//! The task owner alone, for machines where a thousand of them must fit in little memory.
//! `unsafe` because it takes the C entry point: the usual one prepares for threads and deep stacks, which a shim never
//! has, and that would be a tenth of its cost.
#![no_main]
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

/// # Safety
/// Only to be called by the C runtime, with the arguments of the process.
#[unsafe(no_mangle)]
unsafe extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    let args = (1..argc as usize).map(|at| {
        // SAFETY: `argv` holds `argc` strings that end with zero and live as long as the process.
        let arg = unsafe { CStr::from_ptr(*argv.add(at)) };
        OsString::from(OsStr::from_bytes(arg.to_bytes()))
    });
    c_int::from(duly_shim::run(args))
}
