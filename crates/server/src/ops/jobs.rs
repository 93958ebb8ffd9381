//! Jobs: listing, showing, switching on and off, removing.

use std::collections::BTreeMap;
use std::time::Instant;

use engine::{Command, Compiled, Reply};
use model::{Actor, Instance, JobId, JobMode, JobRecord, Timestamp, When};
use store::read::{InstanceFilter, JobFilter};
use store::{Reads, StoreError};
use wire::api::{Cursor, FolderView, JobQuery, JobVersionView, JobView, LastView, Page};
use wire::{Code, JobBody, Problem};

use super::sight::asked_place;
use super::{Desk, Done, Refused, Sight};
use crate::audit::{self, Facts};

/// How many of its last instances a job is shown with.
const RECENT: usize = 10;
/// Whoever has more finds them by typing.
const FOLDERS_MAX: usize = 1_000;

impl Desk {
    pub(crate) async fn job(&self, sight: &Sight, name: &str) -> Done<JobRecord> {
        let (tenant, wanted) = (sight.tenant, name.to_owned());
        let found = self.read(move |reads, by| reads.job_named(tenant, &wanted, by)).await?;
        found.filter(|job| sight.shows_job(job)).ok_or_else(|| no_job(name))
    }

    /// The number of a job that is there, or of the last one that was called so.
    pub(crate) async fn job_past_or_present(&self, sight: &Sight, name: &str) -> Done<JobId> {
        let (tenant, wanted) = (sight.tenant, name.to_owned());
        let found = self.read(move |reads, by| match reads.job_named(tenant, &wanted, by)? {
            Some(record) => Ok(Some(record)),
            None => match reads.job_once_named(tenant, &wanted, by)? {
                Some(id) => reads.job_past_or_present(id, by),
                None => Ok(None),
            },
        });
        let found = found.await?.filter(|job| sight.shows_job(job));
        found.map(|job| job.id).ok_or_else(|| no_job(name))
    }

    pub(crate) async fn list_jobs(&self, sight: &Sight, query: JobQuery) -> Done<Page<JobView>> {
        let limit = Page::<JobView>::limit(query.limit)?;
        let after = query.cursor.as_deref().map(Cursor::job).transpose()?;
        let filter = JobFilter {
            tenant: Some(sight.tenant),
            within: sight.within_also(&asked_place(None, query.label.as_deref())?),
            folder: query.folder,
            name: query.name,
            mode: query.mode.map(Into::into),
            // Names are unique in a tenant, so no number can come after the largest.
            after: after.map(|name| (name, JobId(i64::MAX))),
            limit: limit + 1,
        };
        let now = self.clock.now();
        let views = self.read(move |reads, by| {
            let records = reads.jobs(&filter, by)?;
            let held = held(reads, by)?;
            records.iter().take(limit + 1).map(|record| view(reads, record, &held, now, by)).collect()
        });
        let views: Vec<JobView> = views.await?;
        Ok(Page::cut(views, limit, |last| Cursor::Job(last.name.clone())))
    }

    pub(crate) async fn job_folders(&self, sight: &Sight) -> Done<Page<FolderView>> {
        let (tenant, within) = (sight.tenant, sight.within());
        let folders = self.read(move |reads, by| reads.folders(tenant, within.as_deref(), FOLDERS_MAX, by)).await?;
        Ok(Page::whole(folders.into_iter().map(|(folder, jobs)| FolderView { folder, jobs }).collect()))
    }

    pub(crate) async fn show_job(&self, sight: &Sight, name: &str) -> Done<JobView> {
        let record = self.job(sight, name).await?;
        self.view_job(record).await
    }

    pub(crate) async fn view_job(&self, record: JobRecord) -> Done<JobView> {
        let now = self.clock.now();
        let view = self.read(move |reads, by| {
            let held = held(reads, by)?;
            let view = view(reads, &record, &held, now, by)?;
            Ok(JobView { body: Some(body(reads, &record, by)?), ..view })
        });
        Ok(view.await?)
    }

