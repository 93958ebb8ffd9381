//! Open instances taken up again: after a load, when nobody knows what became of what was sent, and when a person
//! asks for an ended one to run once more.

use std::sync::Arc;

use model::{AttemptId, Instance, InstanceId, Part, Route, Span, State, Timestamp, When};
use rustc_hash::FxHashMap;

use crate::alarm::Alarm;
use crate::open::{Open, Phase};
use crate::plan::Compiled;
use crate::shard::Shard;

const NOT_ASKED_YET: &str = "the server restarted and its agent has not been asked yet";

impl Shard {
    pub(crate) fn reopen_loaded(
        &mut self,
        instances: Vec<(Instance, Arc<Compiled>)>,
        spread_failures: Vec<(InstanceId, u32)>,
        now: Timestamp,
    ) {
        let mut children: FxHashMap<InstanceId, (u32, u32)> = FxHashMap::default();
        for (child, _) in instances.iter().filter(|(instance, _)| instance.part != Part::WHOLE) {
            if let Some(parent) = child.parent {
                let (open, total) = children.entry(parent).or_default();
                *open += 1;
                *total = child.part.total;
            }
        }
        let failures: FxHashMap<InstanceId, u32> = spread_failures.into_iter().collect();
        for (instance, rule) in instances {
            let spread = children.get(&instance.id).map(|(open, total)| Phase::Spread {
                open: *open,
                total: *total,
                failed: failures.get(&instance.id).copied().unwrap_or(0),
            });
            self.reopen_one(instance, rule, spread, now);
        }
    }

    fn reopen_one(&mut self, instance: Instance, rule: Arc<Compiled>, spread: Option<Phase>, now: Timestamp) {
        let (id, state, target, retry_at) = (instance.id, instance.state, instance.target, instance.retry_at);
        let (attempt, attempt_no) = (instance.attempt, instance.attempt_no);
        let (started_at, ordered_at) = (instance.started_at, instance.ordered_at);
        let (stopping, uncertain) = (instance.stopping.clone(), instance.uncertain.clone());
        self.revive(instance, rule, attempt, attempt_no);
        let open = self.open.get_mut(&id).expect("just revived");
        open.retries_used = attempt_no - 1;
        open.started_at = started_at;
        open.ordered_at = ordered_at;
        open.stopping = stopping.map(|by| (by, now));
        let not_due = open.due > now;
        let sent = target.filter(|agent| self.agents.contains_key(agent));
        open.phase = match (spread, state, sent) {
            (Some(spread), _, _) => spread,
            (None, State::Scheduled, _) if not_due => Phase::Scheduled,
            (None, State::Running, Some(agent)) => Phase::Running { agent },
            // Whether it was sent before we stopped is not in the row: ask before believing either.
            (None, State::Scheduled | State::Ready | State::Dispatched, Some(agent)) => Phase::Ordered { agent },
            (None, State::RetryWait, _) => Phase::RetryWait { until: retry_at.unwrap_or(now) },
            (None, _, _) => Phase::Scheduled,
        };
        self.enter_lists(id, now);
        self.set_deadlines(id);
        if let Some(uncertain) = uncertain.filter(|_| self.open[&id].agent().is_some()) {
            self.doubt(id, &uncertain.why, uncertain.since);
        }
    }

    /// Puts a reopened instance where its phase says it is.
    fn enter_lists(&mut self, id: InstanceId, now: Timestamp) {
        let open = &self.open[&id];
        let (job, due, attempt, queue, is_child) = (open.job, open.due, open.attempt, open.queue, open.is_child());
        let live = self.jobs.get_mut(&job).map(|job| job.live()).filter(|_| !is_child);
        match open.phase {
            Phase::Scheduled => {
                live.into_iter().for_each(|live| live.scheduled.push(id));
                self.due.entry(due).or_default().push(id);
            }
            Phase::Ordered { agent } | Phase::Running { agent } => {
                live.into_iter().for_each(|live| live.active.push(id));
                self.queues.occupy(queue);
                self.agents.get_mut(&agent).expect("checked above").busy.insert(id);
                self.doubt(id, NOT_ASKED_YET, now);
                self.watch_timeout(id, now);
            }
            Phase::RetryWait { until } => {
                live.into_iter().for_each(|live| live.active.push(id));
                self.alarms.set(until, Alarm::Retry(id, attempt));
            }
            Phase::Spread { .. } => live.into_iter().for_each(|live| live.active.push(id)),
            Phase::Waiting | Phase::Queued { .. } => unreachable!("a load never leaves an instance there"),
        }
    }

    /// Makes an instance open in memory, waiting, under this attempt.
    pub(crate) fn revive(&mut self, instance: Instance, rule: Arc<Compiled>, attempt: AttemptId, attempt_no: u32) {
        let pool = &rule.rule.pool;
        let queue = match (instance.part != Part::WHOLE, instance.target) {
            (true, Some(agent)) => self.queues.intern_pinned(instance.tenant, pool, agent, &self.agents),
            _ => self.queues.intern(instance.tenant, pool, &self.agents),
        };
        let jitter =
            if instance.part == Part::WHOLE { rule.jitter(instance.job, instance.planned) } else { Span::ZERO };
        let is_broadcast = pool.route == Route::Broadcast && instance.part == Part::WHOLE;
        let open = Open {
            id: instance.id,
            tenant: instance.tenant,
            job: instance.job,
            version: instance.version,
            planned: instance.planned,
            due: instance.planned + jitter,
            part: instance.part,
            parent: instance.parent,
            cause: instance.cause,
            params: instance.params,
            rule,
            queue,
            attempt,
            attempt_no,
            retries_used: 0,
            redelivered: 0,
            target: if is_broadcast { None } else { instance.target },
            phase: Phase::Waiting,
            ordered_at: None,
            started_at: None,
            stopping: None,
            uncertain: None,
            fresh: false,
            flush_due: false,
        };
        self.attempts.insert(attempt, open.id);
        self.open.insert(open.id, open);
    }

    /// Jobs with a fixed delay always have their next instance in the books; after a crash at the wrong moment one
    /// may lack it.
    pub(crate) fn find_cut_chains(&mut self) {
        let chains = self.jobs.iter().filter(|(_, job)| {
            matches!(job.rule.rule.trigger.when, When::Delay { .. }) && job.plans() && job.live.is_none()
        });
        self.cut_chains = chains.map(|(id, _)| *id).collect();
        self.cut_chains.sort();
    }
}
