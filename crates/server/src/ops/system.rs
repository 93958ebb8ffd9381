//! The installation as a whole: is it well, what does it do, does its ledger agree with its triggers, a copy of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use model::{JobMode, ShardId, Span, TenantId, Timestamp};
use store::Reads;
use store::StoreError;
use store::read::JobFilter;
use wire::api::{
    HealthView, JobCounts, Page, QuarantineView, ReadyView, ShardView, StatsQuery, StatsView, VerifyQuery, VerifyView,
    VersionView,
};
use wire::{Code, Fault, Length, Problem};

use super::tenants::jobs_of;
use super::{Desk, Done, Sight, instances, jobs};
use crate::shard::Progress;
use crate::verify::{self, Window};

/// The loop comes round at least every two seconds; one that has not for so long is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(5);
const VERIFY_WITHIN: Duration = Duration::from_secs(570);
/// Jobs of one mode are counted one by one up to this many.
const COUNTED_MAX: usize = 20_000;

impl Desk {
    pub(crate) fn health(&self) -> Done<HealthView> {
        let running = self.shards.running();
        let shards = running.iter().map(|(shard, handle)| self.shard_view(*shard, &handle.progress));
        let shards = shards.collect::<Done<Vec<ShardView>>>()?;
        // Of several servers one may well own nothing.
        if shards.is_empty() && self.app.cluster.is_none() {
            return Err(Problem::new(Code::NotReady, "the scheduling loop has ended").into());
        }
        let uptime = Span((self.clock.now() - self.started_at).0 / 1_000_000 * 1_000_000);
        Ok(HealthView { ok: true, uptime: Length(uptime), shards })
    }

    fn shard_view(&self, shard: ShardId, progress: &Progress) -> Done<ShardView> {
        let turned = *progress.turned_at.lock();
        // A loop that has just been started has not come round yet.
        let since_start = || Duration::from(self.clock.now() - self.started_at);
        let idle = turned.map_or_else(since_start, |turned| turned.elapsed());
        let stuck = progress.trouble.lock().clone();
        if let Some(problem) = stalled(idle, stuck.as_deref()) {
            return Err(problem.into());
        }
        let latest = *progress.latest.lock();
        Ok(ShardView {
            id: shard.0,
            term: progress.term.load(Ordering::Relaxed),
            batch: latest.map_or(0, |(batch, _)| batch.0),
            horizon: latest.map_or(self.started_at, |(_, horizon)| horizon).into(),
            idle: Length(Span::from(idle)),
            stuck,
        })
    }

    fn troubles(&self) -> Option<String> {
        self.shards.running().iter().find_map(|(_, handle)| handle.progress.trouble.lock().clone())
    }

    pub(crate) fn ready(&self) -> Done<ReadyView> {
        let mut missing = Vec::new();
        if !self.setup.is_done() {
            missing.push("set-up has not been done".to_owned());
        }
        missing.extend(self.troubles());
        missing.extend(self.health().err().map(|refused| refused.0.detail.clone()));
        if missing.is_empty() {
            return Ok(ReadyView { ready: true, missing });
        }
        Err(Problem::new(Code::NotReady, missing.join("; ")).into())
    }

    pub(crate) fn version(&self) -> VersionView {
        VersionView {
            version: env!("CARGO_PKG_VERSION").into(),
            protocol: wire::link::PROTOCOL,
            tzdata: engine::cron::tzdata_version().into(),
        }
    }

    pub(crate) async fn stats(&self, sight: &Sight, query: StatsQuery) -> Done<StatsView> {
        let tenant = sight.whole()?;
        let now = self.clock.now();
        let to = query.to.map_or(now, Timestamp::from);
        let from = query.from.map_or(to - Span::DAY, Timestamp::from);
        let (counts, jobs) = self
            .read(move |reads, by| Ok((reads.counts(Some(tenant), from, to, by)?, count_jobs(reads, tenant, by)?)))
            .await?;
        let mut agents = self.everybody();
        agents.retain(|agent| sight.shows_agent(agent));
        let is_online = |id| self.switchboard.presence(id).is_some() || self.executors.is_there(id);
        let online = agents.iter().filter(|agent| is_online(agent.id)).count();
        Ok(StatsView {
            from: from.into(),
            to: to.into(),
            instances: counts.into_iter().map(|(state, count)| (state.to_string(), count)).collect(),
            jobs,
            agents: agents.len() as u32,
            agents_online: online as u32,
        })
    }

