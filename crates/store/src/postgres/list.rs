//! Pages of instances, newest planned time first: day by day backwards, each day by the way that touches least. What is
//! planned lately is found by blocks of ids, one job by the ledger's index, bad endings by their own list, open ones
//! by the low-water mark. Anything else is a scan that its deadline bounds.

use model::{AttemptId, Instance, InstanceId, State, Timestamp};
use rustc_hash::FxHashMap;
use tokio_postgres::Row;

use super::conn::Conn;
use super::day::on_day;
use super::error::Fault;
use super::{row, sql};
use crate::StoreError;
use crate::block::block_of;
use crate::code::Code;
use crate::page::{Key, Wanted, Way, keep_newest};
use crate::read::InstanceFilter;

/// Blocks looked into with one statement; the first look is at one, the next at twice as many.
const BLOCKS_MAX: usize = 64;

pub(super) async fn page(conn: &Conn, filter: &InstanceFilter) -> Result<Vec<Instance>, Fault> {
    let mut wanted = Wanted::of(filter);
    if wanted.is_nothing() {
        return Ok(Vec::new());
    }
    if let Some(parent) = filter.parent {
        return children(conn, parent, filter, wanted).await;
    }
    if let Some(job) = filter.job {
        return of_job(conn, job.0, None, &wanted).await;
    }
    let mut found = Vec::new();
    let way = Way::of(filter);
    if matches!(way, Way::Unwell) {
        let keys = of_unwell(conn, &filter.states, &wanted).await?;
        for same_day in keys.chunk_by(|a, b| Timestamp(a.0).day() == Timestamp(b.0).day()) {
            fetch(conn, Timestamp(same_day[0].0).day(), same_day, &mut found).await?;
        }
        return Ok(found);
    }
    let open = matches!(way, Way::Open);
    for day in if open { open_days(conn, wanted.days()).await? } else { days(conn, &wanted).await? } {
        let keys = if open { of_open(conn, day, &wanted).await? } else { of_blocks(conn, day, &wanted).await? };
        wanted.limit -= keys.len();
        fetch(conn, day, &keys, &mut found).await?;
        if wanted.limit == 0 {
            break;
        }
    }
    Ok(found)
}

async fn days(conn: &Conn, wanted: &Wanted) -> Result<Vec<i64>, Fault> {
    let [from, top] = wanted.days();
    let text = "select day from day where day between $1 and $2 order by day desc";
    Ok(conn.query(text, &[&from, &top]).await?.iter().map(|row| row.get(0)).collect())
}

async fn of_job(conn: &Conn, job: i64, parent: Option<i64>, wanted: &Wanted) -> Result<Vec<Instance>, Fault> {
    let mut found = Vec::new();
    let Wanted { top, from, tenant, states, agent, cause, limit, .. } = wanted;
    for day in days(conn, wanted).await? {
        let left = (limit - found.len()) as i64;
        let text = on_day(sql::LIST_OF_JOB, day);
        let rows =
            conn.query(&text, &[&job, from, &top.0, &top.1, &parent, tenant, states, &left, agent, cause]).await?;
        // What cannot be read is reported at load; a list leaves it out.
        found.extend(rows.iter().filter_map(|found| row::instance(found).ok()));
        if found.len() >= *limit {
            break;
        }
    }
    Ok(found)
}

/// Children have their parent's job and planned time.
async fn children(
    conn: &Conn,
    parent: InstanceId,
    filter: &InstanceFilter,
    mut wanted: Wanted,
) -> Result<Vec<Instance>, Fault> {
    let Some(of) = find(conn, parent).await? else { return Ok(Vec::new()) };
    let of = row::instance(&of).map_err(damaged)?;
    if filter.job.is_some_and(|job| job != of.job) {
        return Ok(Vec::new());
    }
    wanted.at(of.planned);
    of_job(conn, of.job.0, Some(parent.0), &wanted).await
}

async fn of_unwell(conn: &Conn, states: &[State], wanted: &Wanted) -> Result<Vec<Key>, Fault> {
    let mut keys = Vec::new();
    let limit = wanted.limit as i64;
    for state in states {
        let values = (state.code(), wanted.from, wanted.top.0, wanted.top.1, wanted.tenant, limit);
        let rows =
            conn.query(sql::LIST_UNWELL, &[&values.0, &values.1, &values.2, &values.3, &values.4, &values.5]).await?;
        keys.extend(rows.iter().map(key));
    }
    keep_newest(&mut keys, wanted.limit);
    Ok(keys)
}

