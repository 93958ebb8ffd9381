//! Instances are kept in one table per planned day. Knows the days' names and statements, and which planned times a
//! block of ids holds. Never reads an instance.

use std::collections::hash_map::Entry;

use model::Timestamp;
use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::sql;

/// Ids per block: small enough to scan at once, large enough that a busy store widens few of them.
pub(super) const BLOCK_BITS: u32 = 12;
/// Planned times of a block are kept rounded outwards, so that not every commit widens one.
const GRAIN: i64 = 1_000_000;

pub(super) fn block_of(id: i64) -> i64 {
    id >> BLOCK_BITS
}

/// A statement of `instance_day` for one day, without the comment that explains it.
pub(super) fn on_day(statement: &'static str, day: i64) -> String {
    sql::body(statement).replace("instance_day", &table(day))
}

pub(super) fn table(day: i64) -> String {
    if day < 0 { format!("instance_dm{}", day.unsigned_abs()) } else { format!("instance_d{day}") }
}

/// Days the writer has seen, with what it needs for each.
#[derive(Default)]
pub(super) struct Days {
    known: FxHashMap<i64, Day>,
}

pub(super) struct Day {
    pub create: String,
    pub end: String,
    block: Option<Block>,
}

#[derive(Clone, Copy)]
struct Block {
    no: i64,
    from: i64,
    until: i64,
}

impl Days {
    /// What was learnt in a transaction that was rolled back is forgotten.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// The day, if it has a table.
    pub(super) fn find(&mut self, conn: &Connection, day: i64) -> rusqlite::Result<Option<&mut Day>> {
        match self.known.entry(day) {
            Entry::Occupied(known) => Ok(Some(known.into_mut())),
            Entry::Vacant(unknown) if exists(conn, day)? => Ok(Some(unknown.insert(Day::new(day)))),
            Entry::Vacant(_) => Ok(None),
        }
    }

    /// The day, its table made if need be.
    pub(super) fn make(&mut self, conn: &Connection, day: i64) -> rusqlite::Result<&mut Day> {
        match self.known.entry(day) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                if !exists(conn, day)? {
                    conn.execute_batch(&on_day(sql::CREATE_DAY, day))?;
                    conn.execute("insert into day (day) values (?1) on conflict do update set dropping = 0", [day])?;
                }
                Ok(unknown.insert(Day::new(day)))
            }
        }
    }

    /// Keeps the block ranges true for a new row.
    pub(super) fn cover(&mut self, conn: &Connection, id: i64, planned: Timestamp) -> rusqlite::Result<()> {
        let (no, at) = (block_of(id), planned.0);
        let day = self.make(conn, planned.day())?;
        let same = day.block.filter(|block| block.no == no);
        if same.is_some_and(|block| block.from <= at && at <= block.until) {
            return Ok(());
        }
        let mut from = at.div_euclid(GRAIN).saturating_mul(GRAIN);
        let mut until = from.saturating_add(GRAIN);
        if let Some(block) = same {
            from = from.min(block.from);
            until = until.max(block.until);
        }
        conn.prepare_cached(sql::body(sql::PUT_BLOCK))?.execute([no, planned.day(), from, until])?;
        day.block = Some(Block { no, from, until });
        Ok(())
    }
}

fn exists(conn: &Connection, day: i64) -> rusqlite::Result<bool> {
    conn.prepare_cached("select 1 from day where day = ?1 and dropping = 0")?.exists([day])
}

impl Day {
    fn new(day: i64) -> Day {
        Day { create: on_day(sql::CREATE_INSTANCE, day), end: on_day(sql::END_INSTANCE, day), block: None }
    }
}
