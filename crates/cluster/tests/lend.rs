//! What is lent is never more than there is, whoever hears what when; and who wants gets.

use std::collections::{BTreeMap, BTreeSet};

use duly_cluster::Lender;
use model::{Account, Budget, Holding, ShardId, Slices, Span, TenantId, Term, Timestamp};

const ALL: Budget = Budget::Installation;
const PACE: Budget = Budget::Starts(TenantId::DEFAULT);

/// A shard as far as shared limits concern it: the rules of the engine, without the engine.
#[derive(Default)]
struct Shard {
    term: i64,
    lender: i64,
    seq: u64,
    units: u32,
    running: u32,
    waiting: u32,
    starts: u32,
    begun: u32,
}

impl Shard {
    fn hear(&mut self, slices: &Slices) {
        if slices.term.0 != self.term || (slices.lender.0, slices.seq) <= (self.lender, self.seq) {
            return;
        }
        if slices.lender.0 != self.lender {
            (self.starts, self.begun) = (0, 0);
        }
        (self.lender, self.seq) = (slices.lender.0, slices.seq);
        let units = |of: &Budget| slices.of.iter().find(|slice| slice.budget == *of).map_or(0, |slice| slice.units);
        self.units = units(&ALL);
        self.starts = units(&PACE);
    }

    /// How many it starts.
    fn start(&mut self) -> u32 {
        let more = self.waiting.min(self.units.saturating_sub(self.running));
        (self.running, self.waiting) = (self.running + more, self.waiting - more);
        more
    }

    fn account(&self, shard: i64, limit: u32) -> Account {
        let wanted = self.waiting.saturating_sub(self.units.saturating_sub(self.running));
        let all = Holding { budget: ALL, limit: Some(limit), used: self.running, wanted };
        let (term, lender) = (Term(self.term), Term(self.lender));
        Account { shard: ShardId(shard), term, lender, seq: self.seq, holdings: vec![all] }
    }
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

fn all(count: usize) -> impl Iterator<Item = ShardId> {
    (0..count as i64).map(ShardId)
}

struct World {
    limit: u32,
    shards: Vec<Shard>,
    lender: Lender,
    accounts: Vec<Account>,
    slices: Vec<Slices>,
    now: Timestamp,
}

impl World {
    fn new(shards: usize, limit: u32) -> World {
        let shards = (0..shards).map(|_| Shard { term: 1, ..Shard::default() }).collect::<Vec<_>>();
        let lender = Lender::new(Term(1), all(shards.len()));
        World { limit, shards, lender, accounts: Vec::new(), slices: Vec::new(), now: Timestamp(0) }
    }

    fn running(&self) -> u32 {
        self.shards.iter().map(|shard| shard.running).sum()
    }

    /// All is said and heard, in order, until nobody has anything to say.
    fn settle(&mut self) {
        for round in 0..20 {
            for (n, shard) in self.shards.iter_mut().enumerate() {
                shard.start();
                let account = shard.account(n as i64, self.limit);
                self.lender.hear(&account);
            }
            let said = self.lender.lend(self.now, round % 5 == 4);
            for slices in &said {
                self.shards[slices.shard.0 as usize].hear(slices);
            }
        }
    }

    fn anything(&mut self, dice: &mut Dice) {
        let at = dice.roll(self.shards.len() as u64) as usize;
        self.now += Span::millis(dice.roll(80) as i64);
        match dice.roll(100) {
            0..25 => self.accounts.push(self.shards[at].account(at as i64, self.limit)),
            25..45 => {
                let said = self.lender.lend(self.now, dice.roll(3) == 0);
                self.slices.extend(said);
            }
            // Heard late, in any order, twice, or never.
            45..60 if !self.accounts.is_empty() => {
                let which = dice.roll(self.accounts.len() as u64) as usize;
                let account = self.accounts[which].clone();
                if dice.roll(4) > 0 {
                    self.lender.hear(&account);
                }
                if dice.roll(3) > 0 {
                    self.accounts.swap_remove(which);
                }
            }
            60..80 if !self.slices.is_empty() => {
                let which = dice.roll(self.slices.len() as u64) as usize;
                let slices = self.slices[which].clone();
                if dice.roll(5) > 0 {
                    self.shards[slices.shard.0 as usize].hear(&slices);
                }
                if dice.roll(3) > 0 {
                    self.slices.swap_remove(which);
                }
            }
            80..86 => self.shards[at].waiting += dice.roll(4) as u32,
            86..98 => {
                let ended = dice.roll(3).min(self.shards[at].running.into()) as u32;
                self.shards[at].running -= ended;
            }
            // Loaded anew: it runs what it ran, and has nothing.
            98 => {
                let Shard { term, running, waiting, .. } = self.shards[at];
                self.shards[at] = Shard { term: term + 1, running, waiting, ..Shard::default() };
            }
            // Another lends, and what the one before has said is still under way.
            99 if dice.roll(3) == 0 => {
                self.lender = Lender::new(Term(self.lender.term().0 + 1), all(self.shards.len()));
            }
            _ => {}
        }
        self.shards[at].start();
    }
}

#[test]
fn the_sum_is_never_exceeded_whatever_is_lost_or_late() {
    let mut fullest = BTreeSet::new();
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let limit = 1 + dice.roll(9) as u32;
        let mut world = World::new(1 + dice.roll(6) as usize, limit);
        for step in 0..1_500 {
            world.anything(&mut dice);
            // Nobody waits so long here that somebody is given up.
            world.now = world.now.min(Timestamp(29_000_000));
            assert!(world.running() <= limit, "seed {seed}, step {step}: {} of {limit}", world.running());
            if world.running() == limit {
                fullest.insert(seed);
            }
        }
        for shard in &mut world.shards {
            shard.waiting = 20;
        }
        world.settle();
        assert_eq!(world.running(), limit, "seed {seed}: when all is heard, all there is is used");
    }
    assert!(fullest.len() > 100, "only {} histories used all there was", fullest.len());
}

