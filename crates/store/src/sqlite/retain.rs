//! Forgets history, a bounded step at a time: a planned day goes as a whole table, unless something planned on it is
//! open; a large one is thinned first, so that no commit waits for the drop. What a kept ledger refers to stays.

use model::{ShardId, Span, State};
use rusqlite::Connection;

use super::day::{on_day, table};
use super::intern::unix_secs;
use super::{SqliteStore, commit, sql};
use crate::block::block_of;
use crate::code::Code;
use crate::{HISTORY_MARGIN, Reached, Retention, StoreError, TenantRetention};

/// Bytes nobody names yet may be about to be named.
const UNNAMED_SECS: i64 = 24 * 3600;

impl SqliteStore {
    pub(super) fn forget(&mut self, keep: &Retention) -> Result<bool, StoreError> {
        self.in_its_turn(|conn| step(conn, keep))
    }

    pub(super) fn forget_of(&mut self, keep: &TenantRetention, from: Reached) -> Result<Option<Reached>, StoreError> {
        self.in_its_turn(|conn| step_of(conn, keep, from))
    }

    fn in_its_turn<T>(&mut self, step: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let gate = self.gate.clone();
        let _turn = gate.lock();
        commit::begin(&self.conn)?;
        let step = step(&self.conn).and_then(|done| {
            self.conn.execute_batch("commit")?;
            Ok(done)
        });
        if !self.conn.is_autocommit() {
            self.conn.execute_batch("rollback")?;
        }
        self.days.forget();
        Ok(step?)
    }
}

