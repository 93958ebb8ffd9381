//! Making, changing, pausing and removing jobs. Until its instant, any change to a job rewrites what was created
//! ahead for it, in the same commit; what has started keeps the version it started with.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use model::{Actor, Ending, Follow, JobId, JobMode, JobRecord, Span, Timestamp, VersionId, When};
use rustc_hash::FxHashSet;

use crate::change::{Change, ClaimName};
use crate::claims::Waiting;
use crate::effect::{Decisions, Refusal, Reply};
use crate::fire::Budget;
use crate::input::{Caller, JobDraft};
use crate::jobs::{Held, Job, remove_from};
use crate::open::{Open, Phase};
use crate::shard::Shard;

impl Shard {
    /// None: answered later, when the store has said whether the name is free.
    pub(crate) fn apply(
        &mut self,
        caller: Caller,
        by: Actor,
        draft: JobDraft,
        now: Timestamp,
        out: &mut Decisions,
    ) -> Option<Result<Reply, Refusal>> {
        if let Err(refusal) = self.refuse_cycle(&draft) {
            return Some(Err(refusal));
        }
        match draft.id {
            Some(id) if self.jobs.contains_key(&id) => Some(Ok(self.change_job(id, draft, by, now, out))),
            Some(id) => Some(Err(Refusal::NoSuchJob(id))),
            None if !self.may_hold(draft.tenant) => Some(Err(Refusal::NotOwner)),
            None => {
                let Some(id) = self.ids.take_job(self.id, self.shards) else {
                    return Some(Err(Refusal::OutOfNumbers));
                };
                let name = ClaimName::JobName { tenant: draft.tenant, name: draft.name.clone() };
                self.claim(name, id.0, Waiting::NewJob { caller, by, draft: Box::new(draft) }, now, out);
                None
            }
        }
    }

    /// A job that follows itself, over however many others, would never stop.
    fn refuse_cycle(&self, draft: &JobDraft) -> Result<(), Refusal> {
        let Some(me) = draft.id else { return Ok(()) };
        let leaders = |follows: &[Follow]| follows.iter().map(|follow| follow.job).collect::<Vec<_>>();
        let mut above = leaders(&draft.rule.rule.trigger.follows);
        let mut seen = FxHashSet::default();
        while let Some(id) = above.pop() {
            if id == me {
                return Err(Refusal::Cycle(id));
            }
            if seen.insert(id) {
                above.extend(self.jobs.get(&id).map(|job| leaders(job.follows())).unwrap_or_default());
            }
        }
        Ok(())
    }

    pub(crate) fn make_job(
        &mut self,
        id: JobId,
        draft: JobDraft,
        by: Actor,
        now: Timestamp,
        out: &mut Decisions,
    ) -> Reply {
        self.blamed = Some(id);
        let version = VersionId(self.ids.take());
        let queue = self.queues.intern(draft.tenant, id, &draft.rule.rule, None, &self.agents);
        let job = Job {
            tenant: draft.tenant,
            version,
            rule: Arc::clone(&draft.rule),
            rule_content: draft.rule_content,
            task: draft.task,
            source: draft.source,
            queue,
            mode: draft.mode,
            since: now,
            wake: None,
            fired: 0,
            alias: draft.alias,
            turn: 0,
            last_made: Timestamp::MIN,
            held: None,
            live: None,
        };
        out.change(Change::JobPut(Box::new(record(id, &draft, version, now, (0, draft.alias), &by))));
        self.tell_leaders(id, &[], job.follows(), out);
        self.take_up(id, job, now, out);
        Reply::Job { id, version, changed: true }
    }

    fn change_job(&mut self, id: JobId, draft: JobDraft, by: Actor, now: Timestamp, out: &mut Decisions) -> Reply {
        self.blamed = Some(id);
        let job = &self.jobs[&id];
        let same_content =
            job.rule_content == draft.rule_content && job.task == draft.task && job.source == draft.source;
        if same_content && job.mode == draft.mode {
            return Reply::Job { id, version: job.version, changed: false };
        }
        let version = if same_content { job.version } else { VersionId(self.ids.take()) };
        let since = job.changes_from(now);
        self.decide_past(id, now, out);
        self.withdraw(id, now, out);
        self.unfollow(id);
        let queue = self.queues.intern(draft.tenant, id, &draft.rule.rule, None, &self.agents);
        let mut job = self.jobs.remove(&id).expect("checked by the caller");
        job.version = version;
        self.tell_leaders(id, job.follows(), &draft.rule.rule.trigger.follows, out);
        job.rule = Arc::clone(&draft.rule);
        job.rule_content = draft.rule_content;
        job.task = draft.task;
        job.source = draft.source;
        job.queue = queue;
        job.mode = draft.mode;
        job.since = since;
        if job.alias == 0 {
            job.alias = draft.alias;
        }
        out.change(Change::JobPut(Box::new(record(id, &draft, version, since, (job.fired, job.alias), &by))));
        self.take_up(id, job, now, out);
        Reply::Job { id, version, changed: true }
    }

