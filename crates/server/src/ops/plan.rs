//! What an apply would do, worked out before anything is done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use engine::Compiled;
use model::{JobId, JobRecord, Rule, TenantId, Timestamp};
use store::read::JobFilter;
use store::{Reads, StoreError};
use wire::api::{Action, FieldDiff, PlanItem};
use wire::{Code, Fault, JobBody, Time};

use super::refused::trigger_fault;
use super::{Hand, Sight, chain, jobs, secrets};

/// A page of jobs at a time, where all must be seen.
const PAGE: usize = 1_000;

/// One job of the call, and what stands in its place now.
pub(super) struct Wish {
    pub(super) body: JobBody,
    pub(super) now: Option<JobRecord>,
    pub(super) item: PlanItem,
}

impl Wish {
    /// Executors run it, and do not know it yet.
    pub(super) fn wants_alias(&self) -> bool {
        self.body.executor.is_some() && self.now.as_ref().is_none_or(|record| record.alias == 0)
    }
}

pub(super) struct Plan {
    pub(super) wishes: Vec<Wish>,
    pub(super) deletions: Vec<JobRecord>,
}

/// All faults at once, those found before among them, or the whole plan.
pub(super) fn make(
    reads: &dyn Reads,
    hand: &Hand,
    bodies: Vec<JobBody>,
    mut faults: Vec<Fault>,
    prune: Option<Option<String>>,
    now: Timestamp,
    by: Instant,
) -> Result<Result<Plan, Vec<Fault>>, StoreError> {
    let tenant = hand.edits.tenant;
    let unreadable = |fault: &Fault| [Code::BadText, Code::BadShape].iter().any(|code| fault.code == code.as_str());
    // A leader that seems to be missing may be the job that could not be read.
    if !faults.iter().any(unreadable) {
        faults.extend(chain::faults(reads, tenant, &bodies, by)?);
    }
    // At once: they may be thousands, and the store far away or busy.
    let names: Vec<&str> = bodies.iter().map(|body| body.job.as_str()).collect();
    let there = reads.jobs_named(tenant, &names, by)?;
    let there: BTreeMap<String, JobRecord> = there.into_iter().map(|job| (job.name.clone(), job)).collect();
    faults.extend(past_faults(reads, &there, &bodies, now, by)?);
    faults.extend(resource_faults(reads, tenant, &bodies, by)?);
    faults.extend(secrets::faults(reads, hand, &bodies, by)?);
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    let deletions = match prune {
        Some(folder) => others(reads, &hand.edits, &bodies, folder, by)?,
        None => Vec::new(),
    };
    let wish_for = |body: JobBody| wish(reads, there.get(&body.job).cloned(), body, by);
    let wishes: Result<Vec<Wish>, StoreError> = bodies.into_iter().map(wish_for).collect();
    Ok(Ok(Plan { wishes: wishes?, deletions }))
}

/// One that wants more than there is would wait for ever, and all who come after it with it.
fn resource_faults(
    reads: &dyn Reads,
    tenant: TenantId,
    bodies: &[JobBody],
    by: Instant,
) -> Result<Vec<Fault>, StoreError> {
    if bodies.iter().all(|body| body.resources.is_empty()) {
        return Ok(Vec::new());
    }
    let there = reads.resources(by)?;
    let units = |name: &String| {
        let of = |one: &&store::read::ResourceRecord| {
            (one.name.tenant, one.name.kind, &one.name.name) == (tenant, model::ResourceKind::Counted, name)
        };
        there.iter().find(of).map_or(0, |one| one.units)
    };
    let mut faults = Vec::new();
    for (n, body) in bodies.iter().enumerate() {
        for (name, wanted) in body.resources.iter().filter(|(name, wanted)| **wanted > units(name)) {
            let told = match units(name) {
                0 => format!("{} needs {wanted} of the resource {name}, and there is none", body.job),
                some => format!("{} needs {wanted} of the resource {name}, and there are {some}", body.job),
            };
            faults.push(Fault::new(Code::NotEnough, format!("jobs[{n}].resources.{name}"), told));
        }
    }
    Ok(faults)
}

