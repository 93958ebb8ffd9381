//! Instances are kept in one table per planned day, a partition of `instance`. Knows the days' names and statements, and
//! what blocks of ids are known to hold. Never reads an instance.

use std::sync::Arc;

use model::{ShardId, Span, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};

use super::conn::Conn;
use super::error::Fault;
use super::sql;
use crate::block::Block;

/// "day": held while a day is made or dropped, with the day's number.
pub(super) const LOCK: i32 = 0x0064_6179;

/// A statement of `instance_day` for one day.
pub(super) fn on_day(statement: &'static str, day: i64) -> Arc<str> {
    statement.replace("instance_day", &table(day)).into()
}

pub(super) fn table(day: i64) -> String {
    if day < 0 { format!("instance_dm{}", day.unsigned_abs()) } else { format!("instance_d{day}") }
}

/// Days the writer has seen, and how wide it left the newest block of each.
#[derive(Default)]
pub(super) struct Days {
    known: FxHashSet<i64>,
    blocks: FxHashMap<(ShardId, i64), Block>,
}

impl Days {
    /// What was learnt in a transaction that was rolled back is forgotten.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.blocks.clear();
    }

    pub(super) fn is_known(&self, day: i64) -> bool {
        self.known.contains(&day)
    }

    /// Learns whether there is such a day.
    pub(super) async fn find(&mut self, conn: &Conn, day: i64) -> Result<bool, Fault> {
        if !self.is_known(day) && exists(conn, day).await? {
            self.known.insert(day);
        }
        Ok(self.is_known(day))
    }

    /// The day's table is made if need be, in a transaction of its own: an empty day says nothing, so it may come
    /// before the commit that fills it, and nobody waits for that commit.
    pub(super) async fn make(&mut self, conn: &Conn, day: i64) -> Result<(), Fault> {
        if self.find(conn, day).await? {
            return Ok(());
        }
        conn.batch("begin").await?;
        match create(conn, day).await {
            Ok(()) => conn.batch("commit").await?,
            Err(fault) => {
                // A connection that cannot do this is dropped, and the server ends the transaction.
                let _ = conn.batch("rollback").await;
                return Err(fault);
            }
        }
        self.known.insert(day);
        Ok(())
    }

    /// The blocks that must be widened for these new rows.
    pub(super) fn widen(
        &mut self,
        rows: impl Iterator<Item = (ShardId, i64, Timestamp)>,
    ) -> FxHashMap<(ShardId, i64, i64), Block> {
        let mut wider: FxHashMap<(ShardId, i64, i64), Block> = FxHashMap::default();
        for (shard, id, planned) in rows {
            let day = planned.day();
            let Some(block) = Block::widened(self.blocks.get(&(shard, day)).copied(), id, planned) else { continue };
            self.blocks.insert((shard, day), block);
            let known = wider.entry((shard, block.no, day)).or_insert(block);
            known.from = known.from.min(block.from);
            known.until = known.until.max(block.until);
        }
        wider
    }
}

async fn exists(conn: &Conn, day: i64) -> Result<bool, Fault> {
    Ok(conn.first("select 1 from day where day = $1", &[&day]).await?.is_some())
}

/// Two servers may need a day at once; the second finds it made.
async fn create(conn: &Conn, day: i64) -> Result<(), Fault> {
    conn.execute("select pg_advisory_xact_lock($1, $2)", &[&LOCK, &(day as i32)]).await?;
    if exists(conn, day).await? {
        return Ok(());
    }
    let first = day.saturating_mul(Span::DAY.0);
    let text = on_day(sql::CREATE_DAY, day)
        .replace("first_instant", &first.to_string())
        .replace("last_instant", &first.saturating_add(Span::DAY.0).to_string());
    conn.batch(&text).await?;
    conn.execute("insert into day (day) values ($1)", &[&day]).await?;
    Ok(())
}