#[test]
fn everyone_has_a_turn_when_there_is_less_than_one_for_each() {
    let mut world = World::new(5, 2);
    world.shards.iter_mut().for_each(|shard| shard.waiting = 100);
    let mut had = BTreeMap::<usize, u32>::new();
    for _ in 0..60 {
        world.settle();
        assert_eq!(world.running(), 2);
        for (n, shard) in world.shards.iter_mut().enumerate() {
            *had.entry(n).or_default() += shard.running;
            shard.running = 0;
        }
        world.now += Span::millis(200);
    }
    assert!(had.len() == 5 && had.values().all(|count| (15..40).contains(count)), "{had:?}");
}

#[test]
fn what_is_not_used_is_taken_back_for_whoever_wants_it() {
    let mut world = World::new(64, 1_000);
    world.settle();
    assert!(world.shards.iter().all(|shard| shard.units > 0), "there is plenty: nobody need ask");
    world.shards[7].waiting = 1_000;
    world.settle();
    assert_eq!(world.running(), 1_000);
    world.shards[9].waiting = 1_000;
    world.settle();
    world.shards[7].running = 0;
    world.settle();
    assert!(world.shards[9].running >= 500, "{}", world.shards[9].running);
}

#[test]
fn a_lender_that_is_new_lends_nothing_before_it_has_heard_from_all() {
    let mut world = World::new(3, 4);
    world.shards[1].waiting = 4;
    world.settle();
    assert_eq!(world.shards[1].running, 4);
    // The second shard cannot be heard: nobody knows how much it runs.
    let mut lender = Lender::new(Term(2), all(3));
    world.shards[0].waiting = 4;
    let mut most = 0;
    for second in 0..40 {
        let now = Timestamp::from_secs(second);
        for n in [0, 2] {
            lender.hear(&world.shards[n].account(n as i64, 4));
        }
        for slices in lender.lend(now, true) {
            world.shards[slices.shard.0 as usize].hear(&slices);
        }
        most = world.shards[0].units;
        assert!(second >= 30 || most == 0, "lent {most} after {second} s");
    }
    assert_eq!(most, 4, "one that is never heard is given up");
}

#[test]
fn starts_leave_at_their_pace_to_who_waits_longest() {
    let mut lender = Lender::new(Term(1), all(3));
    let mut shards: Vec<Shard> = (0..3).map(|_| Shard { term: 1, waiting: 100, ..Shard::default() }).collect();
    let mut started: Vec<(i64, usize)> = Vec::new();
    for ms in 0..4_000 {
        let now = Timestamp(ms * 1_000);
        for (n, shard) in shards.iter_mut().enumerate() {
            let left = shard.starts - shard.begun;
            started.extend((0..left).map(|_| (ms, n)));
            (shard.begun, shard.waiting) = (shard.starts, shard.waiting - left);
            let held = Holding { budget: PACE, limit: Some(5), used: shard.begun, wanted: shard.waiting };
            let (shard_id, term, lender_term) = (ShardId(n as i64), Term(1), Term(shard.lender));
            let holdings = vec![held];
            lender.hear(&Account { shard: shard_id, term, lender: lender_term, seq: shard.seq, holdings });
        }
        for slices in lender.lend(now, false) {
            shards[slices.shard.0 as usize].hear(&slices);
        }
    }
    let gaps: Vec<i64> = started.windows(2).map(|two| two[1].0 - two[0].0).collect();
    assert!(gaps.iter().all(|gap| (200..=203).contains(gap)), "{gaps:?}");
    let of = |n| started.iter().filter(|(_, shard)| *shard == n).count();
    assert!((0..3).all(|n| (5..8).contains(&of(n))), "{started:?}");
}
