//! What differs for executors, which are called and know no fence: nothing they fail to say is taken for a no, and
//! whoever speaks for them is known by what it may speak for, not by who it is.

use std::sync::Arc;

use model::{AgentId, AttemptId, InstanceId, Outcome, Report, ReportKind, Timestamp, Verdict};

use crate::agents::Agent;
use crate::change::Change;
use crate::effect::{Decisions, Effect, Inspected, Reply};
use crate::input::Scope;
use crate::open::Phase;
use crate::shard::Shard;

/// Nobody in particular: a callback does not say whom it comes from.
const NOBODY: AgentId = AgentId(0);

impl Shard {
    /// It can be called again. What it said it has is no longer in doubt, since it can be asked about it; what it never
    /// answered for stays so.
    pub(crate) fn executor_up(&mut self, id: AgentId, now: Timestamp, out: &mut Decisions) {
        for instance in self.busy_on(id) {
            let open = &self.open[&instance];
            let (taken, attempt) = (matches!(open.phase, Phase::Running { .. }), open.attempt);
            let stopping = open.stopping.as_ref().map(|(by, _)| (by.0.clone(), open.rule.rule.stop_grace));
            if taken && self.trust(instance) {
                self.flush_later(instance, now);
            }
            if let Some((by, grace)) = stopping {
                let alias = self.alias_of(self.open[&instance].job);
                out.effect(Effect::Stop { agent: id, attempt, alias, by, grace });
            }
        }
        self.drain_all(now, out);
    }

    pub(crate) fn unanswered(&mut self, agent: AgentId, attempt: AttemptId, why: &str, now: Timestamp) {
        if self.honours(attempt, agent) {
            let id = self.attempts[&attempt];
            self.blamed = Some(self.open[&id].job);
            self.doubt(id, why, now);
        }
    }

    /// A route that asks first has its answers.
    pub(crate) fn asked(
        &mut self,
        attempt: AttemptId,
        chosen: Option<AgentId>,
        trail: String,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        let asking = |id: &InstanceId| self.open[id].phase == Phase::Asking;
        let Some(id) = self.attempts.get(&attempt).copied().filter(asking) else { return };
        let open = self.open.get_mut(&id).expect("attempts lead to what is open");
        self.blamed = Some(open.job);
        let Some(agent) = chosen else {
            return self.settle(id, Outcome::of(Verdict::Refused, trail, now), now, out);
        };
        open.note = Some(trail.into());
        let open = &self.open[&id];
        let fits = |agent: &Agent| agent.takes_work() && self.fits(open, agent, now);
        // Things may have changed while they were asked.
        if self.agents.get(&agent).is_some_and(fits) && self.queues.has_room(open.queue, now) {
            self.order(id, agent, now, out);
        } else {
            self.enqueue(id, now, out);
        }
    }

    /// Names what an executor holds since before then.
    pub(crate) fn inspect(&mut self, agent: AgentId, ordered_before: Timestamp, out: &mut Decisions) {
        if !self.agents.contains_key(&agent) {
            return;
        }
        let held = self.busy_on(agent).into_iter().filter_map(|id| {
            let open = &self.open[&id];
            // One that was loaded without its order's time was ordered before the load.
            let ordered_at = open.ordered_at.unwrap_or(open.created);
            (ordered_at <= ordered_before).then(|| Inspected {
                attempt: open.attempt,
                alias: self.alias_of(open.job),
                dated: open.dated(),
                taken: matches!(open.phase, Phase::Running { .. }),
                doubted: open.uncertain.is_some(),
                started_at: open.started_at,
                ordered_at,
            })
        });
        let open: Vec<Inspected> = held.collect();
        out.effect(Effect::Inspect { agent, open });
    }

    /// Runs end as their executors say, if the caller may speak for them.
    pub(crate) fn called_back(
        &mut self,
        scope: &Scope,
        reports: Vec<Report>,
        now: Timestamp,
        out: &mut Decisions,
    ) -> Reply {
        let (mut ended, mut foreign) = (0, 0);
        for Report { attempt, kind, .. } in reports {
            let ReportKind::Ended(mut outcome) = kind else { continue };
            let Some(id) = self.attempts.get(&attempt).copied() else {
                let kind = ReportKind::Ended(outcome);
                out.change(Change::Orphan { agent: NOBODY, attempt, kind, at: now });
                continue;
            };
            let open = &self.open[&id];
            let holder = open.agent().and_then(|agent| self.agents.get(&agent));
            if !holder.is_some_and(|agent| !agent.is_fenced() && scope.covers(&agent.record)) {
                foreign += 1;
                continue;
            }
            self.blamed = Some(open.job);
            // Whoever was told to end it may call that a success.
            if open.stopping.is_some() {
                outcome.verdict = Verdict::Stopped;
            } else if outcome.verdict == Verdict::Succeeded && open.was_cut_off(now) {
                outcome.verdict = Verdict::TimedOut;
            }
            outcome.started_at = outcome.started_at.or(open.started_at).or(open.ordered_at);
            ended += 1;
            self.settle(id, *outcome, now, out);
        }
        Reply::CalledBack { ended, foreign }
    }

    /// Nobody would believe an executor's word for the end of a run once it is removed.
    pub(crate) fn holds_runs(&self, agent: AgentId) -> bool {
        self.agents.get(&agent).is_some_and(|agent| !agent.is_fenced() && !agent.busy.is_empty())
    }

    /// A shard of a broadcast over executors that is tried again goes to whoever has its place now.
    pub(crate) fn rebind(&mut self, id: InstanceId) {
        let open = &self.open[&id];
        let Some(index) = open.part.index() else { return };
        if open.target.and_then(|agent| self.agents.get(&agent)).is_some_and(|agent| agent.is_fenced()) {
            return;
        }
        let Some(whole) = self.jobs.get(&open.job).map(|job| job.queue) else { return };
        let there = |id: &&AgentId| self.agents[*id].takes_work();
        let members: Vec<AgentId> = self.queues.get(whole).members.iter().filter(there).copied().collect();
        let Some(agent) = members.get(index as usize).or(members.first()).copied() else { return };
        let (tenant, job, rule) = (open.tenant, open.job, Arc::clone(&open.rule));
        let queue = self.queues.intern(tenant, job, &rule.rule, Some(agent), &self.agents);
        let open = self.open.get_mut(&id).expect("just looked up");
        open.target = Some(agent);
        open.queue = queue;
    }
}
