//! What people and programs ask for. Each command answers its caller after the commit that carries it out.

use std::sync::Arc;

use model::{Actor, AttemptId, Ending, Instance, InstanceId, JobId, JobMode, Outcome, Part, Route, Timestamp, Verdict};

use crate::change::{Change, ClaimName, NoteKind, Row};
use crate::claims::Waiting;
use crate::effect::{Decisions, Refusal, Reply};
use crate::input::{Caller, Command, Resolution, Subject, Triggering};
use crate::jobs::Job;
use crate::plan::Compiled;
use crate::shard::Shard;

impl Shard {
    pub(crate) fn command(&mut self, caller: Caller, by: Actor, command: Command, now: Timestamp, out: &mut Decisions) {
        let reply = match command {
            Command::ApplyJob(draft) => match self.apply(caller, by, *draft, now, out) {
                Some(reply) => reply,
                None => return, // answered when the claim is
            },
            Command::Trigger(triggering) => match self.trigger(caller, by, *triggering, now, out) {
                Some(reply) => reply,
                None => return,
            },
            Command::SetMode { job, mode } => self.set_mode(job, mode, by, now, out),
            Command::Release { job } => self.release(job, by, now, out),
            Command::DeleteJob { job } => self.delete(job, by, now, out),
            Command::Stop { instance } => self.stop_asked(instance, by, now, out),
            Command::Rerun { instance, rule } => self.rerun(*instance, rule, by, now, out),
            Command::Resolve { instance, verdict } => self.resolve(instance, verdict, by, now, out),
            Command::Callback { scope, reports } => Ok(self.called_back(&scope, reports, now, out)),
            Command::Why { subject } => self.explain(subject, now),
            Command::Followers { job } => Ok(Reply::Followers(self.followers_of(job))),
            Command::PutAgent { agent } => {
                out.change(Change::AgentPut(agent.clone()));
                self.enlist(Arc::from(agent));
                self.drain_all(now, out);
                Ok(Reply::Done)
            }
            Command::RemoveAgent { agent } if !self.agents.contains_key(&agent) => Err(Refusal::NoSuchAgent(agent)),
            Command::RemoveAgent { agent } if self.holds_runs(agent) => Err(Refusal::AgentBusy(agent)),
            Command::RemoveAgent { agent } => {
                self.agent_gone(agent, "its agent was removed", now, out);
                self.remove_agent(agent);
                out.change(Change::AgentRemoved { agent });
                Ok(Reply::Done)
            }
            Command::PutPool { pool } => {
                self.queues.set_limit(pool.tenant, &pool.name, pool.limit);
                out.change(Change::PoolPut(pool));
                self.drain_all(now, out);
                Ok(Reply::Done)
            }
            Command::PutTenant { tenant } => self.put_tenant(*tenant, now, out),
            Command::RemoveTenant { tenant } => self.remove_tenant(tenant, out),
            Command::PutResource { name, units } => {
                out.change(Change::ResourcePut { name, units });
                Ok(Reply::Done)
            }
            Command::SetGlobalLimit { limit } => {
                self.queues.global.limit = limit;
                out.change(Change::GlobalLimit { limit });
                self.drain_all(now, out);
                Ok(Reply::Done)
            }
        };
        out.reply(caller, reply);
    }

    fn trigger(
        &mut self,
        caller: Caller,
        by: Actor,
        asked: Triggering,
        now: Timestamp,
        out: &mut Decisions,
    ) -> Option<Result<Reply, Refusal>> {
        self.blamed = Some(asked.job);
        let job = match self.takes_triggers(&asked, now) {
            Err(refusal) => return Some(Err(refusal)),
            Ok(job) => job,
        };
        match asked.idempotency_key.clone() {
            Some(key) if asked.adopt.is_none() => {
                let name = ClaimName::Key { tenant: job.tenant, key };
                let number = self.ids.take();
                self.claim(name, number, Waiting::Trigger { caller, by, asked }, now, out);
                None
            }
            _ => Some(self.trigger_granted(by, &asked, asked.adopt, now, out)),
        }
    }

    pub(crate) fn trigger_granted(
        &mut self,
        by: Actor,
        asked: &Triggering,
        number: Option<InstanceId>,
        now: Timestamp,
        out: &mut Decisions,
    ) -> Result<Reply, Refusal> {
        if let Some(made) = number.and_then(|id| self.open.get(&id)) {
            return Ok(Reply::Instance { id: made.id, planned: made.planned, made: None });
        }
        self.takes_triggers(asked, now)?;
        if let Some(adopted) = asked.adopt.filter(|id| !self.adopted.insert(*id)) {
            return Ok(Reply::Repeated { id: adopted, planned: None });
        }
        let id = self.trigger_by_hand(asked, number, by, now, out);
        let planned = created_planned(id, out).expect("the instance was just made");
        Ok(Reply::Instance { id, planned, made: self.open.get(&id).map(|open| Box::new(open.as_written())) })
    }

