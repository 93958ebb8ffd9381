//! What an agent tells about an attempt. Timeouts, lost agents and failed deliveries are reports we write ourselves,
//! so there is one way to end an attempt.

use crate::{AttemptId, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub attempt: AttemptId,
    /// Counts the reports of one attempt; they may come in any order and more than once.
    pub seq: u32,
    pub kind: ReportKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportKind {
    Started { at: Timestamp },
    Ended(Box<Outcome>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub verdict: Verdict,
    pub exit_code: Option<i32>,
    pub message: Option<String>,
    /// Named outputs as a JSON object.
    pub outputs: Option<String>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Timestamp,
    pub usage: Usage,
}

impl Outcome {
    /// An ending we write ourselves: nothing is known but the verdict and why.
    pub fn of(verdict: Verdict, message: impl Into<String>, at: Timestamp) -> Outcome {
        Outcome {
            verdict,
            exit_code: None,
            message: Some(message.into()),
            outputs: None,
            started_at: None,
            ended_at: at,
            usage: Usage::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Succeeded,
    Warned,
    Failed,
    /// Failed, and trying again is of no use.
    FailedForGood,
    TimedOut,
    /// Ended because somebody asked for it.
    Stopped,
    Lost,
    Undelivered,
    Refused,
    /// Not taken, because the job runs there already and is told to be left out then.
    Discarded,
}

/// What an attempt cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub cpu_us: Option<i64>,
    pub peak_kb: Option<i64>,
    pub log_bytes: Option<i64>,
}