/// What only the engine sees in a trigger, whatever else is wrong with the job.
pub(super) fn trigger_fault_of(body: &JobBody) -> Option<Fault> {
    let error = Compiled::new(Rule { trigger: body.trigger()?, ..Rule::default() }).err()?;
    // Jobs of many files are numbered through: the name says which one it is.
    let fault = trigger_fault(&error);
    Some(Fault { message: format!("{}: {}", body.job, fault.message), ..fault })
}

/// A single time that has passed would never fire. A file that named it in time may be applied again at any time.
fn past_faults(
    reads: &dyn Reads,
    there: &BTreeMap<String, JobRecord>,
    bodies: &[JobBody],
    now: Timestamp,
    by: Instant,
) -> Result<Vec<Fault>, StoreError> {
    let mut faults = Vec::new();
    for (n, body) in bodies.iter().enumerate() {
        let Some(at) = once(body).filter(|at| *at <= now) else { continue };
        let kept = match there.get(&body.job) {
            Some(record) => once(&jobs::body(reads, record, by)?),
            None => None,
        };
        if kept != Some(at) {
            let message = format!("{}: {} has passed; it would never run", body.job, Time::from(at));
            faults.push(Fault::new(Code::PastOnce, format!("jobs[{n}].once"), message));
        }
    }
    Ok(faults)
}

fn once(body: &JobBody) -> Option<Timestamp> {
    body.once.as_ref()?;
    match body.to_parts(|_| Some(JobId(0))).ok()?.rule.trigger.when {
        model::When::Once { at } => Some(at),
        _ => None,
    }
}

fn wish(reads: &dyn Reads, there: Option<JobRecord>, body: JobBody, by: Instant) -> Result<Wish, StoreError> {
    let Some(record) = there else {
        let item = PlanItem::create(&body);
        return Ok(Wish { body, now: None, item });
    };
    let old = jobs::body(reads, &record, by)?;
    let mut item = PlanItem::change(&old, &body);
    if item.action == Action::Same && leads_elsewhere(reads, &record, &body, by)? {
        let leaders = serde_json::to_value(&body.after).ok();
        item.action = Action::Change;
        item.fields = vec![FieldDiff { path: "after".into(), old: leaders.clone(), new: leaders }];
    }
    Ok(Wish { body, now: Some(record), item })
}

/// A job it follows was deleted and made anew: the same name, another job.
fn leads_elsewhere(reads: &dyn Reads, record: &JobRecord, body: &JobBody, by: Instant) -> Result<bool, StoreError> {
    let mut wanted = BTreeSet::new();
    for name in body.follows() {
        wanted.extend(reads.job_named(record.tenant, name, by)?.map(|leader| leader.id));
    }
    let kept: Arc<Compiled> = jobs::compiled(reads, record.rule, by)?;
    Ok(wanted != kept.rule.trigger.follows.iter().map(|follow| follow.job).collect())
}

/// Jobs that are not among these, in the folder or anywhere within reach.
fn others(
    reads: &dyn Reads,
    edits: &Sight,
    bodies: &[JobBody],
    folder: Option<String>,
    by: Instant,
) -> Result<Vec<JobRecord>, StoreError> {
    let kept: BTreeSet<&str> = bodies.iter().map(|body| body.job.as_str()).collect();
    let mut filter =
        JobFilter { tenant: Some(edits.tenant), within: edits.within(), folder, limit: PAGE, ..JobFilter::default() };
    let mut others = BTreeMap::new();
    loop {
        let page = reads.jobs(&filter, by)?;
        let Some(last) = page.last() else { break };
        filter.after = Some((last.name.clone(), last.id));
        let full = page.len() == PAGE;
        others.extend(
            page.into_iter().filter(|job| !kept.contains(job.name.as_str())).map(|job| (job.name.clone(), job)),
        );
        if !full {
            break;
        }
    }
    Ok(others.into_values().collect())
}
