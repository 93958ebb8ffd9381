//! The task owner as a program beside these tests; the one that ships is `duly-shim`, tested in its own package.

use std::process::ExitCode;

fn main() -> ExitCode {
    duly_agent::shim::main(std::env::args_os().skip(1))
}
