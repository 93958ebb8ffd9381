//! Planned times become instances: ahead of their time when all is well, by the misfire rule when it is not.
//! Never decides whether an instance may start: that is `launch`.
//!
//! There is no cursor per job: the shard's horizon says up to where everything is decided, and a round of planning may
//! take many commits before the horizon moves. What such a round has decided must therefore be seen from the open
//! instances alone: until the horizon has passed it, nothing it made starts or ends, and times that became no
//! instance are written together with the horizon.

use std::sync::Arc;

use model::{Actor, Cause, InstanceId, JobId, JobMode, SkipReason, Span, Timestamp, When};

use crate::change::{Change, Fate};
use crate::effect::Decisions;
use crate::input::Triggering;
use crate::make::Making;
use crate::missed::Missed;
use crate::plan::Compiled;
use crate::shard::{AHEAD, SLICE, SLICE_AHEAD, Shard};

/// How many planned times one step looks at, so that a year of downtime is many short steps.
const LOOKS: u32 = 50_000;

/// How many jobs are taken off the wheel at a time: all that come up at one instant may be very many.
const LOOKED_UP: usize = 1_000;

/// What one step may still do.
pub(crate) struct Budget {
    pub looks: u32,
    /// No more changes than this are gathered.
    pub changes: usize,
}

impl Budget {
    pub(crate) fn unbounded() -> Budget {
        Budget { looks: u32::MAX, changes: usize::MAX }
    }

    fn is_spent(&self, out: &Decisions) -> bool {
        self.looks == 0 || out.changes.len() >= self.changes
    }
}

impl Shard {
    /// Creates what is planned up to `AHEAD` of now, a slice at a time; the horizon moves when all of it is there.
    pub(crate) fn plan_ahead(&mut self, now: Timestamp, out: &mut Decisions) {
        let until = end_of_second(now + AHEAD);
        if until <= self.horizon && self.planning.is_empty() {
            return;
        }
        let mut budget = Budget { looks: LOOKS, changes: out.changes.len() + self.slice(until, now) };
        loop {
            while let Some(job) = self.planning.front().copied() {
                if budget.is_spent(out) || self.ids_run_low() {
                    self.beyond_horizon = Some(job);
                    return;
                }
                if self.fire(job, until, now, &mut budget, out) {
                    self.planning.pop_front();
                }
            }
            match self.wheel.take(until, LOOKED_UP) {
                Some(jobs) => self.planning.extend(jobs),
                None => break,
            }
        }
        self.horizon = self.horizon.max(until);
        let (horizon, unasked) = (self.horizon, &self.unasked);
        self.taken.retain(|job, times| {
            times.retain(|planned| *planned > horizon || unasked.contains(job));
            !times.is_empty()
        });
        out.changes.extend(std::mem::take(&mut self.unwritten).into_values().flatten());
        self.carry_horizon(out);
    }

    /// How much of a round one step does: little while there is time.
    fn slice(&mut self, until: Timestamp, now: Timestamp) -> usize {
        if self.planning.is_empty()
            && let Some(jobs) = self.wheel.take(until, LOOKED_UP)
        {
            self.planning.extend(jobs);
        }
        let first = self.planning.front().and_then(|job| self.jobs.get(job)?.wake);
        self.behind = first.is_some_and(|wake| wake <= now);
        if self.behind { SLICE } else { SLICE_AHEAD }
    }

    /// What earlier steps made beyond the horizon may start now, so the horizon must reach the disk first, even if this
    /// step has nothing else to write: whoever loads later must know that it may have been sent.
    fn carry_horizon(&mut self, out: &mut Decisions) {
        let Some(id) = self.beyond_horizon.take() else { return };
        let id = if self.jobs.contains_key(&id) { Some(id) } else { self.jobs.keys().min().copied() };
        if let Some(job) = id.filter(|_| out.changes.is_empty()) {
            out.change(Change::JobCounted { job, fired: self.jobs[&job].fired });
        }
    }

