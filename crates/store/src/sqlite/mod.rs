//! The store in one SQLite file. Writes on the caller's thread, one batch per transaction; reads come from connections
//! of their own (`SqliteReads`), the log is moved into the file by a thread. Never decides anything.

mod access;
mod apply;
mod apply_rest;
mod audit;
mod backup;
mod between;
mod checkpoint;
mod commit;
mod copy;
mod count;
mod day;
mod errand;
mod error;
mod intern;
mod list;
mod load;
mod migrate;
mod open;
mod pool;
mod read;
mod retain;
mod row;
mod sql;
mod tenant;
mod ticket;
mod tidy;
mod values;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::change::{Answer, Commit};
use model::{ContentId, ShardId, Term, Timestamp};
use parking_lot::Mutex;
use rusqlite::Connection;
use rustc_hash::FxHashMap;

use self::checkpoint::Checkpointer;
use self::day::Days;
use crate::mark::Marks;
use crate::{CommitError, Ownership, Reached, Retention, Standing, Store, StoreError, Stored, TenantRetention};

pub use self::access::SqliteAccess;
pub use self::audit::SqliteAudit;
pub(crate) use self::copy::{Counters, Source};

pub use self::backup::{Restored, backup, restore};
pub use self::open::{FILE, Options};
pub use self::pool::SqliteReads;

/// Writers of one process take turns here instead of polling SQLite's lock.
type Gate = Arc<Mutex<()>>;

pub struct SqliteStore {
    conn: Connection,
    path: PathBuf,
    options: Options,
    shards: i64,
    gate: Gate,
    days: Days,
    /// As last read or written by us; only the owner of a shard raises it.
    low_water: FxHashMap<ShardId, i64>,
    marks: FxHashMap<ShardId, Marks>,
    _checkpointer: Checkpointer,
}

impl SqliteStore {
    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A name for this installation, made with the store.
    pub fn installation(&self) -> Result<String, StoreError> {
        Ok(self.conn.query_row("select value from meta where key = 'installation'", [], |row| row.get(0))?)
    }

    fn check_shard(&self, shard: ShardId) -> Result<(), StoreError> {
        if (0..self.shards).contains(&shard.0) {
            return Ok(());
        }
        Err(StoreError::Failed(format!("there is no shard {shard}; the store was made with {}", self.shards)))
    }
}

impl Store for SqliteStore {
    fn take_over(&mut self, shard: ShardId) -> Result<Ownership, StoreError> {
        self.check_shard(shard)?;
        let (standing, low_water) = {
            let _turn = self.gate.lock();
            let mut statement = self.conn.prepare_cached(sql::body(sql::TAKE_OVER))?;
            let mut rows = statement
                .query_map([shard.0], |row| {
                    let standing = Standing {
                        term: Term(row.get(0)?),
                        batch: model::Batch(row.get(1)?),
                        horizon: Timestamp(row.get(2)?),
                        next_id: row.get(3)?,
                    };
                    Ok((standing, row.get(4)?))
                })?
                .collect::<Result<Vec<_>, _>>()?;
            rows.pop().ok_or_else(|| StoreError::Failed("the shard row did not answer".into()))?
        };
        self.days.forget();
        self.marks.remove(&shard);
        self.low_water.insert(shard, low_water);
        Ok(Ownership { term: standing.term, standing })
    }

    fn load(&mut self, shard: ShardId) -> Result<Stored, StoreError> {
        self.check_shard(shard)?;
        self.read_all(shard)
    }

    fn commit(&mut self, commit: &Commit) -> Result<Vec<Answer>, CommitError> {
        self.write(commit)
    }

    fn standing(&mut self, shard: ShardId) -> Result<Standing, StoreError> {
        self.check_shard(shard)?;
        Ok(load::standing(&self.conn, shard)?)
    }

    fn shards(&self) -> i64 {
        self.shards
    }

    fn take_ids(&mut self, shard: Option<ShardId>, count: i64) -> Result<Range<i64>, StoreError> {
        let _turn = self.gate.lock();
        let count = count.max(0);
        let tx = self.conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let until: i64 =
            tx.query_row("update counter set next = next + ?1 returning next", [count], |row| row.get(0))?;
        if let Some(shard) = shard.filter(|_| count > 0) {
            tx.execute("insert into lent (first, until, shard) values (?1, ?2, ?3)", [until - count, until, shard.0])?;
        }
        tx.commit()?;
        Ok(until - count..until)
    }

    fn take_aliases(&mut self, count: i32) -> Result<Range<i32>, StoreError> {
        let _turn = self.gate.lock();
        let take = "update meta set value = value + ?1 where key = 'next_alias' returning value";
        let until: i32 = self.conn.query_row(take, [count.max(0)], |row| row.get(0))?;
        Ok(until - count.max(0)..until)
    }

    fn intern(&mut self, bodies: &[Vec<u8>]) -> Result<Vec<ContentId>, StoreError> {
        self.keep(bodies)
    }

    fn tidy(&mut self, shard: ShardId, now: Timestamp) -> Result<bool, StoreError> {
        self.check_shard(shard)?;
        self.raise_mark(shard, now)
    }

    fn retain(&mut self, keep: &Retention) -> Result<bool, StoreError> {
        self.forget(keep)
    }

    fn retain_of(&mut self, keep: &TenantRetention, from: Reached) -> Result<Option<Reached>, StoreError> {
        self.forget_of(keep, from)
    }
}
