//! Whether an instance whose time has come may start: overlap and the job's own limits. Never picks an agent.

use model::{Actor, Cause, Ending, InstanceId, JobId, MisfireRule, Overlap, SkipReason, Timestamp, Why};

use crate::effect::Decisions;
use crate::open::Phase;
use crate::shard::Shard;

enum Admission {
    Go,
    Wait,
    Skip(Why),
    /// Stop what runs, forget what waits, then start.
    Replace,
}

impl Shard {
    pub(crate) fn launch_due(&mut self, now: Timestamp, out: &mut Decisions) {
        // What is planned beyond the horizon may not be complete; nothing of it starts before it is.
        while let Some(first) = self.due.first_entry().filter(|first| *first.key() <= now) {
            if *first.key() > self.horizon {
                return;
            }
            for id in first.remove() {
                if let Some(open) = self.open.get(&id)
                    && open.phase == Phase::Scheduled
                {
                    self.blamed = Some(open.job);
                    let late = now - open.due;
                    let missed = open.cause == Cause::Planned && open.rule.is_misfire(late);
                    self.unschedule(id);
                    if missed && self.open[&id].rule.rule.trigger.misfire.rule == MisfireRule::Skip {
                        let why = Why::Misfire { late }.to_string();
                        self.finish(id, Ending::Skipped(SkipReason::Misfire), None, Some(why), now, out);
                    } else {
                        self.launch(id, now, out);
                    }
                }
            }
        }
    }

    fn unschedule(&mut self, id: InstanceId) {
        let job = self.open[&id].job;
        if let Some(live) = self.jobs.get_mut(&job).and_then(|job| job.live.as_mut()) {
            live.scheduled.retain(|scheduled| *scheduled != id);
        }
    }

    pub(crate) fn launch(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let job = self.open[&id].job;
        match self.admission(id) {
            Admission::Go => self.let_through(job, id, now, out),
            Admission::Wait => self.hold_back(job, id, now),
            Admission::Skip(why) => {
                self.finish(id, Ending::Skipped(SkipReason::Overlap), None, Some(why.to_string()), now, out);
            }
            Admission::Replace => {
                self.make_room(job, id, now, out);
                match self.admission(id) {
                    Admission::Go => self.let_through(job, id, now, out),
                    Admission::Wait | Admission::Skip(_) | Admission::Replace => self.hold_back(job, id, now),
                }
            }
        }
    }

    fn admission(&self, id: InstanceId) -> Admission {
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
                if full { Admission::Wait } else { Admission::Go }
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

    fn hold_back(&mut self, job: JobId, id: InstanceId, now: Timestamp) {
        self.open.get_mut(&id).expect("being launched").phase = Phase::Waiting;
        if let Some(job) = self.jobs.get_mut(&job) {
            job.live().waiting.push_back(id);
        }
        self.flush_later(id, now);
    }

    fn make_room(&mut self, job: JobId, newcomer: InstanceId, now: Timestamp, out: &mut Decisions) {
        let Some(live) = self.jobs.get(&job).and_then(|job| job.live.as_ref()) else { return };
        let (active, waiting) = (live.active.clone(), live.waiting.clone());
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
            match self.admission(id) {
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
