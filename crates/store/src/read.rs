//! Reading for people and programs: committed state only, keyset paging, never a scan without a bound. Safe to call
//! beside the writer. Time limits are the caller's: each read is interrupted at its deadline.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

use engine::change::{Gap, Message, MessageId, Note};
use model::rights::Place;
use model::{
    Actor, AgentId, AgentRecord, AttemptId, CauseKind, ContentId, Ending, Instance, InstanceId, JobId, JobMode,
    JobRecord, Outcome, PoolRecord, ResourceName, ShardId, State, TenantId, TenantRecord, Timestamp, VersionId,
};

use crate::values::{SealedSecret, UsingJob, Variable};
use crate::{OwnedVersion, StoreError, StoredVersion};

pub trait Reads: Send + Sync {
    fn jobs(&self, filter: &JobFilter, by: Instant) -> Result<Vec<JobRecord>, StoreError>;
    /// Folders that jobs of the tenant lie in, by name, with how many in each; only those in one of these places, none for
    /// no bound.
    fn folders(
        &self,
        tenant: TenantId,
        within: Option<&[Place]>,
        limit: usize,
        by: Instant,
    ) -> Result<Vec<(String, i64)>, StoreError>;
    fn job(&self, id: JobId, by: Instant) -> Result<Option<JobRecord>, StoreError>;
    /// Also one that was deleted, as long as its row is kept.
    fn job_past_or_present(&self, id: JobId, by: Instant) -> Result<Option<JobRecord>, StoreError>;
    fn job_named(&self, tenant: TenantId, name: &str, by: Instant) -> Result<Option<JobRecord>, StoreError>;
    /// Those of these that there are, in no order.
    fn jobs_named(&self, tenant: TenantId, names: &[&str], by: Instant) -> Result<Vec<JobRecord>, StoreError>;
    /// The job that last had this name, if it is gone and its history is not.
    fn job_once_named(&self, tenant: TenantId, name: &str, by: Instant) -> Result<Option<JobId>, StoreError>;
    /// Newest first.
    fn versions(&self, job: JobId, by: Instant) -> Result<Vec<VersionRecord>, StoreError>;
    fn version(&self, id: VersionId, by: Instant) -> Result<Option<StoredVersion>, StoreError>;
    /// Those of these that are kept, in no order, also of jobs that were deleted as long as their rows are.
    fn owned_versions(&self, ids: &[VersionId], by: Instant) -> Result<Vec<OwnedVersion>, StoreError>;
    fn content(&self, id: ContentId, by: Instant) -> Result<Option<Vec<u8>>, StoreError>;
    /// Newest planned time first.
    fn instances(&self, filter: &InstanceFilter, by: Instant) -> Result<Vec<Instance>, StoreError>;
    fn instance(&self, id: InstanceId, by: Instant) -> Result<Option<Instance>, StoreError>;
    /// How an instance ended, with the reason; none while it is open.
    fn ending(&self, id: InstanceId, by: Instant) -> Result<Option<Ending>, StoreError>;
    /// Earlier attempts of an instance, oldest first; the current one is in the instance.
    fn attempts(&self, id: InstanceId, by: Instant) -> Result<Vec<AttemptRecord>, StoreError>;
    /// Which instance an attempt belongs to, current or earlier.
    fn instance_of(&self, attempt: AttemptId, by: Instant) -> Result<Option<InstanceId>, StoreError>;
    /// Planned times of a job that became instances (part 0 only), in order, in `[from, to)`, with state and cause `planned` or `misfire`.
    fn ledger(&self, job: JobId, from: Timestamp, to: Timestamp, by: Instant) -> Result<Vec<LedgerEntry>, StoreError>;
    fn gaps(&self, job: Option<JobId>, from: Timestamp, to: Timestamp, by: Instant) -> Result<Vec<Gap>, StoreError>;
    /// What each job was when, overlapping `[from, to)`; removed jobs included.
    fn intervals(
        &self,
        job: Option<JobId>,
        from: Timestamp,
        to: Timestamp,
        by: Instant,
    ) -> Result<Vec<Interval>, StoreError>;
    fn agents(&self, by: Instant) -> Result<Vec<AgentRecord>, StoreError>;
    fn pools(&self, by: Instant) -> Result<Vec<PoolRecord>, StoreError>;
    /// By their numbers.
    fn tenants(&self, by: Instant) -> Result<Vec<TenantRecord>, StoreError>;
    fn orphans(&self, by: Instant) -> Result<Vec<Orphan>, StoreError>;
    fn quarantine(&self, by: Instant) -> Result<Vec<QuarantineRecord>, StoreError>;
    /// Newest first.
    fn notes(&self, filter: &NoteFilter, by: Instant) -> Result<Vec<NoteRecord>, StoreError>;
    /// How many instances are in each state, among those planned in `[from, to)`; children are
    /// not counted, as they are not listed.
    fn counts(
        &self,
        tenant: Option<TenantId>,
        from: Timestamp,
        to: Timestamp,
        by: Instant,
    ) -> Result<Vec<(State, u64)>, StoreError>;
    /// What is open, by state.
    fn open_counts(&self, tenant: TenantId, late: Timestamp, by: Instant) -> Result<OpenCounts, StoreError>;
    /// How often each job failed among what was planned in `[from, to)`, the worst first.
    fn failures(
        &self,
        tenant: TenantId,
        from: Timestamp,
        to: Timestamp,
        by: Instant,
    ) -> Result<Vec<(JobId, u64)>, StoreError>;
    /// Up to which planned time everything is decided, of all shards that have jobs.
    fn horizon(&self, by: Instant) -> Result<Timestamp, StoreError>;
    /// The same of each shard that was ever owned, in their order.
    fn horizons(&self, by: Instant) -> Result<Vec<(ShardId, Timestamp)>, StoreError>;
    /// Which shard an id of an instance or attempt was lent to. None if that was not written down, as before there
    /// were shards: then the row's job tells.
    fn lent_to(&self, id: i64, by: Instant) -> Result<Option<(Range<i64>, ShardId)>, StoreError>;
    /// Raised by every change to agents, pools, tenants and limits.
    fn revision(&self, by: Instant) -> Result<i64, StoreError>;
    /// What these shards have still to take of what others told them, oldest first. What cannot be read is left for
    /// whoever can.
    fn outbox(&self, shards: &[ShardId], limit: usize, by: Instant) -> Result<Vec<Letter>, StoreError>;
    /// Everything that is shared, by name.
    fn resources(&self, by: Instant) -> Result<Vec<ResourceRecord>, StoreError>;
    /// Who holds it, then who waits for it, in their order.
    fn line(&self, of: &ResourceName, limit: usize, by: Instant) -> Result<Vec<TicketRecord>, StoreError>;
    /// The tickets of an instance, by what they are for.
    fn tickets_of(&self, instance: InstanceId, by: Instant) -> Result<Vec<TicketRecord>, StoreError>;
    /// Instances that may run at once in the whole installation; none for no bound.
    fn global_limit(&self, by: Instant) -> Result<Option<u32>, StoreError>;
    /// Those of the tenant and of the whole installation, by name; only these names, if any are given.
    fn variables(&self, tenant: TenantId, names: Option<&[String]>, by: Instant) -> Result<Vec<Variable>, StoreError>;
    /// By name; only these, if any are given.
    fn secrets(&self, tenant: TenantId, names: Option<&[String]>, by: Instant)
    -> Result<Vec<SealedSecret>, StoreError>;
    /// Jobs of the tenant whose tasks name variables or secrets.
    fn using_jobs(&self, tenant: TenantId, by: Instant) -> Result<Vec<UsingJob>, StoreError>;
}

