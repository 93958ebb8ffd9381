//! Planned times become instances: ahead of their time when all is well, by the misfire rule when it is not.
//! Never decides whether an instance may start: that is `launch`.

use std::sync::Arc;

use model::{
    Actor, AgentId, AttemptId, Cause, ContentId, InstanceId, JobId, MisfireRule, Part, SkipReason, Span, State,
    Timestamp, When,
};

use crate::change::{Change, Created, Fate, Gap, Row};
use crate::effect::Decisions;
use crate::open::{Open, Phase};
use crate::plan::Compiled;
use crate::shard::{AHEAD, SLICE, Shard};

/// `misfire: all` makes up for at most this many of the latest missed times.
pub const FIRE_ALL_MAX: usize = 1_000;

/// An instance about to be made.
pub(crate) struct Making {
    pub planned: Timestamp,
    pub cause: Cause,
    pub params: Option<ContentId>,
    pub part: Part,
    pub parent: Option<InstanceId>,
    /// Where it must go, for shards of a broadcast.
    pub pinned: Option<AgentId>,
    /// A number promised already.
    pub number: Option<InstanceId>,
}

impl Making {
    pub(crate) fn planned(planned: Timestamp, cause: Cause) -> Making {
        Making { planned, cause, params: None, part: Part::WHOLE, parent: None, pinned: None, number: None }
    }
}

impl Shard {
    /// Creates what is planned up to `AHEAD` of now, a slice at a time; the horizon moves when all of it is there.
    pub(crate) fn plan_ahead(&mut self, now: Timestamp, out: &mut Decisions) {
        let until = end_of_second(now + AHEAD);
        if until <= self.horizon && self.planning.is_empty() {
            return;
        }
        let before = out.changes.len();
        loop {
            while let Some(job) = self.planning.pop_front() {
                self.fire(job, until, now, out);
                if out.changes.len() - before >= SLICE || self.ids.left() < SLICE as i64 * 4 {
                    return;
                }
            }
            match self.wheel.take(until) {
                Some(jobs) => self.planning.extend(jobs),
                None => break,
            }
        }
        self.horizon = self.horizon.max(until);
    }

    /// Decides every planned time of one job up to `until`.
    pub(crate) fn fire(&mut self, id: JobId, until: Timestamp, now: Timestamp, out: &mut Decisions) {
        self.blamed = Some(id);
        let Some(job) = self.jobs.get(&id) else { return };
        if !job.plans() || self.tick_is_stale(job.wake, until) {
            return;
        }
        let rule = Arc::clone(&job.rule);
        #[cfg(feature = "faults")]
        assert!(rule.rule.priority != crate::PANICKING_PRIORITY, "a job made to break the engine");
        let late_since = now - rule.rule.trigger.misfire.grace;
        let missed = self.take_times(id, late_since.min(until));
        if !missed.is_empty() {
            self.misfire(id, &missed, now, out);
        }
        for planned in self.take_times(id, until) {
            self.create(id, Making::planned(planned, Cause::Planned), now, out);
        }
        self.count(id, out);
        let job = &self.jobs[&id];
        if let Some(wake) = job.wake {
            self.wheel.insert(wake, id);
        }
    }

    /// Takes the job's planned times up to `until` off its plan.
    fn take_times(&mut self, id: JobId, until: Timestamp) -> Vec<Timestamp> {
        let job = self.jobs.get_mut(&id).expect("asked about a known job");
        let mut times = Vec::new();
        while let Some(planned) = job.wake.filter(|wake| *wake <= until) {
            times.push(planned);
            if job.rule.rule.trigger.count_max.is_some() {
                job.fired += 1;
            }
            job.wake = job.next_after(planned);
        }
        times
    }

    fn misfire(&mut self, id: JobId, missed: &[Timestamp], now: Timestamp, out: &mut Decisions) {
        let rule = self.jobs[&id].rule.rule.trigger.misfire.rule;
        let (last, earlier) = missed.split_last().expect("called with at least one time");
        let late =
            |planned: &Timestamp| format!("its time passed {} before any server could act on it", now - *planned);
        match rule {
            MisfireRule::Skip => self.gap(id, missed, Fate::Missed, late(last), out),
            MisfireRule::Once => {
                let cause = Cause::Misfire { missed: missed.len() as u64 };
                let instance = self.create(id, Making::planned(*last, cause), now, out);
                self.gap(id, earlier, Fate::Merged(instance), format!("made up for by instance {instance}"), out);
            }
            MisfireRule::All => {
                let (dropped, kept) = missed.split_at(missed.len().saturating_sub(FIRE_ALL_MAX));
                let why = format!("more than {FIRE_ALL_MAX} times were missed at once");
                self.gap(id, dropped, Fate::Missed, why, out);
                for planned in kept {
                    self.create(id, Making::planned(*planned, Cause::Misfire { missed: 1 }), now, out);
                }
            }
        }
    }

    fn gap(&mut self, id: JobId, times: &[Timestamp], fate: Fate, why: String, out: &mut Decisions) {
        if let (Some(first), Some(last)) = (times.first(), times.last()) {
            let tenant = self.jobs[&id].tenant;
            let (first, last, count) = (*first, *last, times.len() as u64);
            out.change(Change::Gap(Gap { job: id, tenant, first, last, count, fate, why }));
        }
    }

    /// Times that passed while the job was in quarantine are nobody's: say so, and go on from now.
    pub(crate) fn skip_held_times(&mut self, id: JobId, out: &mut Decisions) {
        let horizon = self.horizon;
        let times = self.take_times(id, horizon);
        let why = "the job was in quarantine".to_string();
        self.gap(id, &times, Fate::Skipped(SkipReason::Quarantined), why, out);
    }