    /// Without force only if nobody follows it.
    pub(crate) async fn delete_job(&self, sight: &Sight, name: &str, force: bool, by: Actor) -> Done<()> {
        let job = self.job(sight, name).await?.id;
        let followers = if force { Vec::new() } else { names_in(sight, self.followers(job).await?) };
        if !followers.is_empty() {
            let detail = format!("job {name} is followed by {}", told_few(&followers));
            return Err(Problem::new(Code::JobFollowed, detail).into());
        }
        audit::before(Facts::new().put("job", job.0));
        self.shards.ask(by, Command::DeleteJob { job }).await?;
        Ok(())
    }

    /// The jobs that run after this one.
    pub(crate) async fn followers(&self, job: JobId) -> Done<Vec<JobRecord>> {
        let Reply::Followers(ids) = self.shards.ask(Actor::system(), Command::Followers { job }).await? else {
            return Ok(Vec::new());
        };
        let found =
            self.read(move |reads, by| ids.into_iter().map(|id| reads.job(id, by)).collect::<Result<Vec<_>, _>>());
        Ok(found.await?.into_iter().flatten().collect())
    }

    pub(crate) async fn set_mode(&self, sight: &Sight, name: &str, mode: JobMode, by: Actor) -> Done<JobView> {
        let record = self.job(sight, name).await?;
        let job = record.id;
        audit::before(Facts::new().put("mode", record.mode).put("version", record.version.0));
        self.shards.ask(by, Command::SetMode { job, mode }).await?;
        audit::after(Facts::new().put("mode", mode));
        self.show_job(sight, name).await
    }

    /// The opposite of a pause: what is disabled stays so.
    pub(crate) async fn resume(&self, sight: &Sight, name: &str, by: Actor) -> Done<JobView> {
        match self.job(sight, name).await?.mode {
            JobMode::Enabled | JobMode::Paused => self.set_mode(sight, name, JobMode::Enabled, by).await,
            JobMode::Disabled => {
                Err(Problem::new(Code::JobDisabled, format!("job {name} is disabled, not paused")).into())
            }
        }
    }

    pub(crate) async fn release(&self, sight: &Sight, name: &str, by: Actor) -> Done<JobView> {
        let job = self.job(sight, name).await?.id;
        match self.shards.ask(by, Command::Release { job }).await? {
            Reply::Job { changed: false, .. } => {
                Err(Problem::new(Code::NotHeld, format!("job {name} is not held")).into())
            }
            _ => self.show_job(sight, name).await,
        }
    }

    pub(crate) async fn job_versions(&self, sight: &Sight, name: &str) -> Done<Page<JobVersionView>> {
        let record = self.job(sight, name).await?;
        let views = self.read(move |reads, by| {
            let versions = reads.versions(record.id, by)?;
            let views = versions.iter().map(|version| {
                Ok(JobVersionView {
                    version: version.id.0,
                    created_at: version.created_at.into(),
                    created_by: version.created_by.clone(),
                    current: version.id == record.version,
                    body: source(reads, version.source, by)?,
                })
            });
            views.collect::<Result<Vec<_>, StoreError>>()
        });
        Ok(Page::whole(views.await?))
    }

    /// The job as a file that can be applied anywhere.
    pub(crate) async fn export_job(&self, sight: &Sight, name: &str) -> Done<String> {
        let record = self.job(sight, name).await?;
        let mut body = self.read(move |reads, by| body(reads, &record, by)).await?;
        if body.mode.map(JobMode::from) == Some(JobMode::Enabled) {
            body.mode = None;
        }
        Ok(wire::job::export([&body]))
    }
}

/// Jobs by name, as far as they are in sight; that there are others is not kept quiet.
pub(super) fn names_in(sight: &Sight, jobs: Vec<JobRecord>) -> Vec<String> {
    let (seen, hidden): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| sight.shows_job(job));
    let mut names: Vec<String> = seen.into_iter().map(|job| job.name).collect();
    names.sort();
    match hidden.len() {
        0 => {}
        1 => names.push("a job out of your sight".into()),
        more => names.push(format!("{more} jobs out of your sight")),
    }
    names
}

/// The first few of many names.
fn told_few(names: &[String]) -> String {
    const TOLD: usize = 10;
    let few = names.iter().take(TOLD).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(TOLD) {
        0 => few,
        more => format!("{few} and {more} more"),
    }
}

