//! The store in plain maps: the same contract, nothing durable. Deterministic and fast, for the simulation, which can
//! make it refuse, stall, lose answers, go back or lose its owner.

mod apply;
mod apply_rest;
mod between;
mod faults;
mod leases;
mod load;
mod read;
mod retain;
mod state;
mod table;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use engine::change::{Answer, Change, Claim, ClaimAnswer, Commit};
use model::{ContentId, InstanceId, ShardId, Timestamp};
use parking_lot::Mutex;

use self::state::State;
use crate::roster::changes_roster;
use crate::subject::subject;
use crate::{CommitError, Ownership, Reached, Retention, Standing, Store, StoreError, Stored, TenantRetention};

pub use self::faults::Fault;
pub use self::leases::{MemoryLeases, MemoryWakes};

/// A handle; clones are further doors to the same store.
#[derive(Clone, Default)]
pub struct MemoryStore {
    inner: Arc<Mutex<Inner>>,
    bell: Arc<leases::Bell>,
}

#[derive(Default)]
struct Inner {
    state: State,
    books: leases::Books,
    /// What the next commits meet, in order.
    faults: VecDeque<Option<Fault>>,
    /// So many calls of any kind find the store busy.
    busy: usize,
    /// How many batches can be taken back.
    remember: usize,
}

impl MemoryStore {
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    pub fn with_shards(shards: i64) -> MemoryStore {
        let store = MemoryStore::default();
        store.inner.lock().state.shards_max = shards;
        store
    }

    /// What the next commits meet, in order; `None` is a commit that goes well.
    pub fn plan(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.inner.lock().faults.extend(faults);
    }

    /// Nothing more is planned: the next commits go well.
    pub fn forget_plan(&self) {
        self.inner.lock().faults.clear();
    }

    /// The next `calls` calls of any kind find the store busy.
    pub fn stall(&self, calls: usize) {
        self.inner.lock().busy = calls;
    }

    /// Makes it possible to go back by up to `batches`. Costs memory, so it is asked for.
    pub fn remember(&self, batches: usize) {
        self.inner.lock().remember = batches;
    }

    /// Takes the last batches back, as a replica that never had them would.
    pub fn go_back(&self, batches: usize) {
        let mut inner = self.inner.lock();
        for _ in 0..batches {
            inner.state.go_back();
        }
    }

    /// Makes the row of an instance unreadable.
    pub fn spoil(&self, instance: InstanceId) {
        self.inner.lock().state.spoilt.insert(instance);
    }
}

impl Inner {
    fn ready(&mut self) -> Result<(), StoreError> {
        if self.busy == 0 {
            return Ok(());
        }
        self.busy -= 1;
        Err(StoreError::Busy("told to be".into()))
    }

    fn take_over(&mut self, shard: ShardId) -> Standing {
        let mut standing = self.state.shards.get(&shard).copied().unwrap_or_default();
        standing.term.0 += 1;
        self.state.shards.put(shard, standing);
        // Not a batch: it cannot be taken back.
        self.state.shards.forget_undo();
        standing
    }

    fn commit(&mut self, commit: &Commit) -> Result<Vec<Answer>, CommitError> {
        if self.ready().is_err() {
            return Err(CommitError::Retry("told to be busy".into()));
        }
        let lost = |what: &str| Err(CommitError::Unknown(what.into()));
        match self.faults.pop_front().flatten() {
            None => self.write(commit),
            Some(Fault::Retry) => Err(CommitError::Retry("told to refuse".into())),
            Some(Fault::Fatal) => Err(CommitError::Fatal("told to fail".into())),
            Some(Fault::DroppedUnknown) => lost("told to lose the batch"),
            Some(Fault::AppliedUnknown) => {
                // What was refused is answered as unknown too: the caller cannot know better.
                let _ = self.write(commit);
                lost("told to lose the answer")
            }
            Some(Fault::GoBack { batches }) => {
                for _ in 0..batches {
                    self.state.go_back();
                }
                lost("told to go back")
            }
            Some(Fault::LoseOwner) => {
                self.take_over(commit.shard);
                self.write(commit)
            }
        }
    }

    fn write(&mut self, commit: &Commit) -> Result<Vec<Answer>, CommitError> {
        let written = self.write_all(commit);
        match written {
            Ok(_) => self.state.seal(self.remember),
            Err(_) => self.state.undo(),
        }
        written
    }