    /// Takes a new or changed job into the plan from now on.
    fn take_up(&mut self, id: JobId, mut job: Job, now: Timestamp, out: &mut Decisions) {
        self.follow(id, &job);
        job.wake = if job.plans() { job.next_after(now) } else { None };
        if job.held.is_some() {
            self.unasked.insert(id);
        }
        self.jobs.insert(id, job);
        self.join_plan(id, now, out);
        self.schedule_first(id, now, out);
    }

    fn join_plan(&mut self, id: JobId, now: Timestamp, out: &mut Decisions) {
        match self.jobs[&id].wake {
            // What is planned up to the horizon counts as decided once this is committed: decide it here.
            Some(wake) if wake <= self.horizon => {
                let horizon = self.horizon;
                self.fire(id, horizon, now, &mut Budget::unbounded(), out);
            }
            Some(wake) => self.wheel.insert(wake, id),
            None => {}
        }
    }

    pub(crate) fn schedule_first(&mut self, id: JobId, now: Timestamp, out: &mut Decisions) {
        let Some(job) = self.jobs.get(&id) else { return };
        if let When::Delay { delay } = job.rule.rule.trigger.when {
            self.schedule_delay(id, now - delay, Timestamp::MIN, now, out);
        }
    }

    /// What the plan named up to now is decided by what the job was until now.
    fn decide_past(&mut self, id: JobId, now: Timestamp, out: &mut Decisions) {
        let job = &self.jobs[&id];
        if job.held.is_some() {
            let until = job.changes_from(now);
            // A plan that breaks when it is asked must not keep its job from being mended.
            let asked = catch_unwind(AssertUnwindSafe(|| self.skip_held_times(id, until, out)));
            drop(asked);
        } else if self.jobs[&id].wake.is_some_and(|wake| wake <= now) || self.counting.contains_key(&id) {
            self.fire(id, now, now, &mut Budget::unbounded(), out);
        }
        self.write_now(id, out.changes.len(), out);
    }

    /// Takes back what was created ahead for the job and whose time has not come.
    fn withdraw(&mut self, id: JobId, now: Timestamp, out: &mut Decisions) {
        let Some(live) = self.jobs.get(&id).and_then(|job| job.live.as_ref()) else { return };
        let goes = |open: &Open| open.planned > now && open.by_trigger() && open.stopping.is_none();
        let ahead: Vec<_> = live.scheduled.iter().copied().filter(|i| goes(&self.open[i])).collect();
        for instance in ahead {
            self.take_from_due(instance);
            self.give_back(instance, now, out);
            let open = self.open.remove(&instance).expect("scheduled instances are open");
            self.attempts.remove(&open.attempt);
            self.clear_deadlines(&open);
            self.forget_proposal(open.tenant, open.target);
            let job = self.jobs.get_mut(&id).expect("just looked up");
            remove_from(&mut job.live().scheduled, instance);
            if job.rule.rule.trigger.count_max.is_some() {
                job.fired = job.fired.saturating_sub(1);
            }
            out.change(Change::Withdrawn { row: open.row() });
        }
        self.jobs.get_mut(&id).expect("just looked up").settle_live();
    }

