//! The store seam: load a shard, commit under its term, read for people. Behind it SQLite, PostgreSQL
//! and memory, which all pass one conformance suite. It never decides anything: the guard is in the `where`, the
//! invariant in the schema.

pub mod access;
pub mod audit;
mod block;
mod cell;
mod code;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod errand;
mod json;
pub mod leases;
mod line;
mod mark;
pub mod memory;
mod message;
mod migrate_store;
mod page;
pub mod people;
pub mod postgres;
pub mod read;
mod roster;
mod settled;
pub mod sqlite;
mod subject;
mod tenant;
pub mod values;

use std::sync::Arc;

use engine::change::{Answer, Commit};
use engine::{Ends, HeldJob, LoadedTicket};
use model::{
    AgentRecord, Batch, ContentId, Instance, JobId, JobRecord, PoolRecord, ShardId, Span, TenantId, TenantRecord, Term,
    Timestamp, VersionId,
};

pub use audit::AuditLog;
pub use leases::{LeaseRow, Leases, Life, Picture, Reserved, ServerRow, Wakes};
pub use migrate_store::{Follows, Moved, migrate_store};
pub use read::Reads;

/// The writing side. One value per lane; a shard is only ever written through one of them.
pub trait Store: Send {
    /// Raises the shard's term, so that every later commit of an earlier owner fails. Comes before `load`.
    fn take_over(&mut self, shard: ShardId) -> Result<Ownership, StoreError>;

    /// Everything the owner keeps in memory: jobs, open instances, what they refer to.
    fn load(&mut self, shard: ShardId) -> Result<Stored, StoreError>;

    /// Writes one batch under its term, or nothing. The answers are those of the batch's claims, in order, and what its
    /// changes let through.
    fn commit(&mut self, commit: &Commit) -> Result<Vec<Answer>, CommitError>;

    /// Writes batches of several shards, each of which gets an answer of its own; a store that can makes one write of
    /// them. No two are of the same shard.
    fn commit_all(&mut self, commits: &[Arc<Commit>]) -> Vec<Result<Vec<Answer>, CommitError>> {
        commits.iter().map(|commit| self.commit(commit)).collect()
    }

    /// Where the shard stands; asked when the outcome of a commit is unknown.
    fn standing(&mut self, shard: ShardId) -> Result<Standing, StoreError>;

    /// How many shards the store was made with.
    fn shards(&self) -> i64;

    /// Takes `count` fresh ids off the one counter. What they number belongs to the shard they are lent to; none for
    /// agents and the like.
    fn take_ids(&mut self, shard: Option<ShardId>, count: i64) -> Result<std::ops::Range<i64>, StoreError>;

    /// Takes `count` small numbers for jobs; they are few and never given twice.
    fn take_aliases(&mut self, count: i32) -> Result<std::ops::Range<i32>, StoreError>;

    /// Keeps bytes once and names them. Immutable, so it needs no shard and no term.
    fn intern(&mut self, bodies: &[Vec<u8>]) -> Result<Vec<ContentId>, StoreError>;

    /// A small step of housekeeping between commits, asked for now and then (a second or so) by the shard's owner: it
    /// keeps loading short. True while there is more to do.
    fn tidy(&mut self, shard: ShardId, now: Timestamp) -> Result<bool, StoreError>;

    /// A small step of forgetting. Never touches what is open or what it needs. True while there is more to do.
    fn retain(&mut self, keep: &Retention) -> Result<bool, StoreError>;

    /// A small step of forgetting what has ended of one tenant, from where the last one came to. Answers how far it came;
    /// none when it has been everywhere. A day stays whole while something planned on it is open.
    fn retain_of(&mut self, keep: &TenantRetention, from: Reached) -> Result<Option<Reached>, StoreError>;
}

/// How far back the history of one tenant goes, where that is less than the installation's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TenantRetention {
    pub tenant: TenantId,
    pub before_day: i64,
    /// At most so many rows, of whomever, are looked at in one step.
    pub rows_max: u32,
}