    fn write_all(&mut self, commit: &Commit) -> Result<Vec<Answer>, CommitError> {
        let stands = self.state.shards.get(&commit.shard).copied().unwrap_or_default();
        if stands.term != commit.term || stands.batch.0 != commit.batch.0 - 1 {
            return Err(CommitError::NotOwner { shard: commit.shard });
        }
        let now = Standing { term: commit.term, batch: commit.batch, horizon: commit.horizon, next_id: commit.next_id };
        self.state.shards.put(commit.shard, now);
        if changes_roster(commit) {
            self.state.raise_revision();
        }
        for (index, change) in commit.changes.iter().enumerate() {
            self.state.apply(commit, change).map_err(|what| impossible(index, change, &what))?;
        }
        let granted = self.state.grant(commit).into_iter().map(Answer::Granted).collect::<Vec<_>>();
        let claims = commit.claims.iter().map(|claim| Answer::Claim(self.claim(claim)));
        Ok(granted.into_iter().chain(claims).collect())
    }

    fn claim(&mut self, claim: &Claim) -> ClaimAnswer {
        let holder = match self.state.claims.get(&claim.name) {
            Some((holder, _)) => *holder,
            None => {
                self.state.claims.put(claim.name.clone(), (claim.holder, claim.at));
                claim.holder
            }
        };
        ClaimAnswer { name: claim.name.clone(), wanted: claim.holder, holder }
    }
}

fn impossible(index: usize, change: &Change, what: &str) -> CommitError {
    CommitError::Impossible { index, what: format!("{}: {what}", subject(change)) }
}

impl Store for MemoryStore {
    fn take_over(&mut self, shard: ShardId) -> Result<Ownership, StoreError> {
        let mut inner = self.inner.lock();
        inner.ready()?;
        let standing = inner.take_over(shard);
        Ok(Ownership { term: standing.term, standing })
    }

    fn load(&mut self, shard: ShardId) -> Result<Stored, StoreError> {
        let mut inner = self.inner.lock();
        inner.ready()?;
        Ok(inner.state.load(shard))
    }

    fn commit(&mut self, commit: &Commit) -> Result<Vec<Answer>, CommitError> {
        self.inner.lock().commit(commit)
    }

    fn standing(&mut self, shard: ShardId) -> Result<Standing, StoreError> {
        let mut inner = self.inner.lock();
        inner.ready()?;
        Ok(inner.state.shards.get(&shard).copied().unwrap_or_default())
    }

    fn shards(&self) -> i64 {
        self.inner.lock().state.shards_max.max(1)
    }

    fn take_ids(&mut self, shard: Option<ShardId>, count: i64) -> Result<Range<i64>, StoreError> {
        let mut inner = self.inner.lock();
        inner.ready()?;
        let from = inner.state.next_id.max(1);
        let until = from + count.max(0);
        inner.state.next_id = until;
        if let Some(shard) = shard {
            inner.state.lent.insert(from, (until, shard));
        }
        Ok(from..until)
    }

    fn take_aliases(&mut self, count: i32) -> Result<Range<i32>, StoreError> {
        let mut inner = self.inner.lock();
        inner.ready()?;
        let from = inner.state.next_alias.max(1);
        inner.state.next_alias = from + count.max(0);
        Ok(from..inner.state.next_alias)
    }

    fn intern(&mut self, bodies: &[Vec<u8>]) -> Result<Vec<ContentId>, StoreError> {
        let mut inner = self.inner.lock();
        inner.ready()?;
        Ok(bodies.iter().map(|body| inner.state.intern(body)).collect())
    }

    fn tidy(&mut self, _: ShardId, _: Timestamp) -> Result<bool, StoreError> {
        // What is open is a table of its own here; there is no mark to raise.
        Ok(false)
    }

    fn retain(&mut self, keep: &Retention) -> Result<bool, StoreError> {
        let mut inner = self.inner.lock();
        inner.ready()?;
        Ok(inner.state.retain(keep))
    }

    fn retain_of(&mut self, keep: &TenantRetention, _: Reached) -> Result<Option<Reached>, StoreError> {
        let mut inner = self.inner.lock();
        inner.ready()?;
        inner.state.retain_of(keep);
        Ok(None)
    }
}
