//! Instances are kept in one table per planned day. Knows the days' names and statements, and keeps the blocks of ids
//! wide enough. Never reads an instance.

use std::collections::hash_map::Entry;

use model::Timestamp;
use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::sql;
use crate::block::Block;

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
        let day = self.make(conn, planned.day())?;
        let Some(block) = Block::widened(day.block, id, planned) else { return Ok(()) };
        conn.prepare_cached(sql::body(sql::PUT_BLOCK))?.execute([block.no, planned.day(), block.from, block.until])?;
        day.block = Some(block);
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
