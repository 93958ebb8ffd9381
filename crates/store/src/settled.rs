//! What an ended row says about its last attempt. Shared by every store, so that they say the same.

use model::{Failure, ReportKind, State, Verdict};

/// The verdict of an attempt nobody reported about, from how its instance ended.
pub(crate) fn verdict_of(state: State, failure: Option<Failure>) -> Verdict {
    match state {
        State::Succeeded => Verdict::Succeeded,
        State::Warned => Verdict::Warned,
        State::Stopped => Verdict::Stopped,
        State::Failed | State::Dead => match failure {
            Some(Failure::Exit) | None => Verdict::Failed,
            Some(Failure::Timeout) => Verdict::TimedOut,
            Some(Failure::Lost) => Verdict::Lost,
            Some(Failure::Undelivered) => Verdict::Undelivered,
            Some(Failure::Refused) => Verdict::Refused,
        },
        // A person declared it over; what became of the attempt was never proven.
        State::Forced => Verdict::Lost,
        // It never went to an agent. (Open states have no last attempt to speak of.)
        State::Skipped | State::Scheduled | State::Ready | State::Dispatched | State::Running | State::RetryWait => {
            Verdict::Undelivered
        }
    }
}

/// An orphaned report in words.
pub(crate) fn words_of(kind: &ReportKind) -> String {
    match kind {
        ReportKind::Started { .. } => "says that it started".into(),
        ReportKind::Ended(outcome) => match (outcome.exit_code, &outcome.message) {
            (Some(code), Some(message)) => {
                format!("says that it ended: {:?}, exit code {code}, {message}", outcome.verdict)
            }
            (Some(code), None) => format!("says that it ended: {:?}, exit code {code}", outcome.verdict),
            (None, Some(message)) => format!("says that it ended: {:?}, {message}", outcome.verdict),
            (None, None) => format!("says that it ended: {:?}", outcome.verdict),
        },
    }
}
