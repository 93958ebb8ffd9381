//! What a history of several servers is made of: how many of each, what goes wrong, and which bug was planted.

use std::sync::Arc;

use engine::Compiled;
use model::{CronDialect, DstRule, Exclusive, Overlap, Retry, Route, Span, When};

use crate::die::Die;

#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    pub servers: usize,
    pub shards: i64,
    pub agents: usize,
    pub slots: u32,
    pub jobs: usize,
    pub lease: Span,
    /// How long things go wrong, before everything must come to its end.
    pub seconds: i64,
    /// Jobs share a mutex and a counted resource.
    pub sharing: bool,
    pub misfortunes: Misfortunes,
    pub mutant: Option<Mutant>,
}

/// One in how many seconds each happens (to one of its kind); 0 never.
#[derive(Clone, Copy, Debug)]
pub struct Misfortunes {
    /// Two of server, store and agent do not reach each other.
    pub cut_both_ways: u64,
    /// One does not reach the other, but hears it.
    pub cut_one_way: u64,
    /// A server stands still at any moment.
    pub pause: u64,
    /// A server stands still between deciding and releasing, or just after it looked at its lease.
    pub trip: u64,
    /// One thread of a server gets no turn for a while.
    pub starve: u64,
    pub server_dies: u64,
    pub server_leaves: u64,
    pub drain: u64,
    pub store_stalls: u64,
    /// One in how many calls to the store is under way for long, there or back.
    pub slow_calls: u64,
    pub store_refuses: u64,
    pub answer_lost: u64,
    pub agent_crash: u64,
    pub agent_reboot: u64,
    pub stream_breaks: u64,
    pub people: u64,
    /// Monotonic clocks run up to so many millionths fast or slow.
    pub drift: i64,
}

impl Misfortunes {
    pub const NONE: Misfortunes = Misfortunes {
        cut_both_ways: 0,
        cut_one_way: 0,
        pause: 0,
        trip: 0,
        starve: 0,
        server_dies: 0,
        server_leaves: 0,
        drain: 0,
        store_stalls: 0,
        slow_calls: 0,
        store_refuses: 0,
        answer_lost: 0,
        agent_crash: 0,
        agent_reboot: 0,
        stream_breaks: 0,
        people: 0,
        drift: 0,
    };

    pub fn usual() -> Misfortunes {
        Misfortunes {
            cut_both_ways: 6,
            cut_one_way: 6,
            pause: 12,
            trip: 6,
            starve: 8,
            server_dies: 25,
            server_leaves: 40,
            drain: 30,
            store_stalls: 25,
            slow_calls: 60,
            store_refuses: 20,
            answer_lost: 15,
            agent_crash: 30,
            agent_reboot: 150,
            stream_breaks: 15,
            people: 3,
            drift: 10_000,
        }
    }
}

/// A defect planted on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Nobody looks at its lease.
    LeaseCheckRemoved,
    /// The lease is looked at before deciding, not again before releasing.
    ReleasedUnlooked,
    /// A renewal after the lease had run out makes good what was begun before.
    GapForgotten,
    /// A server that leaves takes again what it has just let go.
    LeavesInHalf,
    /// A picture of the leases is acted on although a shard was moved since it was asked for.
    StalePicture,
    /// A server's clock may be ahead of the store's.
    ClockAhead,
    /// A successor takes a shard while the lease of its owner still runs.
    SuccessorDoesNotWait,
    /// The store takes commits of any term.
    TermNotChecked,
    /// Agents are told that their reports are on disk before they are.
    AcknowledgeBeforeCommit,
    /// Orders leave before what they order is on disk.
    OrderBeforeCommit,
    /// Agents honour every term.
    FenceIgnored,
    /// Agents honour every term, at any time.
    LateOrderAccepted,
    /// What is stopped gives nothing back.
    ReturnForgotten,
    /// What is asked to stop gives back at once what it still uses.
    ReturnedWhenAsked,
    /// Whoever draws a ticket is let in.
    LetInWithout,
}

impl Scenario {
    /// Anything: 2 to 4 servers, 2 to 4 shards, leases of 2 to 5 seconds.
    pub fn ring_three(seed: u64) -> Scenario {
        let mut die = Die::new(seed ^ 0x5EED);
        Scenario {
            seed,
            servers: die.between(2, 5) as usize,
            shards: die.between(2, 5),
            agents: die.between(2, 4) as usize,
            slots: 12,
            jobs: 16,
            lease: Span::millis(die.between(2_000, 5_000)),
            seconds: 60,
            sharing: false,
            misfortunes: Misfortunes::usual(),
            mutant: None,
        }
    }

    /// The same with jobs of all shards that share a mutex and a counted resource.
    pub fn sharing(seed: u64) -> Scenario {
        Scenario { sharing: true, ..Scenario::ring_three(seed) }
    }

    /// The rule of the n-th job: half are as everywhere, half are exclusive or hold back what overlaps.
    pub(super) fn rule(&self, n: usize, die: &mut Die) -> Arc<Compiled> {
        let common = crate::Scenario::ring_two(self.seed).rule(n, die);
        let mut rule = common.rule.clone();
        match n % 8 {
            1 | 5 => {
                rule.trigger.when = every(if n % 8 == 1 { "0/2 * * * * ?" } else { "0/5 * * * * ?" });
                rule.exclusive = Some(Exclusive::Takeover { leash: Span::millis(die.between(4_000, 16_000)) });
                rule.stop_grace = Span::millis(die.between(100, 3_000));
                rule.overlap = Overlap::Queue { max: 2 };
                rule.retry = Retry::Fixed { times: 1, delay: Span::ZERO };
            }
            3 => {
                rule.exclusive = Some(Exclusive::Wait);
                rule.overlap = Overlap::Queue { max: 3 };
            }
            7 => rule.overlap = Overlap::Replace,
            _ => {}
        }
        if self.sharing {
            super::sharing::share(&mut rule, n);
        }
        if rule.exclusive.is_some() && rule.pool.route == Route::Broadcast {
            rule.pool.route = Route::Round;
        }
        Compiled::new(rule).expect("the scenario's rules compile")
    }
}

pub(super) fn every(expr: &str) -> When {
    When::Cron { expr: expr.into(), dialect: CronDialect::Quartz, zone: "UTC".into(), dst: DstRule::default() }
}
