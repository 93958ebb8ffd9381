//! What one step wants written. A batch of changes is committed as a whole, under the shard's term, or not at all;
//! only a `Claim` may be refused, and its refusal comes back as an input.

pub use crate::between::{Ends, Message, MessageId};

use model::{
    Actor, AgentId, AgentRecord, AttemptId, Batch, Cause, ContentId, Ending, InstanceId, JobId, JobMode, JobRecord,
    Need, Outcome, Part, PoolRecord, ReportKind, ResourceKind, ResourceName, ShardId, SkipReason, State, TenantId,
    TenantRecord, Term, Timestamp, Uncertain, VersionId,
};

/// One commit: everything the shard decided since the last one.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    pub shard: ShardId,
    pub term: Term,
    /// This commit's number; the store must stand at the one before.
    pub batch: Batch,
    /// Every planned time up to here is decided once this is committed.
    pub horizon: Timestamp,
    /// No id at or above this has been handed out.
    pub next_id: i64,
    pub changes: Vec<Change>,
    pub claims: Vec<Claim>,
}

/// Which instance a change is about, and where its row is: history is kept by the day of the planned time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub id: InstanceId,
    pub job: JobId,
    pub planned: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// An instance with its first attempt. Unique by job, planned time and part: this is the ledger entry.
    Created(Created),
    /// A scheduled instance whose time has not come is taken back, because its job changed.
    Withdrawn {
        row: Row,
    },
    /// An instance that has not been sent is to go elsewhere than proposed; it is sent right after, so its row says
    /// dispatched.
    Placed {
        row: Row,
        attempt: AttemptId,
        target: Option<AgentId>,
        /// How it came to go there, if there is anything to say.
        note: Option<String>,
    },
    /// How far an open instance has come; written late and coalesced.
    Progress(Progress),
    /// The attempt ended and another will follow: the old one moves to the attempts, the row carries the new one.
    Retried(Box<Retried>),
    /// The instance ended, by this attempt's outcome or without one.
    Ended(Ended),
    /// An ended instance is open again because a person asked; its last attempt moves to the attempts, and it has
    /// all its retries before it.
    Reopened {
        row: Row,
        attempt: AttemptId,
        attempt_no: u32,
        by: Actor,
        at: Timestamp,
    },
    /// The intent to stop, recorded before any signal.
    Stopping {
        row: Row,
        by: Actor,
        at: Timestamp,
    },
    /// Planned times that became no instance.
    Gap(Gap),
    /// A job as it is from `since` on: new or changed. Ends the interval before it.
    JobPut(Box<JobRecord>),
    /// The job, its version unchanged, is paused, resumed, enabled or disabled from `since` on.
    JobMode {
        job: JobId,
        mode: JobMode,
        since: Timestamp,
        fired: u64,
        by: Actor,
    },
    /// The job fires no more; its history stays, its name is free.
    JobRemoved {
        job: JobId,
        tenant: TenantId,
        at: Timestamp,
        by: Actor,
    },
    /// Fires counted, for jobs with a maximum.
    JobCounted {
        job: JobId,
        fired: u64,
    },
    /// A job is held because deciding about it failed.
    Quarantined {
        job: Option<JobId>,
        input: String,
        error: String,
        at: Timestamp,
        /// Planned times of the job up to here have their entries; those that follow have none until it is released.
        decided: Timestamp,
    },
    /// A person has looked: the job may go on.
    Unquarantined {
        job: JobId,
        by: Actor,
    },
    AgentPut(Box<AgentRecord>),
    AgentRemoved {
        agent: AgentId,
    },
    PoolPut(PoolRecord),
    /// A tenant as it is from now on: new or changed.
    TenantPut(Box<TenantRecord>),
    /// It is gone, and its name free; what its jobs did stays as long as history does.
    TenantRemoved {
        tenant: TenantId,
    },
    /// Instances running at once in the whole installation.
    GlobalLimit {
        limit: Option<u32>,
    },
    /// A report about an attempt that is not open here. Kept only if no instance or earlier attempt has that number:
    /// then nobody has ever heard of it.
    Orphan {
        agent: AgentId,
        attempt: AttemptId,
        kind: ReportKind,
        at: Timestamp,
    },
    /// Something people want to be told and nothing else records.
    Note(Note),
    /// A claim is no longer held.
    Released {
        claim: ClaimName,
    },
    /// Another shard is told something: kept until it has taken it.
    Told {
        to: ShardId,
        message: Message,
    },
    /// What another shard told us is done, and is not told again.
    Took {
        id: MessageId,
    },
    /// An instance stands in line for everything it needs. Who holds what is settled when all changes of the commit
    /// are written, and told by an answer or a message.
    Drawn(Box<Draw>),
    /// What it drew is given back, held or not, and goes to whoever is next.
    Returned(Box<Draw>),
    /// A counted resource has so many units from now on.
    ResourcePut {
        name: ResourceName,
        units: u32,
    },
    /// A job of another shard follows one of ours; none: no longer.
    Follower {
        job: JobId,
        follower: JobId,
        ends: Option<Ends>,
    },
}