fn step(conn: &Connection, keep: &Retention) -> rusqlite::Result<bool> {
    let mut days = conn.prepare_cached("select day from day where day < ?1 order by day")?;
    let days = days.query_map([keep.before_day], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    for day in days {
        if !is_open(conn, day)? {
            drop_day(conn, day, keep.rows_max)?;
            return Ok(true);
        }
    }
    rest(conn, keep)
}

/// Some rows of one day, by their ids: those of the tenant go, with what belongs to them.
fn step_of(conn: &Connection, keep: &TenantRetention, from: Reached) -> rusqlite::Result<Option<Reached>> {
    let mut next = conn.prepare_cached("select min(day) from day where day >= ?1 and day < ?2 and dropping = 0")?;
    let next: Option<i64> = next.query_row([from.day, keep.before_day], |row| row.get(0))?;
    let Some(day) = next else { return Ok(None) };
    if is_open(conn, day)? {
        return Ok(Some(Reached::after_day(day)));
    }
    let (table, after) = (table(day), from.on(day));
    let last = format!("select max(id) from (select id from {table} where id > ?1 order by id limit ?2)");
    let last: Option<i64> = conn.query_row(&last, [after, i64::from(keep.rows_max)], |row| row.get(0))?;
    let Some(last) = last else { return Ok(Some(Reached::after_day(day))) };
    let theirs = format!("from {table} where id > ?1 and id <= ?2 and tenant = ?3 and ended_at is not null");
    for statement in [
        format!("delete from attempt where instance in (select id {theirs})"),
        format!("delete from later_attempt where day = {day} and instance in (select id {theirs})"),
        format!("delete from unwell where (state, planned, id) in (select state, planned, id {theirs})"),
        format!("delete {theirs}"),
    ] {
        conn.execute(&statement, [after, last, keep.tenant.0])?;
    }
    Ok(Some(Reached { day, id: last }))
}

/// Open instances are listed as open long, or their id is not below the low-water mark of their shard.
fn is_open(conn: &Connection, day: i64) -> rusqlite::Result<bool> {
    let mut long = conn.prepare_cached("select id from open_long where day = ?1")?;
    let long = long.query_map([day], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    for id in long {
        if conn.prepare_cached(&on_day(sql::OPEN_INSTANCE, day))?.exists([id])? {
            return Ok(true);
        }
    }
    let mut shards = conn.prepare_cached("select id, low_water from shard")?;
    let shards = shards
        .query_map([], |row| Ok((ShardId(row.get(0)?), row.get(1)?)))?
        .collect::<Result<Vec<(ShardId, i64)>, _>>()?;
    for (shard, low) in shards {
        let recent =
            conn.prepare_cached("select 1 from block where day = ?1 and no >= ?2")?.exists([day, block_of(low)])?;
        if recent && conn.prepare_cached(&on_day(sql::OPEN_SINCE, day))?.exists([shard.0])? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn drop_day(conn: &Connection, day: i64, rows_max: u32) -> rusqlite::Result<()> {
    conn.execute("update day set dropping = 1 where day = ?1", [day])?;
    let midnight = day.saturating_mul(Span::DAY.0);
    for state in State::ALL {
        conn.prepare_cached("delete from unwell where state = ?1 and planned >= ?2 and planned < ?3")?.execute([
            state.code(),
            midnight,
            midnight.saturating_add(Span::DAY.0),
        ])?;
    }
    let thinned = conn.prepare_cached(&on_day(sql::THIN_DAY, day))?.execute([rows_max])?;
    if thinned >= rows_max as usize {
        return Ok(());
    }
    conn.execute_batch(&format!("drop table {}", table(day)))?;
    for of_day in ["block", "attempt", "later_attempt", "open_long", "day"] {
        conn.execute(&format!("delete from {of_day} where day = ?1"), [day])?;
    }
    Ok(())
}

/// Everything that is not an instance, each up to the bound.
fn rest(conn: &Connection, keep: &Retention) -> rusqlite::Result<bool> {
    let line = keep.before_day.saturating_mul(Span::DAY.0);
    // A day that was kept for something open keeps what its ledger refers to.
    let oldest: Option<i64> = conn.query_row("select min(day) from day", [], |row| row.get(0))?;
    let kept_day = oldest.unwrap_or(keep.before_day).min(keep.before_day);
    let margin = kept_day.saturating_mul(Span::DAY.0).saturating_sub(HISTORY_MARGIN.0);
    let rows = i64::from(keep.rows_max);
    let mut more = false;
    for (statement, before) in [
        ("delete from gap where id in (select id from gap where last < ?1 limit ?2)", line),
        ("delete from note where id in (select id from note where at < ?1 limit ?2)", line),
        (
            "delete from orphan where (attempt, agent, kind) in
          (select attempt, agent, kind from orphan where at < ?1 limit ?2)",
            line,
        ),
        ("delete from quarantine where id in (select id from quarantine where held = 0 and at < ?1 limit ?2)", line),
        (
            "delete from claim where (kind, tenant, name) in
          (select kind, tenant, name from claim where kind = 2 and at < ?1 limit ?2)",
            keep.keys_before.0,
        ),
        (
            "delete from job_interval where (job, since) in
          (select job, since from job_interval where until < ?1 limit ?2)",
            margin,
        ),
    ] {
        more |= conn.prepare_cached(statement)?.execute([before, rows])? as i64 == rows;
    }
    more |= versions(conn, margin, kept_day, rows)?;
    let removed = "delete from job where id in (select id from job where removed_at < ?1
        and not exists (select 1 from job_version where job_version.job = job.id) limit ?2)";
    more |= conn.prepare_cached(removed)?.execute([margin, rows])? as i64 == rows;
    let unnamed = "delete from content where id in (select id from content where refs = 0 and touched_at < ?1
        and (kept_day is null or kept_day < ?3) limit ?2)";
    more |= conn.prepare_cached(unnamed)?.execute([unix_secs() - UNNAMED_SECS, rows, kept_day])? as i64 == rows;
    Ok(more)
}

/// A version stays while its job has it, an interval names it, or an instance may be frozen with it.
fn versions(conn: &Connection, margin: i64, kept_day: i64, rows: i64) -> rusqlite::Result<bool> {
    let mut old = conn.prepare_cached(sql::body(sql::OLD_VERSIONS))?;
    let old = old
        .query_map([margin, kept_day, rows], |row| Ok((row.get(0)?, [row.get(1)?, row.get(2)?, row.get(3)?])))?
        .collect::<Result<Vec<(i64, [i64; 3])>, _>>()?;
    for (version, contents) in &old {
        conn.prepare_cached("delete from job_version where id = ?1")?.execute([version])?;
        for content in contents {
            conn.prepare_cached("update content set refs = refs - 1 where id = ?1")?.execute([content])?;
        }
    }
    Ok(old.len() as i64 == rows)
}
