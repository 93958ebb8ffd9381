//! The log of a run, read through its executor. Dials nobody but the executor the run was sent to, by the address it
//! registered with.

use model::{AgentId, AttemptId, Timestamp};
use wire::xxl::{LogPage, LogQuestion};

use super::ask::answer;
use super::runs::log_date;
use super::switch::Executors;

/// Why there is nothing to show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RollError {
    #[error("its executor is not known any more")]
    Unknown,
    #[error("its executor cannot be asked for the log: {0}")]
    Unreachable(String),
    #[error("its executor keeps no log that can be read{0}")]
    None(String),
}

impl Executors {
    /// Lines from this one on, as many as there are now.
    pub(crate) async fn log_page(
        &self,
        executor: AgentId,
        attempt: AttemptId,
        dated: Timestamp,
        from_line: i64,
    ) -> Result<LogPage, RollError> {
        let line = self.line(executor).ok_or(RollError::Unknown)?;
        let question = LogQuestion { log_id: attempt.0, log_date_time: log_date(dated), from_line };
        let answer = answer(line.ask("log", &question.body()).await).map_err(RollError::Unreachable)?;
        answer.log_page().ok_or_else(|| {
            let said = answer.message.trim();
            RollError::None(if said.is_empty() { String::new() } else { format!(": {said}") })
        })
    }
}
