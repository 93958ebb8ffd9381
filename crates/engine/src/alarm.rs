//! Instants at which something about an open instance must be looked at. An alarm whose reason has gone is silent:
//! it names the attempt it was set for.

use std::collections::{BTreeSet, VecDeque};

use model::{AttemptId, InstanceId, Outcome, Span, Timestamp, Verdict};

use crate::change::{Change, NoteKind, Progress};
use crate::effect::{Decisions, Effect};
use crate::open::{Open, Phase};
use crate::shard::{SLICE, Shard};

/// Progress of what is still open is written this long after it happened, many at a time.
const FLUSH_AFTER: Span = Span::secs(1);
/// Flushes fall on these instants, so that many short runs are one look and not one each.
const FLUSH_EVERY: i64 = 50_000;
/// How many one step writes: what falls due meanwhile waits no longer than that takes.
const FLUSHES: usize = 500;
/// How much longer than its timeout an attempt may take to be reported before we ask again for its end.
const TIMEOUT_MARGIN: Span = Span::secs(5);

#[derive(Debug, Default)]
pub(crate) struct Alarms {
    by_time: BTreeSet<(Timestamp, Alarm)>,
    /// When attempts nobody can be asked about count as lost. Time alone does not decide that: see `Input::Quiet`.
    silences: BTreeSet<(Timestamp, InstanceId, AttemptId)>,
    /// Flushes all wait equally long, so they need no sorting.
    flushes: VecDeque<(Timestamp, InstanceId)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    Retry(InstanceId, AttemptId),
    Overdue(InstanceId, AttemptId),
    NotStarted(InstanceId),
    NotFinished(InstanceId),
    /// Somebody in line may go now whose turn had not come.
    Turn,
}

impl Alarms {
    pub(crate) fn set(&mut self, at: Timestamp, alarm: Alarm) {
        self.by_time.insert((at, alarm));
    }

    pub(crate) fn clear(&mut self, at: Timestamp, alarm: Alarm) {
        self.by_time.remove(&(at, alarm));
    }

    pub(crate) fn set_silence(&mut self, at: Timestamp, id: InstanceId, attempt: AttemptId) {
        self.silences.insert((at, id, attempt));
    }

    pub(crate) fn clear_silence(&mut self, at: Timestamp, id: InstanceId, attempt: AttemptId) {
        self.silences.remove(&(at, id, attempt));
    }

    pub(crate) fn next_silence(&self) -> Option<Timestamp> {
        self.silences.first().map(|(at, ..)| *at)
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        let alarm = self.by_time.first().map(|(at, _)| *at);
        let flush = self.flushes.front().map(|(at, _)| *at);
        [alarm, flush].into_iter().flatten().min()
    }

    fn take(&mut self, now: Timestamp) -> Option<Alarm> {
        let (at, alarm) = *self.by_time.first()?;
        (at <= now).then(|| {
            self.by_time.pop_first();
            alarm
        })
    }

    fn take_silence(&mut self, until: Timestamp) -> Option<(InstanceId, AttemptId)> {
        let (at, id, attempt) = *self.silences.first()?;
        (at <= until).then(|| {
            self.silences.pop_first();
            (id, attempt)
        })
    }

    fn take_flush(&mut self, now: Timestamp) -> Option<InstanceId> {
        self.flushes.pop_front_if(|(at, _)| *at <= now).map(|(_, id)| id)
    }
}

impl Shard {
    /// A slice at a time.
    pub(crate) fn ring_alarms(&mut self, now: Timestamp, out: &mut Decisions) {
        let most = out.changes.len() + SLICE;
        while out.changes.len() < most
            && let Some(alarm) = self.alarms.take(now)
        {
            match alarm {
                Alarm::Retry(id, attempt) => self.retry_now(id, attempt, now, out),
                Alarm::Overdue(id, attempt) => self.press_overdue(id, attempt, now, out),
                Alarm::NotStarted(id) => self.remark_not_started(id, now, out),
                Alarm::NotFinished(id) => self.remark_not_finished(id, now, out),
                Alarm::Turn => self.drain_all(now, out),
            }
        }
        let most = most.min(out.changes.len() + FLUSHES);
        while out.changes.len() < most
            && let Some(id) = self.alarms.take_flush(now)
        {
            if self.open.get(&id).is_some_and(|open| open.flush_due) {
                self.flush(id, now, out);
            }
        }
    }

    /// Deadlines before `from` were somebody else's to watch.
    pub(crate) fn set_deadlines(&mut self, open: &Open, from: Timestamp) {
        let rule = &open.rule.rule;
        let at = |by: Option<Span>| by.map(|by| open.planned + by).filter(|at| *at >= from);
        if let Some(at) = at(rule.not_started_by) {
            self.alarms.set(at, Alarm::NotStarted(open.id));
        }
        if let Some(at) = at(rule.not_finished_by) {
            self.alarms.set(at, Alarm::NotFinished(open.id));
        }
    }