    pub(crate) async fn quarantine(&self) -> Done<Page<QuarantineView>> {
        let views = self.read(|reads, by| {
            let records = reads.quarantine(by)?;
            let views = records.into_iter().map(|record| {
                let job = record.job.map(|job| instances::job_name(reads, job, by)).transpose()?;
                Ok(QuarantineView {
                    job,
                    job_id: record.job.map(|job| job.0),
                    at: record.at.into(),
                    input: record.input,
                    error: record.error,
                })
            });
            views.collect::<Result<Vec<_>, StoreError>>()
        });
        Ok(Page::whole(views.await?))
    }

    /// Of the whole installation, or of what the caller sees.
    pub(crate) async fn verify(&self, sight: &Sight, everything: bool, query: VerifyQuery) -> Done<VerifyView> {
        let now = self.clock.now();
        let to = query.to.map_or(now, Timestamp::from).min(now);
        let from = query.from.map_or(to - Span::HOUR, Timestamp::from);
        if from > to {
            return Err(Fault::new(Code::BadQuery, "from", "it lies after `to`, or in the future").alone().into());
        }
        let job = match &query.job {
            Some(name) => Some(self.job_past_or_present(sight, name).await?),
            None => None,
        };
        let tenant = if everything || job.is_some() { None } else { Some(sight.whole()?) };
        let window = Window { from, to, tenant, job, now, shards: self.shards.count() };
        let reads = Arc::clone(&self.reads);
        let by = Instant::now() + VERIFY_WITHIN;
        // Dropped with this call: a caller who has gone needs no answer.
        let wanted = Arc::new(());
        let wish = Arc::downgrade(&wanted);
        let done =
            tokio::task::spawn_blocking(move || verify::verify(&*reads, &window, by, &|| wish.strong_count() > 0));
        let done = done.await;
        drop(wanted);
        Ok(done.unwrap_or_else(|panic| Err(StoreError::Failed(format!("verifying failed: {panic}"))))?)
    }

    /// A consistent copy of the store, beside it; whoever asked removes it.
    pub(crate) async fn backup(&self) -> Done<PathBuf> {
        if self.app.cluster.is_some() {
            let detail = "this store is in PostgreSQL, which makes its own backups: pg_dump of the schema duly";
            return Err(Problem::new(Code::BackupElsewhere, detail).into());
        }
        let path = self.config.data.join(format!("backup-{}.part", self.clock.now().0));
        let (place, data, copy) = (self.config.store.clone(), self.config.data.clone(), path.clone());
        let made = tokio::task::spawn_blocking(move || place.backup(&data, &copy)).await;
        let failed = |what: String| Problem::new(Code::BackupFailed, what);
        match made {
            Ok(Ok(())) => Ok(path),
            Ok(Err(error)) => {
                let _ = std::fs::remove_file(&path);
                Err(failed(error.to_string()).into())
            }
            Err(panic) => Err(failed(panic.to_string()).into()),
        }
    }
}

/// Alive means that the loop comes round, whatever it waits for.
fn stalled(idle: Duration, trouble: Option<&str>) -> Option<Problem> {
    if idle < STUCK_AFTER {
        return None;
    }
    let trouble = trouble.map(|trouble| format!(": {trouble}")).unwrap_or_default();
    Some(Problem::new(
        Code::NotReady,
        format!("the scheduling loop has not come round for {} s{trouble}", idle.as_secs()),
    ))
}

fn count_jobs(reads: &dyn Reads, tenant: TenantId, by: Instant) -> Result<JobCounts, StoreError> {
    let count = |mode| -> Result<u64, StoreError> {
        let filter = JobFilter { tenant: Some(tenant), mode: Some(mode), limit: COUNTED_MAX, ..JobFilter::default() };
        Ok(reads.jobs(&filter, by)?.len() as u64)
    };
    let (paused, disabled) = (count(JobMode::Paused)?, count(JobMode::Disabled)?);
    let enabled = match count(JobMode::Enabled)? {
        all if all < COUNTED_MAX as u64 => all,
        _ => jobs_of(reads, tenant, by)?.saturating_sub(paused + disabled),
    };
    let mut held = 0;
    for job in jobs::held(reads, by)?.into_keys() {
        held += u64::from(reads.job(job, by)?.is_some_and(|record| record.tenant == tenant));
    }
    Ok(JobCounts { enabled, paused, disabled, held })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_stands_still_is_not_alive() {
        assert_eq!(stalled(Duration::from_millis(1_200), Some("disk full")), None);
        let told = |idle, trouble| stalled(idle, trouble).map(|problem| problem.detail);
        let expected = "the scheduling loop has not come round for 9 s: disk full";
        assert_eq!(told(Duration::from_secs(9), Some("disk full")).as_deref(), Some(expected));
    }
}
