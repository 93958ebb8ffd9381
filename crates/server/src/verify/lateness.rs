//! How late planned work started: in all, and job by job where it was later than the job's grace.

use std::collections::BTreeMap;

use model::{InstanceId, Span, Timestamp};
use store::read::LedgerEntry;
use wire::Length;
use wire::api::{LateView, LatenessView};

use super::judge::Plan;

/// Jobs that are named, the latest first.
const NAMED_MAX: usize = 100;
/// Steps of one doubling: a quantile is told to within about two percent.
const STEPS: u32 = 32;

/// Counts, not samples: a window may hold millions of starts.
#[derive(Default)]
pub(super) struct Lateness {
    starts: u64,
    late: u64,
    longest: Span,
    counts: BTreeMap<u64, u64>,
    jobs: BTreeMap<String, Late>,
}

struct Late {
    starts: u64,
    grace: Span,
    longest: Span,
    instance: InstanceId,
    planned: Timestamp,
}

impl Lateness {
    pub(super) fn add(&mut self, name: &str, plan: &Plan, entries: &[LedgerEntry]) {
        for entry in entries.iter().filter(|entry| entry.by_trigger) {
            let (Some(started), Some(grace)) = (entry.started, plan.patience(entry.planned)) else { continue };
            let late = Span((started - entry.planned).0.max(0));
            self.starts += 1;
            self.longest = self.longest.max(late);
            *self.counts.entry(step(late)).or_default() += 1;
            if late > grace {
                self.late += 1;
                self.blame(name, entry, late, grace);
            }
        }
    }

    fn blame(&mut self, name: &str, entry: &LedgerEntry, late: Span, grace: Span) {
        let (instance, planned) = (entry.instance, entry.planned);
        let fresh = Late { starts: 0, grace, longest: Span::ZERO, instance, planned };
        let job = self.jobs.entry(name.into()).or_insert(fresh);
        job.starts += 1;
        if late > job.longest {
            *job = Late { starts: job.starts, grace, longest: late, instance, planned };
        }
    }

    pub(super) fn view(self) -> LatenessView {
        let (p50, p99) = (self.quantile(0.50), self.quantile(0.99));
        let mut jobs: Vec<(String, Late)> = self.jobs.into_iter().collect();
        jobs.sort_by_key(|(_, late)| std::cmp::Reverse(late.longest));
        jobs.truncate(NAMED_MAX);
        let jobs = jobs.into_iter().map(|(job, late)| LateView {
            job,
            starts: late.starts,
            grace: Length(late.grace),
            longest: Length(late.longest),
            instance: late.instance.0,
            planned_at: late.planned.into(),
        });
        LatenessView {
            starts: self.starts,
            p50: Length(p50),
            p99: Length(p99),
            longest: Length(self.longest),
            late: self.late,
            jobs: jobs.collect(),
        }
    }

    fn quantile(&self, share: f64) -> Span {
        let rank = (self.starts as f64 * share).ceil() as u64;
        let mut seen = 0;
        let reached = |(step, count): (&u64, &u64)| {
            seen += count;
            (seen >= rank).then(|| upper(*step))
        };
        self.counts.iter().find_map(reached).unwrap_or_default().min(self.longest)
    }
}

/// Lengths that are told apart: each microsecond up to `STEPS`, then so many between one power of two and the next.
fn step(late: Span) -> u64 {
    let micros = late.0.max(0) as u64;
    let doublings = micros.max(1).ilog2().saturating_sub(STEPS.ilog2());
    u64::from(doublings * STEPS) + (micros >> doublings)
}

/// The longest length of a step.
fn upper(step: u64) -> Span {
    let steps = u64::from(STEPS);
    let doublings = (step / steps).saturating_sub(1);
    Span((((step - doublings * steps + 1) << doublings) - 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_holds_what_is_put_into_it() {
        for micros in (0..5_000).chain([70_000, 999_999, 1_000_000, 86_400_000_000]) {
            let told = upper(step(Span(micros))).0;
            assert!(told >= micros && told as f64 <= micros as f64 * 1.04, "{micros} is told as {told}");
        }
    }

    #[test]
    fn half_and_nearly_all_are_told() {
        let mut lateness = Lateness::default();
        for micros in 1..=1_000 {
            lateness.starts += 1;
            lateness.longest = Span(micros);
            *lateness.counts.entry(step(Span(micros))).or_default() += 1;
        }
        let (half, most) = (lateness.quantile(0.5).0, lateness.quantile(0.99).0);
        assert!((500..=520).contains(&half) && (990..=1_000).contains(&most), "{half} {most}");
        assert_eq!(Lateness::default().view().p99.0, Span::ZERO);
    }
}