    pub(crate) fn clear_deadlines(&mut self, open: &Open) {
        let rule = &open.rule.rule;
        if let Some(by) = rule.not_started_by {
            self.alarms.clear(open.planned + by, Alarm::NotStarted(open.id));
        }
        if let Some(by) = rule.not_finished_by {
            self.alarms.clear(open.planned + by, Alarm::NotFinished(open.id));
        }
    }

    /// What an instance has come to is worth writing if it lasts.
    pub(crate) fn flush_later(&mut self, id: InstanceId, now: Timestamp) {
        if let Some(open) = self.open.get_mut(&id)
            && !open.flush_due
        {
            open.flush_due = true;
            let at = (now + FLUSH_AFTER).0.div_euclid(FLUSH_EVERY) + 1;
            self.alarms.flushes.push_back((Timestamp(at * FLUSH_EVERY), id));
        }
    }

    pub(crate) fn flush(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let why = self.why_instance(id, now).first().map(ToString::to_string);
        let noted = self.open[&id].note.as_deref().filter(|_| self.open[&id].agent().is_some());
        let why = noted.map(ToString::to_string).or(why);
        let open = self.open.get_mut(&id).expect("only open instances make progress");
        open.flush_due = false;
        open.written = open.state();
        out.change(Change::Progress(Progress {
            row: open.row(),
            attempt: open.attempt,
            state: open.state(),
            target: open.target,
            ordered_at: open.ordered_at,
            started_at: open.started_at,
            why,
            uncertain: open.uncertain.clone(),
        }));
    }

    fn remark_not_started(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let Some(open) = self.open.get(&id) else { return };
        if open.started_at.is_none() {
            let job = open.job;
            self.note(now, Some(job), Some(id), NoteKind::NotStartedInTime, out);
        }
    }

    fn remark_not_finished(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let Some(job) = self.open.get(&id).map(|open| open.job) else { return };
        self.note(now, Some(job), Some(id), NoteKind::NotFinishedInTime, out);
    }

    pub(crate) fn watch_timeout(&mut self, id: InstanceId, now: Timestamp) {
        let open = self.open.get_mut(&id).expect("only open instances are watched");
        if let Some(timeout) = open.rule.rule.timeout {
            let at = now + timeout + open.rule.rule.stop_grace + TIMEOUT_MARGIN;
            open.overdue_at = Some(at);
            self.alarms.set(at, Alarm::Overdue(id, open.attempt));
        }
    }

    /// The agent ends an attempt at its timeout by itself. If it has not told us, tell it again.
    fn press_overdue(&mut self, id: InstanceId, attempt: AttemptId, now: Timestamp, out: &mut Decisions) {
        let Some(open) = self.open.get_mut(&id).filter(|open| open.attempt == attempt) else { return };
        let Some(agent) = open.agent() else { return };
        let (at, grace) = (now + Span::MINUTE, open.rule.rule.stop_grace);
        open.overdue_at = Some(at);
        let alias = self.alias_of(self.open[&id].job);
        out.effect(Effect::Stop { agent, attempt, alias, by: "timeout".into(), grace });
        self.alarms.set(at, Alarm::Overdue(id, attempt));
    }

    /// A slice at a time: what is left is found at the next.
    pub(crate) fn quiet(&mut self, until: Timestamp, now: Timestamp, out: &mut Decisions) {
        let most = out.changes.len() + SLICE;
        while out.changes.len() < most
            && let Some((id, attempt)) = self.alarms.take_silence(until)
        {
            self.give_up_on_silence(id, attempt, until, now, out);
        }
    }

    /// Nobody could be asked for as long as the job allows: the attempt ends as lost.
    fn give_up_on_silence(
        &mut self,
        id: InstanceId,
        attempt: AttemptId,
        until: Timestamp,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        let Some(open) = self.open.get(&id).filter(|open| open.attempt == attempt) else { return };
        // It was set for an earlier doubt, or something was heard since.
        let Some(at) = self.lost_at(open) else { return };
        if at > until {
            return self.alarms.set_silence(at, id, attempt);
        }
        self.blamed = Some(open.job);
        self.settle(id, Outcome::of(Verdict::Lost, "its agent was silent for too long", now), now, out);
    }

    fn retry_now(&mut self, id: InstanceId, attempt: AttemptId, now: Timestamp, out: &mut Decisions) {
        let Some(open) = self.open.get(&id) else { return };
        if open.attempt == attempt && matches!(open.phase, Phase::RetryWait { .. }) {
            self.blamed = Some(open.job);
            self.enqueue(id, now, out);
        }
    }
}
