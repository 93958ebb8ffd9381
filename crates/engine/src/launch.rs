//! Whether an instance whose time has come may start: overlap and the job's own limits. Never picks an agent.

use model::{Actor, Cause, Ending, InstanceId, JobId, MisfireRule, Overlap, SkipReason, State, Timestamp, Why};

use crate::effect::Decisions;
use crate::jobs::remove_from;
use crate::open::Phase;
use crate::shard::Shard;

/// How many instances one step starts at most: what falls due meanwhile waits no longer than that takes.
const LAUNCHES: usize = 200;

enum Admission {
    Go,
    Wait,
    Skip(Why),
    /// Stop what runs, forget what waits, then start.
    Replace,
}

impl Shard {
    /// Starts what is due, a slice at a time: the first orders of a burst are on their way while the last are decided.
    pub(crate) fn launch_due(&mut self, now: Timestamp, out: &mut Decisions) {
        // What is planned beyond the horizon may not be complete; nothing of it starts before it is.
        let until = now.min(self.horizon);
        let turns = &self.queues.turns;
        for id in self.due.take(until, LAUNCHES, |tenant| turns.weight(tenant)) {
            self.come_due(id, now, out);
        }
    }

    fn come_due(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let Some(open) = self.open.get_mut(&id).filter(|open| open.phase == Phase::Scheduled) else { return };
        self.blamed = Some(open.job);
        open.phase = Phase::Waiting;
        let (job, tenant, target) = (open.job, open.tenant, open.target);
        let stopped = open.stopping.as_ref().map(|(by, _)| by.clone());
        let rule = &open.rule;
        // Only what nobody has looked at yet can have been missed.
        let (untouched, late) = (open.written == State::Scheduled, now - open.due);
        let skips = open.cause == Cause::Planned && rule.rule.trigger.misfire.rule == MisfireRule::Skip;
        let missed = untouched && skips && rule.is_misfire(late);
        self.forget_proposal(tenant, target);
        if let Some(live) = self.jobs.get_mut(&job).and_then(|job| job.live.as_mut()) {
            remove_from(&mut live.scheduled, id);
        }
        if let Some(by) = stopped {
            self.finish(id, Ending::Stopped(by), None, None, now, out);
        } else if missed {
            let why = Why::Misfire { late }.to_string();
            self.finish(id, Ending::Skipped(SkipReason::Misfire), None, Some(why), now, out);
        } else if untouched {
            self.launch(id, now, out);
        } else {
            self.relaunch(id, now, out);
        }
    }

    pub(crate) fn launch(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let open = self.open.get_mut(&id).expect("being launched");
        open.phase = Phase::Waiting;
        let (job, planned) = (open.job, open.planned);
        if let Some(job) = self.jobs.get_mut(&job) {
            job.last_made = job.last_made.max(planned);
        }
        match self.admission(id, true) {
            Admission::Go => self.let_through(job, id, now, out),
            Admission::Wait => self.hold_back(job, id, now, out),
            Admission::Skip(why) => {
                self.finish(id, Ending::Skipped(SkipReason::Overlap), None, Some(why.to_string()), now, out);
            }
            Admission::Replace => {
                self.make_room(job, id, now, out);
                self.admit_waiting(job, now, out);
            }
        }
    }

    /// The same for one that was let in before, so that the overlap rule may make it wait but not turn it away.
    pub(crate) fn relaunch(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let open = self.open.get_mut(&id).expect("being launched");
        open.phase = Phase::Waiting;
        let job = open.job;
        if !open.is_listed() {
            return self.enqueue(id, now, out);
        }
        match self.admission(id, true) {
            Admission::Go => self.let_through(job, id, now, out),
            Admission::Wait | Admission::Skip(_) | Admission::Replace => self.hold_back(job, id, now, out),
        }
    }

    /// Whether the overlap rule alone lets it go.
    pub(crate) fn may_go(&self, id: InstanceId) -> bool {
        matches!(self.by_overlap(id, true), Admission::Go)
    }

    fn admission(&self, id: InstanceId, newcomer: bool) -> Admission {
        let held = self.jobs.get(&self.open[&id].job).is_some_and(|job| job.held.is_some());
        if held { Admission::Wait } else { self.by_overlap(id, newcomer) }
    }

    /// A newcomer does not overtake those who wait.
    fn by_overlap(&self, id: InstanceId, newcomer: bool) -> Admission {
        let open = &self.open[&id];
        let Some(live) = self.jobs.get(&open.job).and_then(|job| job.live.as_ref()) else { return Admission::Go };
        let rule = &open.rule.rule;
        let Some(holder) = live.active.first() else { return Admission::Go };
        let at_once = live.active.len() as u32;
        let waiting = live.waiting.len() as u32;
        let limited = rule.limits.job.is_some_and(|max| at_once >= max);
        match rule.overlap {
            Overlap::Allow { max } => {
                let full = rule.exclusive.is_some() || limited || max.is_some_and(|max| at_once >= max);
                let behind = newcomer && waiting > 0;
                if full || behind { Admission::Wait } else { Admission::Go }
            }
            Overlap::Queue { max } if waiting >= max => Admission::Skip(Why::QueueFull { waiting }),
            Overlap::Queue { .. } => Admission::Wait,
            Overlap::Skip => Admission::Skip(Why::OverlapSkipped { holder: *holder }),
            Overlap::Replace => Admission::Replace,
        }
    }

    fn let_through(&mut self, job: JobId, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        if let Some(job) = self.jobs.get_mut(&job) {
            job.live().active.push(id);
        }
        self.enqueue(id, now, out);
    }

    fn hold_back(&mut self, job: JobId, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        // Whoever waits for others of its job must not keep from them what they may need.
        self.give_back(id, now, out);
        let open = self.open.get_mut(&id).expect("being launched");
        open.phase = Phase::Waiting;
        // Whoever waits goes wherever there is room then.
        open.target = open.target.filter(|_| open.pinned);
        if let Some(job) = self.jobs.get_mut(&job) {
            job.live().waiting.push_back(id);
        }
        self.flush_later(id, now);
    }

    fn make_room(&mut self, job: JobId, newcomer: InstanceId, now: Timestamp, out: &mut Decisions) {
        let live = self.jobs.get_mut(&job).expect("only jobs with instances are made room in").live();
        // The newcomer takes the line before anybody leaves it, or the end of one would let another go.
        let (active, waiting) = (live.active.clone(), std::mem::take(&mut live.waiting));
        self.hold_back(job, newcomer, now, out);
        for id in waiting {
            let why = Why::OverlapSkipped { holder: newcomer }.to_string();
            self.finish(id, Ending::Skipped(SkipReason::Overlap), None, Some(why), now, out);
        }
        for id in active {
            self.stop(id, Actor(format!("duly: replaced by instance {newcomer}")), now, out);
        }
    }

    /// Somebody of the job has ended: those held back by it may come, in their order.
    pub(crate) fn admit_waiting(&mut self, job: JobId, now: Timestamp, out: &mut Decisions) {
        loop {
            let Some(live) = self.jobs.get_mut(&job).and_then(|job| job.live.as_mut()) else { return };
            let Some(id) = live.waiting.pop_front() else { break };
            match self.admission(id, false) {
                Admission::Go => self.let_through(job, id, now, out),
                Admission::Wait | Admission::Skip(_) | Admission::Replace => {
                    // It has its place in the line already; only its turn has not come.
                    self.jobs.get_mut(&job).expect("just looked up").live().waiting.push_front(id);
                    break;
                }
            }
        }
        if let Some(job) = self.jobs.get_mut(&job) {
            job.settle_live();
        }
    }
}
