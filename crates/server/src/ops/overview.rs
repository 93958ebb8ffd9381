//! The state of things at a glance, and what comes next. Looks only where lists look, so that it stays cheap among millions
//! of instances and may be asked for every second.

use std::time::Instant;

use engine::Compiled;
use model::{CauseKind, Instance, JobId, JobMode, JobRecord, Span, State, Timestamp, When};
use store::read::{InstanceFilter, JobFilter};
use store::{Reads, StoreError};
use wire::api::{FailingView, OverviewView, StartDelayView, UpcomingJobView, UpcomingQuery, UpcomingView};
use wire::{Code, Fault};

use super::{Desk, Done, Sight, instances, jobs};

const LATE_AFTER: Span = Span::MINUTE;
const LATELY: Span = Span::secs(300);
/// How many of the latest instances tell how long starts take.
const STARTS: usize = 500;
const FAILING_MAX: usize = 10;
const TIMES_MAX: usize = 24;
/// Read at once while all jobs are looked at.
const JOBS_PAGE: usize = 1_000;

impl Desk {
    pub(crate) async fn overview(&self, sight: &Sight) -> Done<OverviewView> {
        let tenant = sight.whole()?;
        let now = self.clock.now();
        let view = self.read(move |reads, by| {
            let open = reads.open_counts(tenant, now - LATE_AFTER, by)?;
            let failures = reads.failures(tenant, now - Span::DAY, now, by)?;
            let counts = reads.counts(Some(tenant), now - LATELY, now, by)?;
            let did_end = |state: State| !state.is_open() && state != State::Skipped;
            let mut failing = Vec::new();
            for (job, failed) in failures.iter().take(FAILING_MAX) {
                failing.push(FailingView { job: instances::job_name(reads, *job, by)?, failed: *failed });
            }
            let latest = InstanceFilter {
                tenant: Some(tenant),
                from: Some(now - LATELY),
                to: Some(now),
                cause: Some(CauseKind::Planned),
                limit: STARTS,
                ..InstanceFilter::default()
            };
            Ok(OverviewView {
                at: now.into(),
                open: open.by_state.iter().map(|(state, count)| (state.to_string(), *count)).collect(),
                late: open.late,
                failed: failures.iter().map(|(_, failed)| failed).sum(),
                failing,
                ended: counts.iter().filter(|(state, _)| did_end(*state)).map(|(_, count)| count).sum(),
                start_delay: start_delay(&reads.instances(&latest, by)?),
            })
        });
        Ok(view.await?)
    }

    pub(crate) async fn upcoming(&self, sight: &Sight, query: UpcomingQuery) -> Done<UpcomingView> {
        let hours = bounded(query.hours.unwrap_or(6), 168, "hours")?;
        let limit = bounded(query.limit.unwrap_or(20), 200, "limit")? as usize;
        let from = self.clock.now();
        let to = from + Span::secs(i64::from(hours) * 3_600);
        let (tenant, within) = (sight.tenant, sight.within());
        let view = self.read(move |reads, by| {
            let held = jobs::held(reads, by)?;
            let mut filter = JobFilter {
                tenant: Some(tenant),
                within,
                mode: Some(JobMode::Enabled),
                limit: JOBS_PAGE,
                ..JobFilter::default()
            };
            let mut soonest: Vec<(Timestamp, JobRecord)> = Vec::new();
            let mut all = 0_usize;
            loop {
                let page = reads.jobs(&filter, by)?;
                filter.after = page.last().map(|last| (last.name.clone(), JobId(i64::MAX)));
                let full = page.len() == JOBS_PAGE;
                for job in page.into_iter().filter(|job| !held.contains_key(&job.id)) {
                    if let Some(at) = jobs::next_fire(reads, &job, from, by)?.filter(|at| *at < to) {
                        all += 1;
                        soonest.push((at, job));
                    }
                }
                soonest.sort_by(|(a, one), (b, other)| (a, &one.name).cmp(&(b, &other.name)));
                soonest.truncate(limit);
                if !full {
                    break;
                }
            }
            let more = (all - soonest.len()) as u64;
            let jobs = soonest.iter().map(|(at, job)| times(reads, job, *at, to, by)).collect::<Result<_, _>>()?;
            Ok(UpcomingView { from: from.into(), to: to.into(), jobs, more })
        });
        Ok(view.await?)
    }
}

fn bounded(asked: u32, most: u32, path: &str) -> Done<u32> {
    match asked {
        fits if (1..=most).contains(&fits) => Ok(fits),
        other => Err(Fault::new(Code::BadQuery, path, format!("{other} is outside 1 to {most}")).alone().into()),
    }
}

/// A job's times from its next one on.
fn times(
    reads: &dyn Reads,
    job: &JobRecord,
    first: Timestamp,
    to: Timestamp,
    by: Instant,
) -> Result<UpcomingJobView, StoreError> {
    let compiled = jobs::compiled(reads, job.rule, by)?;
    let left = compiled.rule.trigger.count_max.map_or(usize::MAX, |max| max.saturating_sub(job.fired) as usize);
    let next = |at: &Timestamp| after(&compiled, *at, job.since);
    let all = std::iter::successors(Some(first), next).take_while(|at| *at < to).take(left.min(TIMES_MAX + 1));
    let mut times: Vec<wire::Time> = all.map(Into::into).collect();
    let more = times.len() > TIMES_MAX;
    times.truncate(TIMES_MAX);
    Ok(UpcomingJobView { job: job.name.clone(), times, more })
}

/// Nobody knows when the one after a delay will be.
fn after(compiled: &Compiled, at: Timestamp, since: Timestamp) -> Option<Timestamp> {
    match compiled.rule.trigger.when {
        When::Delay { .. } => None,
        When::Manual | When::Cron { .. } | When::Rate { .. } | When::Once { .. } => compiled.next_after(at, since),
    }
}

fn start_delay(latest: &[Instance]) -> Option<StartDelayView> {
    let begun = latest.iter().filter(|one| one.attempt_no == 1);
    let mut delays: Vec<i64> = begun.filter_map(|one| Some((one.started_at?.0 - one.planned.0).max(0))).collect();
    delays.sort_unstable();
    let last = delays.len().checked_sub(1)?;
    let at = |share: usize| delays[(delays.len() * share / 100).min(last)];
    Some(StartDelayView { starts: delays.len() as u64, half_us: at(50), most_us: at(95) })
}
