//! The task owner alone, for machines where a thousand of them must fit in little memory.

use std::process::ExitCode;

fn main() -> ExitCode {
    duly_agent::shim::main(std::env::args_os().skip(1))
}