pub(crate) fn no_job(name: &str) -> Refused {
    let name: String = name.chars().take(128).collect();
    Problem::new(Code::NoSuchJob, format!("there is no job {name:?}")).into()
}

/// Jobs in quarantine, and why.
pub(crate) fn held(reads: &dyn Reads, by: Instant) -> Result<BTreeMap<JobId, String>, StoreError> {
    let records = reads.quarantine(by)?;
    Ok(records.into_iter().filter_map(|record| Some((record.job?, record.error))).collect())
}

/// The job as applied, with the mode it has now.
pub(crate) fn body(reads: &dyn Reads, record: &JobRecord, by: Instant) -> Result<JobBody, StoreError> {
    Ok(JobBody { mode: Some(record.mode.into()), ..source(reads, record.source, by)? })
}

fn source(reads: &dyn Reads, id: model::ContentId, by: Instant) -> Result<JobBody, StoreError> {
    let bytes = reads.content(id, by)?.ok_or_else(|| StoreError::Corrupt(format!("content {id} is gone")))?;
    JobBody::decode(&bytes).map_err(|error| StoreError::Corrupt(format!("content {id} is no job: {error}")))
}

pub(crate) fn compiled(
    reads: &dyn Reads,
    rule: model::ContentId,
    by: Instant,
) -> Result<std::sync::Arc<Compiled>, StoreError> {
    let gone = || StoreError::Corrupt(format!("content {rule} is gone"));
    let bytes = reads.content(rule, by)?.ok_or_else(gone)?;
    let decoded = wire::rule::decode(&bytes);
    let rule = decoded.map_err(|error| StoreError::Corrupt(format!("content {rule} is no rule: {error}")))?;
    Compiled::new(rule).map_err(|error| StoreError::Corrupt(format!("a kept rule cannot be compiled: {error}")))
}

fn view(
    reads: &dyn Reads,
    record: &JobRecord,
    held: &BTreeMap<JobId, String>,
    now: Timestamp,
    by: Instant,
) -> Result<JobView, StoreError> {
    let body = source(reads, record.source, by)?;
    let held = held.get(&record.id).cloned();
    let recent = recent(reads, record.id, now, by)?;
    Ok(JobView {
        last: recent.first().cloned(),
        recent,
        id: record.id.0,
        name: record.name.clone(),
        folder: record.folder.clone(),
        version: record.version.0,
        mode: record.mode.into(),
        trigger: body.trigger_summary(),
        next_fire: if held.is_some() { None } else { next_fire(reads, record, now, by)?.map(Into::into) },
        labels: body.labels,
        owner: body.owner,
        description: body.description,
        held,
        xxl_job_id: (record.alias != 0).then_some(record.alias),
        since: record.since.into(),
        changed_by: record.changed_by.clone(),
        body: None,
    })
}

/// The next planned time as the engine will see it.
pub(crate) fn next_fire(
    reads: &dyn Reads,
    record: &JobRecord,
    now: Timestamp,
    by: Instant,
) -> Result<Option<Timestamp>, StoreError> {
    if record.mode != JobMode::Enabled {
        return Ok(None);
    }
    let compiled = compiled(reads, record.rule, by)?;
    let trigger = &compiled.rule.trigger;
    if matches!(trigger.when, When::Delay { .. }) {
        // Its next instance is always in the books.
        let filter = InstanceFilter { job: Some(record.id), from: Some(now), limit: 1, ..InstanceFilter::default() };
        return Ok(reads.instances(&filter, by)?.first().map(|instance| instance.planned));
    }
    if trigger.count_max.is_some_and(|max| record.fired >= max) {
        return Ok(None);
    }
    Ok(compiled.next_after(now.max(record.since), record.since))
}

/// The newest first.
fn recent(reads: &dyn Reads, job: JobId, now: Timestamp, by: Instant) -> Result<Vec<LastView>, StoreError> {
    let filter = InstanceFilter { job: Some(job), to: Some(now), limit: RECENT, ..InstanceFilter::default() };
    let found = reads.instances(&filter, by)?;
    let last = |instance: &Instance| LastView {
        instance: instance.id.0,
        planned_at: instance.planned.into(),
        state: instance.state.into(),
        ended_at: instance.ended_at.map(Into::into),
    };
    Ok(found.iter().map(last).collect())
}
