//! The changes that are not about one instance: jobs, gaps, agents, pools, and what people are told.

use engine::change::{ClaimName, Gap, Note};
use model::{
    Actor, AgentId, AgentRecord, AttemptId, JobId, JobMode, JobRecord, PoolRecord, ReportKind, TenantId, Timestamp,
};
use rusqlite::{OptionalExtension, params};

use super::apply::{Applying, expect};
use super::day::on_day;
use super::error::Fault;
use super::sql;
use crate::block::block_of;
use crate::code::{self, Code};
use crate::json;

impl Applying<'_> {
    pub(super) fn gap(&self, gap: &Gap) -> Result<(), Fault> {
        let (fate, reason, instance) = code::fate(gap.fate);
        self.conn.prepare_cached(sql::body(sql::PUT_GAP))?.execute(params![
            self.commit.shard.0,
            gap.job.0,
            gap.tenant.0,
            gap.first.0,
            gap.last.0,
            count(gap.count),
            fate,
            reason,
            instance,
            gap.why,
        ])?;
        Ok(())
    }

    pub(super) fn job_put(&self, job: &JobRecord) -> Result<(), Fault> {
        let old_name: Option<String> = self
            .conn
            .prepare_cached("select name from job where id = ?1 and removed_at is null")?
            .query_row([job.id.0], |row| row.get(0))
            .optional()?;
        let rows = self.conn.prepare_cached(sql::body(sql::PUT_JOB))?.execute(params![
            job.id.0,
            self.commit.shard.0,
            job.tenant.0,
            job.name,
            job.version.0,
            job.rule.0,
            job.task.0,
            job.source.0,
            job.folder,
            job.mode.code(),
            job.since.0,
            count(job.fired),
            job.changed_by,
            job.alias,
            json::labels(&job.labels),
        ])?;
        expect(rows, || "its number belongs to a removed job, another tenant or another shard".into())?;
        if let Some(old) = old_name.filter(|old| *old != job.name) {
            self.release_name(job.id, job.tenant.0, &old)?;
        }
        self.version_put(job)?;
        self.interval_put(job.id, job.since)
    }

    pub(super) fn job_mode(
        &self,
        job: JobId,
        mode: JobMode,
        since: Timestamp,
        fired: u64,
        by: &Actor,
    ) -> Result<(), Fault> {
        let rows = self
            .conn
            .prepare_cached(
                "update job set mode = ?2, since = ?3, fired = ?4, changed_by = ?5 where id = ?1 and removed_at is null",
            )?
            .execute(params![job.0, mode.code(), since.0, count(fired), by.0])?;
        expect(rows, || "there is no such job".into())?;
        self.interval_put(job, since)
    }

    /// Ends the job's interval and begins the next with what the job is now.
    fn interval_put(&self, job: JobId, since: Timestamp) -> Result<(), Fault> {
        self.close_interval(job, since)?;
        self.conn.prepare_cached(sql::body(sql::PUT_INTERVAL))?.execute([job.0])?;
        Ok(())
    }

    fn version_put(&self, job: &JobRecord) -> Result<(), Fault> {
        let contents = [job.rule.0, job.task.0, job.source.0];
        let fresh = self.conn.prepare_cached(sql::body(sql::PUT_VERSION))?.execute(params![
            job.version.0,
            job.id.0,
            contents[0],
            contents[1],
            contents[2],
            job.since.0,
            job.changed_by,
        ])?;
        if fresh == 1 {
            let mut refer = self.conn.prepare_cached("update content set refs = refs + 1 where id = ?1")?;
            for content in contents {
                expect(refer.execute([content])?, || format!("there is no content {content}"))?;
            }
            return Ok(());
        }
        let same = self
            .conn
            .prepare_cached(
                "select 1 from job_version where id = ?1 and job = ?2 and rule = ?3 and task = ?4 and source = ?5",
            )?
            .exists([job.version.0, job.id.0, contents[0], contents[1], contents[2]])?;
        if same { Ok(()) } else { Err(Fault::Impossible(format!("version {} says something else", job.version))) }
    }

    fn close_interval(&self, job: JobId, until: Timestamp) -> Result<(), Fault> {
        self.conn
            .prepare_cached("update job_interval set until = ?2 where job = ?1 and until is null")?
            .execute([job.0, until.0])?;
        Ok(())
    }

    pub(super) fn job_removed(&self, job: JobId, tenant: TenantId, at: Timestamp, by: &Actor) -> Result<(), Fault> {
        let name: Option<String> = self
            .conn
            .prepare_cached(
                "update job set removed_at = ?2, removed_by = ?3 where id = ?1 and tenant = ?4 and removed_at is null
                 returning name",
            )?
            .query_row(params![job.0, at.0, by.0, tenant.0], |row| row.get(0))
            .optional()?;
        let Some(name) = name else { return Err(Fault::Impossible("there is no such job".into())) };
        self.release_name(job, tenant.0, &name)?;
        self.conn.prepare_cached("delete from follower where job = ?1")?.execute([job.0])?;
        self.close_interval(job, at)
    }

    fn release_name(&self, job: JobId, tenant: i64, name: &str) -> Result<(), Fault> {
        self.conn
            .prepare_cached("delete from claim where kind = ?1 and tenant = ?2 and name = ?3 and holder = ?4")?
            .execute(params![code::JOB_NAME, tenant, name, job.0])?;
        Ok(())
    }

    pub(super) fn job_counted(&self, job: JobId, fired: u64) -> Result<(), Fault> {
        let rows =
            self.conn.prepare_cached("update job set fired = ?2 where id = ?1")?.execute([job.0, count(fired)])?;
        expect(rows, || "there is no such job".into())
    }

    pub(super) fn quarantined(
        &self,
        job: Option<JobId>,
        input: &str,
        error: &str,
        at: Timestamp,
        decided: Timestamp,
    ) -> Result<(), Fault> {
        self.conn
            .prepare_cached(
                "insert into quarantine (shard, job, input, error, at, decided) values (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![self.commit.shard.0, job.map(|job| job.0), input, error, at.0, decided.0])?;
        Ok(())
    }

    pub(super) fn unquarantined(&self, job: JobId, by: &Actor) -> Result<(), Fault> {
        self.conn
            .prepare_cached("update quarantine set held = 0, looked_by = ?2 where job = ?1 and held = 1")?
            .execute(params![job.0, by.0])?;
        Ok(())
    }

    pub(super) fn agent_put(&self, agent: &AgentRecord) -> Result<(), Fault> {
        let (executor, listed) = code::of_agent_kind(agent.kind);
        self.conn.prepare_cached(sql::body(sql::PUT_AGENT))?.execute(params![
            agent.id.0,
            agent.tenant.0,
            agent.name,
            json::list(&agent.pools),
            json::map(&agent.labels),
            agent.slots,
            agent.drained,
            agent.joined_at.0,
            agent.seen_at.map(|at| at.0),
            agent.version,
            executor,
            listed,
            json::serves(&agent.serves),
        ])?;
        Ok(())
    }

    pub(super) fn agent_removed(&self, agent: AgentId) -> Result<(), Fault> {
        let rows = self.conn.prepare_cached("delete from agent where id = ?1")?.execute([agent.0])?;
        expect(rows, || "there is no such agent".into())
    }

    pub(super) fn pool_put(&self, pool: &PoolRecord) -> Result<(), Fault> {
        self.conn
            .prepare_cached(
                "insert into pool (tenant, name, running_max, addresses) values (?1, ?2, ?3, ?4)
                 on conflict do update set running_max = excluded.running_max, addresses = excluded.addresses",
            )?
            .execute(params![pool.tenant.0, pool.name, pool.limit, json::list(&pool.addresses)])?;
        Ok(())
    }

    pub(super) fn global_limit(&self, limit: Option<u32>) -> Result<(), Fault> {
        self.conn
            .prepare_cached("insert or replace into meta (key, value) values ('global_limit', ?1)")?
            .execute([limit])?;
        Ok(())
    }

    /// Kept only if nobody has ever heard of the attempt.
    pub(super) fn orphan(
        &self,
        agent: AgentId,
        attempt: AttemptId,
        kind: &ReportKind,
        at: Timestamp,
    ) -> Result<(), Fault> {
        if self.is_known(attempt)? {
            return Ok(());
        }
        let (kind, what) = code::orphan(kind);
        self.conn
            .prepare_cached(
                "insert into orphan (attempt, agent, kind, at, what) values (?1, ?2, ?3, ?4, ?5) on conflict do nothing",
            )?
            .execute(params![attempt.0, agent.0, kind, at.0, what])?;
        Ok(())
    }

    fn is_known(&self, attempt: AttemptId) -> Result<bool, Fault> {
        if self.conn.prepare_cached("select 1 from later_attempt where id = ?1")?.exists([attempt.0])? {
            return Ok(true);
        }
        let mut of_block = self.conn.prepare_cached("select day from block where no = ?1")?;
        let days = of_block.query_map([block_of(attempt.0)], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
        for day in days {
            if self.conn.prepare_cached(&on_day(sql::HAS_INSTANCE, day))?.exists([attempt.0])? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn note(&self, note: &Note) -> Result<(), Fault> {
        let (kind, detail) = code::note(&note.kind);
        self.conn
            .prepare_cached(
                "insert into note (shard, at, job, instance, kind, detail) values (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                self.commit.shard.0,
                note.at.0,
                note.job.map(|job| job.0),
                note.instance.map(|instance| instance.0),
                kind,
                detail,
            ])?;
        Ok(())
    }

    pub(super) fn released(&self, claim: &ClaimName) -> Result<(), Fault> {
        let (kind, tenant, name) = code::claim(claim);
        self.conn
            .prepare_cached("delete from claim where kind = ?1 and tenant = ?2 and name = ?3")?
            .execute(params![kind, tenant, name])?;
        Ok(())
    }
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
