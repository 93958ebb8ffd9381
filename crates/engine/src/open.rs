//! An instance that has not ended, as the engine holds it.

use std::sync::Arc;

use model::{
    Actor, AgentId, AttemptId, Cause, ContentId, Instance, InstanceId, JobId, Overlap, Part, State, TenantId,
    Timestamp, Uncertain, VersionId, When,
};

use crate::change::Row;
use crate::plan::Compiled;
use crate::queue::QueueId;
use crate::share::Drew;

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
    /// A share of a broadcast that is over: it runs once more, by itself.
    pub alone: bool,
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
    /// The agent it is proposed for, ordered to, or (a shard of a broadcast) bound to.
    pub target: Option<AgentId>,
    /// It goes nowhere else, whoever asked for that.
    pub pinned: bool,
    /// When it was made.
    pub created: Timestamp,
    /// How it came to be where it is, if there is anything to say about that.
    pub note: Option<Box<str>>,
    /// What its row says. Only a scheduled row may have been sent since without a further word on disk.
    pub written: State,
    pub phase: Phase,
    pub ordered_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub stopping: Option<(Actor, Timestamp)>,
    pub uncertain: Option<Uncertain>,
    /// When its agent is asked again to end it.
    pub overdue_at: Option<Timestamp>,
    /// Its row is not written yet: it can still be written as it will be.
    pub fresh: bool,
    /// A flush of its progress is pending.
    pub flush_due: bool,
    /// What it drew of what it needs; none while it stands in no line.
    pub drew: Option<Box<Drew>>,
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
    /// It could go, and waits for what it needs to be its own.
    InLine {
        since: Timestamp,
    },
    /// Its route has those it may go to asked first.
    Asking,
    /// An order is out, or may be.
    Ordered {
        agent: AgentId,
    },
    Running {
        agent: AgentId,
    },
    RetryWait {
        until: Timestamp,
        why: Again,
    },
    /// A broadcast whose shards run.
    Spread {
        open: u32,
        total: u32,
        failed: u32,
    },
}

/// Why another attempt follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// The job's policy says so.
    Retry,
    /// The last one never reached an agent.
    Redelivery,
    /// Its agent will not run it; another may.
    Elsewhere,
}

impl Open {
    /// One share of this broadcast, frozen with what the whole is frozen with.
    pub(crate) fn shard(&self, id: InstanceId, part: Part, agent: AgentId) -> Box<Open> {
        Box::new(Open {
            id,
            part,
            parent: Some(self.id),
            alone: false,
            cause: Cause::Shard(self.id),
            rule: Arc::clone(&self.rule),
            due: self.planned,
            attempt: AttemptId(id.0),
            attempt_no: 1,
            retries_used: 0,
            redelivered: 0,
            target: Some(agent),
            pinned: true,
            note: None,
            written: State::Ready,
            phase: Phase::Waiting,
            ordered_at: None,
            started_at: None,
            stopping: None,
            uncertain: None,
            overdue_at: None,
            fresh: true,
            flush_due: false,
            drew: None,
            ..*self
        })
    }

    /// What its row says right after it was made.
    pub(crate) fn as_written(&self) -> Instance {
        Instance {
            id: self.id,
            tenant: self.tenant,
            job: self.job,
            version: self.version,
            planned: self.planned,
            part: self.part,
            parent: self.parent,
            cause: self.cause.clone(),
            params: self.params,
            state: self.written,
            attempt: self.attempt,
            attempt_no: self.attempt_no,
            retries_used: self.retries_used,
            target: self.target,
            created_at: self.created,
            ordered_at: self.ordered_at,
            started_at: self.started_at,
            ended_at: None,
            retry_at: None,
            exit_code: None,
            message: None,
            outputs: None,
            usage: model::Usage::default(),
            why: None,
            stopping: self.stopping.as_ref().map(|(by, _)| by.clone()),
            uncertain: self.uncertain.clone(),
        }
    }

    pub(crate) fn row(&self) -> Row {
        Row { id: self.id, job: self.job, planned: self.planned }
    }

    pub(crate) fn state(&self) -> State {
        match self.phase {
            Phase::Scheduled => State::Scheduled,
            Phase::Waiting | Phase::Queued { .. } | Phase::InLine { .. } | Phase::Asking => State::Ready,
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
            | Phase::InLine { .. }
            | Phase::Asking
            | Phase::RetryWait { .. }
            | Phase::Spread { .. } => None,
        }
    }

    /// Its agent should have ended it by its timeout.
    pub(crate) fn is_overdue(&self, now: Timestamp) -> bool {
        let ordered = self.ordered_at.zip(self.rule.rule.timeout);
        ordered.is_some_and(|(ordered_at, timeout)| now >= ordered_at + timeout)
    }

    /// An executor that had it to itself for as long as it may take has ended it, whatever it calls that. Where runs of
    /// the job may be side by side, it may have waited there.
    pub(crate) fn was_cut_off(&self, now: Timestamp) -> bool {
        !matches!(self.rule.rule.overlap, Overlap::Allow { .. }) && self.is_overdue(now)
    }

    /// What its log is filed under: when it was to run, or when it was made if that is later.
    pub(crate) fn dated(&self) -> Timestamp {
        self.planned.max(self.created)
    }

    pub(crate) fn is_child(&self) -> bool {
        self.part != Part::WHOLE
    }

    /// Judged by the overlap rule, and so in its job's lists: shares come in with their broadcast.
    pub(crate) fn is_listed(&self) -> bool {
        !self.is_child() || self.alone
    }

    /// Made by a round of planning, in the commit that carries its horizon or before it.
    pub(crate) fn by_plan(&self) -> bool {
        match self.rule.rule.trigger.when {
            When::Cron { .. } | When::Rate { .. } | When::Once { .. } => self.by_trigger(),
            When::Manual | When::Delay { .. } => false,
        }
    }

    /// Fired by its own trigger, so that a change of the job takes it back while its time has not come.
    pub(crate) fn by_trigger(&self) -> bool {
        match self.cause {
            Cause::Planned | Cause::Misfire { .. } => true,
            Cause::Manual(_) | Cause::After(_) | Cause::Shard(_) => false,
        }
    }
}
