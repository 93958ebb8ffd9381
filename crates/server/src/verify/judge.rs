//! Holds a plan against the entries of the ledger and names every difference.

use std::collections::BTreeMap;

use engine::change::{Fate, Gap};
use model::{JobMode, Rule, Span, State, Timestamp};
use store::StoreError;
use store::read::{Interval, LedgerEntry};
use wire::Time;
use wire::api::{FindingKind, FindingView};

use super::planned::Calendar;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) jobs: u64,
    pub(super) times: u64,
    pub(super) fired: u64,
    pub(super) skipped: u64,
    pub(super) merged: u64,
    pub(super) missed: u64,
}

/// Every planned time of one job in one stretch of time.
#[derive(Default)]
pub(super) struct Plan {
    times: Vec<Timestamp>,
    /// Stretches in which entries come from what happens and not from a plan.
    by_events: Vec<(Timestamp, Timestamp)>,
    /// The smallest maximum of fires there was, if there was one.
    count_max: Option<u64>,
}

impl Plan {
    /// What the job planned while it was this: after `since`, up to and including `until`.
    pub(super) fn add(
        &mut self,
        interval: &Interval,
        rule: &Rule,
        from: Timestamp,
        to: Timestamp,
        calendar: &mut Calendar,
    ) -> Result<(), StoreError> {
        let begin = from.max(interval.since + Span(1));
        let end = interval.until.map_or(to, |until| to.min(until + Span(1)));
        if begin >= end || interval.mode != JobMode::Enabled {
            return Ok(());
        }
        if let Some(max) = rule.trigger.count_max {
            self.count_max = Some(self.count_max.map_or(max, |earlier| earlier.min(max)));
        }
        match calendar.times(rule, interval.since, begin, end)? {
            Some(times) => self.times.extend(times),
            None => self.by_events.push((begin, end)),
        }
        Ok(())
    }

    fn is_by_events(&self, at: Timestamp) -> bool {
        self.by_events.iter().any(|(from, to)| (*from..*to).contains(&at))
    }
}

pub(super) struct Judge<'a> {
    pub(super) name: &'a str,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// Why the job is in quarantine, if it is.
    pub(super) held: Option<&'a str>,
    /// Fires counted so far, if the job still exists.
    pub(super) fired: Option<u64>,
}

impl Judge<'_> {
    pub(super) fn compare(
        &self,
        plan: &Plan,
        entries: &[LedgerEntry],
        gaps: &[Gap],
        tally: &mut Tally,
        found: &mut dyn FnMut(FindingView),
    ) {
        tally.times += plan.times.len() as u64;
        let entries = self.count_entries(plan, entries, tally, found);
        self.count_gaps(plan, gaps, tally, found);
        let gap_at = |at: Timestamp| gaps.iter().find(|gap| (gap.first..=gap.last).contains(&at));
        for entry in entries.values().filter(|entry| entry.by_trigger) {
            if let Some(gap) = gap_at(entry.planned) {
                let message = format!("it became instance {} and is also told as {}", entry.instance, fate_word(gap));
                found(self.finding(FindingKind::Doubled, Some(entry.planned), Some(entry.instance.0), message));
            }
        }
        let lost: Vec<Timestamp> =
            plan.times.iter().copied().filter(|at| !entries.contains_key(at) && gap_at(*at).is_none()).collect();
        let last_entry = entries.keys().next_back().copied().max(gaps.iter().map(|gap| gap.last).max());
        self.judge_lost(plan, &lost, last_entry, found);
    }

    fn count_entries<'e>(
        &self,
        plan: &Plan,
        entries: &'e [LedgerEntry],
        tally: &mut Tally,
        found: &mut dyn FnMut(FindingView),
    ) -> BTreeMap<Timestamp, &'e LedgerEntry> {
        let mut seen: BTreeMap<Timestamp, &LedgerEntry> = BTreeMap::new();
        for entry in entries {
            if let Some(first) = seen.insert(entry.planned, entry) {
                let message = format!("instances {} and {} are both for this time", first.instance, entry.instance);
                found(self.finding(FindingKind::Doubled, Some(entry.planned), Some(entry.instance.0), message));
                continue;
            }
            if !entry.by_trigger {
                continue;
            }
            match entry.state {
                State::Skipped => tally.skipped += 1,
                _ => tally.fired += 1,
            }
            let planned = plan.times.binary_search(&entry.planned).is_ok();
            if !planned && !plan.is_by_events(entry.planned) {
                let message = format!("instance {} is for a time the trigger does not name", entry.instance);
                found(self.finding(FindingKind::Unplanned, Some(entry.planned), Some(entry.instance.0), message));
            }
        }
        seen
    }

    fn count_gaps(&self, plan: &Plan, gaps: &[Gap], tally: &mut Tally, found: &mut dyn FnMut(FindingView)) {
        for gap in gaps {
            // A run that reaches out of the window is counted where it lies inside.
            let inside = gap.first >= self.from && gap.last < self.to;
            let planned = plan.times.iter().filter(|at| (gap.first..=gap.last).contains(at)).count() as u64;
            let count = if inside { gap.count } else { planned };
            match gap.fate {
                Fate::Missed => tally.missed += count,
                Fate::Merged(_) => tally.merged += count,
                Fate::Skipped(_) => tally.skipped += count,
            }
            if inside && planned < gap.count {
                let message =
                    format!("{} times are told as {}, the trigger names {planned} of them", gap.count, fate_word(gap));
                found(self.finding(FindingKind::Unplanned, Some(gap.first), None, message));
            }
            if inside && planned > gap.count {
                let message =
                    format!("{} times are told as {}, the trigger names {planned} there", gap.count, fate_word(gap));
                found(self.finding(FindingKind::Lost, Some(gap.first), None, message));
            }
        }
    }

    fn judge_lost(&self, plan: &Plan, lost: &[Timestamp], last: Option<Timestamp>, found: &mut dyn FnMut(FindingView)) {
        let (before, tail): (Vec<Timestamp>, Vec<Timestamp>) =
            lost.iter().partition(|at| last.is_some_and(|last| **at < last));
        for at in before {
            found(self.finding(FindingKind::Lost, Some(at), None, "this planned time has no entry".into()));
        }
        let Some(first) = tail.first() else { return };
        if let Some(error) = self.held {
            let message = format!("held in quarantine: {} planned times wait for a person ({error})", tail.len());
            found(self.finding(FindingKind::Stuck, Some(*first), None, message));
            return;
        }
        // Beyond its maximum a job plans nothing; of a job that is gone nobody knows how far it had counted.
        if plan.count_max.is_some_and(|max| self.fired.is_none_or(|fired| fired >= max)) {
            return;
        }
        for at in tail {
            found(self.finding(FindingKind::Lost, Some(at), None, "this planned time has no entry".into()));
        }
    }

    fn finding(&self, kind: FindingKind, at: Option<Timestamp>, instance: Option<i64>, message: String) -> FindingView {
        FindingView { kind, job: Some(self.name.into()), planned_at: at.map(Time::from), instance, message }
    }
}

fn fate_word(gap: &Gap) -> &'static str {
    match gap.fate {
        Fate::Missed => "missed",
        Fate::Merged(_) => "merged",
        Fate::Skipped(_) => "skipped",
    }
}