    fn count(&mut self, id: JobId, out: &mut Decisions) {
        let job = &self.jobs[&id];
        if job.rule.rule.trigger.count_max.is_some() {
            out.change(Change::JobCounted { job: id, fired: job.fired });
        }
    }

    /// Makes an instance of a job as the job is now, and starts it if its time has come.
    pub(crate) fn create(&mut self, id: JobId, making: Making, now: Timestamp, out: &mut Decisions) -> InstanceId {
        let job = self.jobs.get_mut(&id).expect("instances are made of known jobs");
        let number = making.number.map_or_else(|| self.ids.take(), |number| number.0);
        let jitter = if making.part == Part::WHOLE { job.rule.jitter(id, making.planned) } else { Span::ZERO };
        let open = Open {
            id: InstanceId(number),
            tenant: job.tenant,
            job: id,
            version: job.version,
            planned: making.planned,
            due: making.planned + jitter,
            part: making.part,
            parent: making.parent,
            cause: making.cause,
            params: making.params,
            rule: Arc::clone(&job.rule),
            queue: job.queue,
            attempt: AttemptId(number),
            attempt_no: 1,
            retries_used: 0,
            redelivered: 0,
            target: making.pinned,
            phase: Phase::Scheduled,
            ordered_at: None,
            started_at: None,
            stopping: None,
            uncertain: None,
            fresh: true,
            flush_due: false,
        };
        self.admit_new(open, making.pinned, now, out)
    }

    fn admit_new(
        &mut self,
        mut open: Open,
        pinned: Option<AgentId>,
        now: Timestamp,
        out: &mut Decisions,
    ) -> InstanceId {
        let (id, job, due) = (open.id, open.job, open.due);
        match pinned {
            Some(agent) => {
                open.queue = self.queues.intern_pinned(open.tenant, &open.rule.rule.pool, agent, &self.agents)
            }
            None => open.target = self.propose(&open),
        }
        let at = out.changes.len();
        out.change(Change::Created(created(&open, now)));
        self.attempts.insert(open.attempt, id);
        let is_child = open.is_child();
        self.open.insert(id, open);
        self.set_deadlines(id);
        if is_child {
            self.enqueue(id, now, out);
        } else if due <= now {
            self.launch(id, now, out);
        } else {
            self.due.entry(due).or_default().push(id);
            self.jobs.get_mut(&job).expect("just used").live().scheduled.push(id);
        }
        // What became of it in this very step goes into its first row.
        if let Some(open) = self.open.get_mut(&id) {
            open.fresh = false;
            if let Change::Created(row) = &mut out.changes[at] {
                row.state = open.state();
                row.target = open.target;
            }
        }
        id
    }

    /// A planned time for something that has none of its own: now, or just after the last one handed out.
    pub(crate) fn moment(&mut self, id: JobId, now: Timestamp) -> Timestamp {
        let job = self.jobs.get_mut(&id).expect("asked about a known job");
        let mut moment = now.max(job.last_made + Span(1));
        // Cron names whole seconds; an instance of its own moment must not sit on one of those.
        if moment.0 % 1_000_000 == 0 {
            moment += Span(1);
        }
        job.last_made = moment;
        moment
    }

    /// A job that runs so long after its previous end always has its next instance in the books.
    pub(crate) fn schedule_delay(&mut self, id: JobId, ended: Timestamp, now: Timestamp, out: &mut Decisions) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let When::Delay { delay } = job.rule.rule.trigger.when else { return };
        let trigger = &job.rule.rule.trigger;
        let exhausted = trigger.count_max.is_some_and(|max| job.fired >= max);
        let planned = (ended + delay).max(trigger.start.unwrap_or(Timestamp::MIN)).max(job.last_made + Span(1));
        let over = trigger.end.is_some_and(|end| planned >= end);
        let has_next = job.live.as_ref().is_some_and(|live| !live.scheduled.is_empty());
        if exhausted || over || has_next || !job.plans() {
            return;
        }
        job.last_made = planned;
        if trigger.count_max.is_some() {
            job.fired += 1;
        }
        self.create(id, Making::planned(planned, Cause::Planned), now, out);
        self.count(id, out);
    }

    pub(crate) fn trigger_by_hand(
        &mut self,
        id: JobId,
        planned: Option<Timestamp>,
        params: Option<ContentId>,
        number: Option<InstanceId>,
        by: Actor,
        now: Timestamp,
        out: &mut Decisions,
    ) -> InstanceId {
        let planned = planned.unwrap_or_else(|| self.moment(id, now));
        let mut making = Making::planned(planned, Cause::Manual(by));
        making.params = params;
        making.number = number;
        self.create(id, making, now, out)
    }
}

fn created(open: &Open, at: Timestamp) -> Created {
    Created {
        row: Row { id: open.id, planned: open.planned },
        tenant: open.tenant,
        job: open.job,
        version: open.version,
        part: open.part,
        parent: open.parent,
        cause: open.cause.clone(),
        params: open.params,
        state: State::Scheduled,
        attempt: open.attempt,
        target: open.target,
        at,
    }
}

/// The last microsecond of the second `t` is in: whole seconds are planned at a time.
fn end_of_second(t: Timestamp) -> Timestamp {
    Timestamp((t.0.div_euclid(1_000_000) + 1) * 1_000_000 - 1)
}

impl Compiled {
    /// Whether an instance that is `late` is no longer on time.
    pub(crate) fn is_misfire(&self, late: Span) -> bool {
        late > self.rule.trigger.misfire.grace
    }
}