impl Change {
    /// The job it is about, if it is about one.
    pub fn job(&self) -> Option<JobId> {
        match self {
            Change::Created(Created { row, .. })
            | Change::Withdrawn { row }
            | Change::Placed { row, .. }
            | Change::Progress(Progress { row, .. })
            | Change::Ended(Ended { row, .. })
            | Change::Reopened { row, .. }
            | Change::Stopping { row, .. } => Some(row.job),
            Change::Retried(retried) => Some(retried.row.job),
            Change::Gap(gap) => Some(gap.job),
            Change::JobPut(job) => Some(job.id),
            Change::JobMode { job, .. }
            | Change::JobRemoved { job, .. }
            | Change::JobCounted { job, .. }
            | Change::Follower { job, .. }
            | Change::Unquarantined { job, .. } => Some(*job),
            Change::Quarantined { job, .. } => *job,
            Change::Note(note) => note.job,
            Change::AgentPut(_)
            | Change::AgentRemoved { .. }
            | Change::PoolPut(_)
            | Change::TenantPut(_)
            | Change::TenantRemoved { .. }
            | Change::GlobalLimit { .. }
            | Change::Orphan { .. }
            | Change::Released { .. }
            | Change::Told { .. }
            | Change::Took { .. }
            | Change::ResourcePut { .. } => None,
            Change::Drawn(draw) | Change::Returned(draw) => Some(draw.job),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Created {
    pub row: Row,
    pub tenant: TenantId,
    pub version: VersionId,
    pub part: Part,
    pub parent: Option<InstanceId>,
    pub cause: Cause,
    pub params: Option<ContentId>,
    pub state: State,
    /// A first attempt carries its instance's number, so that either leads to the row.
    pub attempt: AttemptId,
    pub target: Option<AgentId>,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub row: Row,
    pub attempt: AttemptId,
    pub state: State,
    pub target: Option<AgentId>,
    pub ordered_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub why: Option<String>,
    pub uncertain: Option<Uncertain>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Retried {
    pub row: Row,
    /// The attempt that ended, how and where.
    pub attempt: AttemptId,
    pub attempt_no: u32,
    pub target: Option<AgentId>,
    pub ordered_at: Option<Timestamp>,
    pub outcome: Outcome,
    /// The attempt that follows, and when.
    pub next: AttemptId,
    pub retry_at: Timestamp,
    /// Retries of the job's policy used, this one included if it is one.
    pub retries_used: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub row: Row,
    /// Only the current fence may end an instance.
    pub attempt: AttemptId,
    pub ending: Ending,
    pub target: Option<AgentId>,
    pub ordered_at: Option<Timestamp>,
    pub at: Timestamp,
    /// What the attempt reported, if it got that far.
    pub outcome: Option<Box<Outcome>>,
    pub why: Option<String>,
}

/// Planned times that became no instance of their own, as one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    pub job: JobId,
    pub tenant: TenantId,
    pub first: Timestamp,
    pub last: Timestamp,
    pub count: u64,
    pub fate: Fate,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Missed,
    /// Made up for by one later instance.
    Merged(InstanceId),
    Skipped(SkipReason),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub at: Timestamp,
    pub job: Option<JobId>,
    pub instance: Option<InstanceId>,
    pub kind: NoteKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteKind {
    NotStartedInTime,
    NotFinishedInTime,
    ClockJumped {
        by: model::Span,
    },
    AgentOnline(AgentId),
    AgentSilent(AgentId),
    /// A job's mode changed.
    Mode(JobMode),
}

/// Something another shard or a person may hold already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub name: ClaimName,
    /// Whose it is if granted: a job id, an instance id.
    pub holder: i64,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimName {
    JobName {
        tenant: TenantId,
        name: String,
    },
    /// `Idempotency-Key` of a request.
    Key {
        tenant: TenantId,
        key: String,
    },
}

/// The tickets an instance holds or waits with: one in the line of each thing it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw {
    pub ticket: TicketId,
    pub tenant: TenantId,
    pub job: JobId,
    pub instance: InstanceId,
    /// By kind and name.
    pub needs: Vec<Need>,
    pub at: Timestamp,
}

/// A number an instance's tickets go by; those it draws anew go by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TicketId(pub i64);

/// A ticket has become a holder's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Whose instance it is; another shard hears of it by a message.
    pub shard: ShardId,
    pub instance: InstanceId,
    pub ticket: TicketId,
    pub kind: ResourceKind,
    pub name: String,
}

/// What a commit is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To one of its claims; they are answered in order.
    Claim(ClaimAnswer),
    /// What its changes let through.
    Granted(Grant),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimAnswer {
    pub name: ClaimName,
    /// The holder we asked for.
    pub wanted: i64,
    /// Who holds it now: equal to `wanted` if granted.
    pub holder: i64,
}

impl ClaimAnswer {
    pub fn granted(&self) -> bool {
        self.wanted == self.holder
    }
}
