//! One occurrence of a job for one planned time. Its row is the ledger entry for that time.

use crate::{AgentId, AttemptId, ContentId, InstanceId, JobId, TenantId, Timestamp, Usage, VersionId};

/// An instance as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub id: InstanceId,
    pub tenant: TenantId,
    pub job: JobId,
    /// The version of the job it is frozen with: rule and task.
    pub version: VersionId,
    pub planned: Timestamp,
    pub part: Part,
    pub parent: Option<InstanceId>,
    pub cause: Cause,
    /// Parameters given for this instance only.
    pub params: Option<ContentId>,
    pub state: State,
    /// The current (or last) attempt: its fence and its number, counted from 1.
    pub attempt: AttemptId,
    pub attempt_no: u32,
    /// Retries of the job's policy used since it was made or opened again; redeliveries are not among them.
    pub retries_used: u32,
    pub target: Option<AgentId>,
    pub created_at: Timestamp,
    pub ordered_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// When a waiting retry is due.
    pub retry_at: Option<Timestamp>,
    pub exit_code: Option<i32>,
    pub message: Option<String>,
    /// Named outputs as a JSON object.
    pub outputs: Option<String>,
    pub usage: Usage,
    /// Why it was skipped or waits, in words.
    pub why: Option<String>,
    pub stopping: Option<Actor>,
    pub uncertain: Option<Uncertain>,
}

/// Which share of the planned time this is: the whole, or one index of a broadcast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part {
    /// 0 for the whole; index + 1 for a child.
    pub number: u32,
    /// Children in all; 0 for the whole.
    pub total: u32,
}

impl Part {
    pub const WHOLE: Part = Part { number: 0, total: 0 };

    pub fn child(index: u32, total: u32) -> Part {
        Part { number: index + 1, total }
    }

    pub fn index(self) -> Option<u32> {
        self.number.checked_sub(1)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its trigger's planned time.
    Planned,
    /// A planned time that was missed and made up for.
    Misfire {
        missed: u64,
    },
    Manual(Actor),
    /// Another job's instance ended.
    After(InstanceId),
    /// A share of a broadcast.
    Shard(InstanceId),
}

/// A cause without what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    Planned,
    Misfire,
    Manual,
    After,
    Shard,
}

impl Cause {
    pub fn kind(&self) -> CauseKind {
        match self {
            Cause::Planned => CauseKind::Planned,
            Cause::Misfire { .. } => CauseKind::Misfire,
            Cause::Manual(_) => CauseKind::Manual,
            Cause::After(_) => CauseKind::After,
            Cause::Shard(_) => CauseKind::Shard,
        }
    }
}

/// Who did something, for the record: a name as the door knew it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Actor(pub String);

impl Actor {
    pub fn system() -> Actor {
        Actor("duly".into())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Scheduled,
    Ready,
    Dispatched,
    Running,
    RetryWait,
    Succeeded,
    Warned,
    Failed,
    Dead,
    Skipped,
    Stopped,
    Forced,
}

impl State {
    pub const ALL: [State; 12] = [
        State::Scheduled,
        State::Ready,
        State::Dispatched,
        State::Running,
        State::RetryWait,
        State::Succeeded,
        State::Warned,
        State::Failed,
        State::Dead,
        State::Skipped,
        State::Stopped,
        State::Forced,
    ];

    pub fn is_open(self) -> bool {
        match self {
            State::Scheduled | State::Ready | State::Dispatched | State::Running | State::RetryWait => true,
            State::Succeeded
            | State::Warned
            | State::Failed
            | State::Dead
            | State::Skipped
            | State::Stopped
            | State::Forced => false,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            State::Scheduled => "scheduled",
            State::Ready => "ready",
            State::Dispatched => "dispatched",
            State::Running => "running",
            State::RetryWait => "retry_wait",
            State::Succeeded => "succeeded",
            State::Warned => "warned",
            State::Failed => "failed",
            State::Dead => "dead",
            State::Skipped => "skipped",
            State::Stopped => "stopped",
            State::Forced => "forced",
        }
    }

    pub fn named(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|s| s.name() == name)
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// How an instance ends, with what is true then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Succeeded,
    Warned,
    Failed(Failure),
    /// Failed, and kept for a person to replay.
    Dead(Failure),
    Skipped(SkipReason),
    Stopped(Actor),
    /// A person declared it over, with this state of affairs unproven.
    Forced(Actor),
}

impl Ending {
    pub fn state(&self) -> State {
        match self {
            Ending::Succeeded => State::Succeeded,
            Ending::Warned => State::Warned,
            Ending::Failed(_) => State::Failed,
            Ending::Dead(_) => State::Dead,
            Ending::Skipped(_) => State::Skipped,
            Ending::Stopped(_) => State::Stopped,
            Ending::Forced(_) => State::Forced,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The task ended badly by itself.
    Exit,
    Timeout,
    /// Its agent was silent too long, or came back without it.
    Lost,
    /// It never reached an agent in time.
    Undelivered,
    /// The agent would not run it.
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    Overlap,
    Misfire,
    Paused,
    Disabled,
    Quarantined,
}

/// Nobody who could be asked knows whether the attempt runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncertain {
    pub since: Timestamp,
    pub why: String,
}
