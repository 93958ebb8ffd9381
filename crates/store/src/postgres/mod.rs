//! The store in a PostgreSQL database (14 and newer), in a schema of its own. Writes on the caller's thread, one batch
//! per transaction, one statement per kind of change; reads come from connections of their own (`PgReads`). Connects
//! again by itself. Never decides anything.

mod access;
mod address;
mod apply;
mod apply_rest;
mod audit;
mod between;
mod claim;
mod column;
mod commit;
mod conn;
mod copy;
mod count;
mod create;
mod day;
mod errand;
mod error;
mod intern;
mod lane;
mod leases;
mod list;
mod load;
mod migrate;
mod open;
mod pool;
mod read;
mod retain;
mod row;
mod sql;
mod stage;
mod tenant;
mod tidy;
mod values;
mod wakes;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use engine::change::{Answer, Commit};
use model::{ContentId, ShardId, Term, Timestamp};
use rustc_hash::FxHashMap;
use tokio_postgres::types::ToSql;

use self::conn::Conn;
use self::day::Days;
use self::error::Fault;
use self::lane::Lane;
use crate::mark::Marks;
use crate::{CommitError, Ownership, Reached, Retention, Standing, Store, StoreError, Stored, TenantRetention};

pub(crate) use self::copy::{Begun, PgCopy};

pub use self::access::PgAccess;
pub use self::audit::PgAudit;
pub use self::leases::PgLeases;
pub use self::open::Options;
pub use self::pool::PgReads;
pub use self::wakes::PgWakes;

/// How long one call to the database may take before the connection counts as dead. Longer than the server itself
/// allows a statement, so that usually it is the server who gives up.
const PATIENCE: Duration = Duration::from_secs(30);
/// A large shard takes its time.
const LOAD_WITHIN: Duration = Duration::from_secs(600);

pub struct PgStore {
    lane: Lane,
    options: Options,
    shards: i64,
    days: Days,
    /// As last read or written by us; only the owner of a shard raises it.
    low_water: FxHashMap<ShardId, i64>,
    marks: FxHashMap<ShardId, Marks>,
    /// Under which we own what we took over.
    terms: FxHashMap<ShardId, Term>,
}

impl PgStore {
    /// Where the database is, for people; without the password.
    pub fn place(&self) -> String {
        self.lane.door().to_string()
    }

    /// A name for this installation, made with the store.
    pub fn installation(&mut self) -> Result<String, StoreError> {
        let text = "select value from meta where key = 'installation'";
        let found = self.lane.again(PATIENCE, async |conn: &Conn| conn.first(text, &[]).await)?;
        found.map(|row| row.get(0)).ok_or_else(|| StoreError::Corrupt("the installation's name is missing".into()))
    }

    fn check_shard(&self, shard: ShardId) -> Result<(), StoreError> {
        // Those above are tenants' own: whoever owns one had its lease.
        if (0..self.shards.max(model::SHARDS_MAX)).contains(&shard.0) {
            return Ok(());
        }
        Err(StoreError::Failed(format!("there is no shard {shard}; the store was made with {}", self.shards)))
    }

    /// The end of a range of numbers that was just taken; a range taken twice after a lost answer is only a gap.
    fn take(&mut self, text: &str, count: i64, more: &[&(dyn ToSql + Sync)]) -> Result<Range<i64>, StoreError> {
        let count = count.max(0);
        let values: Vec<&(dyn ToSql + Sync)> = [&[&count as _], more].concat();
        let found = self.lane.again(PATIENCE, async |conn: &Conn| conn.first(text, &values).await)?;
        let until: i64 =
            found.map(|row| row.get(0)).ok_or_else(|| StoreError::Corrupt("a counter is missing".into()))?;
        Ok(until - count..until)
    }
}

impl Store for PgStore {
    fn take_over(&mut self, shard: ShardId) -> Result<Ownership, StoreError> {
        self.check_shard(shard)?;
        let (standing, low_water) = self.lane.again(PATIENCE, async |conn: &Conn| {
            let row = conn.first(sql::TAKE_OVER, &[&shard.0]).await?;
            let row = row.ok_or_else(|| Fault::Impossible("the shard row did not answer".into()))?;
            Ok((load::read_standing(&row), row.get(4)))
        })?;
        self.days.forget();
        self.marks.remove(&shard);
        self.low_water.insert(shard, low_water);
        self.terms.insert(shard, standing.term);
        Ok(Ownership { term: standing.term, standing })
    }

    fn load(&mut self, shard: ShardId) -> Result<Stored, StoreError> {
        self.check_shard(shard)?;
        let stored = self.lane.again(LOAD_WITHIN, async |conn: &Conn| load::read_all(conn, shard).await)?;
        Ok(Stored { shards: self.shards, ..stored })
    }

    fn commit(&mut self, commit: &Commit) -> Result<Vec<Answer>, CommitError> {
        self.write(commit)
    }

    fn commit_all(&mut self, commits: &[Arc<Commit>]) -> Vec<Result<Vec<Answer>, CommitError>> {
        self.write_together(commits)
    }

    fn standing(&mut self, shard: ShardId) -> Result<Standing, StoreError> {
        self.check_shard(shard)?;
        Ok(self.lane.again(PATIENCE, async |conn: &Conn| load::standing(conn, shard).await)?)
    }

    fn shards(&self) -> i64 {
        self.shards
    }

    fn take_ids(&mut self, shard: Option<ShardId>, count: i64) -> Result<Range<i64>, StoreError> {
        self.take(sql::LEND, count, &[&shard.map(|shard| shard.0)])
    }

    fn take_aliases(&mut self, count: i32) -> Result<Range<i32>, StoreError> {
        let text = "update meta set value = value::int8 + $1::int8 where key = 'next_alias' returning value::int8";
        let taken = self.take(text, i64::from(count), &[])?;
        let small =
            |number| i32::try_from(number).map_err(|_| StoreError::Failed("the small numbers are used up".into()));
        Ok(small(taken.start)?..small(taken.end)?)
    }

    fn intern(&mut self, bodies: &[Vec<u8>]) -> Result<Vec<ContentId>, StoreError> {
        Ok(self.lane.again(PATIENCE, async |conn: &Conn| intern::keep(conn, bodies).await)?)
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
