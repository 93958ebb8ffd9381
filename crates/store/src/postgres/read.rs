//! The reads people and programs ask for. Committed state only; each is bounded by its deadline and by what it is asked.

use std::ops::Range;
use std::time::Instant;

use engine::change::Gap;
use model::rights::Place;
use model::{
    AgentId, AgentRecord, AttemptId, ContentId, Ending, Instance, InstanceId, JobId, JobRecord, PoolRecord,
    ResourceName, ShardId, State, TenantId, TenantRecord, Timestamp, VersionId,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::column::text as text_of;
use super::conn::Conn;
use super::day::on_day;
use super::error::Fault;
use super::list::damaged;
use super::pool::PgReads;
use super::row::{self, Unreadable, small};
use super::{between, count, list, load, sql, values};
use crate::code::{self, Code};
use crate::json;
use crate::read::{
    AttemptRecord, InstanceFilter, Interval, JobFilter, LedgerEntry, Letter, NoteFilter, NoteRecord, OpenCounts,
    Orphan, QuarantineRecord, Reads, ResourceRecord, TicketRecord, VersionRecord,
};
use crate::values::{SealedSecret, UsingJob, Variable};
use crate::{OwnedVersion, StoreError, StoredVersion};

type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

impl Reads for PgReads {
    fn jobs(&self, filter: &JobFilter, by: Instant) -> Result<Vec<JobRecord>, StoreError> {
        let (name, id) = filter.after.as_ref().map_or(("", i64::MIN), |(name, id)| (name.as_str(), id.0));
        let folder = filter.folder.as_deref().filter(|folder| !folder.is_empty()).map(text_of);
        let part = filter.name.as_ref().map(|part| text_of(&part.to_ascii_lowercase()).into_owned());
        let (mode, tenant) = (filter.mode.map(Code::code), filter.tenant.map(|tenant| tenant.0));
        let (limit, within) = (filter.limit as i64, filter.within.as_deref().map(json::places));
        self.with(by, async |conn: &Conn| {
            let values: Values = &[&name, &id, &tenant, &folder, &part, &mode, &limit, &within];
            readable(conn, sql::LIST_JOBS, values, row::job).await
        })
    }

    fn folders(
        &self,
        tenant: TenantId,
        within: Option<&[Place]>,
        limit: usize,
        by: Instant,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        let (within, limit) = (within.map(json::places), limit as i64);
        let read = |row: &Row| (row.get(0), row.get(1));
        self.with(by, async |conn: &Conn| all(conn, sql::LIST_FOLDERS, &[&tenant.0, &within, &limit], read).await)
    }

    fn job(&self, id: JobId, by: Instant) -> Result<Option<JobRecord>, StoreError> {
        self.with(by, async |conn: &Conn| one_job(conn, "where id = $1 and removed_at is null", &[&id.0]).await)
    }

    fn job_past_or_present(&self, id: JobId, by: Instant) -> Result<Option<JobRecord>, StoreError> {
        self.with(by, async |conn: &Conn| one_job(conn, "where id = $1", &[&id.0]).await)
    }

    fn job_named(&self, tenant: TenantId, name: &str, by: Instant) -> Result<Option<JobRecord>, StoreError> {
        let name = text_of(name);
        self.with(by, async |conn: &Conn| {
            one_job(conn, "where tenant = $1 and name = $2 and removed_at is null", &[&tenant.0, &name]).await
        })
    }

    fn jobs_named(&self, tenant: TenantId, names: &[&str], by: Instant) -> Result<Vec<JobRecord>, StoreError> {
        let columns = row::JOB_COLUMNS;
        let text =
            format!("select {columns} from job where tenant = $1 and removed_at is null and name = any($2::text[])");
        let names: Vec<_> = names.iter().map(|name| text_of(name)).collect();
        self.with(by, async |conn: &Conn| {
            let rows = conn.query(&text, &[&tenant.0, &names]).await?;
            rows.iter().map(row::job).collect::<Result<_, _>>().map_err(damaged)
        })
    }

    fn job_once_named(&self, tenant: TenantId, name: &str, by: Instant) -> Result<Option<JobId>, StoreError> {
        let text = "select id from job where tenant = $1 and name = $2 and removed_at is not null
                    order by removed_at desc, id desc limit 1";
        let name = text_of(name);
        self.with(by, async |conn: &Conn| Ok(conn.first(text, &[&tenant.0, &name]).await?.map(|row| JobId(row.get(0)))))
    }

    fn versions(&self, job: JobId, by: Instant) -> Result<Vec<VersionRecord>, StoreError> {
        let text = "select id, job, rule, task, source, created_at, created_by from job_version
                    where job = $1 order by id desc";
        let read = |row: &Row| {
            let version = row::version(row);
            VersionRecord {
                id: version.id,
                job: version.job,
                rule: version.rule,
                task: version.task,
                source: version.source,
                created_at: Timestamp(row.get(5)),
                created_by: row.get(6),
            }
        };
        self.with(by, async |conn: &Conn| all(conn, text, &[&job.0], read).await)
    }

    fn version(&self, id: VersionId, by: Instant) -> Result<Option<StoredVersion>, StoreError> {
        let text = "select id, job, rule, task, source from job_version where id = $1";
        self.with(by, async |conn: &Conn| Ok(conn.first(text, &[&id.0]).await?.as_ref().map(row::version)))
    }

    fn owned_versions(&self, ids: &[VersionId], by: Instant) -> Result<Vec<OwnedVersion>, StoreError> {
        let text = "select v.id, v.job, v.rule, v.task, v.source, j.name, j.tenant
                    from job_version v join job j on j.id = v.job where v.id = any($1)";
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let read =
            |row: &Row| OwnedVersion { version: row::version(row), job_name: row.get(5), tenant: TenantId(row.get(6)) };
        self.with(by, async |conn: &Conn| all(conn, text, &[&ids], read).await)
    }

    fn content(&self, id: ContentId, by: Instant) -> Result<Option<Vec<u8>>, StoreError> {
        let text = "select body from content where id = $1";
        self.with(by, async |conn: &Conn| Ok(conn.first(text, &[&id.0]).await?.map(|row| row.get(0))))
    }

    fn instances(&self, filter: &InstanceFilter, by: Instant) -> Result<Vec<Instance>, StoreError> {
        self.with(by, async |conn: &Conn| list::page(conn, filter).await)
    }

    fn instance(&self, id: InstanceId, by: Instant) -> Result<Option<Instance>, StoreError> {
        self.with(by, async |conn: &Conn| {
            let found = list::find(conn, id).await?;
            found.map(|found| row::instance(&found)).transpose().map_err(damaged)
        })
    }

    fn ending(&self, id: InstanceId, by: Instant) -> Result<Option<Ending>, StoreError> {
        self.with(by, async |conn: &Conn| {
            let found = list::find(conn, id).await?;
            Ok(found.map(|found| row::ending(&found)).transpose().map_err(damaged)?.flatten())
        })
    }

    fn attempts(&self, id: InstanceId, by: Instant) -> Result<Vec<AttemptRecord>, StoreError> {
        let text = "select * from attempt where instance = $1 order by number, id";
        self.with(by, async |conn: &Conn| readable(conn, text, &[&id.0], row::attempt).await)
    }

    fn instance_of(&self, attempt: AttemptId, by: Instant) -> Result<Option<InstanceId>, StoreError> {
        self.with(by, async |conn: &Conn| list::instance_of(conn, attempt).await)
    }

    fn ledger(&self, job: JobId, from: Timestamp, to: Timestamp, by: Instant) -> Result<Vec<LedgerEntry>, StoreError> {
        self.with(by, async |conn: &Conn| {
            let mut entries = Vec::new();
            for day in count::days_between(conn, from, to).await? {
                for row in conn.query(&on_day(sql::LEDGER, day), &[&job.0, &from.0, &to.0]).await? {
                    let Some(state) = State::decode(small(&row, 2)) else { continue };
                    entries.push(LedgerEntry {
                        planned: Timestamp(row.get(0)),
                        instance: InstanceId(row.get(1)),
                        state,
                        by_trigger: code::cause_is_trigger(small(&row, 3)),
                        started: code::time(row.get(4)),
                        reopened: row.get(5),
                    });
                }
            }
            Ok(entries)
        })
    }

    fn gaps(&self, job: Option<JobId>, from: Timestamp, to: Timestamp, by: Instant) -> Result<Vec<Gap>, StoreError> {
        const OF_JOB: &str = "select * from gap where last >= $1 and first < $2 and job = $3 order by first, id";
        const OF_ALL: &str = "select * from gap where last >= $1 and first < $2 order by first, id";
        self.with(by, async |conn: &Conn| match job {
            Some(job) => readable(conn, OF_JOB, &[&from.0, &to.0, &job.0], row::gap).await,
            None => readable(conn, OF_ALL, &[&from.0, &to.0], row::gap).await,
        })
    }

    fn intervals(
        &self,
        job: Option<JobId>,
        from: Timestamp,
        to: Timestamp,
        by: Instant,
    ) -> Result<Vec<Interval>, StoreError> {
        const OF_JOB: &str = "select * from job_interval
            where since < $2 and (until is null or until >= $1) and job = $3 order by since";
        const OF_ALL: &str = "select * from job_interval
            where since < $2 and (until is null or until >= $1) order by job, since";
        self.with(by, async |conn: &Conn| match job {
            Some(job) => readable(conn, OF_JOB, &[&from.0, &to.0, &job.0], row::interval).await,
            None => readable(conn, OF_ALL, &[&from.0, &to.0], row::interval).await,
        })
    }

    fn agents(&self, by: Instant) -> Result<Vec<AgentRecord>, StoreError> {
        self.with(by, async |conn: &Conn| {
            readable(conn, "select * from agent order by name, id", &[], row::agent).await
        })
    }

    fn pools(&self, by: Instant) -> Result<Vec<PoolRecord>, StoreError> {
        let text = "select tenant, name, running_max, addresses from pool order by tenant, name";
        self.with(by, async |conn: &Conn| all(conn, text, &[], row::pool).await)
    }

    fn tenants(&self, by: Instant) -> Result<Vec<TenantRecord>, StoreError> {
        self.with(by, async |conn: &Conn| all(conn, crate::tenant::SELECT, &[], super::tenant::tenant).await)
    }

    fn orphans(&self, by: Instant) -> Result<Vec<Orphan>, StoreError> {
        let text = "select attempt, agent, at, what from orphan order by at desc, attempt desc, kind";
        let read = |row: &Row| Orphan {
            attempt: AttemptId(row.get(0)),
            agent: AgentId(row.get(1)),
            at: Timestamp(row.get(2)),
            what: row.get(3),
        };
        self.with(by, async |conn: &Conn| all(conn, text, &[], read).await)
    }

    fn quarantine(&self, by: Instant) -> Result<Vec<QuarantineRecord>, StoreError> {
        let text = "select job, input, error, at from quarantine where held order by id desc";
        let read = |row: &Row| QuarantineRecord {
            job: row.get::<_, Option<i64>>(0).map(JobId),
            input: row.get(1),
            error: row.get(2),
            at: Timestamp(row.get(3)),
        };
        self.with(by, async |conn: &Conn| all(conn, text, &[], read).await)
    }

    fn notes(&self, filter: &NoteFilter, by: Instant) -> Result<Vec<NoteRecord>, StoreError> {
        let before = filter.before.unwrap_or(i64::MAX);
        let (job, instance) = (filter.job.map(|job| job.0), filter.instance.map(|instance| instance.0));
        let limit = filter.limit as i64;
        let text = "select * from note
                    where id < $1 and ($2::int8 is null or job = $2) and ($3::int8 is null or instance = $3)
                    order by id desc limit $4";
        self.with(by, async |conn: &Conn| readable(conn, text, &[&before, &job, &instance, &limit], row::note).await)
    }

    fn counts(
        &self,
        tenant: Option<TenantId>,
        from: Timestamp,
        to: Timestamp,
        by: Instant,
    ) -> Result<Vec<(State, u64)>, StoreError> {
        self.with(by, async |conn: &Conn| {
            let mut counts = State::ALL.map(|state| (state, 0));
            for day in count::days_between(conn, from, to).await? {
                count::day(conn, day, tenant, (from, to), &mut counts).await?;
            }
            Ok(counts.into_iter().filter(|(_, count)| *count > 0).collect())
        })
    }

    fn open_counts(&self, tenant: TenantId, late: Timestamp, by: Instant) -> Result<OpenCounts, StoreError> {
        self.with(by, async |conn: &Conn| count::open(conn, tenant, late).await)
    }

    fn failures(
        &self,
        tenant: TenantId,
        from: Timestamp,
        to: Timestamp,
        by: Instant,
    ) -> Result<Vec<(JobId, u64)>, StoreError> {
        self.with(by, async |conn: &Conn| count::failures(conn, tenant, from, to).await)
    }

    fn horizon(&self, by: Instant) -> Result<Timestamp, StoreError> {
        let text = sql::HORIZON;
        self.with(by, async |conn: &Conn| Ok(Timestamp(conn.first(text, &[]).await?.map_or(0, |row| row.get(0)))))
    }

    fn horizons(&self, by: Instant) -> Result<Vec<(ShardId, Timestamp)>, StoreError> {
        let text = "select id, horizon from shard order by id";
        self.with(by, async |conn: &Conn| {
            let rows = conn.query(text, &[]).await?;
            Ok(rows.iter().map(|row| (ShardId(row.get(0)), Timestamp(row.get(1)))).collect())
        })
    }

    fn lent_to(&self, id: i64, by: Instant) -> Result<Option<(Range<i64>, ShardId)>, StoreError> {
        let text = "select first, until, shard from lent where first <= $1 order by first desc limit 1";
        self.with(by, async |conn: &Conn| {
            let found = conn.first(text, &[&id]).await?;
            let found = found.map(|row| (row.get(0)..row.get(1), ShardId(row.get(2))));
            Ok(found.filter(|(ids, _): &(Range<i64>, ShardId)| ids.contains(&id)))
        })
    }

    fn revision(&self, by: Instant) -> Result<i64, StoreError> {
        let text = "select value::int8 from meta where key = 'revision'";
        self.with(by, async |conn: &Conn| Ok(conn.first(text, &[]).await?.map_or(0, |row| row.get(0))))
    }

    fn outbox(&self, shards: &[ShardId], limit: usize, by: Instant) -> Result<Vec<Letter>, StoreError> {
        self.with(by, async |conn: &Conn| between::outbox(conn, shards, limit).await)
    }

    fn resources(&self, by: Instant) -> Result<Vec<ResourceRecord>, StoreError> {
        self.with(by, async |conn: &Conn| all(conn, sql::LIST_RESOURCES, &[], between::resource).await)
    }

    fn line(&self, of: &ResourceName, limit: usize, by: Instant) -> Result<Vec<TicketRecord>, StoreError> {
        let text = "select tenant, kind, name, shard, instance, units, held, at, job from ticket
                    where tenant = $1 and kind = $2 and name = $3 order by held desc, number limit $4";
        let (tenant, kind, limit) = (of.tenant.0, of.kind.code(), limit as i64);
        self.with(by, async |conn: &Conn| all(conn, text, &[&tenant, &kind, &of.name, &limit], between::ticket).await)
    }

    fn tickets_of(&self, instance: InstanceId, by: Instant) -> Result<Vec<TicketRecord>, StoreError> {
        let text = "select tenant, kind, name, shard, instance, units, held, at, job from ticket
                    where instance = $1 order by kind, name";
        self.with(by, async |conn: &Conn| all(conn, text, &[&instance.0], between::ticket).await)
    }

    fn global_limit(&self, by: Instant) -> Result<Option<u32>, StoreError> {
        self.with(by, async |conn: &Conn| load::global_limit(conn).await)
    }

    fn variables(&self, tenant: TenantId, names: Option<&[String]>, by: Instant) -> Result<Vec<Variable>, StoreError> {
        self.with(by, async |conn: &Conn| values::variables(conn, tenant, names).await)
    }

    fn secrets(
        &self,
        tenant: TenantId,
        names: Option<&[String]>,
        by: Instant,
    ) -> Result<Vec<SealedSecret>, StoreError> {
        self.with(by, async |conn: &Conn| values::secrets(conn, tenant, names).await)
    }

    fn using_jobs(&self, tenant: TenantId, by: Instant) -> Result<Vec<UsingJob>, StoreError> {
        self.with(by, async |conn: &Conn| values::using_jobs(conn, tenant).await)
    }
}

async fn one_job(conn: &Conn, which: &str, values: Values<'_>) -> Result<Option<JobRecord>, Fault> {
    let found = conn.first(&format!("select {} from job {which}", row::JOB_COLUMNS), values).await?;
    found.map(|found| row::job(&found)).transpose().map_err(damaged)
}

async fn all<T>(conn: &Conn, text: &str, values: Values<'_>, read: impl Fn(&Row) -> T) -> Result<Vec<T>, Fault> {
    Ok(conn.query(text, values).await?.iter().map(read).collect())
}

/// All rows that can be read; the others are reported at load.
async fn readable<T>(
    conn: &Conn,
    text: &str,
    values: Values<'_>,
    read: impl Fn(&Row) -> Result<T, Unreadable>,
) -> Result<Vec<T>, Fault> {
    Ok(conn.query(text, values).await?.iter().filter_map(|row| read(row).ok()).collect())
}
