//! Why something waits, was skipped, or went where it went: data, so that a person can be shown it in words.

use crate::{AgentId, InstanceId, Span, TaskSort, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its time has not come.
    NotDue {
        at: Timestamp,
    },
    /// Its start is spread by jitter.
    Jitter {
        until: Timestamp,
    },
    /// An earlier instance of the job is open and the overlap rule says wait.
    Overlap {
        holder: InstanceId,
    },
    /// The overlap rule says skip.
    OverlapSkipped {
        holder: InstanceId,
    },
    /// So many wait already that one more is not taken.
    QueueFull {
        waiting: u32,
    },
    /// The earlier instance is being stopped to make room.
    Replacing {
        holder: InstanceId,
    },
    /// The job's own limit of instances at once is used up.
    JobLimit {
        max: u32,
    },
    /// Every agent with a free slot runs as many of the job as it may on one agent.
    AgentLimit {
        max: u32,
    },
    PoolLimit {
        pool: String,
        max: u32,
    },
    GlobalLimit {
        max: u32,
    },
    /// Its tenant runs as many as it may.
    TenantRunning {
        tenant: String,
        max: u32,
    },
    /// Its tenant has started as many as it may in a second.
    TenantRate {
        tenant: String,
        per_second: u32,
    },
    /// Its tenant is being deleted.
    TenantClosing {
        tenant: String,
    },
    /// Its tenant has its share of what is shared, and what is free is kept for others whose time is about to come.
    KeptForOthers {
        pool: String,
    },
    /// Another instance holds a mutex it needs.
    Mutex {
        name: String,
        /// None: not known here.
        holder: Option<InstanceId>,
    },
    /// Too little of a resource is free, or others asked for it earlier.
    Resource {
        name: String,
        wanted: u32,
        /// None: not known here.
        free: Option<u32>,
    },
    NoAgentInPool {
        pool: String,
    },
    /// Agents are there, but none carries the labels.
    NoAgentWith {
        pool: String,
        label: String,
    },
    /// Agents are there, but their own policies do not let them run it.
    NoAgentMay {
        what: TaskSort,
        agents: String,
    },
    /// Every eligible agent is silent or drained.
    NoAgentUp {
        pool: String,
        known: u32,
        drained: u32,
    },
    NoAgentNamed {
        name: String,
    },
    /// Its route asks before it chooses, and the answers are not in.
    Asking {
        pool: String,
    },
    /// Every eligible agent has all its slots in use.
    NoFreeSlot {
        pool: String,
        agents: u32,
        slots: u32,
    },
    /// It failed; this retry of the job's policy has still to come.
    Retry {
        number: u32,
        max: u32,
        at: Timestamp,
    },
    /// It never reached an agent, which is no failure of its task: it is sent again.
    Redelivery {
        at: Timestamp,
    },
    /// The order is out and the agent has not answered yet.
    Ordered {
        agent: AgentId,
        at: Timestamp,
    },
    Running {
        agent: AgentId,
        since: Timestamp,
    },
    /// Nobody who could be asked knows whether it runs.
    Uncertain {
        agent: AgentId,
        since: Timestamp,
        lost_at: Option<Timestamp>,
        why: String,
    },
    Stopping {
        by: String,
        since: Timestamp,
    },
    /// The previous holder may still run; an exclusive job waits for it.
    ExclusiveHolder {
        holder: InstanceId,
    },
    /// Shards of a broadcast still open.
    Children {
        open: u32,
        total: u32,
    },
    /// An input about this job made the engine fail; a person must look.
    Quarantined {
        error: String,
    },
    Paused,
    Disabled,
    /// Missed while no server was there.
    Misfire {
        late: Span,
    },
    /// The clock or the process stood still for so long.
    Ended,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Why::NotDue { .. } => write!(f, "its time has not come"),
            Why::Jitter { .. } => write!(f, "its start is spread by the job's jitter"),
            Why::Overlap { holder } => write!(f, "waits for instance {holder} of the same job to end"),
            Why::OverlapSkipped { holder } => {
                write!(f, "skipped because instance {holder} of the same job was still open")
            }
            Why::QueueFull { waiting } => {
                write!(f, "skipped because {waiting} instances of the same job were waiting already")
            }
            Why::Replacing { holder } => write!(f, "waits until instance {holder}, which it replaces, is gone"),
            Why::JobLimit { max } => write!(f, "the job may run {max} at once and does"),
            Why::AgentLimit { max } => {
                write!(f, "the job may run {max} at once on one agent, and does on every agent that has a free slot")
            }
            Why::PoolLimit { pool, max } => write!(f, "pool {pool} may run {max} at once and does"),
            Why::GlobalLimit { max } => write!(f, "this installation may run {max} at once and does"),
            Why::TenantRunning { tenant, max } => write!(f, "tenant {tenant} may run {max} at once and does"),
            Why::TenantRate { tenant, per_second } => {
                write!(f, "tenant {tenant} may start {per_second} in a second, evenly, and has")
            }
            Why::TenantClosing { tenant } => write!(f, "tenant {tenant} is being deleted; nothing of it starts"),
            Why::KeptForOthers { pool } => {
                write!(f, "the free slots of pool {pool} are kept for other tenants' runs that are about to be due")
            }
            Why::Mutex { name, holder: Some(holder) } => {
                write!(f, "waits for the mutex {name}, which instance {holder} holds")
            }
            Why::Mutex { name, holder: None } => write!(f, "waits for its turn to hold the mutex {name}"),
            Why::Resource { name, wanted, free: Some(free) } => {
                write!(f, "waits for its turn to have {wanted} of the resource {name}, of which {free} are free")
            }
            Why::Resource { name, wanted, free: None } => {
                write!(f, "waits for its turn to have {wanted} of the resource {name}")
            }
            Why::NoAgentInPool { pool } => write!(f, "no agent has joined pool {pool}"),
            Why::NoAgentWith { pool, label } => write!(f, "no agent of pool {pool} carries the label {label}"),
            Why::NoAgentMay { what, agents } => write!(f, "no agent may run {what}: policy of {agents}"),
            Why::NoAgentUp { pool, known, drained } if drained == known => {
                write!(f, "of the {known} eligible agents of pool {pool} every one is drained: it takes nothing new")
            }
            Why::NoAgentUp { pool, known, drained } => {
                write!(f, "none of the {known} eligible agents of pool {pool} is connected and taking work")?;
                if *drained > 0 { write!(f, "; {drained} of them are drained") } else { Ok(()) }
            }
            Why::NoAgentNamed { name } => write!(f, "no agent is named {name}"),
            Why::NoFreeSlot { pool, agents, slots } => {
                write!(f, "all {slots} slots of the {agents} eligible agents of pool {pool} are in use")
            }
            Why::Asking { pool } => write!(f, "the executors of pool {pool} are being asked which of them takes it"),
            Why::Retry { number, max, .. } => write!(f, "failed; retry {number} of {max} is waiting for its time"),
            Why::Redelivery { .. } => write!(f, "the agent did not take it; it is sent again in a moment"),
            Why::Ordered { agent, .. } => write!(f, "sent to agent {agent}, which has not answered yet"),
            Why::Running { agent, .. } => write!(f, "runs on agent {agent}"),
            Why::Uncertain { lost_at: Some(_), why, .. } => {
                write!(f, "whether it runs is not known: {why}; it is held until that is known or it counts as lost")
            }
            Why::Uncertain { lost_at: None, why, .. } => {
                write!(f, "whether it runs is not known: {why}; it is held until that is known or a person decides")
            }
            Why::Stopping { by, .. } => write!(f, "is being stopped by {by}"),
            Why::ExclusiveHolder { holder } => {
                write!(f, "the job is exclusive and instance {holder} may still be running")
            }
            Why::Children { open, total } => write!(f, "{open} of {total} shards are still open"),
            Why::Quarantined { error } => write!(f, "held: deciding about it failed ({error}); a person must look"),
            Why::Paused => write!(f, "the job is paused"),
            Why::Disabled => write!(f, "the job is disabled"),
            Why::Misfire { late } => write!(f, "its time passed {late} before any server could act on it"),
            Why::Ended => write!(f, "it has ended"),
        }
    }
}
