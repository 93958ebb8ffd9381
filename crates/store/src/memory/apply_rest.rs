//! The changes that are not about one instance.

use engine::change::{ClaimName, Gap, Note};
use model::{
    Actor, AgentId, AttemptId, InstanceId, JobId, JobMode, JobRecord, ReportKind, ResourceName, ShardId, TenantId,
    Timestamp,
};

use super::apply::{Applied, found};
use super::state::{KeptJob, State};
use crate::read::{Interval, NoteRecord, Orphan, QuarantineRecord, VersionRecord};
use crate::settled::words_of;

impl State {
    /// Its limits go with it; what its jobs did is history.
    pub(super) fn tenant_removed(&mut self, id: TenantId) -> Applied {
        let pools: Vec<_> = self.pools.keys().filter(|(tenant, _)| *tenant == id).cloned().collect();
        for pool in pools {
            self.pools.delete(&pool);
        }
        let idle = |name: &&ResourceName| name.tenant == id && !self.tickets.keys().any(|(of, _)| of == *name);
        let idle: Vec<_> = self.resources.keys().filter(idle).cloned().collect();
        for resource in idle {
            self.resources.delete(&resource);
        }
        found(self.tenants.delete(&id), || format!("no tenant {id}"))
    }

    pub(super) fn gap(&mut self, shard: ShardId, gap: &Gap) -> Applied {
        found(gap.last >= gap.first && gap.count > 0, || format!("a gap of job {} is empty", gap.job))?;
        let number = self.row_number();
        self.gaps.put(number, (shard, gap.clone()));
        Ok(())
    }

    pub(super) fn job_put(&mut self, shard: ShardId, job: &JobRecord) -> Applied {
        let name = (job.tenant, job.name.clone());
        let taken = self.names.get(&name).is_some_and(|holder| *holder != job.id);
        found(!taken, || format!("there is a job {} already", job.name))?;
        if let Some(old) = self.jobs.get(&job.id) {
            let same = old.removed_at.is_none() && old.record.tenant == job.tenant && old.shard == shard;
            found(same, || format!("number {} belongs to a removed job, another tenant or shard", job.id))?;
            if old.record.name != job.name {
                let old_name = old.record.name.clone();
                self.release_name(job.id, job.tenant, old_name);
            }
        }
        self.names.put(name, job.id);
        self.version_put(job)?;
        self.jobs.put(job.id, KeptJob { shard, record: job.clone(), removed_at: None });
        self.interval_put(job.id)
    }

    fn version_put(&mut self, job: &JobRecord) -> Applied {
        let version = VersionRecord {
            id: job.version,
            job: job.id,
            rule: job.rule,
            task: job.task,
            source: job.source,
            created_at: job.since,
            created_by: job.changed_by.clone(),
        };
        if let Some(old) = self.versions.get(&job.version) {
            let same = (old.job, old.rule, old.task, old.source) == (job.id, job.rule, job.task, job.source);
            return found(same, || format!("version {} says something else", job.version));
        }
        for content in [job.rule, job.task, job.source] {
            found(self.has_content(content), || format!("there is no content {content}"))?;
        }
        self.versions.put(job.version, version);
        Ok(())
    }

    pub(super) fn job_mode(&mut self, job: JobId, mode: JobMode, since: Timestamp, fired: u64, by: &Actor) -> Applied {
        self.living(job)?;
        self.jobs.edit(&job, |kept| {
            kept.record.mode = mode;
            kept.record.since = since;
            kept.record.fired = fired;
            kept.record.changed_by = by.0.clone();
        });
        self.interval_put(job)
    }

    fn living(&self, job: JobId) -> Result<&KeptJob, String> {
        self.jobs.get(&job).filter(|kept| kept.removed_at.is_none()).ok_or_else(|| format!("there is no job {job}"))
    }

    /// Ends the job's interval and begins the next with what the job is now.
    fn interval_put(&mut self, job: JobId) -> Applied {
        let record = self.living(job)?.record.clone();
        self.close_interval(job, record.since)?;
        let interval = Interval {
            job,
            tenant: record.tenant,
            name: record.name,
            since: record.since,
            until: None,
            version: record.version,
            rule: record.rule,
            mode: record.mode,
        };
        self.intervals.put((job, record.since), interval);
        Ok(())
    }

    fn close_interval(&mut self, job: JobId, until: Timestamp) -> Applied {
        let mine = (job, Timestamp::MIN)..=(job, Timestamp::MAX);
        let open = self.intervals.range(mine).find(|(_, interval)| interval.until.is_none()).map(|(key, _)| *key);
        let Some(key) = open else { return Ok(()) };
        found(until >= key.1, || format!("job {job} would go back in time"))?;
        self.intervals.edit(&key, |interval| interval.until = Some(until));
        Ok(())
    }

    pub(super) fn job_removed(&mut self, job: JobId, tenant: TenantId, at: Timestamp) -> Applied {
        let kept = self.living(job)?;
        found(kept.record.tenant == tenant, || format!("job {job} is another tenant's"))?;
        let name = kept.record.name.clone();
        self.release_name(job, tenant, name);
        self.jobs.edit(&job, |kept| kept.removed_at = Some(at));
        self.forget_followers(job);
        self.close_interval(job, at)
    }

    fn release_name(&mut self, job: JobId, tenant: TenantId, name: String) {
        self.names.delete(&(tenant, name.clone()));
        let claim = ClaimName::JobName { tenant, name };
        if self.claims.get(&claim).is_some_and(|(holder, _)| *holder == job.0) {
            self.claims.delete(&claim);
        }
    }

    pub(super) fn job_counted(&mut self, job: JobId, fired: u64) -> Applied {
        found(self.jobs.contains_key(&job), || format!("there is no job {job}"))?;
        self.jobs.edit(&job, |kept| kept.record.fired = fired);
        Ok(())
    }

    pub(super) fn quarantined(&mut self, shard: ShardId, record: QuarantineRecord, decided: Timestamp) -> Applied {
        let number = self.row_number();
        self.quarantine.put(number, (shard, record, decided));
        Ok(())
    }

    pub(super) fn unquarantined(&mut self, job: JobId) -> Applied {
        let held = self.quarantine.iter().filter(|(_, (_, record, _))| record.job == Some(job));
        for number in held.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.quarantine.delete(&number);
        }
        Ok(())
    }

    /// Kept only if nobody has ever heard of the attempt.
    pub(super) fn orphan(&mut self, agent: AgentId, attempt: AttemptId, kind: &ReportKind, at: Timestamp) -> Applied {
        if self.instance_of(attempt).is_some() {
            return Ok(());
        }
        let key = match kind {
            ReportKind::Started { .. } => (attempt.0, agent.0, 1),
            ReportKind::Ended(_) => (attempt.0, agent.0, 2),
        };
        if !self.orphans.contains_key(&key) {
            self.orphans.put(key, Orphan { attempt, agent, at, what: words_of(kind) });
        }
        Ok(())
    }

    /// A first attempt carries the number of its instance.
    pub(super) fn instance_of(&self, attempt: AttemptId) -> Option<InstanceId> {
        let first = InstanceId(attempt.0);
        self.later.get(&attempt.0).copied().or_else(|| self.instances.contains_key(&first).then_some(first))
    }

    pub(super) fn note(&mut self, note: &Note) -> Applied {
        let id = self.row_number();
        self.notes.put(id, NoteRecord { id, note: note.clone() });
        Ok(())
    }
}