    /// Planning waits for the next block rather than use up what reports may need.
    pub(crate) fn ids_run_low(&self) -> bool {
        self.ids.left() < SLICE as i64 * 4
    }

    /// Decides every planned time of one job up to `until`; false if the budget ran out before.
    pub(crate) fn fire(
        &mut self,
        id: JobId,
        until: Timestamp,
        now: Timestamp,
        budget: &mut Budget,
        out: &mut Decisions,
    ) -> bool {
        self.blamed = Some(id);
        let Some(job) = self.jobs.get(&id) else { return true };
        if !job.plans() || (!self.counting.contains_key(&id) && self.tick_is_stale(job.wake, until)) {
            return true;
        }
        let rule = Arc::clone(&job.rule);
        #[cfg(feature = "faults")]
        assert!(rule.rule.priority != crate::PANICKING_PRIORITY, "a job made to break the engine");
        let late = (now - rule.rule.trigger.misfire.grace - Span(1)).min(until);
        // A time somebody asked for by hand, or whose instance is to end before it starts, has its entry.
        let taken = self.taken_ahead(id);
        let mut missed = self.counting.remove(&id).unwrap_or_default();
        if !self.count_missed(id, late, &taken, &mut missed, &mut budget.looks) {
            self.counting.insert(id, missed);
            return false;
        }
        let before = out.changes.len();
        let mut made = missed.count > 0 && self.misfire(id, missed, now, out);
        while let Some(planned) = self.jobs[&id].wake.filter(|wake| *wake <= until && !budget.is_spent(out)) {
            budget.looks -= 1;
            self.take_time(id);
            if !taken.contains(&planned) {
                self.create(id, Making::planned(planned, Cause::Planned), now, out);
                made = true;
            }
        }
        self.count(id, out);
        if made || until <= self.horizon {
            self.write_now(id, before, out);
        } else if out.changes.len() > before {
            self.unwritten.entry(id).or_default().extend(out.changes.drain(before..));
        }
        let Some(wake) = self.jobs[&id].wake else { return true };
        let done = wake > until;
        if done {
            self.wheel.insert(wake, id);
        }
        done
    }

    /// Planned times not taken off the plan yet that have an instance already.
    fn taken_ahead(&self, id: JobId) -> Vec<Timestamp> {
        let job = &self.jobs[&id];
        let Some(wake) = job.wake else { return Vec::new() };
        let scheduled = job.live.iter().flat_map(|live| &live.scheduled).map(|id| self.open[id].planned);
        let by_hand = self.taken.get(&id).into_iter().flatten().copied();
        scheduled.chain(by_hand).filter(|planned| *planned >= wake).collect()
    }

    /// What was put off for this job is written after all, before what follows it.
    pub(crate) fn write_now(&mut self, id: JobId, at: usize, out: &mut Decisions) {
        if let Some(changes) = self.unwritten.remove(&id) {
            out.changes.splice(at..at, changes);
        }
    }

    /// Takes the next planned time off the job's plan.
    fn take_time(&mut self, id: JobId) {
        let job = self.jobs.get_mut(&id).expect("asked about a known job");
        let planned = job.wake.expect("there is a next time");
        if job.rule.rule.trigger.count_max.is_some() {
            job.fired += 1;
        }
        job.wake = job.next_after(planned);
    }

    /// Takes the job's planned times up to `until` off its plan, only counting them; false if there are too many for
    /// one step.
    fn count_missed(
        &mut self,
        id: JobId,
        until: Timestamp,
        taken: &[Timestamp],
        missed: &mut Missed,
        looks: &mut u32,
    ) -> bool {
        let job = self.jobs.get_mut(&id).expect("asked about a known job");
        let trigger = &job.rule.rule.trigger;
        let even = job.rule.beat().filter(|_| trigger.count_max.is_none() && taken.is_empty());
        if let (Some(every), Some(first)) = (even, job.wake) {
            let until = trigger.end.map_or(until, |end| until.min(end - Span(1)));
            if first <= until {
                missed.extend(first, every, until);
                job.wake = job.next_after(missed.last);
            }
            return true;
        }
        while let Some(planned) = self.jobs[&id].wake.filter(|wake| *wake <= until) {
            if *looks == 0 {
                return false;
            }
            *looks -= 1;
            self.take_time(id);
            if !taken.contains(&planned) {
                missed.add(planned);
            }
        }
        true
    }

