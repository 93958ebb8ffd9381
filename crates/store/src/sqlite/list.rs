//! Pages of instances, newest planned time first: day by day backwards, each day by the way that touches least. What is
//! planned lately is found by blocks of ids, one job by the ledger's index, bad endings by their own list, open ones
//! by the low-water mark. Anything else is a scan that its deadline bounds.

use model::{Instance, InstanceId, State};
use rusqlite::{Connection, params};

use super::day::on_day;
use super::{row, sql};
use crate::StoreError;
use crate::block::{BLOCK_BITS, block_of};
use crate::code::Code;
use crate::page::{Key, Wanted, Way, keep_newest};
use crate::read::InstanceFilter;

pub(super) fn page(conn: &Connection, filter: &InstanceFilter) -> Result<Vec<Instance>, StoreError> {
    let mut wanted = Wanted::of(filter);
    if wanted.is_nothing() {
        return Ok(Vec::new());
    }
    if let Some(parent) = filter.parent {
        return children(conn, parent, filter, wanted);
    }
    if let Some(job) = filter.job {
        return of_job(conn, job.0, None, &wanted);
    }
    let mut found = Vec::new();
    let way = Way::of(filter);
    if matches!(way, Way::Unwell) {
        for key in of_unwell(conn, &filter.states, &wanted)? {
            fetch(conn, model::Timestamp(key.0).day(), &[key], &mut found)?;
        }
        return Ok(found);
    }
    let open = matches!(way, Way::Open);
    for day in if open { open_days(conn, wanted.days())? } else { days(conn, &wanted)? } {
        let keys = if open { of_open(conn, day, &wanted)? } else { of_blocks(conn, day, &wanted)? };
        wanted.limit -= keys.len();
        fetch(conn, day, &keys, &mut found)?;
        if wanted.limit == 0 {
            break;
        }
    }
    Ok(found)
}

fn days(conn: &Connection, wanted: &Wanted) -> rusqlite::Result<Vec<i64>> {
    conn.prepare_cached("select day from day where dropping = 0 and day between ?1 and ?2 order by day desc")?
        .query_map(wanted.days(), |row| row.get(0))?
        .collect()
}

fn of_job(conn: &Connection, job: i64, parent: Option<i64>, wanted: &Wanted) -> Result<Vec<Instance>, StoreError> {
    let mut found = Vec::new();
    for day in days(conn, wanted)? {
        let mut select = conn.prepare_cached(&on_day(sql::LIST_OF_JOB, day))?;
        let (top, left) = (wanted.top, wanted.limit - found.len());
        let Wanted { from, tenant, states, agent, cause, .. } = wanted;
        let mut rows =
            select.query(params![job, from, top.0, top.1, parent, tenant, states, left as i64, agent, cause])?;
        while let Some(row) = rows.next()? {
            // What cannot be read is reported at load; a list leaves it out.
            found.extend(row::instance(row).ok());
        }
        if found.len() >= wanted.limit {
            break;
        }
    }
    Ok(found)
}

/// Children have their parent's job and planned time.
fn children(
    conn: &Connection,
    parent: InstanceId,
    filter: &InstanceFilter,
    mut wanted: Wanted,
) -> Result<Vec<Instance>, StoreError> {
    let Some(of) = find(conn, parent)? else { return Ok(Vec::new()) };
    if filter.job.is_some_and(|job| job != of.job) {
        return Ok(Vec::new());
    }
    wanted.at(of.planned);
    of_job(conn, of.job.0, Some(parent.0), &wanted)
}

fn of_unwell(conn: &Connection, states: &[State], wanted: &Wanted) -> Result<Vec<Key>, StoreError> {
    let mut keys = Vec::new();
    let mut select = conn.prepare_cached(sql::body(sql::LIST_UNWELL))?;
    for state in states {
        let (top, limit) = (wanted.top, wanted.limit as i64);
        let rows = select.query_map(params![state.code(), wanted.from, top.0, top.1, wanted.tenant, limit], key)?;
        keys.extend(rows.collect::<Result<Vec<_>, _>>()?);
    }
    keep_newest(&mut keys, wanted.limit);
    Ok(keys)
}

