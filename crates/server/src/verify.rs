//! Recomputes what was planned, by brute force and from what each job was when, and compares it with the ledger. Shares
//! no code with the firing: a fault there must not hide itself here.
//!
//! Judged is what is decided: up to now, and no further than the store's horizon. A day at a time, one job at a time.

mod exhausted;
mod judge;
mod lateness;
mod planned;
mod shared;

use std::collections::BTreeMap;
use std::time::Instant;

use model::{JobId, Rule, ShardId, Span, TenantId, Timestamp, shard_of};
use store::read::Interval;
use store::{Reads, StoreError};
use wire::api::{FindingKind, FindingView, VerifyView};

use judge::Tally;
use lateness::Lateness;
use planned::Calendar;

/// Findings that are listed; how many more there are is only said.
const LISTED_MAX: usize = 1_000;
/// Entries of one job that are held at once.
const ENTRIES_MAX: i64 = 100_000;

/// What is to be verified: planned times in `[from, to)`.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub from: Timestamp,
    pub to: Timestamp,
    /// None: of all, and what belongs to no one's jobs.
    pub tenant: Option<TenantId>,
    pub job: Option<JobId>,
    pub now: Timestamp,
    /// Over how many shards the jobs are spread.
    pub shards: i64,
}

impl Window {
    fn is_of_everything(&self) -> bool {
        self.job.is_none() && self.tenant.is_none()
    }
}

/// Gives up at `by`, and when nobody wants the answer any more.
pub fn verify(
    reads: &dyn Reads,
    window: &Window,
    by: Instant,
    is_wanted: &dyn Fn() -> bool,
) -> Result<VerifyView, StoreError> {
    // What was decided when we began stays decided, whatever is edited while we look.
    let decided = Decided::read(reads, window, by)?;
    let to = decided.latest();
    let mut found = Found::default();
    let mut intervals = reads.intervals(window.job, window.from, to, by)?;
    intervals.retain(|interval| window.tenant.is_none_or(|tenant| tenant == interval.tenant));
    let jobs = by_job(intervals);
    let held: BTreeMap<JobId, String> =
        reads.quarantine(by)?.into_iter().filter_map(|record| Some((record.job?, record.error))).collect();
    // What a tenant does not keep cannot be compared.
    let kept = reads.tenants(by)?.into_iter().filter_map(|tenant| Some((tenant.id, tenant.kept_from(window.now)?)));
    let kept: BTreeMap<TenantId, Timestamp> = kept.collect();
    let mut rules = Rules { reads, by, kept: BTreeMap::new() };
    let mut calendar = Calendar::default();
    // Before there was a job there was nothing to plan.
    let mut ends = BTreeMap::new();
    for (job, intervals) in &jobs {
        ends.insert(*job, exhausted::last_times(reads, intervals, window.from, &mut rules, by)?);
    }
    let oldest = jobs.values().flatten().map(|interval| interval.since).min();
    let mut from = oldest.map_or(to, |oldest| window.from.max(oldest));
    while from < to {
        let until = Timestamp((from.day() + 1).saturating_mul(Span::DAY.0)).min(to);
        for (job, intervals) in &jobs {
            if !is_wanted() {
                return Err(StoreError::Busy("nobody waits for the answer any more".into()));
            }
            let until = until.min(decided.of(*job));
            let kept = intervals.first().and_then(|interval| kept.get(&interval.tenant));
            let from = kept.map_or(from, |kept| from.max(*kept));
            let case = Case { job: *job, held: held.get(job), last_times: &ends[job], reads, by };
            if from < until {
                case.verify_day(intervals, from, until, &mut rules, &mut calendar, &mut found)?;
            }
        }
        calendar.forget();
        from = until;
    }
    found.tally.jobs = jobs.len() as u64;
    if window.is_of_everything() {
        shared::check(reads, by, &mut |finding| found.add(finding))?;
    }
    list_doubts(reads, window, to, by, &mut found)?;
    Ok(found.view(window.from, to))
}

/// Up to when each shard has decided about its jobs.
struct Decided {
    horizons: BTreeMap<ShardId, Timestamp>,
    shards: i64,
    from: Timestamp,
    to: Timestamp,
}

impl Decided {
    fn read(reads: &dyn Reads, window: &Window, by: Instant) -> Result<Decided, StoreError> {
        let horizons = reads.horizons(by)?.into_iter().collect();
        let to = window.to.min(window.now + Span(1)).max(window.from);
        Ok(Decided { horizons, shards: window.shards, from: window.from, to })
    }

    fn of(&self, job: JobId) -> Timestamp {
        let horizon = self.horizons.get(&shard_of(job, self.shards)).copied().unwrap_or(Timestamp(0));
        self.to.min(horizon + Span(1)).max(self.from)
    }

    fn latest(&self) -> Timestamp {
        let furthest = self.horizons.values().copied().max().unwrap_or(Timestamp(0));
        self.to.min(furthest + Span(1)).max(self.from)
    }
}

#[derive(Default)]
struct Found {
    tally: Tally,
    lateness: Lateness,
    findings: Vec<FindingView>,
    more: bool,
}

impl Found {
    fn add(&mut self, finding: FindingView) {
        if self.findings.len() < LISTED_MAX {
            self.findings.push(finding);
        } else {
            self.more = true;
        }
    }

