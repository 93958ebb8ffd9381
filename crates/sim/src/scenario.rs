//! What a simulated history is made of: jobs, faults, and bugs planted on purpose to see that the checker works.

use std::sync::Arc;

use engine::Compiled;
use model::{CronDialect, DstRule, Exclusive, Limits, Overlap, PoolRef, Retry, Route, Rule, Span, When};

use crate::die::Die;

#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    pub jobs: usize,
    pub agents: usize,
    pub slots: u32,
    /// How long jobs fire before they are paused and everything must come to its end.
    pub seconds: i64,
    pub faults: Faults,
    pub mutant: Option<Mutant>,
}

/// One in how many turns of a second each happens; 0 never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub server_crash: u64,
    /// A server that stands still while another takes over, then wakes and goes on as if nothing had happened.
    pub zombie: u64,
    pub agent_crash: u64,
    pub agent_reboot: u64,
    pub cut: u64,
    pub commit_refused: u64,
    pub commit_unknown: u64,
    pub owner_lost: u64,
    pub people: u64,
}

impl Faults {
    /// The store and the server fail; the network and the agents do not.
    pub fn of_ring_one() -> Faults {
        Faults { agent_crash: 0, agent_reboot: 0, cut: 0, ..Faults::usual() }
    }

    pub fn usual() -> Faults {
        Faults {
            server_crash: 40,
            zombie: 90,
            agent_crash: 25,
            agent_reboot: 150,
            cut: 15,
            commit_refused: 20,
            commit_unknown: 25,
            owner_lost: 120,
            people: 2,
        }
    }
}

/// A defect planted on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The store takes commits of any term.
    NoTermCheck,
    /// Effects leave before their commit is on disk.
    AcknowledgeBeforeCommit,
    /// A report ends the instance's current attempt, whichever attempt it is about.
    FenceIgnored,
}

impl Scenario {
    pub fn ring_one(seed: u64) -> Scenario {
        Scenario { seed, jobs: 200, agents: 3, slots: 400, seconds: 600, faults: Faults::of_ring_one(), mutant: None }
    }

    pub fn ring_two(seed: u64) -> Scenario {
        Scenario { jobs: 30, slots: 40, seconds: 120, faults: Faults::usual(), ..Scenario::ring_one(seed) }
    }

    /// The rule of the n-th job: every kind of trigger and policy has its turn.
    pub fn rule(&self, n: usize, die: &mut Die) -> Arc<Compiled> {
        let mut rule = Rule {
            // Nothing is given up on silence, so that one at a time means one at a time.
            lost_after: Span::DAY,
            pool: PoolRef { route: route(n), ..PoolRef::default() },
            ..Rule::default()
        };
        rule.trigger.misfire.grace = Span::secs(30);
        rule.trigger.when = match n % 10 {
            7 => When::Rate { every: Span::millis(die.between(300, 2_000)) },
            8 => When::Delay { delay: Span::millis(die.between(0, 1_500)) },
            9 => cron("0/3 * * * * ?"),
            _ => cron("* * * * * ?"),
        };
        rule.overlap = match n % 6 {
            0 => Overlap::Queue { max: 50 },
            1 => Overlap::Skip,
            2 => Overlap::Replace,
            3 => Overlap::Allow { max: Some(2) },
            _ => Overlap::Allow { max: None },
        };
        if n % 12 == 5 {
            rule.exclusive = Some(Exclusive::Wait);
        }
        if n % 5 == 4 {
            rule.retry = Retry::Fixed { times: 2, delay: Span::millis(die.between(0, 2_000)) };
        }
        if n % 9 == 8 {
            rule.limits = Limits { job: Some(1), per_agent: None };
        }
        if n % 7 == 6 {
            rule.trigger.jitter = Span::millis(400);
        }
        Compiled::new(rule).expect("the scenario's rules compile")
    }
}

fn route(n: usize) -> Route {
    match n % 11 {
        0 => Route::First,
        1 => Route::Last,
        2 => Route::Random,
        3 => Route::Broadcast,
        4 | 5 => Route::LeastLoaded,
        _ => Route::Round,
    }
}

fn cron(expr: &str) -> When {
    When::Cron { expr: expr.into(), dialect: CronDialect::Quartz, zone: "UTC".into(), dst: DstRule::default() }
}