/// Looks into blocks of ids, those with the newest planned times first, until no other block can hold a newer row.
async fn of_blocks(conn: &Conn, day: i64, wanted: &Wanted) -> Result<Vec<Key>, Fault> {
    let text = "select no, max(planned_until) from block
                where day = $1 and planned_until >= $2 and planned_from <= $3
                group by no order by max(planned_until) desc, no desc";
    let blocks = conn.query(text, &[&day, &wanted.from, &wanted.top.0]).await?;
    let blocks: Vec<(i64, i64)> = blocks.iter().map(key).collect();
    let text = on_day(sql::LIST_OF_BLOCKS, day);
    let (mut keys, mut at, mut group): (Vec<Key>, usize, usize) = (Vec::new(), 0, 1);
    while at < blocks.len() {
        let full = keys.len() >= wanted.limit;
        let floor = if full { keys[wanted.limit - 1].0 } else { wanted.from };
        if blocks[at].1 < floor {
            break;
        }
        let numbers: Vec<i64> = blocks[at..].iter().take(group).map(|(no, _)| *no).collect();
        let limit = wanted.limit as i64;
        let rows = conn
            .query(
                &text,
                &[
                    &numbers,
                    &floor,
                    &wanted.top.0,
                    &wanted.top.1,
                    &wanted.tenant,
                    &wanted.states,
                    &limit,
                    &wanted.within,
                    &wanted.agent,
                    &wanted.cause,
                ],
            )
            .await?;
        keys.extend(rows.iter().map(key));
        keep_newest(&mut keys, wanted.limit);
        at += numbers.len();
        group = (2 * group).min(BLOCKS_MAX);
    }
    Ok(keys)
}

pub(super) async fn low_water(conn: &Conn) -> Result<i64, Fault> {
    let found = conn.first("select coalesce(min(low_water), 0) from shard", &[]).await?;
    Ok(found.map_or(0, |row| row.get(0)))
}

pub(super) async fn open_days(conn: &Conn, [from, top]: [i64; 2]) -> Result<Vec<i64>, Fault> {
    let low = block_of(low_water(conn).await?);
    let text = "select day from (select day from block where no >= $1 union select day from open_long) as d
                where day between $2 and $3 order by day desc";
    Ok(conn.query(text, &[&low, &from, &top]).await?.iter().map(|row| row.get(0)).collect())
}

async fn of_open(conn: &Conn, day: i64, wanted: &Wanted) -> Result<Vec<Key>, Fault> {
    let mut keys = Vec::new();
    let limit = wanted.limit as i64;
    for (statement, first) in [(sql::LIST_OPEN, low_water(conn).await?), (sql::LIST_OPEN_LONG, day)] {
        let Wanted { top, from, tenant, states, within, agent, cause, .. } = wanted;
        let rows = conn
            .query(
                &on_day(statement, day),
                &[&first, from, &top.0, &top.1, tenant, states, &limit, within, agent, cause],
            )
            .await?;
        keys.extend(rows.iter().map(key));
    }
    keep_newest(&mut keys, wanted.limit);
    Ok(keys)
}

fn key(row: &Row) -> Key {
    (row.get(0), row.get(1))
}

async fn fetch(conn: &Conn, day: i64, keys: &[Key], found: &mut Vec<Instance>) -> Result<(), Fault> {
    if keys.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = keys.iter().map(|(_, id)| *id).collect();
    let rows = conn.query(&on_day(sql::GET_INSTANCES, day), &[&ids]).await?;
    let read = rows.iter().filter_map(|row| row::instance(row).ok());
    let mut by_id: FxHashMap<i64, Instance> = read.map(|instance| (instance.id.0, instance)).collect();
    found.extend(ids.iter().filter_map(|id| by_id.remove(id)));
    Ok(())
}

/// The row of one instance, wherever it is.
pub(super) async fn find(conn: &Conn, id: InstanceId) -> Result<Option<Row>, Fault> {
    for day in days_of(conn, id.0).await? {
        let found = conn.first(&on_day(sql::GET_INSTANCES, day), &[&vec![id.0]]).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Which instance an attempt belongs to, current or earlier.
pub(super) async fn instance_of(conn: &Conn, attempt: AttemptId) -> Result<Option<InstanceId>, Fault> {
    let later = conn.first("select instance from later_attempt where id = $1", &[&attempt.0]).await?;
    if let Some(row) = later {
        return Ok(Some(InstanceId(row.get(0))));
    }
    // A first attempt carries the number of its instance.
    for day in days_of(conn, attempt.0).await? {
        if conn.first(&on_day(sql::HAS_INSTANCE, day), &[&attempt.0]).await?.is_some() {
            return Ok(Some(InstanceId(attempt.0)));
        }
    }
    Ok(None)
}

/// Days that may hold this id.
async fn days_of(conn: &Conn, id: i64) -> Result<Vec<i64>, Fault> {
    let text = "select distinct day from block where no = $1";
    Ok(conn.query(text, &[&block_of(id)]).await?.iter().map(|row| row.get(0)).collect())
}

pub(super) fn damaged(bad: row::Unreadable) -> Fault {
    StoreError::Corrupt(bad.what).into()
}
