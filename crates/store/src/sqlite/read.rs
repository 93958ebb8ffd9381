//! The reads people and programs ask for. Committed state only; each is bounded by its deadline and by what it is asked.

use std::ops::Range;
use std::time::Instant;

use engine::change::Gap;
use model::rights::Place;
use model::{
    AgentId, AgentRecord, AttemptId, ContentId, Ending, Instance, InstanceId, JobId, JobRecord, PoolRecord,
    ResourceName, ShardId, State, TenantId, TenantRecord, Timestamp, VersionId,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::day::on_day;
use super::pool::SqliteReads;
use super::row::{self, Unreadable};
use super::{between, count, list, sql, ticket, values};
use crate::code::{self, Code};
use crate::json;
use crate::read::{
    AttemptRecord, InstanceFilter, Interval, JobFilter, LedgerEntry, Letter, NoteFilter, NoteRecord, OpenCounts,
    Orphan, QuarantineRecord, Reads, ResourceRecord, TicketRecord, VersionRecord,
};
use crate::values::{SealedSecret, UsingJob, Variable};
use crate::{OwnedVersion, StoreError, StoredVersion};

impl Reads for SqliteReads {
    fn jobs(&self, filter: &JobFilter, by: Instant) -> Result<Vec<JobRecord>, StoreError> {
        self.with(by, |conn| {
            let (name, id) = filter.after.as_ref().map_or(("", i64::MIN), |(name, id)| (name.as_str(), id.0));
            let folder = filter.folder.as_deref().filter(|folder| !folder.is_empty());
            let part = filter.name.as_ref().map(|part| part.to_ascii_lowercase());
            let mode = filter.mode.map(Code::code);
            let tenant = filter.tenant.map(|tenant| tenant.0);
            let within = filter.within.as_deref().map(json::places);
            let values = params![name, id, tenant, folder, part, mode, filter.limit as i64, within];
            readable(conn, sql::body(sql::LIST_JOBS), values, row::job)
        })
    }

    fn folders(
        &self,
        tenant: TenantId,
        within: Option<&[Place]>,
        limit: usize,
        by: Instant,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        let values = params![tenant.0, within.map(json::places), limit as i64];
        self.with(by, |conn| all(conn, sql::body(sql::LIST_FOLDERS), values, |row| Ok((row.get(0)?, row.get(1)?))))
    }

    fn job(&self, id: JobId, by: Instant) -> Result<Option<JobRecord>, StoreError> {
        self.with(by, |conn| one_job(conn, "where id = ?1 and removed_at is null", params![id.0]))
    }

    fn job_past_or_present(&self, id: JobId, by: Instant) -> Result<Option<JobRecord>, StoreError> {
        self.with(by, |conn| one_job(conn, "where id = ?1", params![id.0]))
    }

    fn job_named(&self, tenant: TenantId, name: &str, by: Instant) -> Result<Option<JobRecord>, StoreError> {
        self.with(by, |conn| {
            one_job(conn, "where tenant = ?1 and name = ?2 and removed_at is null", params![tenant.0, name])
        })
    }

    fn jobs_named(&self, tenant: TenantId, names: &[&str], by: Instant) -> Result<Vec<JobRecord>, StoreError> {
        let columns = row::JOB_COLUMNS;
        let text = format!(
            "select {columns} from job
             where tenant = ?1 and removed_at is null and name in (select value from json_each(?2))"
        );
        let names = serde_json::to_string(names).expect("texts are JSON");
        self.with(by, |conn| {
            let mut select = conn.prepare_cached(&text)?;
            let (mut rows, mut found) = (select.query(params![tenant.0, names])?, Vec::new());
            while let Some(row) = rows.next()? {
                found.push(row::job(row).map_err(|bad| StoreError::Corrupt(bad.what))?);
            }
            Ok(found)
        })
    }

    fn job_once_named(&self, tenant: TenantId, name: &str, by: Instant) -> Result<Option<JobId>, StoreError> {
        let text = "select id from job where tenant = ?1 and name = ?2 and removed_at is not null
                    order by removed_at desc, id desc limit 1";
        self.with(by, |conn| {
            Ok(conn.prepare_cached(text)?.query_row(params![tenant.0, name], |row| row.get(0).map(JobId)).optional()?)
        })
    }

    fn versions(&self, job: JobId, by: Instant) -> Result<Vec<VersionRecord>, StoreError> {
        self.with(by, |conn| {
            let text = "select id, job, rule, task, source, created_at, created_by from job_version
                        where job = ?1 order by id desc";
            all(conn, text, [job.0], |row| {
                let version = row::version(row)?;
                Ok(VersionRecord {
                    id: version.id,
                    job: version.job,
                    rule: version.rule,
                    task: version.task,
                    source: version.source,
                    created_at: Timestamp(row.get(5)?),
                    created_by: row.get(6)?,
                })
            })
        })
    }

    fn version(&self, id: VersionId, by: Instant) -> Result<Option<StoredVersion>, StoreError> {
        self.with(by, |conn| {
            let mut select =
                conn.prepare_cached("select id, job, rule, task, source from job_version where id = ?1")?;
            Ok(select.query_row([id.0], row::version).optional()?)
        })
    }

    fn owned_versions(&self, ids: &[VersionId], by: Instant) -> Result<Vec<OwnedVersion>, StoreError> {
        let text = "select v.id, v.job, v.rule, v.task, v.source, j.name, j.tenant
                    from json_each(?1) asked join job_version v on v.id = asked.value join job j on j.id = v.job";
        let ids = serde_json::to_string(&ids.iter().map(|id| id.0).collect::<Vec<_>>()).expect("numbers are JSON");
        self.with(by, |conn| {
            all(conn, text, [ids], |row| {
                Ok(OwnedVersion { version: row::version(row)?, job_name: row.get(5)?, tenant: TenantId(row.get(6)?) })
            })
        })
    }

    fn content(&self, id: ContentId, by: Instant) -> Result<Option<Vec<u8>>, StoreError> {
        self.with(by, |conn| {
            let mut select = conn.prepare_cached("select body from content where id = ?1")?;
            Ok(select.query_row([id.0], |row| row.get(0)).optional()?)
        })
    }

    fn instances(&self, filter: &InstanceFilter, by: Instant) -> Result<Vec<Instance>, StoreError> {
        self.with(by, |conn| list::page(conn, filter))
    }

    fn instance(&self, id: InstanceId, by: Instant) -> Result<Option<Instance>, StoreError> {
        self.with(by, |conn| list::find(conn, id))
    }

    fn ending(&self, id: InstanceId, by: Instant) -> Result<Option<Ending>, StoreError> {
        self.with(by, |conn| {
            for day in list::days_of(conn, id.0)? {
                let mut select = conn.prepare_cached(&on_day(sql::GET_INSTANCE, day))?;
                let mut rows = select.query([id.0])?;
                if let Some(found) = rows.next()? {
                    return row::ending(found).map_err(|bad| StoreError::Corrupt(bad.what));
                }
            }
            Ok(None)
        })
    }

    fn attempts(&self, id: InstanceId, by: Instant) -> Result<Vec<AttemptRecord>, StoreError> {
        self.with(by, |conn| {
            readable(conn, "select * from attempt where instance = ?1 order by number, id", params![id.0], row::attempt)
        })
    }

    fn instance_of(&self, attempt: AttemptId, by: Instant) -> Result<Option<InstanceId>, StoreError> {
        self.with(by, |conn| {
            let later = conn
                .prepare_cached("select instance from later_attempt where id = ?1")?
                .query_row([attempt.0], |row| row.get(0).map(InstanceId))
                .optional()?;
            if later.is_some() {
                return Ok(later);
            }
            // A first attempt carries the number of its instance.
            for day in list::days_of(conn, attempt.0)? {
                if conn.prepare_cached(&on_day(sql::HAS_INSTANCE, day))?.exists([attempt.0])? {
                    return Ok(Some(InstanceId(attempt.0)));
                }
            }
            Ok(None)
        })
    }

    fn ledger(&self, job: JobId, from: Timestamp, to: Timestamp, by: Instant) -> Result<Vec<LedgerEntry>, StoreError> {
        self.with(by, |conn| {
            let mut entries = Vec::new();
            for day in count::days_between(conn, from, to)? {
                let mut select = conn.prepare_cached(&on_day(sql::LEDGER, day))?;
                let mut rows = select.query([job.0, from.0, to.0])?;
                while let Some(row) = rows.next()? {
                    let Some(state) = State::decode(row.get(2)?) else { continue };
                    entries.push(LedgerEntry {
                        planned: Timestamp(row.get(0)?),
                        instance: InstanceId(row.get(1)?),
                        state,
                        by_trigger: code::cause_is_trigger(row.get(3)?),
                        started: code::time(row.get(4)?),
                        reopened: row.get(5)?,
                    });
                }
            }
            Ok(entries)
        })
    }

    fn gaps(&self, job: Option<JobId>, from: Timestamp, to: Timestamp, by: Instant) -> Result<Vec<Gap>, StoreError> {
        const COLUMNS: &str = "select job, tenant, first, last, count, fate, reason, instance, why from gap";
        self.with(by, |conn| match job {
            Some(job) => readable(
                conn,
                &format!("{COLUMNS} where job = ?1 and last >= ?2 and first < ?3 order by first, id"),
                params![job.0, from.0, to.0],
                row::gap,
            ),
            None => readable(
                conn,
                &format!("{COLUMNS} where last >= ?1 and first < ?2 order by first, id"),
                params![from.0, to.0],
                row::gap,
            ),
        })
    }

    fn intervals(
        &self,
        job: Option<JobId>,
        from: Timestamp,
        to: Timestamp,
        by: Instant,
    ) -> Result<Vec<Interval>, StoreError> {
        const WINDOW: &str = "select job, tenant, name, since, until, version, rule, mode from job_interval
                              where since < ?2 and (until is null or until >= ?1)";
        self.with(by, |conn| match job {
            Some(job) => readable(
                conn,
                &format!("{WINDOW} and job = ?3 order by since"),
                params![from.0, to.0, job.0],
                row::interval,
            ),
            None => readable(conn, &format!("{WINDOW} order by job, since"), params![from.0, to.0], row::interval),
        })
    }

    fn agents(&self, by: Instant) -> Result<Vec<AgentRecord>, StoreError> {
        self.with(by, |conn| readable(conn, "select * from agent order by name, id", params![], row::agent))
    }

    fn pools(&self, by: Instant) -> Result<Vec<PoolRecord>, StoreError> {
        self.with(by, |conn| {
            all(conn, "select tenant, name, running_max, addresses from pool order by tenant, name", [], row::pool)
        })
    }

    fn tenants(&self, by: Instant) -> Result<Vec<TenantRecord>, StoreError> {
        self.with(by, |conn| all(conn, crate::tenant::SELECT, [], super::tenant::tenant))
    }

    fn orphans(&self, by: Instant) -> Result<Vec<Orphan>, StoreError> {
        self.with(by, |conn| {
            all(conn, "select attempt, agent, at, what from orphan order by at desc, attempt desc, kind", [], |row| {
                Ok(Orphan {
                    attempt: AttemptId(row.get(0)?),
                    agent: AgentId(row.get(1)?),
                    at: Timestamp(row.get(2)?),
                    what: row.get(3)?,
                })
            })
        })
    }

    fn quarantine(&self, by: Instant) -> Result<Vec<QuarantineRecord>, StoreError> {
        self.with(by, |conn| {
            all(conn, "select job, input, error, at from quarantine where held = 1 order by id desc", [], |row| {
                Ok(QuarantineRecord {
                    job: row.get::<_, Option<i64>>(0)?.map(JobId),
                    input: row.get(1)?,
                    error: row.get(2)?,
                    at: Timestamp(row.get(3)?),
                })
            })
        })
    }

    fn notes(&self, filter: &NoteFilter, by: Instant) -> Result<Vec<NoteRecord>, StoreError> {
        self.with(by, |conn| {
            let before = filter.before.unwrap_or(i64::MAX);
            let (job, instance) = (filter.job.map(|job| job.0), filter.instance.map(|instance| instance.0));
            readable(
                conn,
                "select id, at, job, instance, kind, detail from note
                 where id < ?1 and (?2 is null or job = ?2) and (?3 is null or instance = ?3)
                 order by id desc limit ?4",
                params![before, job, instance, filter.limit as i64],
                row::note,
            )
        })
    }

    fn counts(
        &self,
        tenant: Option<TenantId>,
        from: Timestamp,
        to: Timestamp,
        by: Instant,
    ) -> Result<Vec<(State, u64)>, StoreError> {
        self.with(by, |conn| {
            let mut counts = State::ALL.map(|state| (state, 0));
            for day in count::days_between(conn, from, to)? {
                count::day(conn, day, tenant, (from, to), &mut counts)?;
            }
            Ok(counts.into_iter().filter(|(_, count)| *count > 0).collect())
        })
    }

    fn open_counts(&self, tenant: TenantId, late: Timestamp, by: Instant) -> Result<OpenCounts, StoreError> {
        self.with(by, |conn| count::open(conn, tenant, late))
    }

    fn failures(
        &self,
        tenant: TenantId,
        from: Timestamp,
        to: Timestamp,
        by: Instant,
    ) -> Result<Vec<(JobId, u64)>, StoreError> {
        self.with(by, |conn| count::failures(conn, tenant, from, to))
    }

    fn horizon(&self, by: Instant) -> Result<Timestamp, StoreError> {
        self.with(by, |conn| {
            let mut select = conn.prepare_cached(sql::body(sql::HORIZON))?;
            Ok(select.query_row([], |row| row.get(0).map(Timestamp))?)
        })
    }

    fn horizons(&self, by: Instant) -> Result<Vec<(ShardId, Timestamp)>, StoreError> {
        let text = "select id, horizon from shard order by id";
        self.with(by, |conn| all(conn, text, [], |row| Ok((ShardId(row.get(0)?), Timestamp(row.get(1)?)))))
    }

    fn lent_to(&self, id: i64, by: Instant) -> Result<Option<(Range<i64>, ShardId)>, StoreError> {
        self.with(by, |conn| {
            let text = "select first, until, shard from lent where first <= ?1 order by first desc limit 1";
            let lent = |row: &rusqlite::Row<'_>| Ok((row.get(0)?..row.get(1)?, ShardId(row.get(2)?)));
            let found = conn.prepare_cached(text)?.query_row([id], lent).optional()?;
            Ok(found.filter(|(ids, _): &(Range<i64>, ShardId)| ids.contains(&id)))
        })
    }

    fn revision(&self, by: Instant) -> Result<i64, StoreError> {
        self.with(by, |conn| {
            let mut select = conn.prepare_cached("select value from meta where key = 'revision'")?;
            Ok(select.query_row([], |row| row.get(0))?)
        })
    }

    fn outbox(&self, shards: &[ShardId], limit: usize, by: Instant) -> Result<Vec<Letter>, StoreError> {
        self.with(by, |conn| Ok(between::outbox(conn, shards, limit)?))
    }

    fn resources(&self, by: Instant) -> Result<Vec<ResourceRecord>, StoreError> {
        self.with(by, |conn| all(conn, sql::body(sql::LIST_RESOURCES), [], ticket::resource))
    }

    fn line(&self, of: &ResourceName, limit: usize, by: Instant) -> Result<Vec<TicketRecord>, StoreError> {
        let text = "select tenant, kind, name, shard, instance, units, held, at, job from ticket
                    where tenant = ?1 and kind = ?2 and name = ?3 order by held desc, number limit ?4";
        self.with(by, |conn| {
            all(conn, text, params![of.tenant.0, of.kind.code(), of.name, limit as i64], ticket::ticket)
        })
    }

    fn tickets_of(&self, instance: InstanceId, by: Instant) -> Result<Vec<TicketRecord>, StoreError> {
        let text = "select tenant, kind, name, shard, instance, units, held, at, job from ticket
                    where instance = ?1 order by kind, name";
        self.with(by, |conn| all(conn, text, [instance.0], ticket::ticket))
    }

    fn global_limit(&self, by: Instant) -> Result<Option<u32>, StoreError> {
        self.with(by, |conn| {
            let mut select = conn.prepare_cached("select max(value) from meta where key = 'global_limit'")?;
            Ok(select.query_row([], |row| row.get(0))?)
        })
    }

    fn variables(&self, tenant: TenantId, names: Option<&[String]>, by: Instant) -> Result<Vec<Variable>, StoreError> {
        self.with(by, |conn| values::variables(conn, tenant, names))
    }

    fn secrets(
        &self,
        tenant: TenantId,
        names: Option<&[String]>,
        by: Instant,
    ) -> Result<Vec<SealedSecret>, StoreError> {
        self.with(by, |conn| values::secrets(conn, tenant, names))
    }

    fn using_jobs(&self, tenant: TenantId, by: Instant) -> Result<Vec<UsingJob>, StoreError> {
        self.with(by, |conn| values::using_jobs(conn, tenant))
    }
}

fn one_job(conn: &Connection, which: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Option<JobRecord>, StoreError> {
    let columns = row::JOB_COLUMNS;
    let mut select = conn.prepare_cached(&format!("select {columns} from job {which}"))?;
    let mut rows = select.query(values)?;
    let Some(found) = rows.next()? else { return Ok(None) };
    row::job(found).map(Some).map_err(|bad| StoreError::Corrupt(bad.what))
}

fn all<T, P: rusqlite::Params>(
    conn: &Connection,
    text: &str,
    values: P,
    read: impl FnMut(&Row) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    Ok(conn.prepare_cached(text)?.query_map(values, read)?.collect::<Result<_, _>>()?)
}

/// All rows that can be read; the others are reported at load.
fn readable<T>(
    conn: &Connection,
    text: &str,
    values: &[&dyn rusqlite::ToSql],
    read: impl Fn(&Row) -> Result<T, Unreadable>,
) -> Result<Vec<T>, StoreError> {
    let mut select = conn.prepare_cached(text)?;
    let mut rows = select.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(read(row).ok());
    }
    Ok(found)
}
