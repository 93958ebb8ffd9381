//! Open instances taken up again: after a load, when nobody knows what became of what was sent, and when a person
//! asks for an ended one to run once more.

use std::sync::Arc;

use model::{AttemptId, Instance, InstanceId, JobId, Part, State, Timestamp, When};
use rustc_hash::FxHashMap;

use crate::alarm::Alarm;
use crate::open::{Again, Open, Phase};
use crate::plan::Compiled;
use crate::shard::Shard;
use crate::share::{Drew, LoadedTicket};

const NOT_ASKED_YET: &str = "the server restarted and its agent has not been asked yet";

impl Shard {
    pub(crate) fn reopen_loaded(
        &mut self,
        instances: Vec<(Instance, Arc<Compiled>)>,
        spread_failures: Vec<(InstanceId, u32)>,
        tickets: Vec<LoadedTicket>,
        now: Timestamp,
    ) {
        let mut drawn = Drew::of(tickets);
        let mut children: FxHashMap<InstanceId, (u32, u32)> = FxHashMap::default();
        for (child, _) in instances.iter().filter(|(instance, _)| instance.part != Part::WHOLE) {
            if let Some(parent) = child.parent {
                let (open, total) = children.entry(parent).or_default();
                *open += 1;
                *total = child.part.total;
            }
        }
        let failures: FxHashMap<InstanceId, u32> = spread_failures.into_iter().collect();
        let mut silent = Vec::new();
        for (instance, rule) in instances {
            let spread = children.get(&instance.id).map(|(open, total)| Phase::Spread {
                open: *open,
                total: *total,
                failed: failures.get(&instance.id).copied().unwrap_or(0),
            });
            let id = instance.id;
            let drew = drawn.remove(&id);
            match self.reopen_one(instance, rule, spread, drew, now) {
                Some(phase) => self.enter_lists(id, phase, now),
                None => silent.push((self.open[&id].due, id)),
            }
        }
        silent.sort();
        for (_, id) in silent {
            let phase = self.guess(id);
            self.enter_lists(id, phase, now);
        }
    }

    /// Whether a scheduled row was sent before we stopped is not in it. If the overlap rule would have held it back it
    /// was not; otherwise ask before believing either.
    fn guess(&self, id: InstanceId) -> Phase {
        match self.open[&id].target {
            // Nothing is sent before it holds what it needs.
            Some(agent) if self.may_go(id) && self.has_what_it_needs(id) => Phase::Ordered { agent },
            _ => Phase::Scheduled,
        }
    }

    /// None: its row leaves open whether it was sent.
    fn reopen_one(
        &mut self,
        instance: Instance,
        rule: Arc<Compiled>,
        spread: Option<Phase>,
        drew: Option<Box<Drew>>,
        now: Timestamp,
    ) -> Option<Phase> {
        let (id, state, target, retry_at) = (instance.id, instance.state, instance.target, instance.retry_at);
        let (attempt, attempt_no, retries_used) = (instance.attempt, instance.attempt_no, instance.retries_used);
        let ordered_at = instance.ordered_at;
        // Spread in the step that made it, a broadcast has its start in no row but its shards'.
        let started_at = instance.started_at.or(spread.as_ref().map(|_| instance.created_at));
        let stopping = instance.stopping.clone();
        self.revive(instance, rule, attempt, attempt_no, Timestamp::MIN);
        let horizon = self.horizon;
        let open = self.open.get_mut(&id).expect("just revived");
        open.retries_used = retries_used;
        open.started_at = started_at;
        open.ordered_at = ordered_at;
        open.stopping = stopping.map(|by| (by, now));
        open.written = state;
        open.drew = drew;
        // Nothing starts before its time, nor before the horizon has passed it.
        let not_sent = open.due > now || (open.by_plan() && open.planned > horizon);
        Some(match (spread, state, target) {
            (Some(spread), _, _) => spread,
            (None, State::RetryWait, _) => {
                // Which of the two it waits for matters to nobody but who asks why.
                let why = if retries_used > 0 { Again::Retry } else { Again::Redelivery };
                Phase::RetryWait { until: retry_at.unwrap_or(now), why }
            }
            (None, State::Running, Some(agent)) => Phase::Running { agent },
            (None, State::Dispatched, Some(agent)) => Phase::Ordered { agent },
            (None, State::Scheduled, Some(_)) if !not_sent => return None,
            // A row that says ready has not been sent: that would have been written first.
            (None, _, _) => Phase::Scheduled,
        })
    }