    /// Times that passed up to `until` while the job was in quarantine are nobody's: say so, and go on from there.
    pub(crate) fn skip_held_times(&mut self, id: JobId, until: Timestamp, out: &mut Decisions) {
        let job = self.jobs.get_mut(&id).expect("asked about a known job");
        if self.unasked.remove(&id) && job.mode == JobMode::Enabled {
            job.wake = job.decided_when_held().and_then(|decided| job.next_after(decided));
        }
        let mut missed = self.counting.remove(&id).unwrap_or_default();
        let (taken, mut looks) = (self.taken_ahead(id), u32::MAX);
        self.count_missed(id, until, &taken, &mut missed, &mut looks);
        if missed.count > 0 {
            let why = "the job was in quarantine".to_string();
            let (first, last, count) = (missed.first, missed.last, missed.count);
            self.gap(id, (first, last, count), Fate::Skipped(SkipReason::Quarantined), why, out);
            self.count(id, out);
        }
    }

    fn count(&mut self, id: JobId, out: &mut Decisions) {
        let job = &self.jobs[&id];
        if job.rule.rule.trigger.count_max.is_some() {
            out.change(Change::JobCounted { job: id, fired: job.fired });
        }
    }

    /// A planned time for something that has none of its own: now, or the next instant that is nobody's.
    pub(crate) fn moment(&mut self, id: JobId, now: Timestamp) -> Timestamp {
        let job = &self.jobs[&id];
        let mut moment = now.max(job.last_made + Span(1));
        // Cron names whole seconds, and the job may have been one: stay off those in any case.
        while moment.0 % 1_000_000 == 0 || job.names(moment) || job.has_scheduled(moment, &self.open) {
            moment += Span(1);
        }
        self.jobs.get_mut(&id).expect("just looked up").last_made = moment;
        moment
    }

    /// A job that runs so long after its previous end always has its next instance in the books, for a time after
    /// `taken`.
    pub(crate) fn schedule_delay(
        &mut self,
        id: JobId,
        ended: Timestamp,
        taken: Timestamp,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let When::Delay { delay } = job.rule.rule.trigger.when else { return };
        let trigger = &job.rule.rule.trigger;
        let exhausted = trigger.count_max.is_some_and(|max| job.fired >= max);
        if exhausted || !job.plans() || job.chain_goes_on(&self.open) {
            return;
        }
        let earliest = trigger.start.unwrap_or(Timestamp::MIN).max(taken.max(job.last_made) + Span(1));
        let mut planned = (ended + delay).max(earliest);
        while job.has_scheduled(planned, &self.open) {
            planned += Span(1);
        }
        if trigger.end.is_some_and(|end| planned >= end) {
            return;
        }
        if trigger.count_max.is_some() {
            job.fired += 1;
        }
        self.create(id, Making::planned(planned, Cause::Planned), now, out);
        self.count(id, out);
    }

    pub(crate) fn trigger_by_hand(
        &mut self,
        asked: &Triggering,
        number: Option<InstanceId>,
        by: Actor,
        now: Timestamp,
        out: &mut Decisions,
    ) -> InstanceId {
        let at_once = asked.planned.is_none();
        let planned = asked.planned.unwrap_or_else(|| self.moment(asked.job, now));
        let making = Making { planned, cause: Cause::Manual(by), params: asked.params, on: asked.on, number, at_once };
        self.create(asked.job, making, now, out)
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
