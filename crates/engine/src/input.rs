//! Everything a shard can be told. Inputs are kept until their commit is known, so that the one that breaks the
//! engine can be found by telling them again.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    Actor, AgentId, AgentRecord, AttemptId, ContentId, Instance, InstanceId, JobId, JobMode, Load, Report, TenantId,
    Timestamp,
};

use crate::change::{ClaimAnswer, Grant, Message, MessageId};
use crate::plan::Compiled;

/// Whom to answer. The shell knows what stands behind the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller(pub u64);

#[derive(Clone, Debug)]
pub enum Input {
    /// Time passed; look what is due. A level, not a message: any number of them is as good as one.
    Tick,
    /// Whatever anybody said to this shard before this instant has been told: who was silent until then, was silent. A
    /// shard that had no turn for a while finds its time come and its messages unread, and must not judge by the first.
    Quiet {
        until: Timestamp,
    },
    /// The wall clock was seen to jump.
    ClockJumped {
        by: model::Span,
    },
    Command {
        caller: Caller,
        by: Actor,
        command: Command,
    },
    ClaimAnswered(ClaimAnswer),
    /// An agent is connected, has stored our term, and named what it holds of this shard. Its machine has run without a
    /// restart since then at the latest: what was ordered before may have run there and left no trace.
    AgentUp {
        agent: Arc<AgentRecord>,
        held: Vec<Held>,
        up_since: Timestamp,
    },
    AgentBeat {
        agent: AgentId,
        load: Load,
    },
    AgentGone {
        agent: AgentId,
    },
    /// It was removed: whatever it says from now on, or has said and was not heard yet, counts for nothing.
    AgentRemoved {
        agent: AgentId,
    },
    Report {
        agent: AgentId,
        report: Report,
    },
    /// An agent that has stored our term was asked about these attempts and has none of them.
    NotHere {
        agent: AgentId,
        attempts: Vec<AttemptId>,
        up_since: Timestamp,
    },
    /// An executor was sent this attempt and nobody read its answer: it may have it or not.
    Unanswered {
        agent: AgentId,
        attempt: AttemptId,
        why: String,
    },
    /// Those a route wanted asked were asked, in their order; the trail says what each answered.
    Asked {
        attempt: AttemptId,
        chosen: Option<AgentId>,
        trail: String,
    },
    /// Which attempts does this executor hold since before then? Answered by `Effect::Inspect`.
    Reconcile {
        agent: AgentId,
        ordered_before: Timestamp,
    },
    /// Agents, pools, tenants and limits as the first shard's owner wrote them; told to all other shards.
    Roster(Arc<Roster>),
    /// How much of the limits that all shards share this one may use from now on.
    Lent(Arc<model::Slices>),
    /// Whoever should lend is a server of an older version: each shard counts for itself.
    LentByNobody,
    /// A ticket was let through by a commit of ours: an instance of ours may go, or another shard has something to hear.
    Granted(Grant),
    /// Another shard told us this. It comes again until we have taken it.
    Heard {
        id: MessageId,
        message: Message,
    },
    /// More numbers to hand out.
    Ids {
        from: i64,
        until: i64,
    },
    /// An input about this job failed twice: hold it.
    Quarantine {
        job: Option<JobId>,
        input: String,
        error: String,
    },
}

/// What all shards share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roster {
    pub agents: Vec<AgentRecord>,
    pub pools: Vec<model::PoolRecord>,
    pub tenants: Vec<model::TenantRecord>,
    pub global_limit: Option<u32>,
}

/// An attempt an agent says it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub attempt: AttemptId,
    pub started_at: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub enum Command {
    ApplyJob(Box<JobDraft>),
    SetMode {
        job: JobId,
        mode: JobMode,
    },
    /// A person has looked at a quarantined job: it may go on.
    Release {
        job: JobId,
    },
    DeleteJob {
        job: JobId,
    },
    Trigger(Box<Triggering>),
    Stop {
        instance: InstanceId,
    },
    /// The row as the store has it, since ended instances are not in memory.
    Rerun {
        instance: Box<Instance>,
        rule: Arc<Compiled>,
    },
    /// A person says what became of an uncertain attempt.
    Resolve {
        instance: InstanceId,
        verdict: Resolution,
    },
    /// An executor says how runs ended. It does not say who it is, only what it may speak for.
    Callback {
        scope: Scope,
        reports: Vec<Report>,
    },
    Why {
        subject: Subject,
    },
    /// Which jobs run after this one?
    Followers {
        job: JobId,
    },
    PutAgent {
        agent: Box<AgentRecord>,
    },
    RemoveAgent {
        agent: AgentId,
    },
    PutPool {
        pool: model::PoolRecord,
    },
    /// A tenant as it shall be; one without a number is new and gets one.
    PutTenant {
        tenant: Box<model::TenantRecord>,
    },
    /// A tenant that is closing and has nothing left.
    RemoveTenant {
        tenant: TenantId,
    },
    /// A counted resource has so many units.
    PutResource {
        name: model::ResourceName,
        units: u32,
    },
    SetGlobalLimit {
        limit: Option<u32>,
    },
}

/// A job as somebody wants it. The contents are in the store already.
#[derive(Clone, Debug)]
pub struct JobDraft {
    /// The job of this name, if the store knows one.
    pub id: Option<JobId>,
    pub tenant: TenantId,
    pub name: String,
    pub folder: String,
    pub labels: BTreeMap<String, String>,
    pub rule: Arc<Compiled>,
    pub rule_content: ContentId,
    pub task: ContentId,
    pub source: ContentId,
    pub mode: JobMode,
    /// The small number it gets if it has none yet; 0 if it needs none.
    pub alias: i32,
}

#[derive(Clone, Debug)]
pub struct Triggering {
    pub job: JobId,
    pub params: Option<ContentId>,
    /// Only there, instead of where the job's route leads.
    pub on: Option<AgentId>,
    /// Told to the task as its planned time; now if absent.
    pub planned: Option<Timestamp>,
    pub idempotency_key: Option<String>,
    /// The key was taken for this number and the instance never made: make it now.
    pub adopt: Option<InstanceId>,
}

/// Whose runs a caller may speak for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    pub tenant: TenantId,
    /// All of the tenant's if absent.
    pub pool: Option<String>,
}

impl Scope {
    pub fn covers(&self, agent: &AgentRecord) -> bool {
        agent.tenant == self.tenant && self.pool.as_ref().is_none_or(|pool| agent.pools.contains(pool))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    Succeeded,
    /// It counts as lost; retries follow the job's policy.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Instance(InstanceId),
    Job(JobId),
}
