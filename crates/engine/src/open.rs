//! An instance that has not ended, as the engine holds it.

use std::sync::Arc;

use model::{
    Actor, AgentId, AttemptId, Cause, ContentId, InstanceId, JobId, Part, State, TenantId, Timestamp, Uncertain,
    VersionId,
};

use crate::change::Row;
use crate::plan::Compiled;
use crate::queue::QueueId;

#[derive(Debug)]
pub(crate) struct Open {
    pub id: InstanceId,
    pub tenant: TenantId,
    pub job: JobId,
    pub version: VersionId,
    pub planned: Timestamp,
    /// Planned time plus jitter.
    pub due: Timestamp,
    pub part: Part,
    pub parent: Option<InstanceId>,
    pub cause: Cause,
    pub params: Option<ContentId>,
    /// The rule it is frozen with.
    pub rule: Arc<Compiled>,
    pub queue: QueueId,
    pub attempt: AttemptId,
    pub attempt_no: u32,
    /// Retries of the job's policy used so far; redeliveries are not among them.
    pub retries_used: u32,
    pub redelivered: u32,
    /// The agent its row names: proposed, or ordered.
    pub target: Option<AgentId>,
    pub phase: Phase,
    pub ordered_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub stopping: Option<(Actor, Timestamp)>,
    pub uncertain: Option<Uncertain>,
    /// Its row is not committed yet: it can still be written as it will be.
    pub fresh: bool,
    /// A flush of its progress is pending.
    pub flush_due: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its time has not come.
    Scheduled,
    /// The overlap rule says wait.
    Waiting,
    /// Waits for an agent.
    Queued {
        since: Timestamp,
    },
    /// An order is out, or may be.
    Ordered {
        agent: AgentId,
    },
    Running {
        agent: AgentId,
    },
    RetryWait {
        until: Timestamp,
    },
    /// A broadcast whose shards run.
    Spread {
        open: u32,
        total: u32,
        failed: u32,
    },
}

impl Open {
    pub(crate) fn row(&self) -> Row {
        Row { id: self.id, planned: self.planned }
    }

    pub(crate) fn state(&self) -> State {
        match self.phase {
            Phase::Scheduled => State::Scheduled,
            Phase::Waiting | Phase::Queued { .. } => State::Ready,
            Phase::Ordered { .. } => State::Dispatched,
            Phase::Running { .. } | Phase::Spread { .. } => State::Running,
            Phase::RetryWait { .. } => State::RetryWait,
        }
    }

    /// The agent whose slot it uses.
    pub(crate) fn agent(&self) -> Option<AgentId> {
        match self.phase {
            Phase::Ordered { agent } | Phase::Running { agent } => Some(agent),
            Phase::Scheduled
            | Phase::Waiting
            | Phase::Queued { .. }
            | Phase::RetryWait { .. }
            | Phase::Spread { .. } => None,
        }
    }

    pub(crate) fn is_child(&self) -> bool {
        self.part != Part::WHOLE
    }

    /// Fired by its own trigger, so that a change of the job takes it back while its time has not come.
    pub(crate) fn by_trigger(&self) -> bool {
        match self.cause {
            Cause::Planned | Cause::Misfire { .. } => true,
            Cause::Manual(_) | Cause::After(_) | Cause::Shard(_) => false,
        }
    }
}
