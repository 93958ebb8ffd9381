//! Why something waits, was skipped, or runs: a word for programs and a sentence for people.

use model::Why;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::StateWord;
use crate::time::Time;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhyView {
    pub job: String,
    /// The instance asked about; absent when a job was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateWord>,
    pub reasons: Vec<ReasonView>,
    /// When something happens next, if that is known.
    #[schema(required = true)]
    pub next: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReasonView {
    /// The kind of reason.
    #[schema(example = "no_free_slot")]
    pub kind: String,
    #[schema(example = "all 4 slots of the 1 eligible agents of pool default are in use")]
    pub text: String,
}

impl From<&Why> for ReasonView {
    fn from(why: &Why) -> ReasonView {
        ReasonView { kind: kind(why).into(), text: why.to_string() }
    }
}

fn kind(why: &Why) -> &'static str {
    match why {
        Why::NotDue { .. } => "not_due",
        Why::Jitter { .. } => "jitter",
        Why::Overlap { .. } => "overlap",
        Why::OverlapSkipped { .. } => "overlap_skipped",
        Why::QueueFull { .. } => "queue_full",
        Why::Replacing { .. } => "replacing",
        Why::JobLimit { .. } => "job_limit",
        Why::AgentLimit { .. } => "agent_limit",
        Why::PoolLimit { .. } => "pool_limit",
        Why::GlobalLimit { .. } => "global_limit",
        Why::TenantRunning { .. } => "tenant_running",
        Why::TenantRate { .. } => "tenant_rate",
        Why::TenantClosing { .. } => "tenant_closing",
        Why::KeptForOthers { .. } => "kept_for_others",
        Why::Mutex { .. } => "mutex",
        Why::Resource { .. } => "resource",
        Why::NoAgentInPool { .. } => "no_agent_in_pool",
        Why::NoAgentWith { .. } => "no_agent_with",
        Why::NoAgentMay { .. } => "no_agent_may",
        Why::NoAgentUp { .. } => "no_agent_up",
        Why::NoAgentNamed { .. } => "no_agent_named",
        Why::NoFreeSlot { .. } => "no_free_slot",
        Why::Asking { .. } => "asking",
        Why::Retry { .. } => "retry",
        Why::Redelivery { .. } => "redelivery",
        Why::Ordered { .. } => "ordered",
        Why::Running { .. } => "running",
        Why::Uncertain { .. } => "uncertain",
        Why::Stopping { .. } => "stopping",
        Why::ExclusiveHolder { .. } => "exclusive_holder",
        Why::Children { .. } => "children",
        Why::Quarantined { .. } => "quarantined",
        Why::Paused => "paused",
        Why::Disabled => "disabled",
        Why::Misfire { .. } => "misfire",
        Why::Ended => "ended",
    }
}
