//! The tries at an instance as they are shown.

use model::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::instance::{InstanceView, StateWord, UsageView, raw};
use crate::time::Time;

crate::job::words! {
    VerdictWord for Verdict {
        Succeeded = Verdict::Succeeded,
        Warned = Verdict::Warned,
        Failed = Verdict::Failed,
        FailedForGood = Verdict::FailedForGood,
        TimedOut = Verdict::TimedOut,
        Stopped = Verdict::Stopped,
        Lost = Verdict::Lost,
        Undelivered = Verdict::Undelivered,
        Refused = Verdict::Refused,
        /// The executor had a run of the job already.
        Discarded = Verdict::Discarded,
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AttemptView {
    pub id: i64,
    /// Counted from 1.
    pub number: u32,
    /// Whether it is the instance's newest.
    pub current: bool,
    #[schema(required = true)]
    pub agent: Option<String>,
    #[schema(required = true)]
    pub ordered_at: Option<Time>,
    #[schema(required = true)]
    pub started_at: Option<Time>,
    #[schema(required = true)]
    pub ended_at: Option<Time>,
    /// Null while it is open.
    #[schema(required = true)]
    pub verdict: Option<VerdictWord>,
    #[schema(required = true)]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Box<RawValue>>,
    pub usage: UsageView,
}

impl AttemptView {
    /// An attempt that ended and was followed by another.
    pub fn earlier(
        id: model::AttemptId,
        number: u32,
        agent: Option<&str>,
        ordered_at: Option<model::Timestamp>,
        outcome: &model::Outcome,
    ) -> AttemptView {
        AttemptView {
            id: id.0,
            number,
            current: false,
            agent: agent.map(String::from),
            ordered_at: ordered_at.map(Time::from),
            started_at: outcome.started_at.map(Time::from),
            ended_at: Some(outcome.ended_at.into()),
            verdict: Some(outcome.verdict.into()),
            exit_code: outcome.exit_code,
            message: outcome.message.clone(),
            outputs: raw(outcome.outputs.as_deref()),
            usage: outcome.usage.into(),
        }
    }

    /// The attempt the instance's own row carries.
    pub fn current(of: &InstanceView) -> AttemptView {
        AttemptView {
            id: of.attempt,
            number: of.attempt_no,
            current: true,
            agent: of.agent.clone(),
            ordered_at: of.ordered_at,
            started_at: of.started_at,
            ended_at: of.ended_at,
            verdict: match of.state {
                StateWord::Succeeded => Some(VerdictWord::Succeeded),
                StateWord::Warned => Some(VerdictWord::Warned),
                StateWord::Failed | StateWord::Dead => Some(VerdictWord::Failed),
                StateWord::Stopped => Some(VerdictWord::Stopped),
                StateWord::Scheduled
                | StateWord::Ready
                | StateWord::Dispatched
                | StateWord::Running
                | StateWord::RetryWait
                | StateWord::Skipped
                | StateWord::Forced => None,
            },
            exit_code: of.exit_code,
            message: of.message.clone(),
            outputs: of.outputs.clone(),
            usage: of.usage,
        }
    }
}
