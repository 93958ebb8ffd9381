//! Forgets history, a bounded step at a time: a planned day goes as a whole table, unless something planned on it is
//! open. What a kept ledger refers to stays. Of several servers one forgets at a time.

use std::time::Duration;

use model::{ShardId, Span};

use super::conn::Conn;
use super::day::{LOCK as DAY_LOCK, on_day, table};
use super::error::Fault;
use super::intern::unix_secs;
use super::{PATIENCE, PgStore, sql};
use crate::block::block_of;
use crate::{HISTORY_MARGIN, Reached, Retention, StoreError, TenantRetention};

/// Bytes nobody names yet may be about to be named.
const UNNAMED_SECS: i64 = 24 * 3600;
/// Who reads the day that is to go keeps it a while longer.
const LOCK_WITHIN: Duration = Duration::from_millis(200);
/// "keep": held by the one who forgets.
const LOCK: i64 = 0x6b65_6570;

impl PgStore {
    pub(super) fn forget(&mut self, keep: &Retention) -> Result<bool, StoreError> {
        self.in_its_turn(async |conn: &Conn| step(conn, keep).await)
    }

    pub(super) fn forget_of(&mut self, keep: &TenantRetention, from: Reached) -> Result<Option<Reached>, StoreError> {
        self.in_its_turn(async |conn: &Conn| step_of(conn, keep, from).await)
    }

    /// Somebody looks at what was to go: there is nothing to do now.
    fn in_its_turn<T: Default>(&mut self, step: impl AsyncFn(&Conn) -> Result<T, Fault>) -> Result<T, StoreError> {
        let done = self.lane.again(PATIENCE, async |conn: &Conn| {
            conn.batch(&format!("begin; set local lock_timeout = {}", LOCK_WITHIN.as_millis())).await?;
            match step(conn).await {
                Ok(done) => conn.batch("commit").await.map(|()| done),
                Err(fault) => {
                    // A connection that cannot do this is dropped, and the server ends the transaction.
                    let _ = conn.batch("rollback").await;
                    if fault.is_locked() { Ok(T::default()) } else { Err(fault) }
                }
            }
        });
        self.days.forget();
        Ok(done?)
    }
}

async fn step(conn: &Conn, keep: &Retention) -> Result<bool, Fault> {
    let mine = conn.first("select 1 where pg_try_advisory_xact_lock($1)", &[&LOCK]).await?;
    if mine.is_none() {
        return Ok(false);
    }
    for day in conn.query("select day from day where day < $1 order by day", &[&keep.before_day]).await? {
        let day: i64 = day.get(0);
        if !is_open(conn, day).await? && drop_day(conn, day).await? {
            return Ok(true);
        }
    }
    Ok(of_dropped_days(conn, keep).await? | rest(conn, keep).await?)
}

/// Some rows of one day, by their ids: those of the tenant go, with what belongs to them.
async fn step_of(conn: &Conn, keep: &TenantRetention, from: Reached) -> Result<Option<Reached>, Fault> {
    let next = "select min(day) from day where day >= $1 and day < $2";
    let next = conn.first(next, &[&from.day, &keep.before_day]).await?;
    let Some(day) = next.and_then(|row| row.get::<_, Option<i64>>(0)) else { return Ok(None) };
    if is_open(conn, day).await? {
        return Ok(Some(Reached::after_day(day)));
    }
    let (table, after) = (table(day), from.on(day));
    let last = format!("select max(id) from (select id from {table} where id > $1 order by id limit $2) as looked");
    let last = conn.first(&last, &[&after, &i64::from(keep.rows_max)]).await?;
    let Some(last) = last.and_then(|row| row.get::<_, Option<i64>>(0)) else {
        return Ok(Some(Reached::after_day(day)));
    };
    let theirs = format!("from {table} where id > $1 and id <= $2 and tenant = $3 and ended_at is not null");
    for statement in [
        format!("delete from attempt where instance in (select id {theirs})"),
        format!("delete from later_attempt where day = {day} and instance in (select id {theirs})"),
        format!("delete from unwell where (state, planned, id) in (select state, planned, id {theirs})"),
        format!("delete {theirs}"),
    ] {
        conn.execute(&statement, &[&after, &last, &keep.tenant.0]).await?;
    }
    Ok(Some(Reached { day, id: last }))
}

