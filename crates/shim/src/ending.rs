//! When and why an attempt ends: decided from the clock and from what is left of the tree, without touching either.

use std::time::Duration;

use crate::order::{ShimOrder, micros};
use crate::result::Reason;

/// How long output is waited for after the first process ended, while somebody else holds its pipes.
const DRAIN: u64 = 200_000;
/// Between two passes over a tree that does not die at once; the pause doubles up to the longest.
const KILL_AGAIN: u64 = 5_000;
const KILL_AGAIN_MAX: u64 = 1_000_000;

/// All times are microseconds of the boot clock.
pub(crate) struct Ending {
    phase: Phase,
    /// The first cause that was not the task's own end.
    pub(crate) reason: Option<Reason>,
    timeout_at: Option<u64>,
    leash_at: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The tree was asked to end and may take until then.
    Asked {
        kill_at: u64,
    },
    /// The first process is gone; its last output is read.
    Draining {
        until: u64,
    },
    Killing {
        again_at: u64,
        pause: u64,
    },
    Over,
}

/// What the loop sees of its task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight {
    pub(crate) now: u64,
    /// The first process has ended.
    pub(crate) ended: bool,
    /// Nothing of the tree is left.
    pub(crate) alone: bool,
    /// Nobody can print any more.
    pub(crate) silent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Wait,
    Ask,
    Kill,
    /// The known leash has run out: read it again and tell.
    ReadLeash,
    Finish,
}

impl Ending {
    pub(crate) fn new(order: &ShimOrder, now: u64) -> Ending {
        Ending {
            phase: Phase::Running,
            reason: None,
            timeout_at: order.timeout.map(|timeout| now.saturating_add(micros(timeout))),
            leash_at: order.leash,
        }
    }

    /// Somebody or something wants the end. A later wish changes nothing, but that a shorter grace counts.
    pub(crate) fn request(&mut self, reason: Reason, grace: Duration, now: u64) -> Step {
        let kill_at = now.saturating_add(micros(grace));
        match self.phase {
            Phase::Running => {
                self.reason = Some(reason);
                self.phase = Phase::Asked { kill_at };
                Step::Ask
            }
            Phase::Asked { kill_at: before } => {
                self.phase = Phase::Asked { kill_at: kill_at.min(before) };
                Step::Wait
            }
            Phase::Draining { .. } | Phase::Killing { .. } | Phase::Over => Step::Wait,
        }
    }

    pub(crate) fn leash_moved(&mut self, at: u64) {
        self.leash_at = Some(at);
    }

    pub(crate) fn next_deadline(&self) -> Option<u64> {
        match self.phase {
            Phase::Running => self.timeout_at.into_iter().chain(self.leash_at).min(),
            Phase::Asked { kill_at } => Some(kill_at),
            Phase::Draining { until } => Some(until),
            Phase::Killing { again_at, .. } => Some(again_at),
            Phase::Over => None,
        }
    }

    /// The next thing to do; asked again until it says to wait or to finish.
    pub(crate) fn step(&mut self, sight: Sight, grace: Duration) -> Step {
        let now = sight.now;
        match self.phase {
            Phase::Running if sight.ended => self.drain(sight, grace),
            Phase::Running if self.timeout_at.is_some_and(|at| now >= at) => self.request(Reason::Timeout, grace, now),
            Phase::Running if self.leash_at.is_some_and(|at| now >= at) => Step::ReadLeash,
            Phase::Asked { .. } if sight.alone => self.drain(sight, grace),
            Phase::Asked { kill_at } if now >= kill_at => self.kill(now, KILL_AGAIN),
            Phase::Draining { until } if sight.silent || now >= until => match sight.alone {
                true => self.finish(),
                false => self.kill(now, KILL_AGAIN),
            },
            Phase::Killing { .. } if sight.alone => self.finish(),
            Phase::Killing { again_at, pause } if now >= again_at => self.kill(now, (pause * 2).min(KILL_AGAIN_MAX)),
            Phase::Over => Step::Finish,
            Phase::Running | Phase::Asked { .. } | Phase::Draining { .. } | Phase::Killing { .. } => Step::Wait,
        }
    }

    fn drain(&mut self, sight: Sight, grace: Duration) -> Step {
        self.phase = Phase::Draining { until: sight.now + DRAIN };
        self.step(sight, grace)
    }

    fn kill(&mut self, now: u64, pause: u64) -> Step {
        self.phase = Phase::Killing { again_at: now + pause, pause };
        Step::Kill
    }

    fn finish(&mut self) -> Step {
        self.phase = Phase::Over;
        Step::Finish
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(10);
    const RUNS: Sight = Sight { now: 0, ended: false, alone: false, silent: false };

    fn ending(timeout: Option<u64>, leash: Option<u64>) -> Ending {
        let mut order = ShimOrder::new(1, ["x"]);
        (order.timeout, order.leash) = (timeout.map(Duration::from_micros), leash);
        Ending::new(&order, 0)
    }

    fn check(ending: &mut Ending, sight: Sight, expected: Step) {
        assert_eq!(ending.step(sight, GRACE), expected, "{sight:?}");
    }

    #[test]
    fn a_task_that_ends_by_itself_is_waited_for_no_longer_than_its_output() {
        let ended = Sight { now: 5, ended: true, ..RUNS };
        check(&mut ending(None, None), Sight { alone: true, silent: true, ..ended }, Step::Finish);
        let mut left_behind = ending(None, None);
        check(&mut left_behind, ended, Step::Wait);
        check(&mut left_behind, Sight { silent: true, ..ended }, Step::Kill);
        let mut holds_the_pipe = ending(None, None);
        check(&mut holds_the_pipe, ended, Step::Wait);
        check(&mut holds_the_pipe, Sight { now: 5 + DRAIN, ..ended }, Step::Kill);
        check(&mut holds_the_pipe, Sight { now: 6 + DRAIN, alone: true, ..ended }, Step::Finish);
        assert_eq!(holds_the_pipe.reason, None);
    }

    #[test]
    fn what_is_asked_to_end_has_its_grace_then_is_killed_until_it_is_gone() {
        let mut ending = ending(Some(100), None);
        assert_eq!(ending.next_deadline(), Some(100));
        check(&mut ending, Sight { now: 99, ..RUNS }, Step::Wait);
        check(&mut ending, Sight { now: 100, ..RUNS }, Step::Ask);
        assert_eq!(ending.request(Reason::Stopped { by: "li".into() }, Duration::from_micros(7), 200), Step::Wait);
        check(&mut ending, Sight { now: 206, ended: true, silent: true, ..RUNS }, Step::Wait);
        check(&mut ending, Sight { now: 207, ended: true, silent: true, ..RUNS }, Step::Kill);
        check(&mut ending, Sight { now: 208, ended: true, silent: true, ..RUNS }, Step::Wait);
        check(&mut ending, Sight { now: 207 + KILL_AGAIN, ended: true, silent: true, ..RUNS }, Step::Kill);
        check(&mut ending, Sight { now: 300_000, ended: true, alone: true, silent: true }, Step::Finish);
        assert_eq!(ending.reason, Some(Reason::Timeout));
    }

    #[test]
    fn a_leash_counts_only_if_nobody_moved_it() {
        let mut ending = ending(None, Some(100));
        check(&mut ending, Sight { now: 100, ..RUNS }, Step::ReadLeash);
        ending.leash_moved(300);
        check(&mut ending, Sight { now: 100, ..RUNS }, Step::Wait);
        assert_eq!(ending.next_deadline(), Some(300));
    }
}
