//! Ends an attempt and says what follows: a retry, the end of the instance, its successors.
//! Never touches a disk or an agent; refuses reports from a fence we no longer honour.

use model::{
    AgentId, AttemptId, Ending, Failure, InstanceId, Outcome, Report, ReportKind, Retry, SkipReason, Span, State,
    Timestamp, Verdict,
};

use crate::agents::Agent;
use crate::alarm::Alarm;
use crate::between::EndOf;
use crate::change::{Change, Ended, Retried};
use crate::effect::{Decisions, Effect};
use crate::jobs::remove_from;
use crate::open::{Again, Open, Phase};
use crate::plan::chance;
use crate::queue::QueueId;
use crate::shard::Shard;

/// An attempt that provably never started is sent again this often before it counts as failed.
const REDELIVERIES_MAX: u32 = 5;

impl Shard {
    pub(crate) fn report(&mut self, agent: AgentId, report: Report, now: Timestamp, out: &mut Decisions) {
        let Report { attempt, seq, kind } = report;
        // Removed meanwhile, or not known here yet: then it says it again once it is.
        if self.agents.get(&agent).is_none_or(|agent| agent.removed) {
            return;
        }
        // A report that changes nothing is answered too, or it would come for ever.
        out.effect(Effect::Acknowledge { agent, attempt, seq });
        let known = self.attempts.get(&attempt).copied();
        let Some(id) = known.filter(|id| self.open[id].agent() == Some(agent)) else {
            // One that is open and another's is none of its business.
            if matches!(kind, ReportKind::Ended(_)) && known.is_none() {
                out.change(Change::Orphan { agent, attempt, kind, at: now });
            }
            return;
        };
        self.blamed = Some(self.open[&id].job);
        match kind {
            ReportKind::Started { at } => self.started(id, agent, at, now),
            ReportKind::Ended(outcome) => self.settle(id, *outcome, now, out),
        }
    }

    pub(crate) fn started(&mut self, id: InstanceId, agent: AgentId, at: Timestamp, now: Timestamp) {
        let open = self.open.get_mut(&id).expect("known to be open");
        open.phase = Phase::Running { agent };
        open.started_at = Some(at);
        // Word from an agent that has gone since is late news: the attempt stays in doubt.
        if self.agents.get(&agent).is_some_and(|agent| agent.connected) {
            self.trust(id);
        }
        self.flush_later(id, now);
    }

    /// The one way an attempt ends.
    pub(crate) fn settle(&mut self, id: InstanceId, outcome: Outcome, now: Timestamp, out: &mut Decisions) {
        let open = &self.open[&id];
        let stopped_by = open.stopping.as_ref().map(|(by, _)| by.clone());
        let failure = match outcome.verdict {
            Verdict::Succeeded => return self.finish(id, Ending::Succeeded, Some(outcome), None, now, out),
            Verdict::Warned => return self.finish(id, Ending::Warned, Some(outcome), None, now, out),
            // Nobody asked for it but its timeout.
            Verdict::Stopped if stopped_by.is_none() && open.is_overdue(now) => Failure::Timeout,
            Verdict::Stopped => {
                let by = stopped_by.unwrap_or_else(|| model::Actor("its agent".into()));
                return self.finish(id, Ending::Stopped(by), Some(outcome), None, now, out);
            }
            Verdict::Failed | Verdict::FailedForGood => Failure::Exit,
            Verdict::TimedOut => Failure::Timeout,
            Verdict::Lost => Failure::Lost,
            Verdict::Undelivered => Failure::Undelivered,
            Verdict::Discarded if stopped_by.is_none() => {
                let why = outcome.message.clone();
                return self.finish(id, Ending::Skipped(SkipReason::Overlap), Some(outcome), why, now, out);
            }
            Verdict::Refused | Verdict::Discarded => Failure::Refused,
        };
        let refused_by = open.agent().filter(|_| outcome.verdict == Verdict::Refused);
        // A person's stop is not a failure: whatever the task made of it, nothing follows.
        if let Some(by) = stopped_by {
            return self.finish(id, Ending::Stopped(by), Some(outcome), None, now, out);
        }
        let for_good = outcome.verdict == Verdict::FailedForGood;
        // What an agent will not run it will not run later either; another may. An executor that refuses may be mended.
        let refused_by = refused_by.filter(|agent| self.agents.get(agent).is_none_or(Agent::is_fenced));
        if let Some(line) = refused_by.and_then(|agent| self.line_without(id, agent)) {
            self.open.get_mut(&id).expect("known to be open").queue = line;
            return self.retry(id, outcome, (Again::Elsewhere, now), now, out);
        }
        let open = &self.open[&id];
        match again(open, failure, now).filter(|_| !for_good && refused_by.is_none()) {
            Some((why, at)) => self.retry(id, outcome, (why, at), now, out),
            None => {
                let dead = open.rule.rule.dead_letter || open.rule.rule.retry.times() > 0;
                let ending = if dead { Ending::Dead(failure) } else { Ending::Failed(failure) };
                self.finish(id, ending, Some(outcome), None, now, out);
            }
        }
    }

