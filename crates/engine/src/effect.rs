//! What happens outside once a commit is on disk: never before it, and in order.

use model::{
    AgentId, AttemptId, ContentId, Instance, InstanceId, JobId, Overlap, Part, ShardId, Span, State, TenantId, Term,
    Timestamp, VersionId, Why,
};

use crate::change::{Change, Claim, Message};
use crate::input::Caller;

/// What one or more steps decided: changes to commit, and effects to release after.
#[derive(Debug, Default)]
pub struct Decisions {
    pub changes: Vec<Change>,
    pub claims: Vec<Claim>,
    pub effects: Vec<Effect>,
}

impl Decisions {
    pub(crate) fn change(&mut self, change: Change) {
        self.changes.push(change);
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(crate) fn tell(&mut self, to: ShardId, message: Message) {
        self.change(Change::Told { to, message });
        self.effect(Effect::Wake { shard: to });
    }

    pub(crate) fn reply(&mut self, caller: Caller, reply: Result<Reply, Refusal>) {
        self.effects.push(Effect::Reply { caller, reply });
    }

    /// Nothing to write; effects alone need no commit of their own.
    pub fn writes_nothing(&self) -> bool {
        self.changes.is_empty() && self.claims.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.writes_nothing() && self.effects.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Order(Order),
    /// End this attempt; the intent is on disk.
    Stop {
        agent: AgentId,
        attempt: AttemptId,
        /// The job's small number: an executor ends all it has of a job.
        alias: i32,
        by: String,
        grace: Span,
    },
    /// Do you have these? An agent that has stored our term may answer no.
    Query {
        agent: AgentId,
        attempts: Vec<AttemptId>,
    },
    /// The report is on disk, or about something long settled: forget it.
    Acknowledge {
        agent: AgentId,
        attempt: AttemptId,
        seq: u32,
    },
    /// Ask these in turn; the answer comes back as `Input::Asked`.
    Ask(Ask),
    /// What an executor holds, as far as we know: whoever calls it may look for signs of each.
    Inspect {
        agent: AgentId,
        open: Vec<Inspected>,
    },
    Reply {
        caller: Caller,
        reply: Result<Reply, Refusal>,
    },
    /// Hand out so many more ids before they run out.
    WantIds {
        count: i64,
    },
    /// A shard has something to hear. Losing this is only a delay.
    Wake {
        shard: ShardId,
    },
}

/// Which executor takes an attempt is for the executors to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub attempt: AttemptId,
    /// The job's small number.
    pub alias: i32,
    pub question: Question,
    pub candidates: Vec<AgentId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Are you there?
    Alive,
    /// Do you run nothing of this job?
    Idle,
}

/// An attempt that is open at an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspected {
    pub attempt: AttemptId,
    pub alias: i32,
    pub dated: Timestamp,
    /// The executor said that it has it.
    pub taken: bool,
    /// Whether it still does is not known.
    pub doubted: bool,
    pub started_at: Option<Timestamp>,
    pub ordered_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub agent: AgentId,
    pub shard: ShardId,
    pub term: Term,
    pub attempt: AttemptId,
    /// Grows from run to run of a job, however they were numbered.
    pub fence: i64,
    pub attempt_no: u32,
    pub instance: InstanceId,
    pub tenant: TenantId,
    pub job: JobId,
    pub version: VersionId,
    pub params: Option<ContentId>,
    pub planned: Timestamp,
    /// Its planned time, or when it was made if that is later: what its log is filed under.
    pub dated: Timestamp,
    /// The job's small number; 0 if it has none.
    pub alias: i32,
    pub part: Part,
    /// An order that arrives later than this must not start.
    pub start_by: Timestamp,
    pub timeout: Option<Span>,
    pub overlap: Overlap,
    pub stop_grace: Span,
    /// The task ends so long after the last acknowledged heartbeat.
    pub leash: Option<Span>,
    /// All it says was decided ahead of its time: its row was written then and need not be written again.
    pub as_written: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Done,
    /// The job, and whether anything changed.
    Job {
        id: JobId,
        version: VersionId,
        changed: bool,
    },
    Instance {
        id: InstanceId,
        planned: Timestamp,
        /// As its row was written, if it has not ended in the same breath.
        made: Option<Box<Instance>>,
    },
    /// The request was made before under the same key: this is what it made, if it came to that.
    Repeated {
        id: InstanceId,
        planned: Option<Timestamp>,
    },
    /// How many of the runs called back were ended by it, and how many are none of the caller's business.
    CalledBack {
        ended: usize,
        foreign: usize,
    },
    Why(WhyReply),
    Followers(Vec<JobId>),
    Tenant(TenantId),
}

#[derive(Clone, Debug, PartialEq)]
pub struct WhyReply {
    pub state: Option<State>,
    pub why: Vec<Why>,
    /// What happens next and when, if that is known.
    pub next: Option<Timestamp>,
}

/// A person's wish that cannot be done, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("no job {0}")]
    NoSuchJob(JobId),
    #[error("no open instance {0}")]
    NotOpen(InstanceId),
    #[error("instance {0} is still open")]
    StillOpen(InstanceId),
    #[error("instance {0} was spread over agents; its shards can be run again one by one")]
    Broadcast(InstanceId),
    #[error("instance {0} is not uncertain")]
    NotUncertain(InstanceId),
    #[error("job {0} is disabled")]
    Disabled(JobId),
    #[error("job {job} is held: {error}")]
    Quarantined { job: JobId, error: String },
    #[error("job name {name} is taken by job {by}")]
    NameTaken { name: String, by: JobId },
    #[error("there is an instance of job {0} for that planned time already")]
    AlreadyPlanned(JobId),
    #[error("no agent {0}")]
    NoSuchAgent(AgentId),
    #[error("agent {0} has runs that have not ended")]
    AgentBusy(AgentId),
    #[error("job {job} does not run on agent {agent}")]
    NotThere { job: JobId, agent: AgentId },
    #[error("no tenant {0}")]
    NoSuchTenant(TenantId),
    #[error("another tenant is named {0}")]
    TenantNameTaken(String),
    #[error("the tenant every installation has cannot be closed")]
    FirstTenant,
    #[error("tenant {0} still has something")]
    TenantInUse(TenantId),
    #[error("every shard that a tenant could have for its own is another tenant's")]
    NoShardsLeft,
    #[error("the job would follow itself through {0}")]
    Cycle(JobId),
    #[error("the numbers for new jobs run low; try again in a moment")]
    OutOfNumbers,
    #[error("this node does not own the shard any more")]
    NotOwner,
    #[error("deciding about this failed: {0}")]
    Quarantining(String),
}
