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
    /// Stretches, and how late a start may be in them before it counts as late.
    patience: Vec<(Timestamp, Timestamp, Span)>,
}

impl Plan {
    /// What the job planned while it was this: after `since`, up to and including `until`, and nothing after `last`, if
    /// it had then been planned as often as it may.
    pub(super) fn add(
        &mut self,
        interval: &Interval,
        rule: &Rule,
        last: Option<Timestamp>,
        from: Timestamp,
        to: Timestamp,
        calendar: &mut Calendar,
    ) -> Result<(), StoreError> {
        let begin = from.max(interval.since + Span(1));
        let end = interval.until.map_or(to, |until| to.min(until + Span(1)));
        if begin >= end || interval.mode != JobMode::Enabled {
            return Ok(());
        }
        self.patience.push((begin, end, rule.trigger.jitter + rule.trigger.misfire.grace));
        match calendar.times(rule, interval.since, begin, end)? {
            Some(times) => self.times.extend(times.into_iter().filter(|at| last.is_none_or(|last| *at <= last))),
            None => self.by_events.push((begin, end)),
        }
        Ok(())
    }

    /// How late a start for this planned time may be.
    pub(super) fn patience(&self, at: Timestamp) -> Option<Span> {
        self.patience.iter().find(|(from, to, _)| (*from..*to).contains(&at)).map(|(_, _, patience)| *patience)
    }

    fn is_by_events(&self, at: Timestamp) -> bool {
        // The first of a chain of delays is planned at the very instant its job began, just before the interval.
        self.by_events.iter().any(|(from, to)| (Timestamp(from.0 - 1)..*to).contains(&at))
    }
}

pub(super) struct Judge<'a> {
    pub(super) name: &'a str,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// Why the job is in quarantine, if it is.
    pub(super) held: Option<&'a str>,
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
        self.judge_lost(&lost, last_entry, found);
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
            // What a person stopped ahead of its time stays in the books, even if the job changed before it came, and
            // even if somebody ran it after all.
            let stopped_ahead = entry.state == State::Stopped || entry.reopened;
            let by_events = plan.is_by_events(entry.planned);
            if !planned && by_events {
                // Its time was found when the one before it ended: no plan could have counted it.
                tally.times += 1;
            }
            if !planned && !stopped_ahead && !by_events {
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

    fn judge_lost(&self, lost: &[Timestamp], last: Option<Timestamp>, found: &mut dyn FnMut(FindingView)) {
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

#[cfg(test)]
mod tests {
    use model::{InstanceId, JobId, SkipReason, TenantId};

    use super::*;

    /// Planned every ten seconds from 10 to 100. Entries as `30` (fired), `30s` (skipped), `30m` (by hand); gaps as
    /// `20-40x3`, with `+` for merged.
    fn check(what: &str, held: Option<&str>) -> String {
        let at = |text: &str| Timestamp::from_secs(text.parse().unwrap());
        let times = (1..=10).map(|n| Timestamp::from_secs(n * 10)).collect();
        let plan = Plan { times, ..Plan::default() };
        let (mut entries, mut gaps) = (Vec::new(), Vec::new());
        for word in what.split_whitespace() {
            if let Some((range, count)) = word.split_once('x') {
                let (first, last) = range.trim_end_matches('+').split_once('-').unwrap();
                let merged = range.ends_with('+');
                let fate = if merged { Fate::Merged(InstanceId(1)) } else { Fate::Skipped(SkipReason::Quarantined) };
                let (job, tenant, why) = (JobId(1), TenantId::DEFAULT, String::new());
                let count = count.parse().unwrap();
                gaps.push(Gap { job, tenant, first: at(first), last: at(last), count, fate, why });
                continue;
            }
            let state = if word.ends_with('s') { State::Skipped } else { State::Succeeded };
            let planned = at(word.trim_end_matches(['s', 'm']));
            let instance = InstanceId(entries.len() as i64);
            entries.push(LedgerEntry {
                planned,
                instance,
                state,
                by_trigger: !word.ends_with('m'),
                started: None,
                reopened: false,
            });
        }
        let (from, to) = (Timestamp::from_secs(0), Timestamp::from_secs(101));
        let judge = Judge { name: "j", from, to, held };
        let (mut tally, mut told) = (Tally::default(), Vec::new());
        judge.compare(&plan, &entries, &gaps, &mut tally, &mut |finding| {
            told.push(format!("{} {}", finding.kind, finding.planned_at.unwrap().0 / 1_000_000));
        });
        let Tally { times, fired, skipped, merged, missed, .. } = tally;
        format!("{times}={fired}+{skipped}+{merged}+{missed} {}", told.join(", "))
    }

    #[test]
    fn every_difference_is_named() {
        let all = "10 20 30 40 50 60 70 80 90 100";
        assert_eq!(check(all, None), "10=10+0+0+0 ");
        assert_eq!(check("10 20 30s 40 50 60 70 80 90 100s", None), "10=8+2+0+0 ");
        assert_eq!(check("10 20 40 50 60 70 80 90 100", None), "10=9+0+0+0 lost 30");
        assert_eq!(check("10 20 30 40 50 60 70 80", None), "10=8+0+0+0 lost 90, lost 100");
        assert_eq!(check("10 20 20 30 40 50 60 70 80 90 100", None), "10=10+0+0+0 doubled 20");
        assert_eq!(check(&format!("{all} 55"), None), "10=11+0+0+0 unplanned 55");
        assert_eq!(check(&format!("{all} 55m"), None), "10=10+0+0+0 ");
    }

    #[test]
    fn a_run_of_missed_times_counts_for_each_and_only_once() {
        assert_eq!(check("10 20-80+x7 90 100", None), "10=3+0+7+0 ");
        assert_eq!(check("10 20-80+x6 90 100", None), "10=3+0+6+0 lost 20");
        assert_eq!(check("10 20-80+x8 90 100", None), "10=3+0+8+0 unplanned 20");
        assert_eq!(check("10 20-80x7 80 90 100", None), "10=4+7+0+0 doubled 80");
    }

    #[test]
    fn what_a_held_job_leaves_out_is_not_lost() {
        assert_eq!(check("10 20 30", Some("boom")), "10=3+0+0+0 stuck 40");
        assert_eq!(check("10 30", Some("boom")), "10=2+0+0+0 lost 20, stuck 40");
    }
}