    fn view(self, from: Timestamp, to: Timestamp) -> VerifyView {
        // What waits for a person is told, but the ledger agrees with the triggers all the same.
        let ok = !self.more && self.findings.iter().all(|finding| finding.kind == FindingKind::Stuck);
        VerifyView {
            ok,
            from: from.into(),
            to: to.into(),
            jobs: self.tally.jobs,
            times: self.tally.times,
            fired: self.tally.fired,
            skipped: self.tally.skipped,
            merged: self.tally.merged,
            missed: self.tally.missed,
            lateness: self.lateness.view(),
            findings: self.findings,
            truncated: self.more,
            tzdata: engine::cron::tzdata_version().into(),
        }
    }
}

/// Rules by content, decoded once: many jobs share one.
struct Rules<'a> {
    reads: &'a dyn Reads,
    by: Instant,
    kept: BTreeMap<model::ContentId, Rule>,
}

impl Rules<'_> {
    fn get(&mut self, id: model::ContentId) -> Result<&Rule, StoreError> {
        if !self.kept.contains_key(&id) {
            let gone = || StoreError::Corrupt(format!("rule {id} of a kept interval is gone"));
            let bytes = self.reads.content(id, self.by)?.ok_or_else(gone)?;
            let rule =
                wire::rule::decode(&bytes).map_err(|error| StoreError::Corrupt(format!("rule {id}: {error}")))?;
            self.kept.insert(id, rule);
        }
        Ok(&self.kept[&id])
    }
}

/// One job under examination.
struct Case<'a> {
    job: JobId,
    held: Option<&'a String>,
    /// The last time each interval planned, where it came to its maximum.
    last_times: &'a [Option<Timestamp>],
    reads: &'a dyn Reads,
    by: Instant,
}

impl Case<'_> {
    fn verify_day(
        &self,
        intervals: &[Interval],
        from: Timestamp,
        until: Timestamp,
        rules: &mut Rules<'_>,
        calendar: &mut Calendar,
        found: &mut Found,
    ) -> Result<(), StoreError> {
        // A fast rate makes more entries in a day than are held at once.
        let mut slice = until - from;
        for interval in intervals {
            if let model::When::Rate { every } = rules.get(interval.rule)?.trigger.when {
                slice = Span(slice.0.min(every.0.max(1).saturating_mul(ENTRIES_MAX)));
            }
        }
        let mut begin = from;
        while begin < until {
            let end = (begin + slice).min(until);
            self.verify_slice(intervals, begin, end, rules, calendar, found)?;
            if Instant::now() > self.by {
                return Err(StoreError::Busy("verifying took too long; narrow the window or name a job".into()));
            }
            begin = end;
        }
        Ok(())
    }

    fn verify_slice(
        &self,
        intervals: &[Interval],
        from: Timestamp,
        to: Timestamp,
        rules: &mut Rules<'_>,
        calendar: &mut Calendar,
        found: &mut Found,
    ) -> Result<(), StoreError> {
        let mut plan = judge::Plan::default();
        for (interval, last) in intervals.iter().zip(self.last_times) {
            let rule = rules.get(interval.rule)?;
            plan.add(interval, rule, *last, from, to, calendar)?;
        }
        let entries = self.reads.ledger(self.job, from, to, self.by)?;
        let gaps = self.reads.gaps(Some(self.job), from, to, self.by)?;
        let name = intervals.last().map_or("", |interval| interval.name.as_str());
        found.lateness.add(name, &plan, &entries);
        let judge = judge::Judge { name, from, to, held: self.held.map(String::as_str) };
        let mut findings = Vec::new();
        judge.compare(&plan, &entries, &gaps, &mut found.tally, &mut |finding| findings.push(finding));
        findings.into_iter().for_each(|finding| found.add(finding));
        Ok(())
    }
}

fn by_job(intervals: Vec<Interval>) -> BTreeMap<JobId, Vec<Interval>> {
    let mut jobs: BTreeMap<JobId, Vec<Interval>> = BTreeMap::new();
    for interval in intervals {
        jobs.entry(interval.job).or_default().push(interval);
    }
    jobs
}

/// What is nobody's fault here but waits for somebody: reports without an attempt, attempts nobody can be asked about.
fn list_doubts(
    reads: &dyn Reads,
    window: &Window,
    to: Timestamp,
    by: Instant,
    found: &mut Found,
) -> Result<(), StoreError> {
    if window.is_of_everything() {
        for orphan in reads.orphans(by)?.into_iter().filter(|orphan| orphan.at >= window.from) {
            let message = format!(
                "agent {} reported attempt {}, which nobody here has ever made: {}",
                orphan.agent, orphan.attempt, orphan.what
            );
            found.add(FindingView { kind: FindingKind::Orphan, job: None, planned_at: None, instance: None, message });
        }
    }
    let open: Vec<model::State> = model::State::ALL.into_iter().filter(|state| state.is_open()).collect();
    let filter = store::read::InstanceFilter {
        tenant: window.tenant,
        job: window.job,
        states: open,
        from: Some(window.from),
        to: Some(to),
        limit: LISTED_MAX,
        ..Default::default()
    };
    for instance in reads.instances(&filter, by)? {
        let Some(uncertain) = &instance.uncertain else { continue };
        found.add(FindingView {
            kind: FindingKind::Stuck,
            job: reads.job(instance.job, by)?.map(|job| job.name),
            planned_at: Some(instance.planned.into()),
            instance: Some(instance.id.0),
            message: format!("attempt {} is uncertain: {}", instance.attempt, uncertain.why),
        });
    }
    Ok(())
}
