//! The agent role: an agent in this process, until it is told to stop. Its tasks go on without it.

use std::process::ExitCode;

use crate::options::AgentOptions;
use crate::server_role::{report, start_log};

pub(crate) fn run(_options: AgentOptions) -> ExitCode {
    start_log("info");
    report(Ok(()))
}