    fn retry(
        &mut self,
        id: InstanceId,
        outcome: Outcome,
        (why, at): (Again, Timestamp),
        now: Timestamp,
        out: &mut Decisions,
    ) {
        self.vacate(id);
        // Between tries others have their turn; one that was never begun is still at its first.
        if why == Again::Retry {
            self.give_back(id, now, out);
        }
        let next = AttemptId(self.ids.take());
        let open = self.open.get_mut(&id).expect("known to be open");
        let freed = open.agent();
        match why {
            Again::Redelivery => open.redelivered += 1,
            Again::Elsewhere => {}
            Again::Retry => (open.retries_used, open.redelivered) = (open.retries_used + 1, 0),
        }
        out.change(Change::Retried(Box::new(Retried {
            row: open.row(),
            attempt: open.attempt,
            attempt_no: open.attempt_no,
            target: open.target,
            ordered_at: open.ordered_at,
            outcome,
            next,
            retry_at: at,
            retries_used: open.retries_used,
        })));
        self.attempts.remove(&open.attempt);
        self.attempts.insert(next, id);
        open.attempt = next;
        open.attempt_no += 1;
        open.ordered_at = None;
        open.started_at = None;
        open.phase = Phase::RetryWait { until: at, why };
        open.written = State::RetryWait;
        open.note = None;
        let queue = open.queue;
        // A shard of a broadcast stays with its agent, and its row must say so; everything else may try elsewhere.
        if open.is_child() {
            self.rebind(id);
            self.flush(id, now, out);
        } else if !open.pinned {
            open.target = None;
        }
        if at <= now {
            self.enqueue(id, now, out);
        } else {
            self.alarms.set(at, Alarm::Retry(id, next));
        }
        if let Some(agent) = freed {
            self.drain_after(queue, agent, now, out);
        }
    }

    /// A line for it without an agent that refused it, if anybody in that takes work.
    fn line_without(&mut self, id: InstanceId, agent: AgentId) -> Option<QueueId> {
        let open = &self.open[&id];
        if open.pinned || open.is_child() {
            return None;
        }
        let line = self.queues.without(open.queue, agent, &self.agents);
        let anybody = self.queues.get(line).members.iter().any(|id| self.agents[id].takes_work());
        anybody.then_some(line)
    }

    /// Gives back what an ordered or running instance occupies.
    pub(crate) fn vacate(&mut self, id: InstanceId) {
        self.trust(id);
        let open = self.open.get_mut(&id).expect("only open instances have something to give back");
        if let Some(agent) = open.agent() {
            self.queues.release(open.queue);
            if let Some(agent) = self.agents.get_mut(&agent) {
                agent.give_back(id, open.tenant);
            }
            if let Some(at) = open.overdue_at.take() {
                self.alarms.clear(at, Alarm::Overdue(id, open.attempt));
            }
        }
    }

    /// The one way an instance ends.
    pub(crate) fn finish(
        &mut self,
        id: InstanceId,
        ending: Ending,
        outcome: Option<Outcome>,
        why: Option<String>,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        self.vacate(id);
        self.leave_line(id, now);
        self.give_back(id, now, out);
        let open = self.open.remove(&id).expect("only open instances end");
        self.attempts.remove(&open.attempt);
        self.clear_deadlines(&open);
        let state = ending.state();
        out.change(Change::Ended(Ended {
            row: open.row(),
            attempt: open.attempt,
            ending,
            target: open.target,
            ordered_at: open.ordered_at,
            at: now,
            outcome: outcome.map(Box::new),
            why: why.or_else(|| open.note.as_deref().map(Into::into)),
        }));
        if open.is_child() {
            self.follow_up(open.job, open.id, state, EndOf::Share, now, out);
        }
        match open.parent {
            Some(parent) if !open.alone => self.child_ended(parent, state, now, out),
            Some(_) => self.make_way(&open, now, out),
            None => self.advance(&open, state, now, out),
        }
        if let Some(agent) = open.agent() {
            self.drain_after(open.queue, agent, now, out);
        }
    }

