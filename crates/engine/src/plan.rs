//! A trigger compiled: which instants it names. Never says what becomes of them.

use std::sync::Arc;

use model::{Cause, JobId, Rule, Span, Timestamp, When};

use crate::cron::{Schedule, ScheduleError};

/// A rule with its trigger compiled; shared by all jobs that say the same.
#[derive(Debug)]
pub struct Compiled {
    pub rule: Rule,
    plan: Plan,
}

/// Which instants a trigger names by itself; the others come from what happens to other instances.
#[derive(Debug)]
enum Plan {
    Cron(Schedule),
    Rate {
        every: Span,
    },
    Once {
        at: Timestamp,
    },
    /// Manual, after another job, or so long after the previous end.
    ByEvents,
}

#[derive(Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    #[error(transparent)]
    Cron(#[from] ScheduleError),
    #[error("the interval must be at least {least}, not {given}")]
    TooOften { given: Span, least: Span },
    #[error("the trigger ends before it starts")]
    EndsFirst,
}

/// A rate faster than this would be a flood, not a schedule.
pub const SHORTEST_RATE: Span = Span::millis(10);

impl Compiled {
    pub fn new(rule: Rule) -> Result<Arc<Compiled>, PlanError> {
        if let (Some(start), Some(end)) = (rule.trigger.start, rule.trigger.end)
            && end <= start
        {
            return Err(PlanError::EndsFirst);
        }
        let plan = match &rule.trigger.when {
            When::Cron { expr, dialect, zone, dst } => Plan::Cron(Schedule::new(*dialect, expr, zone, *dst)?),
            When::Rate { every } if *every < SHORTEST_RATE => {
                return Err(PlanError::TooOften { given: *every, least: SHORTEST_RATE });
            }
            When::Rate { every } => Plan::Rate { every: *every },
            When::Once { at } => Plan::Once { at: *at },
            When::Manual | When::Delay { .. } => Plan::ByEvents,
        };
        Ok(Arc::new(Compiled { rule, plan }))
    }

    /// The first planned time after `t`. `since` is when the job began to be as it is: rates count from it.
    pub fn next_after(&self, t: Timestamp, since: Timestamp) -> Option<Timestamp> {
        let trigger = &self.rule.trigger;
        let from = match trigger.start {
            Some(start) => t.max(Timestamp(start.0 - 1)),
            None => t,
        };
        let next = match &self.plan {
            Plan::Cron(schedule) => schedule.next_after(from.0).map(Timestamp),
            Plan::Rate { every } => Some(next_of_rate(trigger.start.unwrap_or(since), *every, from)),
            Plan::Once { at } => (*at > from).then_some(*at),
            Plan::ByEvents => None,
        }?;
        (trigger.end.is_none_or(|end| next < end)).then_some(next)
    }

    /// The beat of a plan that has an even one, so that many instants can be counted at once.
    pub(crate) fn beat(&self) -> Option<Span> {
        match self.plan {
            Plan::Rate { every } => Some(every),
            Plan::Cron(_) | Plan::Once { .. } | Plan::ByEvents => None,
        }
    }

    /// When an instance may start: jitter spreads what a trigger planned, never what somebody asked for now.
    pub fn due(&self, job: JobId, planned: Timestamp, cause: &Cause) -> Timestamp {
        match cause {
            Cause::Planned | Cause::Misfire { .. } => planned + self.jitter(job, planned),
            Cause::Manual(_) | Cause::After(_) | Cause::Shard(_) => planned,
        }
    }

    /// How much later than planned an instance starts: fixed by job and planned time, so that it can be told ahead.
    pub fn jitter(&self, job: JobId, planned: Timestamp) -> Span {
        match self.rule.trigger.jitter.0 {
            0 => Span::ZERO,
            most => Span((chance(job.0 as u64, planned.0 as u64) % (most as u64 + 1)) as i64),
        }
    }
}

fn next_of_rate(anchor: Timestamp, every: Span, after: Timestamp) -> Timestamp {
    if after < anchor {
        return anchor;
    }
    let passed = (after - anchor).0 / every.0;
    anchor + every.saturating_mul(passed + 1)
}

/// Chance without a die: the same question always gets the same answer, so a decision can be repeated and foretold.
pub(crate) fn chance(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.rotate_left(32);
    for _ in 0..2 {
        x ^= x >> 32;
        x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    }
    x ^ (x >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(every: Span, start: Option<i64>, end: Option<i64>) -> Arc<Compiled> {
        let mut rule = Rule::default();
        rule.trigger.when = When::Rate { every };
        rule.trigger.start = start.map(Timestamp::from_secs);
        rule.trigger.end = end.map(Timestamp::from_secs);
        Compiled::new(rule).unwrap()
    }

    #[test]
    fn a_rate_keeps_its_beat_whatever_is_asked() {
        let plan = rate(Span::secs(10), None, None);
        let since = Timestamp::from_secs(103);
        for (after, next) in [(50, 103), (103, 113), (112, 113), (113, 123), (1_000, 1_003)] {
            assert_eq!(
                plan.next_after(Timestamp::from_secs(after), since),
                Some(Timestamp::from_secs(next)),
                "{after}"
            );
        }
    }

    #[test]
    fn start_and_end_bound_the_plan() {
        let plan = rate(Span::secs(10), Some(100), Some(120));
        let fires: Vec<_> =
            std::iter::successors(plan.next_after(Timestamp(0), Timestamp(0)), |t| plan.next_after(*t, Timestamp(0)))
                .map(|t| t.0 / 1_000_000)
                .collect();
        assert_eq!(fires, [100, 110]);
    }

    #[test]
    fn jitter_is_foretold() {
        let mut rule = Rule::default();
        rule.trigger.jitter = Span::secs(30);
        let plan = Compiled::new(rule).unwrap();
        let spread: Vec<_> = (0..50).map(|n| plan.jitter(JobId(7), Timestamp::from_secs(n * 60))).collect();
        assert_eq!(spread, (0..50).map(|n| plan.jitter(JobId(7), Timestamp::from_secs(n * 60))).collect::<Vec<_>>());
        assert!(spread.iter().all(|j| *j >= Span::ZERO && *j <= Span::secs(30)));
        assert!(spread.iter().any(|j| *j > Span::secs(20)) && spread.iter().any(|j| *j < Span::secs(10)));
    }
}
