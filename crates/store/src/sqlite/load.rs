//! Everything an owner keeps in memory. Open instances are found by the low-water mark: only ids from there on are
//! looked at, and the few that are open long.

use model::{ContentId, JobId, ShardId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Rows};

use super::day::on_day;
use super::{SqliteStore, row, sql};
use crate::block::block_of;
use crate::{Standing, StoreError, Stored};

impl SqliteStore {
    pub(super) fn read_all(&self, shard: ShardId) -> Result<Stored, StoreError> {
        let mut stored = Stored { shards: self.shards, ..Stored::default() };
        // One snapshot: nothing else writes this shard, but agents and pools may be written beside us.
        self.conn.execute_batch("begin")?;
        let read = read_into(&self.conn, shard, &mut stored);
        self.conn.execute_batch("rollback")?;
        read?;
        Ok(stored)
    }
}

fn read_into(conn: &Connection, shard: ShardId, stored: &mut Stored) -> rusqlite::Result<()> {
    jobs(conn, shard, stored)?;
    for day in open_days(conn, shard)? {
        let mut scan = conn.prepare_cached(&on_day(sql::OPEN_SINCE, day))?;
        instances(scan.query([shard.0])?, stored)?;
    }
    for (id, day) in open_long(conn, shard)? {
        let mut one = conn.prepare_cached(&on_day(sql::OPEN_INSTANCE, day))?;
        instances(one.query([id])?, stored)?;
    }
    versions(conn, stored)?;
    rest(conn, shard, stored)
}

fn jobs(conn: &Connection, shard: ShardId, stored: &mut Stored) -> rusqlite::Result<()> {
    let columns = row::JOB_COLUMNS;
    let mut select = conn.prepare(&format!("select {columns} from job where shard = ?1 and removed_at is null"))?;
    let mut rows = select.query([shard.0])?;
    while let Some(found) = rows.next()? {
        match row::job(found) {
            Ok(job) => stored.jobs.push(job),
            Err(bad) => stored.unreadable.push((bad.job, bad.what)),
        }
    }
    Ok(())
}

fn instances(mut rows: Rows, stored: &mut Stored) -> rusqlite::Result<()> {
    while let Some(found) = rows.next()? {
        match row::instance(found) {
            Ok(instance) => stored.open.push(instance),
            Err(bad) => stored.unreadable.push((bad.job, bad.what)),
        }
    }
    Ok(())
}

/// Days that may hold an open instance from the low-water mark on.
pub(super) fn open_days(conn: &Connection, shard: ShardId) -> rusqlite::Result<Vec<i64>> {
    let low: Option<i64> =
        conn.query_row("select low_water from shard where id = ?1", [shard.0], |found| found.get(0)).optional()?;
    let mut days = conn.prepare_cached("select distinct day from block where no >= ?1 order by day")?;
    days.query_map([block_of(low.unwrap_or(0))], |found| found.get(0))?.collect()
}

fn open_long(conn: &Connection, shard: ShardId) -> rusqlite::Result<Vec<(i64, i64)>> {
    let mut select = conn.prepare_cached(
        "select id, day from open_long where shard = ?1
         and id < (select low_water from shard where id = ?1) order by id",
    )?;
    select.query_map([shard.0], |found| Ok((found.get(0)?, found.get(1)?)))?.collect()
}

/// The versions of all jobs and of all open instances, and the rules they name.
fn versions(conn: &Connection, stored: &mut Stored) -> rusqlite::Result<()> {
    let of_jobs = stored.jobs.iter().map(|job| (job.version, job.id));
    let of_open = stored.open.iter().map(|instance| (instance.version, instance.job));
    let mut wanted: Vec<_> = of_jobs.chain(of_open).collect();
    wanted.sort_unstable();
    wanted.dedup_by_key(|(version, _)| *version);

    let mut select = conn.prepare_cached("select id, job, rule, task, source from job_version where id = ?1")?;
    for (version, job) in wanted {
        match select.query_row([version.0], row::version).optional()? {
            Some(version) => stored.versions.push(version),
            None => stored.unreadable.push((Some(job), format!("version {version} of job {job} is missing"))),
        }
    }
    let mut rules: Vec<_> = stored.versions.iter().map(|version| (version.rule, version.job)).collect();
    rules.sort_unstable();
    rules.dedup_by_key(|(rule, _)| *rule);
    contents(conn, &rules, stored)
}

fn contents(conn: &Connection, wanted: &[(ContentId, JobId)], stored: &mut Stored) -> rusqlite::Result<()> {
    let mut select = conn.prepare_cached("select body from content where id = ?1")?;
    for (content, job) in wanted {
        match select.query_row([content.0], |found| found.get(0)).optional()? {
            Some(body) => stored.contents.push((*content, body)),
            None => stored.unreadable.push((Some(*job), format!("rule {content} of job {job} is missing"))),
        }
    }
    Ok(())
}

fn rest(conn: &Connection, shard: ShardId, stored: &mut Stored) -> rusqlite::Result<()> {
    let mut agents = conn.prepare_cached("select * from agent order by id")?;
    let mut rows = agents.query([])?;
    while let Some(found) = rows.next()? {
        match row::agent(found) {
            Ok(agent) => stored.agents.push(agent),
            Err(bad) => stored.unreadable.push((None, bad.what)),
        }
    }
    let mut pools = conn.prepare_cached("select tenant, name, running_max, addresses from pool")?;
    stored.pools = pools.query_map([], row::pool)?.collect::<Result<_, _>>()?;
    let mut tenants = conn.prepare_cached(crate::tenant::SELECT)?;
    stored.tenants = tenants.query_map([], super::tenant::tenant)?.collect::<Result<_, _>>()?;
    stored.global_limit = conn
        .query_row("select value from meta where key = 'global_limit'", [], |found| found.get(0))
        .optional()?
        .flatten();
    let mut held = conn.prepare_cached(
        "select job, error, at, decided from quarantine where held = 1 and job is not null and shard = ?1 order by id",
    )?;
    stored.held = held.query_map([shard.0], row::held)?.collect::<Result<_, _>>()?;
    stored.followers = super::between::followers(conn, shard)?;
    stored.tickets = super::ticket::of_shard(conn, shard)?;
    Ok(())
}

pub(super) fn standing(conn: &Connection, shard: ShardId) -> rusqlite::Result<Standing> {
    let found = conn
        .prepare_cached("select term, batch, horizon, next_id from shard where id = ?1")?
        .query_row([shard.0], |found| {
            Ok(Standing {
                term: model::Term(found.get(0)?),
                batch: model::Batch(found.get(1)?),
                horizon: Timestamp(found.get(2)?),
                next_id: found.get(3)?,
            })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}