    /// Takes an instance out of whatever it was waiting in.
    fn leave_line(&mut self, id: InstanceId, now: Timestamp) {
        let open = &self.open[&id];
        let (job, target, is_listed) = (open.job, open.target, open.is_listed());
        let live = self.jobs.get_mut(&job).and_then(|job| job.live.as_mut()).filter(|_| is_listed);
        match open.phase {
            Phase::Scheduled => {
                live.into_iter().for_each(|live| remove_from(&mut live.scheduled, id));
                let tenant = open.tenant;
                self.take_from_due(id);
                self.forget_proposal(tenant, target);
                let planned = self.open[&id].planned;
                // Its instant is spent; moments made up around now keep off it, and those around the last one too, if
                // the clock went back since.
                if let Some(job) = self.jobs.get_mut(&job)
                    && planned <= now.max(job.last_made) + Span::millis(1)
                {
                    job.last_made = job.last_made.max(planned);
                }
            }
            Phase::Waiting => {
                let waiting = live.map(|live| &mut live.waiting);
                waiting.into_iter().for_each(|waiting| waiting.retain(|other| *other != id));
            }
            Phase::Queued { since } => {
                self.queues.remove(open.queue, open.rule.rule.priority, since, id);
                live.into_iter().for_each(|live| remove_from(&mut live.active, id));
            }
            Phase::RetryWait { until, .. } => {
                self.alarms.clear(until, Alarm::Retry(id, open.attempt));
                live.into_iter().for_each(|live| remove_from(&mut live.active, id));
            }
            Phase::InLine { .. }
            | Phase::Asking
            | Phase::Ordered { .. }
            | Phase::Running { .. }
            | Phase::Spread { .. } => {
                live.into_iter().for_each(|live| remove_from(&mut live.active, id));
            }
        }
    }

    pub(crate) fn take_from_due(&mut self, id: InstanceId) {
        let open = &self.open[&id];
        self.due.remove(open.tenant, open.due, id);
    }

    /// What the end of a whole instance brings about: followers, the next of a chain, those who waited for it.
    fn advance(&mut self, ended: &Open, state: State, now: Timestamp, out: &mut Decisions) {
        // Who follows each share of a broadcast has followed them already.
        let spread = matches!(ended.phase, Phase::Spread { .. });
        let of = if spread { EndOf::Whole } else { EndOf::Both };
        self.follow_up(ended.job, ended.id, state, of, now, out);
        self.make_way(ended, now, out);
    }

    fn make_way(&mut self, ended: &Open, now: Timestamp, out: &mut Decisions) {
        let taken = if ended.by_trigger() { ended.planned } else { Timestamp::MIN };
        self.schedule_delay(ended.job, now, taken, now, out);
        self.admit_waiting(ended.job, now, out);
    }

    /// A shard of a broadcast runs once more while others are still open.
    pub(crate) fn child_reopened(&mut self, parent: InstanceId, ended_as: State) {
        let parent = self.open.get_mut(&parent);
        if let Some(Phase::Spread { open: left, failed, .. }) = parent.map(|parent| &mut parent.phase) {
            *left += 1;
            *failed -= u32::from(matches!(ended_as, State::Failed | State::Dead)).min(*failed);
        }
    }

    fn child_ended(&mut self, parent: InstanceId, state: State, now: Timestamp, out: &mut Decisions) {
        let Some(open) = self.open.get_mut(&parent) else { return };
        let Phase::Spread { open: left, failed, .. } = &mut open.phase else { return };
        *left -= 1;
        *failed += u32::from(matches!(state, State::Failed | State::Dead));
        if *left > 0 {
            return;
        }
        let (failed, stopped) = (*failed, open.stopping.as_ref().map(|(by, _)| by.clone()));
        let ending = match stopped {
            Some(by) => Ending::Stopped(by),
            None if failed > 0 => Ending::Failed(Failure::Exit),
            None => Ending::Succeeded,
        };
        let started = open.started_at;
        let mut outcome = Outcome::of(Verdict::Succeeded, format!("{failed} shards failed"), now);
        outcome.started_at = started;
        if failed == 0 {
            outcome.message = None;
        }
        self.finish(parent, ending, Some(outcome), None, now, out);
    }
}

/// Whether another attempt follows such a failure, why, and when.
fn again(open: &Open, failure: Failure, now: Timestamp) -> Option<(Again, Timestamp)> {
    if failure == Failure::Undelivered && open.redelivered < REDELIVERIES_MAX {
        // At once the first time; then with a breath, so that whatever is in the way can go.
        return Some((Again::Redelivery, now + Span::secs(i64::from(open.redelivered))));
    }
    let used = open.retries_used;
    if used >= open.rule.rule.retry.times() {
        return None;
    }
    let delay = match &open.rule.rule.retry {
        Retry::None => return None,
        Retry::Fixed { delay, .. } => *delay,
        Retry::List { delays } => delays[used as usize],
        Retry::Exponential { delay, factor_percent, max, jitter_percent, .. } => {
            let plain = backed_off(*delay, *factor_percent, used).min(*max);
            let spread = plain.0 / 100 * i64::from(*jitter_percent);
            let jitter = if spread > 0 { chance(open.attempt.0 as u64, 1) as i64 & i64::MAX } else { 0 };
            plain + Span(if spread > 0 { jitter % (spread + 1) } else { 0 })
        }
    };
    Some((Again::Retry, now + delay))
}

fn backed_off(delay: Span, factor_percent: u32, times: u32) -> Span {
    let mut micros = delay.0 as f64;
    for _ in 0..times.min(64) {
        micros *= f64::from(factor_percent) / 100.0;
    }
    Span(micros.min(i64::MAX as f64 / 4.0) as i64)
}
