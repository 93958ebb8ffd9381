//! Everything an owner keeps in memory. Open instances are found by the low-water mark: only ids from there on are
//! looked at, and the few that are open long.

use std::collections::BTreeMap;

use model::{Batch, ContentId, JobId, ShardId, Term, Timestamp};
use rustc_hash::FxHashSet;
use tokio_postgres::Row;

use super::conn::Conn;
use super::day::on_day;
use super::error::Fault;
use super::{row, sql};
use crate::block::block_of;
use crate::{Standing, Stored};

/// One snapshot: nothing else writes this shard, but agents and pools may be written beside us.
pub(super) async fn read_all(conn: &Conn, shard: ShardId) -> Result<Stored, Fault> {
    conn.batch("begin isolation level repeatable read read only; set local statement_timeout = 0").await?;
    let mut stored = Stored::default();
    let read = read_into(conn, shard, &mut stored).await;
    conn.batch("rollback").await?;
    read.map(|()| stored)
}

async fn read_into(conn: &Conn, shard: ShardId, stored: &mut Stored) -> Result<(), Fault> {
    let text = format!("select {} from job where shard = $1 and removed_at is null", row::JOB_COLUMNS);
    for found in conn.query(&text, &[&shard.0]).await? {
        match row::job(&found) {
            Ok(job) => stored.jobs.push(job),
            Err(bad) => stored.unreadable.push((bad.job, bad.what)),
        }
    }
    let low = low_water(conn, shard).await?;
    for day in open_days(conn, shard, low).await? {
        instances(conn.query(&on_day(sql::OPEN_SINCE, day), &[&shard.0, &low, &day]).await?, stored);
    }
    for (day, ids) in open_long(conn, shard, low).await? {
        instances(conn.query(&on_day(sql::OPEN_OF, day), &[&ids]).await?, stored);
    }
    versions(conn, stored).await?;
    rest(conn, shard, stored).await
}

fn instances(rows: Vec<Row>, stored: &mut Stored) {
    for found in rows {
        match row::instance(&found) {
            Ok(instance) => stored.open.push(instance),
            Err(bad) => stored.unreadable.push((bad.job, bad.what)),
        }
    }
}

pub(super) async fn low_water(conn: &Conn, shard: ShardId) -> Result<i64, Fault> {
    let found = conn.first("select low_water from shard where id = $1", &[&shard.0]).await?;
    Ok(found.map_or(0, |row| row.get(0)))
}

/// Days that may hold an open instance from this id on.
pub(super) async fn open_days(conn: &Conn, shard: ShardId, low: i64) -> Result<Vec<i64>, Fault> {
    let text = "select distinct day from block where shard = $1 and no >= $2 order by day";
    Ok(conn.query(text, &[&shard.0, &block_of(low)]).await?.iter().map(|row| row.get(0)).collect())
}

async fn open_long(conn: &Conn, shard: ShardId, low: i64) -> Result<BTreeMap<i64, Vec<i64>>, Fault> {
    let mut by_day: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let text = "select day, id from open_long where shard = $1 and id < $2 order by id";
    for row in conn.query(text, &[&shard.0, &low]).await? {
        by_day.entry(row.get(0)).or_default().push(row.get(1));
    }
    Ok(by_day)
}

/// The versions of all jobs and of all open instances, and the rules they name.
async fn versions(conn: &Conn, stored: &mut Stored) -> Result<(), Fault> {
    let of_jobs = stored.jobs.iter().map(|job| (job.version, job.id));
    let of_open = stored.open.iter().map(|instance| (instance.version, instance.job));
    let mut wanted: Vec<_> = of_jobs.chain(of_open).collect();
    wanted.sort_unstable();
    wanted.dedup_by_key(|(version, _)| *version);
    let ids: Vec<i64> = wanted.iter().map(|(version, _)| version.0).collect();
    let text = "select id, job, rule, task, source from job_version where id = any($1::int8[])";
    stored.versions = conn.query(text, &[&ids]).await?.iter().map(row::version).collect();
    stored.versions.sort_unstable_by_key(|version| version.id);
    let found: FxHashSet<_> = stored.versions.iter().map(|version| version.id).collect();
    for (version, job) in wanted.into_iter().filter(|(version, _)| !found.contains(version)) {
        stored.unreadable.push((Some(job), format!("version {version} of job {job} is missing")));
    }
    let mut rules: Vec<_> = stored.versions.iter().map(|version| (version.rule, version.job)).collect();
    rules.sort_unstable();
    rules.dedup_by_key(|(rule, _)| *rule);
    contents(conn, &rules, stored).await
}

async fn contents(conn: &Conn, wanted: &[(ContentId, JobId)], stored: &mut Stored) -> Result<(), Fault> {
    let ids: Vec<i64> = wanted.iter().map(|(content, _)| content.0).collect();
    let rows = conn.query("select id, body from content where id = any($1::int8[])", &[&ids]).await?;
    stored.contents = rows.iter().map(|row| (ContentId(row.get(0)), row.get(1))).collect();
    let found: FxHashSet<_> = stored.contents.iter().map(|(content, _)| *content).collect();
    for (content, job) in wanted.iter().filter(|(content, _)| !found.contains(content)) {
        stored.unreadable.push((Some(*job), format!("rule {content} of job {job} is missing")));
    }
    Ok(())
}

async fn rest(conn: &Conn, shard: ShardId, stored: &mut Stored) -> Result<(), Fault> {
    for found in conn.query("select * from agent order by id", &[]).await? {
        match row::agent(&found) {
            Ok(agent) => stored.agents.push(agent),
            Err(bad) => stored.unreadable.push((None, bad.what)),
        }
    }
    let pools = conn.query("select tenant, name, running_max, addresses from pool", &[]).await?;
    stored.pools = pools.iter().map(row::pool).collect();
    stored.tenants = conn.query(crate::tenant::SELECT, &[]).await?.iter().map(super::tenant::tenant).collect();
    stored.global_limit = global_limit(conn).await?;
    let text =
        "select job, error, at, decided from quarantine where held and job is not null and shard = $1 order by id";
    stored.held = conn.query(text, &[&shard.0]).await?.iter().map(row::held).collect();
    (stored.followers, stored.tickets) = super::between::load(conn, shard).await?;
    Ok(())
}

pub(super) async fn global_limit(conn: &Conn) -> Result<Option<u32>, Fault> {
    let found = conn.first("select value::int8 from meta where key = 'global_limit'", &[]).await?;
    Ok(found.and_then(|row| row.get::<_, Option<i64>>(0)).and_then(|limit| u32::try_from(limit).ok()))
}

/// Waits for a commit that may be under way still, of ours or of another owner: what is read is how it ended.
pub(super) async fn standing(conn: &Conn, shard: ShardId) -> Result<Standing, Fault> {
    let text = "select term, batch, horizon, next_id from shard where id = $1 for update";
    let found = conn.first(text, &[&shard.0]).await?;
    Ok(found.as_ref().map(read_standing).unwrap_or_default())
}

/// `term, batch, horizon, next_id`
pub(super) fn read_standing(row: &Row) -> Standing {
    Standing { term: Term(row.get(0)), batch: Batch(row.get(1)), horizon: Timestamp(row.get(2)), next_id: row.get(3) }
}