    /// The job, if it can be triggered like that.
    fn takes_triggers(&self, asked: &Triggering, now: Timestamp) -> Result<&Job, Refusal> {
        let job = self.jobs.get(&asked.job).ok_or(Refusal::NoSuchJob(asked.job))?;
        if job.mode == JobMode::Disabled {
            return Err(Refusal::Disabled(asked.job));
        }
        if let Some(held) = &job.held {
            return Err(Refusal::Quarantined { job: asked.job, error: held.error.clone() });
        }
        if let Some(agent) = asked.on.filter(|agent| !self.queues.get(job.queue).members.contains(agent)) {
            return Err(Refusal::NotThere { job: asked.job, agent });
        }
        let taken = |planned: Timestamp| {
            let live = job.live.iter();
            let mut ids = live.flat_map(|l| l.scheduled.iter().chain(&l.active).chain(&l.waiting));
            let open = ids.any(|id| self.open.get(id).is_some_and(|open| open.planned == planned));
            // The plan has had its say about that time, and its instance may have ended since; or it is about to have
            // it, and must not find that an instance made now has come and gone.
            open || (planned <= self.horizon.max(now) && job.names(planned))
        };
        match asked.planned.is_some_and(taken) {
            true => Err(Refusal::AlreadyPlanned(asked.job)),
            false => Ok(job),
        }
    }

    fn stop_asked(&mut self, id: InstanceId, by: Actor, now: Timestamp, out: &mut Decisions) -> Result<Reply, Refusal> {
        let open = self.open.get(&id).ok_or(Refusal::NotOpen(id))?;
        self.blamed = Some(open.job);
        self.stop(id, by, now, out);
        Ok(Reply::Done)
    }

    /// An ended instance runs once more: the same planned time and parameters, a new attempt.
    fn rerun(
        &mut self,
        instance: Instance,
        rule: Arc<Compiled>,
        by: Actor,
        now: Timestamp,
        out: &mut Decisions,
    ) -> Result<Reply, Refusal> {
        let (id, planned) = (instance.id, instance.planned);
        if self.open.contains_key(&id) {
            return Err(Refusal::StillOpen(id));
        }
        self.blamed = Some(instance.job);
        if let Some(held) = self.jobs.get(&instance.job).and_then(|job| job.held.as_ref()) {
            return Err(Refusal::Quarantined { job: instance.job, error: held.error.clone() });
        }
        // Its shards are there already, and would come a second time.
        if rule.rule.pool.route == Route::Broadcast && instance.part == Part::WHOLE && instance.started_at.is_some() {
            return Err(Refusal::Broadcast(id));
        }
        let attempt = AttemptId(self.ids.take());
        let attempt_no = instance.attempt_no + 1;
        let row = Row { id, job: instance.job, planned };
        out.change(Change::Reopened { row, attempt, attempt_no, by, at: now });
        let (parent, state) = (instance.parent, instance.state);
        self.revive(instance, rule, attempt, attempt_no, now);
        match parent {
            None => self.launch(id, now, out),
            Some(parent) => {
                self.child_reopened(parent, state);
                // The new attempt is for the same agent, and its row must say so.
                self.flush(id, now, out);
                self.relaunch(id, now, out);
            }
        }
        Ok(Reply::Instance { id, planned, made: None })
    }

    fn resolve(
        &mut self,
        id: InstanceId,
        verdict: Resolution,
        by: Actor,
        now: Timestamp,
        out: &mut Decisions,
    ) -> Result<Reply, Refusal> {
        let open = self.open.get(&id).ok_or(Refusal::NotOpen(id))?;
        if open.uncertain.is_none() {
            return Err(Refusal::NotUncertain(id));
        }
        self.blamed = Some(open.job);
        match verdict {
            Resolution::Succeeded => {
                let outcome = Outcome::of(Verdict::Succeeded, format!("declared ended by {}", by.0), now);
                self.finish(id, Ending::Forced(by), Some(outcome), None, now, out);
            }
            Resolution::Lost => {
                let outcome = Outcome::of(Verdict::Lost, format!("declared lost by {}", by.0), now);
                self.settle(id, outcome, now, out);
            }
        }
        Ok(Reply::Done)
    }

    fn explain(&mut self, subject: Subject, now: Timestamp) -> Result<Reply, Refusal> {
        match subject {
            Subject::Instance(id) if !self.open.contains_key(&id) => Err(Refusal::NotOpen(id)),
            Subject::Instance(id) => Ok(Reply::Why(self.why_instance_reply(id, now))),
            Subject::Job(id) if !self.jobs.contains_key(&id) => Err(Refusal::NoSuchJob(id)),
            Subject::Job(id) => Ok(Reply::Why(self.why_job(id, now))),
        }
    }

    pub(crate) fn mode_note(&mut self, job: JobId, mode: JobMode, now: Timestamp, out: &mut Decisions) {
        self.note(now, Some(job), None, NoteKind::Mode(mode), out);
    }
}

fn created_planned(id: InstanceId, out: &Decisions) -> Option<Timestamp> {
    out.changes.iter().rev().find_map(|change| match change {
        Change::Created(created) if created.row.id == id => Some(created.row.planned),
        _ => None,
    })
}