/// Looks into blocks of ids, those with the newest planned times first, until no other block can hold a newer row.
fn of_blocks(conn: &Connection, day: i64, wanted: &Wanted) -> Result<Vec<Key>, StoreError> {
    let mut keys: Vec<Key> = Vec::new();
    let mut blocks = conn.prepare_cached(
        "select no, planned_until from block where day = ?1 and planned_until >= ?2 and planned_from <= ?3
         order by planned_until desc, no desc",
    )?;
    let mut select = conn.prepare_cached(&on_day(sql::LIST_OF_BLOCK, day))?;
    let mut rows = blocks.query([day, wanted.from, wanted.top.0])?;
    while let Some(block) = rows.next()? {
        let (no, until): (i64, i64) = (block.get(0)?, block.get(1)?);
        let full = keys.len() >= wanted.limit;
        let floor = if full { keys[wanted.limit - 1].0 } else { wanted.from };
        if until < floor {
            break;
        }
        let (ids, top, limit) = (no << BLOCK_BITS, wanted.top, wanted.limit as i64);
        let values = params![
            ids,
            ids + (1 << BLOCK_BITS),
            floor,
            top.0,
            top.1,
            wanted.tenant,
            wanted.states,
            limit,
            wanted.within,
            wanted.agent,
            wanted.cause
        ];
        keys.extend(select.query_map(values, key)?.collect::<Result<Vec<_>, _>>()?);
        keep_newest(&mut keys, wanted.limit);
    }
    Ok(keys)
}

pub(super) fn low_water(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("select coalesce(min(low_water), 0) from shard")?.query_row([], |row| row.get(0))
}

pub(super) fn open_days(conn: &Connection, [from, top]: [i64; 2]) -> Result<Vec<i64>, StoreError> {
    let low = block_of(low_water(conn)?);
    let mut select = conn.prepare_cached(
        "select day from (select day from block where no >= ?1 union select day from open_long)
         where day between ?2 and ?3 order by day desc",
    )?;
    let days = select.query_map([low, from, top], |row| row.get(0))?;
    Ok(days.collect::<Result<_, _>>()?)
}

fn of_open(conn: &Connection, day: i64, wanted: &Wanted) -> Result<Vec<Key>, StoreError> {
    let mut keys = Vec::new();
    for (statement, first) in [(sql::LIST_OPEN, low_water(conn)?), (sql::LIST_OPEN_LONG, day)] {
        let mut select = conn.prepare_cached(&on_day(statement, day))?;
        let limit = wanted.limit as i64;
        let Wanted { top, from, tenant, states, within, agent, cause, .. } = wanted;
        let values = params![first, from, top.0, top.1, tenant, states, limit, within, agent, cause];
        keys.extend(select.query_map(values, key)?.collect::<Result<Vec<_>, _>>()?);
    }
    keep_newest(&mut keys, wanted.limit);
    Ok(keys)
}

fn key(row: &rusqlite::Row) -> rusqlite::Result<Key> {
    Ok((row.get(0)?, row.get(1)?))
}

fn fetch(conn: &Connection, day: i64, keys: &[Key], found: &mut Vec<Instance>) -> Result<(), StoreError> {
    let mut select = conn.prepare_cached(&on_day(sql::GET_INSTANCE, day))?;
    for (_, id) in keys {
        let mut rows = select.query([id])?;
        if let Some(row) = rows.next()? {
            found.extend(row::instance(row).ok());
        }
    }
    Ok(())
}

/// One instance, wherever it is.
pub(super) fn find(conn: &Connection, id: InstanceId) -> Result<Option<Instance>, StoreError> {
    for day in days_of(conn, id.0)? {
        let mut select = conn.prepare_cached(&on_day(sql::GET_INSTANCE, day))?;
        let mut rows = select.query([id.0])?;
        if let Some(row) = rows.next()? {
            return row::instance(row).map(Some).map_err(|bad| StoreError::Corrupt(bad.what));
        }
    }
    Ok(None)
}

/// Days that may hold this id.
pub(super) fn days_of(conn: &Connection, id: i64) -> rusqlite::Result<Vec<i64>> {
    conn.prepare_cached("select day from block join day using (day) where no = ?1 and dropping = 0")?
        .query_map([block_of(id)], |row| row.get(0))?
        .collect()
}