    /// Puts a reopened instance where its phase says it is.
    fn enter_lists(&mut self, id: InstanceId, phase: Phase, now: Timestamp) {
        let open = self.open.get_mut(&id).expect("just revived");
        open.phase = phase;
        let (job, attempt) = (open.job, open.attempt);
        let mut live = self.jobs.get_mut(&job).map(|job| job.live()).filter(|_| open.is_listed());
        match open.phase {
            Phase::Scheduled => {
                live.iter_mut().for_each(|live| live.scheduled.push(id));
                self.due.push(open.tenant, open.due, id);
                if open.written != State::Scheduled && !open.is_child() {
                    open.target = None;
                }
                if let Some(agent) = open.target.and_then(|agent| self.agents.get_mut(&agent)) {
                    agent.propose(open.tenant);
                }
            }
            Phase::Ordered { agent } | Phase::Running { agent } => {
                live.iter_mut().for_each(|live| live.active.push(id));
                self.queues.occupy(open.queue);
                // An agent that was removed may still run it: nobody starts it elsewhere for that.
                if let Some(agent) = self.agents.get_mut(&agent) {
                    agent.take(id, open.tenant);
                }
                // Silence counts from now: while no server was there nobody could be heard.
                self.doubt(id, NOT_ASKED_YET, now);
                self.watch_timeout(id, now);
            }
            Phase::RetryWait { until, .. } => {
                live.iter_mut().for_each(|live| live.active.push(id));
                self.alarms.set(until, Alarm::Retry(id, attempt));
            }
            Phase::Spread { .. } => live.iter_mut().for_each(|live| live.active.push(id)),
            Phase::Waiting | Phase::Queued { .. } | Phase::InLine { .. } | Phase::Asking => {
                unreachable!("a load never leaves an instance there")
            }
        }
    }

    /// A round of planning that was cut short is seen from what it made: those jobs go on after that.
    pub(crate) fn resume_planning(&mut self) {
        let mut ahead: FxHashMap<JobId, Timestamp> = FxHashMap::default();
        for open in self.open.values().filter(|open| open.planned > self.horizon) {
            if !open.by_trigger() {
                self.taken.entry(open.job).or_default().push(open.planned);
                continue;
            }
            let latest = ahead.entry(open.job).or_insert(open.planned);
            *latest = open.planned.max(*latest);
        }
        for (id, latest) in ahead {
            if let Some(job) = self.jobs.get_mut(&id).filter(|job| job.wake.is_some()) {
                job.wake = job.next_after(latest);
                job.wake.into_iter().for_each(|wake| self.wheel.insert(wake, id));
            }
        }
    }

    /// Makes an instance open in memory, waiting, under this attempt.
    /// Deadlines before `watched_from` are not set again.
    pub(crate) fn revive(
        &mut self,
        instance: Instance,
        rule: Arc<Compiled>,
        attempt: AttemptId,
        attempt_no: u32,
        watched_from: Timestamp,
    ) {
        let pinned = instance.target.filter(|_| instance.part != Part::WHOLE);
        let queue = self.queues.intern(instance.tenant, instance.job, &rule.rule, pinned, &self.agents);
        let open = Box::new(Open {
            id: instance.id,
            tenant: instance.tenant,
            job: instance.job,
            version: instance.version,
            planned: instance.planned,
            due: rule.due(instance.job, instance.planned, &instance.cause),
            part: instance.part,
            parent: instance.parent,
            alone: instance.parent.is_some_and(|parent| !self.open.contains_key(&parent)),
            cause: instance.cause,
            params: instance.params,
            rule,
            queue,
            attempt,
            attempt_no,
            retries_used: 0,
            redelivered: 0,
            target: instance.target,
            pinned: instance.part != Part::WHOLE,
            created: instance.created_at,
            note: None,
            written: State::Ready,
            phase: Phase::Waiting,
            ordered_at: None,
            started_at: None,
            stopping: None,
            uncertain: None,
            overdue_at: None,
            fresh: false,
            flush_due: false,
            drew: None,
        });
        self.attempts.insert(attempt, open.id);
        self.set_deadlines(&open, watched_from);
        self.open.insert(open.id, open);
    }

    /// Jobs with a fixed delay always have their next instance in the books; after a crash at the wrong moment one
    /// may lack it.
    pub(crate) fn find_cut_chains(&mut self) {
        let chains = self.jobs.iter().filter(|(_, job)| {
            matches!(job.rule.rule.trigger.when, When::Delay { .. }) && job.plans() && !job.chain_goes_on(&self.open)
        });
        self.cut_chains = chains.map(|(id, _)| *id).collect();
        self.cut_chains.sort();
    }
}