/// Open instances are listed as open long, or their id is not below the low-water mark of their shard.
async fn is_open(conn: &Conn, day: i64) -> Result<bool, Fault> {
    let long = conn.query("select id from open_long where day = $1", &[&day]).await?;
    let long: Vec<i64> = long.iter().map(|row| row.get(0)).collect();
    if !long.is_empty() && !conn.query(&on_day(sql::OPEN_OF, day), &[&long]).await?.is_empty() {
        return Ok(true);
    }
    for shard in conn.query("select id, low_water from shard", &[]).await? {
        let (shard, low) = (ShardId(shard.get(0)), shard.get::<_, i64>(1));
        let recent = "select 1 from block where day = $1 and shard = $2 and no >= $3 limit 1";
        let recent = conn.first(recent, &[&day, &shard.0, &block_of(low)]).await?.is_some();
        if recent && !conn.query(&on_day(sql::OPEN_SINCE, day), &[&shard.0, &low, &day]).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// False if something was opened on it meanwhile. From the lock on nobody can.
async fn drop_day(conn: &Conn, day: i64) -> Result<bool, Fault> {
    conn.execute("select pg_advisory_xact_lock($1, $2)", &[&DAY_LOCK, &(day as i32)]).await?;
    conn.batch(&format!("lock table {} in access exclusive mode", table(day))).await?;
    if is_open(conn, day).await? {
        return Ok(false);
    }
    for of_day in ["block", "open_long", "day"] {
        conn.execute(&format!("delete from {of_day} where day = $1"), &[&day]).await?;
    }
    conn.batch(&format!("drop table {}", table(day))).await?;
    Ok(true)
}

/// What belonged to days that are gone.
async fn of_dropped_days(conn: &Conn, keep: &Retention) -> Result<bool, Fault> {
    let rows = i64::from(keep.rows_max);
    let mut more = false;
    for of_day in ["attempt", "later_attempt", "unwell"] {
        let text = format!(
            "delete from {of_day} where ctid = any(array(
                select ctid from {of_day} x where day < $1 and not exists (select 1 from day d where d.day = x.day)
                limit $2))"
        );
        more |= conn.execute(&text, &[&keep.before_day, &rows]).await? as i64 == rows;
    }
    Ok(more)
}

/// Everything that is not an instance, each up to the bound.
async fn rest(conn: &Conn, keep: &Retention) -> Result<bool, Fault> {
    let line = keep.before_day.saturating_mul(Span::DAY.0);
    // A day that was kept for something open keeps what its ledger refers to.
    let oldest = conn.first("select min(day) from day", &[]).await?.and_then(|row| row.get::<_, Option<i64>>(0));
    let kept_day = oldest.unwrap_or(keep.before_day).min(keep.before_day);
    let margin = kept_day.saturating_mul(Span::DAY.0).saturating_sub(HISTORY_MARGIN.0);
    let rows = i64::from(keep.rows_max);
    let mut more = false;
    for (of, old, before) in [
        ("gap", "last < $1", line),
        ("note", "at < $1", line),
        ("orphan", "at < $1", line),
        ("quarantine", "not held and at < $1", line),
        ("claim", "kind = 2 and at < $1", keep.keys_before.0),
        ("job_interval", "until < $1", margin),
    ] {
        let text = format!("delete from {of} where ctid = any(array(select ctid from {of} where {old} limit $2))");
        more |= conn.execute(&text, &[&before, &rows]).await? as i64 == rows;
    }
    more |= versions(conn, margin, kept_day, rows).await?;
    let removed = "delete from job where id = any(array(select id from job j where removed_at < $1
        and not exists (select 1 from job_version v where v.job = j.id) limit $2))";
    more |= conn.execute(removed, &[&margin, &rows]).await? as i64 == rows;
    let unnamed = "delete from content where id = any(array(select id from content where refs = 0 and touched_at < $1
        and (kept_day is null or kept_day < $3) limit $2)) and refs = 0";
    more |= conn.execute(unnamed, &[&(unix_secs() - UNNAMED_SECS), &rows, &kept_day]).await? as i64 == rows;
    Ok(more)
}

/// A version stays while its job has it, an interval names it, or an instance may be frozen with it.
async fn versions(conn: &Conn, margin: i64, kept_day: i64, rows: i64) -> Result<bool, Fault> {
    let old = conn.query(sql::OLD_VERSIONS, &[&margin, &kept_day, &rows]).await?;
    let ids: Vec<i64> = old.iter().map(|row| row.get(0)).collect();
    if ids.is_empty() {
        return Ok(false);
    }
    let text = "with gone as (delete from job_version where id = any($1::int8[]) returning rule, task, source),
        named as (select id, count(*) as less from gone, unnest(array[rule, task, source]) as n(id) group by id)
        update content c set refs = c.refs - n.less from named n where c.id = n.id";
    conn.execute(text, &[&ids]).await?;
    Ok(ids.len() as i64 == rows)
}