/// Something one shard told another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    pub id: MessageId,
    pub to: ShardId,
    pub from: ShardId,
    pub message: Message,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRecord {
    pub name: ResourceName,
    pub units: u32,
    /// How much may be held, while more is than it has: it had more when that was let through.
    pub allowed: u64,
    pub held: u64,
    /// How many wait for some of it.
    pub waiting: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketRecord {
    pub of: ResourceName,
    pub shard: ShardId,
    pub job: JobId,
    pub instance: InstanceId,
    pub units: u32,
    pub held: bool,
    /// When it was drawn.
    pub at: Timestamp,
}

#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    pub tenant: Option<TenantId>,
    /// Only in one of these; none for no bound.
    pub within: Option<Vec<Place>>,
    /// This folder and those below it.
    pub folder: Option<String>,
    /// Part of the name.
    pub name: Option<String>,
    pub mode: Option<JobMode>,
    /// Continue after this job (jobs are listed by name; two tenants may use the same one).
    pub after: Option<(String, JobId)>,
    pub limit: usize,
}

#[derive(Clone, Debug, Default)]
pub struct InstanceFilter {
    pub tenant: Option<TenantId>,
    /// Only of jobs in one of these; none for no bound.
    pub within: Option<Vec<Place>>,
    pub job: Option<JobId>,
    /// Any of these; empty means all.
    pub states: Vec<State>,
    /// Planned in `[from, to)`.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// Children of this instance only; without it, children are left out.
    pub parent: Option<InstanceId>,
    /// Whose current or last attempt is with this agent.
    pub agent: Option<AgentId>,
    pub cause: Option<CauseKind>,
    /// Continue after this row (older than it).
    pub after: Option<(Timestamp, InstanceId)>,
    pub limit: usize,
}

