//! A shard's owner that fires one job again and again, for tests about the store rather than about what it holds.

#![allow(dead_code)] // Each program uses what it needs of it.

use duly_store::{CommitError, Store};
use engine::change::{Change, Commit, Created, Ended, Row};
use model::*;

pub(crate) struct Owner<S> {
    pub(crate) store: S,
    pub(crate) term: Term,
    pub(crate) batch: i64,
}

impl<S: Store> Owner<S> {
    pub(crate) fn new(mut store: S) -> Owner<S> {
        let own = store.take_over(ShardId(0)).unwrap();
        Owner { store, term: own.term, batch: own.standing.batch.0 }
    }

    /// Batch n creates instance n, planned n seconds after midnight, and ends the one before: one is always open.
    pub(crate) fn next(&self) -> Commit {
        let n = self.batch + 1;
        let mut changes = vec![Change::Created(created(n))];
        if n > 1 {
            changes.push(ended(n - 1));
        }
        self.commit_of(changes)
    }

    pub(crate) fn commit_of(&self, changes: Vec<Change>) -> Commit {
        let n = self.batch + 1;
        Commit {
            shard: ShardId(0),
            term: self.term,
            batch: Batch(n),
            horizon: row(n).planned,
            next_id: n + 1,
            changes,
            claims: vec![],
        }
    }

    pub(crate) fn step(&mut self) -> Result<(), CommitError> {
        let commit = self.next();
        self.store.commit(&commit)?;
        self.batch += 1;
        Ok(())
    }

    pub(crate) fn open(&mut self) -> Vec<i64> {
        self.store.load(ShardId(0)).unwrap().open.iter().map(|instance| instance.id.0).collect()
    }
}

pub(crate) fn row(n: i64) -> Row {
    let midnight = Timestamp(20_000 * Span::DAY.0);
    Row { id: InstanceId(n), job: JobId(1), planned: midnight + Span::secs(n) }
}

pub(crate) fn created(n: i64) -> Created {
    Created {
        row: row(n),
        tenant: TenantId(1),
        version: VersionId(1),
        part: Part::WHOLE,
        parent: None,
        cause: Cause::Planned,
        params: None,
        state: State::Scheduled,
        attempt: AttemptId(n),
        target: None,
        at: row(n).planned,
    }
}

pub(crate) fn ended(n: i64) -> Change {
    ended_by(n, n)
}

pub(crate) fn ended_by(n: i64, attempt: i64) -> Change {
    let at = row(n).planned;
    Change::Ended(Ended {
        row: row(n),
        attempt: AttemptId(attempt),
        ending: Ending::Succeeded,
        target: None,
        ordered_at: None,
        at,
        outcome: None,
        why: None,
    })
}
