//! Raises a shard's low-water mark: what is still open below the new mark is listed as open long, in the same
//! transaction. Loading then looks at recent ids and that list, and at nothing else. Also makes the days that are next.

use model::{ShardId, Span, Term, Timestamp};
use tokio_postgres::types::ToSql;

use super::conn::Conn;
use super::day::on_day;
use super::error::Fault;
use super::{PATIENCE, PgStore, load, sql};
use crate::StoreError;
use crate::block::{BLOCK_BITS, block_of};
use crate::mark::Marks;

/// Ids passed in one step; a few milliseconds of reading.
const STEP: i64 = 8_192;
/// The next day's table is there before its first instance.
const AHEAD: Span = Span::DAY;
/// The first block of ids that may hold something new.
const RECENT: &str = "select no from block where shard = $1 and no >= $2 and planned_until >= $3 order by no limit 1";

impl PgStore {
    pub(super) fn raise_mark(&mut self, shard: ShardId, now: Timestamp) -> Result<bool, StoreError> {
        for day in [now.day(), (now + AHEAD).day()] {
            if !self.days.is_known(day) {
                let days = &mut self.days;
                self.lane.once(PATIENCE, async |conn: &Conn| days.make(conn, day).await)?;
            }
        }
        let text = "select term, batch, horizon, next_id from shard where id = $1";
        let found = self.lane.again(PATIENCE, async |conn: &Conn| conn.first(text, &[&shard.0]).await)?;
        let next_id = found.map_or(0, |row| load::read_standing(&row).next_id);
        let low = self.low_water.get(&shard).copied().unwrap_or(0);
        if !self.marks.contains_key(&shard) {
            // A shard that often moves would begin anew with every owner, and its mark would never rise.
            let old = Marks::long_ago(now).0;
            let values: [&(dyn ToSql + Sync); 3] = [&shard.0, &block_of(low), &old];
            let found = self.lane.again(PATIENCE, async |conn: &Conn| conn.first(RECENT, &values).await)?;
            let recent = found.map_or(next_id, |row| row.get::<_, i64>(0) << BLOCK_BITS);
            self.marks.insert(shard, Marks::known(now, recent.min(next_id)));
        }
        let Some(goal) = self.marks.entry(shard).or_default().follow(now, next_id) else { return Ok(false) };
        let Some(term) = self.terms.get(&shard).copied().filter(|_| goal > low) else { return Ok(false) };
        let mark = self.lane.again(PATIENCE, async |conn: &Conn| {
            conn.batch("begin").await?;
            match raise(conn, shard, term, goal).await {
                Ok(mark) => conn.batch("commit").await.map(|()| mark),
                Err(fault) => {
                    // A connection that cannot do this is dropped, and the server ends the transaction.
                    let _ = conn.batch("rollback").await;
                    Err(fault)
                }
            }
        })?;
        let Some(mark) = mark else { return Ok(false) };
        self.low_water.insert(shard, mark);
        Ok(mark < goal)
    }
}

/// None if another owner has the shard: then it is that one's mark.
async fn raise(conn: &Conn, shard: ShardId, term: Term, goal: i64) -> Result<Option<i64>, Fault> {
    let own = "select low_water from shard where id = $1 and term = $2 for update";
    let Some(row) = conn.first(own, &[&shard.0, &term.0]).await? else { return Ok(None) };
    let low: i64 = row.get(0);
    if goal <= low {
        return Ok(Some(low));
    }
    // Ids are lent in blocks; where none of ours are, there is nothing to read.
    let next = "select no from block where shard = $1 and no >= $2 order by no limit 1";
    let first = conn.first(next, &[&shard.0, &block_of(low)]).await?;
    let mark = match first.map(|row| row.get::<_, i64>(0)) {
        None => goal,
        Some(first) => {
            let next = low.max(first << BLOCK_BITS).min(goal);
            let mark = goal.min(next.saturating_add(STEP));
            let days = "select distinct day from block where shard = $1 and no between $2 and $3";
            for day in conn.query(days, &[&shard.0, &block_of(next), &block_of(mark)]).await? {
                let day: i64 = day.get(0);
                conn.execute(&on_day(sql::LIST_LONG_OPEN, day), &[&shard.0, &next, &mark, &day]).await?;
            }
            mark
        }
    };
    conn.execute("update shard set low_water = $2 where id = $1", &[&shard.0, &mark]).await?;
    Ok(Some(mark))
}
