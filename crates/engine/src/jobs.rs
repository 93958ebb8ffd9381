//! What the engine holds of a job: little, because there may be a million of them.

use std::collections::VecDeque;
use std::sync::Arc;

use model::{ContentId, Follow, InstanceId, JobId, JobMode, Span, TenantId, Timestamp, VersionId};
use rustc_hash::FxHashMap;

use crate::open::Open;
use crate::plan::Compiled;
use crate::queue::QueueId;
use crate::shard::Shard;

#[derive(Debug)]
pub(crate) struct Job {
    pub tenant: TenantId,
    pub version: VersionId,
    pub rule: Arc<Compiled>,
    pub rule_content: ContentId,
    pub task: ContentId,
    pub source: ContentId,
    pub queue: QueueId,
    pub mode: JobMode,
    pub since: Timestamp,
    /// The next planned time that is no instance yet.
    pub wake: Option<Timestamp>,
    pub fired: u64,
    /// Its small number; 0 for none.
    pub alias: i32,
    /// Whose turn it is, for round routes.
    pub turn: u32,
    /// No planned time that had passed when it was made or launched is later than this.
    pub last_made: Timestamp,
    /// Set while it is in quarantine.
    pub held: Option<Box<Held>>,
    /// Its open instances; none for most jobs at most times.
    pub live: Option<Box<Live>>,
}

#[derive(Debug)]
pub(crate) struct Held {
    pub error: String,
    pub at: Timestamp,
    /// Planned times up to here were decided when it was put there.
    pub decided: Timestamp,
}

#[derive(Debug, Default)]
pub(crate) struct Live {
    /// Created, their time not come.
    pub scheduled: Vec<InstanceId>,
    /// Let through by the overlap rule and not ended.
    pub active: Vec<InstanceId>,
    /// Their time has come and the overlap rule holds them back.
    pub waiting: VecDeque<InstanceId>,
    /// The highest fence one of them was sent with.
    pub fence: i64,
}

/// Takes one out of a list that keeps its order.
pub(crate) fn remove_from(list: &mut Vec<InstanceId>, id: InstanceId) {
    if let Some(at) = list.iter().position(|other| *other == id) {
        list.remove(at);
    }
}

/// A job the store has in quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldJob {
    pub job: JobId,
    pub error: String,
    /// When it was put there, and up to where its planned times were decided then; none: it is held by this load.
    pub since: Option<(Timestamp, Timestamp)>,
}

pub struct LoadedJob {
    pub id: JobId,
    pub tenant: TenantId,
    pub version: VersionId,
    pub rule: Arc<Compiled>,
    pub rule_content: ContentId,
    pub task: ContentId,
    pub source: ContentId,
    pub mode: JobMode,
    pub since: Timestamp,
    pub fired: u64,
    pub alias: i32,
}

impl Job {
    pub(crate) fn live(&mut self) -> &mut Live {
        self.live.get_or_insert_default()
    }

    /// Frees what an idle job does not need.
    pub(crate) fn settle_live(&mut self) {
        if self.live.as_ref().is_some_and(|l| l.scheduled.is_empty() && l.active.is_empty() && l.waiting.is_empty()) {
            self.live = None;
        }
    }

    pub(crate) fn plans(&self) -> bool {
        self.mode == JobMode::Enabled && self.held.is_none()
    }

    /// From when on a change made now holds: after the instant it was held at, so that one can tell which came first,
    /// and not before the change that came before.
    pub(crate) fn changes_from(&self, now: Timestamp) -> Timestamp {
        let held = self.held.as_ref().map_or(now, |held| held.at + Span(1));
        now.max(held).max(self.since)
    }

    /// Up to where the planned times of a held job have their entries. One that was changed since begins anew there.
    pub(crate) fn decided_when_held(&self) -> Option<Timestamp> {
        let held = self.held.as_ref()?;
        Some(if self.since > held.at { self.since } else { held.decided })
    }

    pub(crate) fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        let exhausted = self.rule.rule.trigger.count_max.is_some_and(|max| self.fired >= max);
        if exhausted { None } else { self.rule.next_after(t.max(self.since), self.since) }
    }

    /// Whether its own trigger plans this instant.
    pub(crate) fn names(&self, planned: Timestamp) -> bool {
        planned > self.since && self.rule.next_after(planned - Span(1), self.since) == Some(planned)
    }

    /// Whether an instance of this planned time waits for it.
    pub(crate) fn has_scheduled(&self, planned: Timestamp, open: &FxHashMap<InstanceId, Box<Open>>) -> bool {
        let live = self.live.as_ref();
        live.is_some_and(|live| live.scheduled.iter().any(|id| open[id].planned == planned))
    }

    /// The next of a chain is in the books, or will be when what is open ends.
    pub(crate) fn chain_goes_on(&self, open: &FxHashMap<InstanceId, Box<Open>>) -> bool {
        self.live.as_ref().is_some_and(|live| {
            !live.active.is_empty() || !live.waiting.is_empty() || live.scheduled.iter().any(|id| open[id].by_trigger())
        })
    }

    pub(crate) fn follows(&self) -> &[Follow] {
        &self.rule.rule.trigger.follows
    }
}

impl Shard {
    pub(crate) fn admit_loaded_job(&mut self, job: LoadedJob, held: Option<HeldJob>, now: Timestamp) {
        let queue = self.queues.intern(job.tenant, job.id, &job.rule.rule, None, &self.agents);
        let slot = Job {
            tenant: job.tenant,
            version: job.version,
            rule: job.rule,
            rule_content: job.rule_content,
            task: job.task,
            source: job.source,
            queue,
            mode: job.mode,
            since: job.since,
            wake: None,
            fired: job.fired,
            alias: job.alias,
            turn: 0,
            // What was made before the load is not all known: nothing is made for an instant up to it.
            last_made: now,
            held: held.map(|held| {
                let (at, decided) = held.since.unwrap_or((now, self.horizon));
                Box::new(Held { error: held.error, at, decided })
            }),
            live: None,
        };
        self.place_in_wheel(job.id, slot);
    }

    /// Takes a job up from the horizon on: what is planned up to it is decided already.
    pub(crate) fn place_in_wheel(&mut self, id: JobId, mut job: Job) {
        job.wake = if job.plans() { job.next_after(self.horizon) } else { None };
        if job.held.is_some() {
            self.unasked.insert(id);
        }
        if let Some(wake) = job.wake {
            self.wheel.insert(wake, id);
        }
        self.follow(id, &job);
        self.jobs.insert(id, job);
    }

    /// Those it follows know it; one that it follows for several reasons knows it once.
    pub(crate) fn follow(&mut self, id: JobId, job: &Job) {
        for follow in job.follows() {
            let followers = self.followers.entry(follow.job).or_default();
            if !followers.contains(&id) {
                followers.push(id);
            }
        }
    }

    pub(crate) fn unfollow(&mut self, id: JobId) {
        let leaders: Vec<JobId> =
            self.jobs.get(&id).map(|job| job.follows().iter().map(|follow| follow.job).collect()).unwrap_or_default();
        for leader in leaders {
            if let Some(followers) = self.followers.get_mut(&leader) {
                followers.retain(|follower| *follower != id);
                if followers.is_empty() {
                    self.followers.remove(&leader);
                }
            }
        }
    }
}