    pub(crate) fn set_mode(
        &mut self,
        id: JobId,
        mode: JobMode,
        by: Actor,
        now: Timestamp,
        out: &mut Decisions,
    ) -> Result<Reply, Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::NoSuchJob(id))?;
        self.blamed = Some(id);
        let (version, since) = (job.version, job.changes_from(now));
        if job.mode == mode {
            return Ok(Reply::Job { id, version, changed: false });
        }
        self.decide_past(id, now, out);
        self.withdraw(id, now, out);
        self.unfollow(id);
        let mut job = self.jobs.remove(&id).expect("looked up above");
        job.mode = mode;
        job.since = since;
        out.change(Change::JobMode { job: id, mode, since, by, fired: job.fired });
        self.take_up(id, job, now, out);
        self.mode_note(id, mode, now, out);
        Ok(Reply::Job { id, version, changed: true })
    }

    pub(crate) fn delete(
        &mut self,
        id: JobId,
        by: Actor,
        now: Timestamp,
        out: &mut Decisions,
    ) -> Result<Reply, Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::NoSuchJob(id))?;
        self.blamed = Some(id);
        let (tenant, version) = (job.tenant, job.version);
        self.decide_past(id, now, out);
        self.withdraw(id, now, out);
        self.unfollow(id);
        // What waits would wait for a job that is gone; what runs may end. Nothing of the job comes after that.
        self.usage.remove(&id);
        self.foreign_followers.remove(&id);
        let job = self.jobs.remove(&id).expect("looked up above");
        self.tell_leaders(id, job.follows(), &[], out);
        let live = job.live.unwrap_or_default();
        for instance in live.scheduled.into_iter().chain(live.waiting).chain(live.active) {
            let waits = self.open.get(&instance).is_some_and(|open| {
                matches!(
                    open.phase,
                    Phase::Scheduled
                        | Phase::Waiting
                        | Phase::Queued { .. }
                        | Phase::InLine { .. }
                        | Phase::Asking
                        | Phase::RetryWait { .. }
                )
            });
            if waits {
                self.finish(instance, Ending::Stopped(by.clone()), None, Some("its job was deleted".into()), now, out);
            }
        }
        out.change(Change::JobRemoved { job: id, tenant, at: now, by });
        Ok(Reply::Job { id, version, changed: true })
    }

    /// Deciding about the job failed: it fires no more until a person has looked.
    pub(crate) fn quarantine(
        &mut self,
        job: Option<JobId>,
        input: String,
        error: String,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        let mut decided = self.horizon;
        if let Some(id) = job.filter(|id| self.jobs.contains_key(id)) {
            decided = self.decided_of(id);
            // Nobody will look at those again before the horizon has passed them.
            self.write_now(id, out.changes.len(), out);
            let slot = self.jobs.get_mut(&id).expect("just looked up");
            slot.held.get_or_insert(Box::new(Held { error: error.clone(), at: now, decided }));
        }
        out.change(Change::Quarantined { job, input, error, at: now, decided });
    }

    /// Up to where the job's planned times have their entries.
    fn decided_of(&self, id: JobId) -> Timestamp {
        let (job, counting) = (&self.jobs[&id], self.counting.get(&id).filter(|missed| missed.count > 0));
        match (job.decided_when_held(), counting, job.wake) {
            (Some(decided), ..) => decided,
            (None, Some(missed), _) => missed.first - Span(1),
            (None, None, Some(wake)) => wake - Span(1),
            (None, None, None) => self.horizon,
        }
    }

    pub(crate) fn release(
        &mut self,
        id: JobId,
        by: Actor,
        now: Timestamp,
        out: &mut Decisions,
    ) -> Result<Reply, Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::NoSuchJob(id))?;
        let version = job.version;
        if job.held.is_none() {
            return Ok(Reply::Job { id, version, changed: false });
        }
        // Up to now nothing of it is planned any more.
        self.plan_ahead(now, out);
        self.blamed = Some(id);
        out.change(Change::Unquarantined { job: id, by });
        self.skip_held_times(id, now.min(self.horizon), out);
        self.jobs.get_mut(&id).expect("looked up above").held = None;
        self.join_plan(id, now, out);
        self.admit_waiting(id, now, out);
        self.schedule_first(id, now, out);
        Ok(Reply::Job { id, version, changed: true })
    }
}

fn record(
    id: JobId,
    draft: &JobDraft,
    version: VersionId,
    since: Timestamp,
    (fired, alias): (u64, i32),
    by: &Actor,
) -> JobRecord {
    JobRecord {
        id,
        tenant: draft.tenant,
        name: draft.name.clone(),
        version,
        rule: draft.rule_content,
        task: draft.task,
        source: draft.source,
        folder: draft.folder.clone(),
        labels: draft.labels.clone(),
        mode: draft.mode,
        since,
        fired,
        changed_by: by.0.clone(),
        alias,
    }
}
