//! One batch, one transaction: the shard row first, then every change, then the claims. Compares what was written with
//! what was expected, and writes all of it or nothing.

use engine::change::{Answer, Claim, ClaimAnswer, Commit};
use rusqlite::Connection;

use super::apply::Applying;
use super::error::{Fault, commit_error, write_error};
use super::{SqliteStore, sql};
use crate::CommitError;
use crate::code;
use crate::roster::changes_roster;
use crate::subject::subject;

impl SqliteStore {
    pub(super) fn write(&mut self, commit: &Commit) -> Result<Vec<Answer>, CommitError> {
        let gate = self.gate.clone();
        let _turn = gate.lock();
        begin(&self.conn).map_err(write_error)?;
        let answers = self.write_all(commit);
        match answers {
            Ok(answers) => match self.conn.prepare_cached("commit").and_then(|mut s| s.execute([])) {
                Ok(_) => Ok(answers),
                Err(error) => Err(self.undo(write_error(error))),
            },
            Err(error) => Err(self.undo(error)),
        }
    }

    fn write_all(&mut self, commit: &Commit) -> Result<Vec<Answer>, CommitError> {
        advance(&self.conn, commit).map_err(|fault| refused(fault, commit, 0, "the shard row".into()))?;
        if changes_roster(commit) {
            raise_revision(&self.conn).map_err(|e| refused(e.into(), commit, 0, "the revision".into()))?;
        }
        let low_water = self.low_water.get(&commit.shard).copied().unwrap_or(0);
        let mut applying = Applying::new(&self.conn, &mut self.days, commit, low_water);
        for (index, change) in commit.changes.iter().enumerate() {
            if let Err(fault) = applying.apply(change) {
                return Err(refused(fault, commit, index, subject(change)));
            }
        }
        let mut answers = Vec::with_capacity(commit.claims.len());
        let granted = applying.grant().map_err(|fault| refused(fault, commit, 0, "a line".into()))?;
        answers.extend(granted.into_iter().map(Answer::Granted));
        for (index, one) in commit.claims.iter().enumerate() {
            let answer = claim(&self.conn, one)
                .map_err(|e| refused(e.into(), commit, commit.changes.len() + index, format!("{:?}", one.name)))?;
            answers.push(Answer::Claim(answer));
        }
        Ok(answers)
    }

    /// After a fault nothing of the batch is left, in the file or in what we remember of it.
    pub(super) fn undo(&mut self, error: CommitError) -> CommitError {
        self.days.forget();
        if self.conn.is_autocommit() {
            return error;
        }
        match self.conn.execute_batch("rollback") {
            Ok(()) => error,
            Err(failed) => CommitError::Fatal(format!("{error}; and it cannot be rolled back: {failed}")),
        }
    }
}

pub(super) fn begin(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("begin immediate")?.execute([]).map(drop)
}

fn advance(conn: &Connection, commit: &Commit) -> Result<(), Fault> {
    let rows = conn.prepare_cached(sql::body(sql::ADVANCE_SHARD))?.execute([
        commit.shard.0,
        commit.term.0,
        commit.batch.0,
        commit.horizon.0,
        commit.next_id,
    ])?;
    if rows == 1 { Ok(()) } else { Err(Fault::NotOwner) }
}

fn raise_revision(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("update meta set value = value + 1 where key = 'revision'")?.execute([]).map(drop)
}

fn refused(fault: Fault, commit: &Commit, index: usize, subject: String) -> CommitError {
    match fault {
        Fault::NotOwner => CommitError::NotOwner { shard: commit.shard },
        Fault::Impossible(what) => CommitError::Impossible { index, what: format!("{subject}: {what}") },
        Fault::Sql(error) => commit_error(error, index, || subject.clone()),
    }
}

fn claim(conn: &Connection, claim: &Claim) -> rusqlite::Result<ClaimAnswer> {
    let (kind, tenant, name) = code::claim(&claim.name);
    let taken =
        conn.prepare_cached(sql::body(sql::PUT_CLAIM))?.execute((kind, tenant, name, claim.holder, claim.at.0))?;
    let holder = if taken == 1 {
        claim.holder
    } else {
        conn.prepare_cached("select holder from claim where kind = ?1 and tenant = ?2 and name = ?3")?
            .query_row((kind, tenant, name), |row| row.get(0))?
    };
    Ok(ClaimAnswer { name: claim.name.clone(), wanted: claim.holder, holder })
}

#[cfg(test)]
mod tests {
    use engine::change::{Change, Created, Row};
    use model::{
        AttemptId, Batch, Cause, InstanceId, JobId, Part, ShardId, Span, State, TenantId, Timestamp, VersionId,
    };

    use super::*;
    use crate::Store;
    use crate::sqlite::Options;

    /// Many rows on a day that has no table yet.
    fn batch(term: model::Term) -> Commit {
        let created = |id: i64| Created {
            row: Row { id: InstanceId(id), job: JobId(1), planned: Timestamp(id * Span::SECOND.0) },
            tenant: TenantId(1),
            version: VersionId(1),
            part: Part::WHOLE,
            parent: None,
            cause: Cause::Planned,
            params: None,
            state: State::Ready,
            attempt: AttemptId(id),
            target: None,
            at: Timestamp(0),
        };
        Commit {
            shard: ShardId(0),
            term,
            batch: Batch(1),
            horizon: Timestamp(0),
            next_id: 5_001,
            changes: (1..=5_000).map(|id| Change::Created(created(id))).collect(),
            claims: vec![],
        }
    }

    #[test]
    fn a_full_disk_refuses_the_batch_and_takes_it_when_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = SqliteStore::open(dir.path(), &Options::default()).unwrap();
        let commit = batch(store.take_over(ShardId(0)).unwrap().term);
        let pages: i64 = store.conn.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        for room in [0, 2, 8, 40] {
            store.conn.pragma_update(None, "max_page_count", pages + room).unwrap();
            let full = store.commit(&commit);
            assert!(matches!(&full, Err(CommitError::Retry(why)) if why.contains("full")), "{full:?}");
            assert_eq!(store.standing(ShardId(0)).unwrap().batch, Batch(0));
            assert!(store.load(ShardId(0)).unwrap().open.is_empty());
        }
        store.conn.pragma_update(None, "max_page_count", 1_000_000).unwrap();
        store.commit(&commit).unwrap();
        assert_eq!(store.load(ShardId(0)).unwrap().open.len(), 5_000);
    }

    #[test]
    fn another_process_that_writes_is_waited_for_and_then_told() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { busy_timeout: std::time::Duration::from_millis(50), ..Options::default() };
        let mut store = SqliteStore::open(dir.path(), &options).unwrap();
        let commit = batch(store.take_over(ShardId(0)).unwrap().term);
        let other = Connection::open(store.path()).unwrap();
        other.execute_batch("begin immediate").unwrap();
        assert!(matches!(store.commit(&commit), Err(CommitError::Retry(_))));
        other.execute_batch("rollback").unwrap();
        store.commit(&commit).unwrap();
    }
}
