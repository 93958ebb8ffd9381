//! Counts for dashboards: what was planned in a window, what is open, what failed. By the ways that lists go.

use model::{JobId, State, TenantId, Timestamp};

use super::conn::Conn;
use super::day::on_day;
use super::error::Fault;
use super::row::small;
use super::{list, sql};
use crate::block::BLOCK_BITS;
use crate::code::Code;
use crate::read::{OpenCounts, worst_first};

pub(super) async fn days_between(conn: &Conn, from: Timestamp, to: Timestamp) -> Result<Vec<i64>, Fault> {
    let text = "select day from day where day between $1 and $2 order by day";
    Ok(conn.query(text, &[&from.day(), &to.day()]).await?.iter().map(|row| row.get(0)).collect())
}

pub(super) async fn day(
    conn: &Conn,
    day: i64,
    tenant: Option<TenantId>,
    (from, to): (Timestamp, Timestamp),
    counts: &mut [(State, u64)],
) -> Result<(), Fault> {
    let blocks = "select min(no), max(no) from block where day = $1 and planned_until >= $2 and planned_from < $3";
    let range = conn.first(blocks, &[&day, &from.0, &to.0]).await?;
    let Some((Some(first), Some(last))) = range.map(|row| (row.get::<_, Option<i64>>(0), row.get::<_, Option<i64>>(1)))
    else {
        return Ok(());
    };
    let tenant = tenant.map(|tenant| tenant.0);
    let ids = (first << BLOCK_BITS, (last + 1) << BLOCK_BITS);
    for row in conn.query(&on_day(sql::STATES, day), &[&ids.0, &ids.1, &from.0, &to.0, &tenant]).await? {
        let state = State::decode(small(&row, 0));
        if let Some((_, count)) = counts.iter_mut().find(|(one, _)| Some(*one) == state) {
            *count += row.get::<_, i64>(1) as u64;
        }
    }
    Ok(())
}

pub(super) async fn open(conn: &Conn, tenant: TenantId, late: Timestamp) -> Result<OpenCounts, Fault> {
    let low = list::low_water(conn).await?;
    let mut counts = OpenCounts::default();
    for day in list::open_days(conn, [i64::MIN, i64::MAX]).await? {
        let lately = conn.query(&on_day(sql::COUNT_OPEN, day), &[&low, &tenant.0, &late.0]).await?;
        let long = conn.query(&on_day(sql::COUNT_OPEN_LONG, day), &[&day, &tenant.0, &late.0, &low]).await?;
        for row in lately.iter().chain(&long) {
            if let Some(state) = State::decode(small(row, 0)) {
                counts.add(state, row.get::<_, i64>(1) as u64, row.get::<_, i64>(2) as u64);
            }
        }
    }
    Ok(counts)
}

pub(super) async fn failures(
    conn: &Conn,
    tenant: TenantId,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<(JobId, u64)>, Fault> {
    let (failed, dead) = (State::Failed.code(), State::Dead.code());
    let mut found = Vec::new();
    for day in days_between(conn, from, to).await? {
        let text = on_day(sql::COUNT_FAILURES, day);
        let rows = conn.query(&text, &[&failed, &dead, &from.0, &to.0, &tenant.0]).await?;
        found.extend(rows.iter().map(|row| (JobId(row.get(0)), row.get::<_, i64>(1) as u64)));
    }
    Ok(worst_first(found))
}
