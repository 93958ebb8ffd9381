//! The nouns of Duly: what a job, an instance, an attempt is. They know nothing of disks, networks or clocks, and
//! they are never serialised as they stand: each edge (API, agent protocol, store) converts.

pub mod agent;
pub mod audit;
pub mod budget;
pub mod egress;
pub mod id;
pub mod instance;
pub mod job;
pub mod report;
pub mod resource;
pub mod rights;
pub mod shard;
pub mod task_sort;
pub mod tenant;
pub mod time;
pub mod trigger;
pub mod why;

pub use agent::{AgentKind, AgentRecord, AgentState, Executor, Load, PoolRecord, Serves};
pub use budget::{Account, Budget, Holding, Slice, Slices};
pub use id::{AgentId, AttemptId, Batch, ContentId, InstanceId, JobId, ServerId, ShardId, TenantId, Term, VersionId};
pub use instance::{Actor, Cause, CauseKind, Ending, Failure, Instance, Part, SkipReason, State, Uncertain};
pub use job::{Exclusive, JobMode, JobRecord, Limits, Overlap, PoolRef, Retry, Route, Rule, Targets};
pub use report::{Outcome, Report, ReportKind, Usage, Verdict};
pub use resource::{Need, ResourceKind, ResourceName};
pub use shard::{OWN_SHARDS, SHARDS_MAX, job_of_own, own_shards, shard_of, shard_of_name, shard_of_name_in};
pub use task_sort::{TaskSort, TaskSorts};
pub use tenant::{Exported, Quotas, TenantRecord, TenantState};
pub use time::{Span, Timestamp};
pub use trigger::{CronDialect, DstRule, Fold, Follow, Gap, Misfire, MisfireRule, On, Trigger, When};
pub use why::Why;
