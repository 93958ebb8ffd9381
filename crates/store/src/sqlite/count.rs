//! Counts for dashboards: what was planned in a window, what is open, what failed. By the ways that lists go.

use model::{JobId, State, TenantId, Timestamp};
use rusqlite::{Connection, params};

use super::day::on_day;
use super::{list, sql};
use crate::StoreError;
use crate::block::BLOCK_BITS;
use crate::code::Code;
use crate::read::{OpenCounts, worst_first};

pub(super) fn days_between(conn: &Connection, from: Timestamp, to: Timestamp) -> rusqlite::Result<Vec<i64>> {
    conn.prepare_cached("select day from day where dropping = 0 and day between ?1 and ?2 order by day")?
        .query_map([from.day(), to.day()], |row| row.get(0))?
        .collect()
}

pub(super) fn day(
    conn: &Connection,
    day: i64,
    tenant: Option<TenantId>,
    (from, to): (Timestamp, Timestamp),
    counts: &mut [(State, u64)],
) -> Result<(), StoreError> {
    let mut blocks = conn.prepare_cached(
        "select min(no), max(no) from block where day = ?1 and planned_until >= ?2 and planned_from < ?3",
    )?;
    let range: (Option<i64>, Option<i64>) =
        blocks.query_row([day, from.0, to.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(first), Some(last)) = range else { return Ok(()) };
    let mut select = conn.prepare_cached(&on_day(sql::STATES, day))?;
    let mut rows = select.query(params![
        first << BLOCK_BITS,
        (last + 1) << BLOCK_BITS,
        from.0,
        to.0,
        tenant.map(|tenant| tenant.0)
    ])?;
    while let Some(row) = rows.next()? {
        let state = State::decode(row.get(0)?);
        if let Some((_, count)) = counts.iter_mut().find(|(one, _)| Some(*one) == state) {
            *count += 1;
        }
    }
    Ok(())
}

pub(super) fn open(conn: &Connection, tenant: TenantId, late: Timestamp) -> Result<OpenCounts, StoreError> {
    let low = list::low_water(conn)?;
    let mut counts = OpenCounts::default();
    for day in list::open_days(conn, [i64::MIN, i64::MAX])? {
        add(conn, &on_day(sql::COUNT_OPEN, day), params![low, tenant.0, late.0], &mut counts)?;
        add(conn, &on_day(sql::COUNT_OPEN_LONG, day), params![day, tenant.0, late.0, low], &mut counts)?;
    }
    Ok(counts)
}

fn add(
    conn: &Connection,
    text: &str,
    values: &[&dyn rusqlite::ToSql],
    counts: &mut OpenCounts,
) -> Result<(), StoreError> {
    let mut select = conn.prepare_cached(text)?;
    let mut rows = select.query(values)?;
    while let Some(row) = rows.next()? {
        if let Some(state) = State::decode(row.get(0)?) {
            counts.add(state, row.get::<_, i64>(1)? as u64, row.get::<_, i64>(2)? as u64);
        }
    }
    Ok(())
}

pub(super) fn failures(
    conn: &Connection,
    tenant: TenantId,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<(JobId, u64)>, StoreError> {
    let mut found = Vec::new();
    for day in days_between(conn, from, to)? {
        let mut select = conn.prepare_cached(&on_day(sql::COUNT_FAILURES, day))?;
        let values = params![State::Failed.code(), State::Dead.code(), from.0, to.0, tenant.0];
        let rows = select.query_map(values, |row| Ok((JobId(row.get(0)?), row.get::<_, i64>(1)? as u64)))?;
        found.extend(rows.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(worst_first(found))
}