/// How many instances are open; children are not counted, as they are not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenCounts {
    pub by_state: Vec<(State, u64)>,
    /// Those that have not begun although they were planned before the instant asked about.
    pub late: u64,
}

impl OpenCounts {
    /// States that are not begun: what is late in one of them is late.
    pub(crate) fn is_not_begun(state: State) -> bool {
        matches!(state, State::Ready | State::Dispatched)
    }

    pub(crate) fn add(&mut self, state: State, count: u64, late: u64) {
        match self.by_state.iter_mut().find(|(one, _)| *one == state) {
            Some((_, sum)) => *sum += count,
            None => self.by_state.push((state, count)),
        }
        self.late += if OpenCounts::is_not_begun(state) { late } else { 0 };
    }
}

/// Counts of some days put together, the worst first.
pub(crate) fn worst_first(counts: impl IntoIterator<Item = (JobId, u64)>) -> Vec<(JobId, u64)> {
    let mut by_job: BTreeMap<JobId, u64> = BTreeMap::new();
    for (job, count) in counts {
        *by_job.entry(job).or_default() += count;
    }
    let mut all: Vec<(JobId, u64)> = by_job.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all
}

#[derive(Clone, Debug, Default)]
pub struct NoteFilter {
    pub job: Option<JobId>,
    pub instance: Option<InstanceId>,
    /// Continue after the note of this number (older than it).
    pub before: Option<i64>,
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRecord {
    pub id: i64,
    pub note: Note,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRecord {
    pub id: VersionId,
    pub job: JobId,
    pub rule: ContentId,
    pub task: ContentId,
    pub source: ContentId,
    pub created_at: Timestamp,
    pub created_by: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    pub id: AttemptId,
    pub instance: InstanceId,
    pub number: u32,
    pub target: Option<model::AgentId>,
    pub ordered_at: Option<Timestamp>,
    pub outcome: Outcome,
    /// Who opened the instance again after it, if that is why another followed.
    pub reopened_by: Option<Actor>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    pub planned: Timestamp,
    pub instance: InstanceId,
    pub state: State,
    /// True for a planned or made-up time, false for manual and follow-up instances.
    pub by_trigger: bool,
    /// When its first attempt started; none before that, and none when another attempt has taken its place.
    pub started: Option<Timestamp>,
    /// Somebody ran it again after it had ended.
    pub reopened: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    pub job: JobId,
    pub tenant: TenantId,
    pub name: String,
    pub since: Timestamp,
    /// None while it lasts.
    pub until: Option<Timestamp>,
    pub version: VersionId,
    pub rule: ContentId,
    pub mode: JobMode,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    pub attempt: AttemptId,
    pub agent: model::AgentId,
    pub at: Timestamp,
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineRecord {
    pub job: Option<JobId>,
    pub input: String,
    pub error: String,
    pub at: Timestamp,
}
