//! A job: its identity, and the rule the engine decides by. The task itself (script, parameters) is content the
//! engine never looks into.

use std::collections::BTreeMap;

use crate::{ContentId, JobId, Misfire, Need, Span, TaskSort, TenantId, Timestamp, Trigger, VersionId, When};

/// What is kept of a job beside its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    pub id: JobId,
    pub tenant: TenantId,
    /// Unique in the tenant.
    pub name: String,
    pub version: VersionId,
    /// Everything the engine needs, encoded.
    pub rule: ContentId,
    /// Everything the agent needs, encoded.
    pub task: ContentId,
    /// The whole job as applied, for people: description, owner, labels, folder and both parts above.
    pub source: ContentId,
    pub folder: String,
    /// For people to find it by, and for rights that are about some jobs only.
    pub labels: BTreeMap<String, String>,
    pub mode: JobMode,
    /// Planned times at or before this instant belong to what the job was earlier.
    pub since: Timestamp,
    /// Fires counted so far; kept only for jobs with a maximum.
    pub fired: u64,
    pub changed_by: String,
    /// A small number of its own, for protocols that have no room for an id; 0 for a job that needs none.
    pub alias: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobMode {
    Enabled,
    /// Nothing planned fires; manual triggers do.
    Paused,
    /// Nothing fires at all.
    Disabled,
}

/// How a job is decided about: shared by all jobs that say the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub trigger: Trigger,
    pub pool: PoolRef,
    pub overlap: Overlap,
    pub exclusive: Option<Exclusive>,
    pub retry: Retry,
    pub timeout: Option<Span>,
    /// Between TERM and KILL.
    pub stop_grace: Span,
    pub priority: i32,
    pub limits: Limits,
    /// What it holds while it runs, mutexes first, by name.
    pub needs: Vec<Need>,
    /// An event is raised when an instance has not started so long after its planned time.
    pub not_started_by: Option<Span>,
    pub not_finished_by: Option<Span>,
    /// How long an attempt stays uncertain before it ends as lost.
    pub lost_after: Span,
    /// A failure ends in the dead-letter list even without retries.
    pub dead_letter: bool,
}

impl Default for Rule {
    fn default() -> Self {
        Rule {
            trigger: Trigger {
                when: When::Manual,
                follows: Vec::new(),
                start: None,
                end: None,
                count_max: None,
                jitter: Span::ZERO,
                misfire: Misfire::default(),
            },
            pool: PoolRef::default(),
            overlap: Overlap::default(),
            exclusive: None,
            retry: Retry::None,
            timeout: None,
            stop_grace: Span::secs(10),
            priority: 0,
            limits: Limits::default(),
            needs: Vec::new(),
            not_started_by: None,
            not_finished_by: None,
            lost_after: Span::MINUTE.saturating_mul(5),
            dead_letter: false,
        }
    }
}

/// Where a job may run: agents of this pool carrying all these labels, chosen by this route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRef {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub route: Route,
    pub of: Targets,
    /// What the agents must be allowed to run; none if that does not matter.
    pub runs: Option<TaskSort>,
}

/// Who of a pool can run the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Targets {
    #[default]
    Agents,
    Executors,
}

impl PoolRef {
    pub const DEFAULT: &str = "default";
}

impl Default for PoolRef {
    fn default() -> Self {
        PoolRef {
            name: PoolRef::DEFAULT.into(),
            labels: BTreeMap::new(),
            route: Route::LeastLoaded,
            of: Targets::Agents,
            runs: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    First,
    Last,
    Round,
    Random,
    LeastLoaded,
    /// The same agent for the same job, as long as it is there.
    ConsistentHash,
    /// The agent chosen least often for this job.
    LeastFrequent,
    /// The agent chosen longest ago for this job.
    LeastRecent,
    /// The first that answers when asked whether it is there.
    Failover,
    /// The first that answers that it does not run the job already.
    BusyOver,
    /// Only the agent of this name.
    Fixed(String),
    /// One child on every eligible agent, told its index and the total.
    Broadcast,
}

/// What happens when a planned time comes while earlier instances of the job are open, whatever agent they are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// Up to `max` side by side, the rest wait; none: no bound.
    Allow {
        max: Option<u32>,
    },
    /// One after the other; when more than `max` wait, a further one is skipped.
    Queue {
        max: u32,
    },
    Skip,
    /// The earlier one is stopped, the new one starts when it is gone.
    Replace,
}

impl Default for Overlap {
    fn default() -> Self {
        Overlap::Queue { max: 100 }
    }
}

/// What happens to an exclusive job when its holder falls silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusive {
    /// Nobody starts until the holder is known to have ended, or a person says so.
    Wait,
    /// The holder's shim ends the task `leash` after the last acknowledged heartbeat; then another may start.
    Takeover { leash: Span },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Retry {
    None,
    Fixed {
        times: u32,
        delay: Span,
    },
    /// One delay per retry, in order.
    List {
        delays: Vec<Span>,
    },
    /// `delay · factor^n`, at most `max`, spread by up to `jitter_percent`.
    Exponential {
        times: u32,
        delay: Span,
        factor_percent: u32,
        max: Span,
        jitter_percent: u32,
    },
}

impl Retry {
    pub fn times(&self) -> u32 {
        match self {
            Retry::None => 0,
            Retry::Fixed { times, .. } | Retry::Exponential { times, .. } => *times,
            Retry::List { delays } => delays.len() as u32,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Instances of this job running at once.
    pub job: Option<u32>,
    /// Instances of this job running at once on one agent.
    pub per_agent: Option<u32>,
}