/// How far through the planned days, and through the instances of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    pub day: i64,
    pub id: i64,
}

impl Reached {
    pub const NOTHING: Reached = Reached { day: i64::MIN, id: i64::MIN };

    pub(crate) fn after_day(day: i64) -> Reached {
        Reached { day: day.saturating_add(1), id: i64::MIN }
    }

    /// The last id of this day that was looked at.
    pub(crate) fn on(self, day: i64) -> i64 {
        if self.day == day { self.id } else { i64::MIN }
    }
}

/// How far back history goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Planned days before this one are dropped, with all that belongs to them. A day stays whole while something
    /// planned on it is open.
    pub before_day: i64,
    /// Idempotency keys first used before this are free again.
    pub keys_before: Timestamp,
    /// At most about so many rows in one step, so that no commit waits long.
    pub rows_max: u32,
}

/// What a job was is kept this much longer than its ledger: an instance may have been decided ahead of its time.
pub(crate) const HISTORY_MARGIN: Span = Span(2 * Span::DAY.0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    pub term: Term,
    pub standing: Standing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub term: Term,
    pub batch: Batch,
    pub horizon: Timestamp,
    pub next_id: i64,
}

/// A shard as it was last committed.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// How many shards there are.
    pub shards: i64,
    pub jobs: Vec<JobRecord>,
    /// The rule of every job and of every version an open instance is frozen with.
    pub versions: Vec<StoredVersion>,
    pub contents: Vec<(ContentId, Vec<u8>)>,
    /// Every instance that has not ended.
    pub open: Vec<Instance>,
    pub agents: Vec<AgentRecord>,
    pub pools: Vec<PoolRecord>,
    pub tenants: Vec<TenantRecord>,
    pub global_limit: Option<u32>,
    /// Jobs held in quarantine, why and since when, in the order they were put there.
    pub held: Vec<HeldJob>,
    /// Jobs of this shard that jobs of others follow: which, by whom, and which ends they want to hear of.
    pub followers: Vec<(JobId, JobId, Ends)>,
    /// Tickets of this shard's instances.
    pub tickets: Vec<LoadedTicket>,
    /// Rows that could not be read: the job they belong to, if that much is known, and what was wrong.
    pub unreadable: Vec<(Option<JobId>, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredVersion {
    pub id: VersionId,
    pub job: JobId,
    pub rule: ContentId,
    pub task: ContentId,
    pub source: ContentId,
}

/// A version with whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedVersion {
    pub version: StoredVersion,
    pub job_name: String,
    pub tenant: TenantId,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Full or locked: the same call may be repeated.
    #[error("the store cannot write now: {0}")]
    Busy(String),
    /// The connection broke; what was under way may or may not have happened.
    #[error("the connection to the store was lost: {0}")]
    Lost(String),
    #[error(
        "the store was made by a newer Duly (schema {found}, this one knows {known}); start that version, or restore a backup made before the upgrade"
    )]
    Newer { found: i64, known: i64 },
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    #[error("the store failed: {0}")]
    Failed(String),
}

impl StoreError {
    pub(crate) fn started_again() -> StoreError {
        StoreError::Failed("this server has started again since".into())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Another owner has the shard; nothing was written.
    #[error("shard {shard} is no longer ours")]
    NotOwner { shard: ShardId },
    /// Full or busy: nothing was written, send the same batch again.
    #[error("the store cannot write now: {0}")]
    Retry(String),
    /// Whether it was written is not known: ask for the standing.
    #[error("the outcome of the commit is unknown: {0}")]
    Unknown(String),
    /// A change that contradicts what is stored: our own defect. Nothing was written.
    #[error("change {index} of the batch cannot be: {what}")]
    Impossible { index: usize, what: String },
    /// The disk failed us at commit; nothing can be said about what is on it.
    #[error("the store failed at commit: {0}")]
    Fatal(String),
}
