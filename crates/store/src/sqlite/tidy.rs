//! Raises a shard's low-water mark: what is still open below the new mark is listed as open long, in the same
//! transaction. Loading then looks at recent ids and that list, and at nothing else.

use model::{ShardId, Timestamp};
use rusqlite::Connection;

use super::day::on_day;
use super::{SqliteStore, commit, load, sql};
use crate::StoreError;
use crate::block::{BLOCK_BITS, block_of};

/// Ids passed in one step; a few milliseconds of reading.
const STEP: i64 = 8_192;

impl SqliteStore {
    pub(super) fn raise_mark(&mut self, shard: ShardId, now: Timestamp) -> Result<bool, StoreError> {
        let next_id = load::standing(&self.conn, shard)?.next_id;
        let Some(goal) = self.marks.entry(shard).or_default().follow(now, next_id) else { return Ok(false) };
        let low: i64 = self.conn.query_row("select low_water from shard where id = ?1", [shard.0], |row| row.get(0))?;
        if goal <= low {
            return Ok(false);
        }
        let gate = self.gate.clone();
        let _turn = gate.lock();
        commit::begin(&self.conn)?;
        let raised = raise(&self.conn, shard, low, goal).and_then(|mark| {
            self.conn.execute_batch("commit")?;
            Ok(mark)
        });
        if !self.conn.is_autocommit() {
            self.conn.execute_batch("rollback")?;
        }
        let mark = raised?;
        self.low_water.insert(shard, mark);
        Ok(mark < goal)
    }
}

fn raise(conn: &Connection, shard: ShardId, low: i64, goal: i64) -> rusqlite::Result<i64> {
    // Ids are lent in blocks; where none of ours are, there is nothing to read.
    let first: Option<i64> =
        conn.query_row("select min(no) from block where no >= ?1", [block_of(low)], |row| row.get(0))?;
    let Some(first) = first else { return set(conn, shard, goal) };
    let next = low.max(first << BLOCK_BITS).min(goal);
    let mark = goal.min(next.saturating_add(STEP));
    let mut days = conn.prepare_cached("select distinct day from block where no between ?1 and ?2")?;
    let days = days.query_map([block_of(next), block_of(mark)], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    for day in days {
        conn.prepare_cached(&on_day(sql::LIST_LONG_OPEN, day))?.execute([shard.0, low, mark, day])?;
    }
    set(conn, shard, mark)
}

fn set(conn: &Connection, shard: ShardId, mark: i64) -> rusqlite::Result<i64> {
    conn.prepare_cached("update shard set low_water = ?2 where id = ?1")?.execute([shard.0, mark])?;
    Ok(mark)
}
