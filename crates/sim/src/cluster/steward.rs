//! The steward of a simulated server: renews, looks, takes and gives, in the order of the server's own, with the real
//! `cluster::decide`. Loading, stopping and handing over go on beside it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cluster::{Round, Stretch, Terms, decide};
use engine::Input;
use engine::input::Roster;
use model::{ServerId, ShardId, Span, Term, Timestamp};
use store::leases::{Life, Picture, ServerRow};
use store::{Reads, StoreError};

use super::Mutant;
use super::desk::{Answer, Ask, Asker};
use super::driver::Told;
use super::process::{Bits, Leaving, Process, note};
use crate::world::soon;
use server::shard::Outlets;

const TRY_AGAIN: Span = Span::millis(100);
const HAND_OVER_WITHIN: Span = Span::millis(1_500);

pub(super) struct Steward {
    row: ServerRow,
    pub terms: Terms,
    stage: Stage,
    /// Shards on their way, and those that were, with when that ended.
    busy: BTreeMap<ShardId, Option<Timestamp>>,
    /// What is being loaded, and since which stretch of the tenure it is ours.
    owning: BTreeMap<ShardId, Stretch>,
    giving: Vec<Giving>,
    dropping: Vec<ShardId>,
    roster: Option<(i64, Arc<Roster>)>,
    told: BTreeMap<ShardId, Term>,
    /// Its thread gets no turn before that.
    pub not_before: Timestamp,
}

enum Stage {
    Waiting(Timestamp),
    Renewing { sent: Timestamp },
    Taking { sent: Timestamp, round: Round, own: Vec<ShardId> },
    Stopped,
}

struct Giving {
    all: Vec<ShardId>,
    left: VecDeque<(ShardId, Option<ServerId>)>,
    handing: Option<Handing>,
}

#[derive(Clone, Copy)]
struct Handing {
    /// By the store's clock it is done by then, or not at all.
    by: Timestamp,
    /// Nobody answered.
    in_doubt: bool,
}

impl Steward {
    pub(super) fn new(id: ServerId, terms: Terms, now: Timestamp) -> Steward {
        let row = ServerRow {
            id,
            name: format!("server-{id}"),
            api: String::new(),
            agents: String::new(),
            peer: String::new(),
            version: String::new(),
            weight: 1,
            draining: false,
            started_at: now,
            until: now,
        };
        Steward {
            row,
            terms,
            stage: Stage::Waiting(now),
            busy: BTreeMap::new(),
            owning: BTreeMap::new(),
            giving: Vec::new(),
            dropping: Vec::new(),
            roster: None,
            told: BTreeMap::new(),
            not_before: now,
        }
    }

    pub(super) fn id(&self) -> ServerId {
        self.row.id
    }

    pub(super) fn life(&self) -> Life {
        self.row.life()
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        match self.stage {
            Stage::Waiting(until) => Some(until.max(self.not_before)),
            Stage::Renewing { .. } | Stage::Taking { .. } | Stage::Stopped => None,
        }
    }

    pub(super) fn ring(&mut self, now: Timestamp) {
        if let Stage::Waiting(until) = &mut self.stage {
            *until = now.min(*until);
        }
    }

    /// No further round begins; true once the one under way is over.
    pub(super) fn stop(&mut self) -> bool {
        if matches!(self.stage, Stage::Waiting(_)) {
            self.stage = Stage::Stopped;
        }
        matches!(self.stage, Stage::Stopped)
    }

    fn lease(&self) -> Span {
        Span::from(self.terms.lease)
    }
}

impl Process {
    pub(super) fn tend(&mut self, bits: &mut Bits) {
        if self.steward.next().is_some_and(|at| at <= bits.now) {
            self.steward.stage = Stage::Renewing { sent: bits.now };
            let (row, lease) = (Box::new(self.steward.row.clone()), self.steward.lease());
            self.ask(Ask::Renew(row, lease), bits);
        }
        self.move_on(bits);
    }

    pub(super) fn ask(&self, ask: Ask, bits: &mut Bits) {
        bits.desk.ask(Asker { server: self.server, life: self.life, run: 0 }, ask, bits.now, bits.die);
    }

    pub(super) fn steward_hears(&mut self, answer: Answer, bits: &mut Bits) {
        match answer {
            Answer::Renew(renewed) => self.renewed(renewed, bits),
            Answer::Take(taken) => self.taken(taken, bits),
            Answer::HandOver(shard, Ok(())) => self.handed_over(shard, bits.now),
            Answer::HandOver(shard, Err(_)) => {
                let giving = self.steward.giving.iter_mut();
                let doubted = giving.filter(|giving| giving.left.front().is_some_and(|(front, _)| *front == shard));
                doubted.filter_map(|giving| giving.handing.as_mut()).for_each(|handing| handing.in_doubt = true);
            }
            Answer::Load(shard, loaded) => {
                self.steward.busy.insert(shard, Some(bits.now));
                let stretch = self.steward.owning.remove(&shard).expect("it was asked for");
                if let Ok(loaded) = loaded {
                    self.own(shard, stretch, *loaded, bits);
                }
            }
            Answer::Left | Answer::Letters(..) | Answer::Commit(..) | Answer::Standing(..) | Answer::Ids(..) => {
                unreachable!("not the steward's")
            }
        }
    }

    fn renewed(&mut self, renewed: Result<Picture, StoreError>, bits: &mut Bits) {
        let Stage::Renewing { sent } = self.steward.stage else { return };
        let Ok(mut picture) = renewed else { return self.try_again(bits) };
        let ahead = if bits.mutant == Some(Mutant::ClockAhead) { Span((bits.now - sent).0 / 2) } else { Span::ZERO };
        self.machine.follow(picture.now + ahead, sent, bits.now);
        self.take_jumps();
        note(bits.now, self.server, "renewed; it asked at", &sent);
        let answered = self.machine.instant(bits.now);
        if self.tenure.has_run_out(answered) {
            for run in self.runs.values_mut() {
                self.board.let_go(run.shard);
                run.tell(Told::Input(Input::Tick));
            }
        }
        self.tenure.renewed(self.machine.instant(sent), answered, &self.steward.terms);
        if self.leaving != Leaving::No && bits.mutant != Some(Mutant::LeavesInHalf) {
            self.steward.stage = Stage::Stopped;
            return;
        }
        self.take_roster_in(&picture, bits);
        if bits.mutant == Some(Mutant::SuccessorDoesNotWait) {
            picture.now += impatience(&self.steward.terms);
        }
        let (me, steward) = (self.steward.id(), &mut self.steward);
        let running: BTreeMap<ShardId, Term> = self.runs.iter().map(|(shard, run)| (*shard, run.term())).collect();
        let mut round = decide(&picture, me, &running, &steward.terms);
        let stale = bits.mutant == Some(Mutant::StalePicture);
        steward.busy.retain(|_, ended| ended.is_none_or(|ended| ended >= sent && !stale));
        round.take.retain(|shard| !steward.busy.contains_key(shard));
        round.give.retain(|(shard, _)| !steward.busy.contains_key(shard));
        round.drop.retain(|shard| !steward.busy.contains_key(shard));
        let is_ours = |shard: &ShardId| picture.leases.iter().any(|r| r.shard == *shard && r.server == Some(me));
        let (own, ask): (Vec<ShardId>, Vec<ShardId>) = round.take.iter().partition(|shard| is_ours(shard));
        if ask.is_empty() {
            return self.round_over(sent, round, own, bits);
        }
        let mut grace = Span::from(steward.terms.grace);
        if bits.mutant == Some(Mutant::SuccessorDoesNotWait) {
            grace = Span(-impatience(&steward.terms).0);
        }
        let lease = steward.lease();
        steward.stage = Stage::Taking { sent, round, own };
        self.ask(Ask::Take(me, ask, lease, grace), bits);
    }

    fn taken(&mut self, taken: Result<Vec<ShardId>, StoreError>, bits: &mut Bits) {
        let stage = std::mem::replace(&mut self.steward.stage, Stage::Stopped);
        let Stage::Taking { sent, round, mut own } = stage else { unreachable!("it was asked to take") };
        let Ok(taken) = taken else { return self.try_again(bits) };
        note(bits.now, self.server, "has taken", &taken);
        own.extend(taken);
        self.round_over(sent, round, own, bits);
    }

    fn try_again(&mut self, bits: &Bits) {
        self.steward.stage = Stage::Waiting(bits.now + TRY_AGAIN);
    }

    fn round_over(&mut self, sent: Timestamp, round: Round, own: Vec<ShardId>, bits: &mut Bits) {
        for shard in round.drop {
            self.steward.busy.insert(shard, None);
            self.steward.dropping.push(shard);
            self.runs.get_mut(&shard).into_iter().for_each(|run| run.tell(Told::Stop));
        }
        for shard in own {
            self.steward.busy.insert(shard, None);
            self.steward.owning.insert(shard, self.tenure.stretch());
            self.ask(Ask::Load(shard), bits);
        }
        if !round.give.is_empty() {
            let all: Vec<ShardId> = round.give.iter().map(|(shard, _)| *shard).collect();
            self.steward.busy.extend(all.iter().map(|shard| (*shard, None)));
            let left: VecDeque<_> = round.give.into();
            self.runs.get_mut(&left[0].0).into_iter().for_each(|run| run.tell(Told::Stop));
            self.steward.giving.push(Giving { all, left, handing: None });
        }
        let every = Span::from(self.steward.terms.every());
        let wait = round.look_in.map_or(every, |look_in| look_in.min(every));
        self.steward.stage = Stage::Waiting((sent + wait).max(bits.now + Span::millis(1)));
    }

    /// What was stopped is handed on, and the next is stopped.
    fn move_on(&mut self, bits: &mut Bits) {
        let runs = &self.runs;
        let busy = &mut self.steward.busy;
        self.steward.dropping.retain(|shard| {
            let runs = runs.contains_key(shard);
            if !runs {
                busy.insert(*shard, Some(bits.now));
            }
            runs
        });
        let (me, lease) = (self.steward.life(), self.steward.lease());
        let mut asks = Vec::new();
        let clock = self.machine.clock(bits.now);
        for giving in self.steward.giving.iter_mut().filter(|giving| giving.handing.is_none()) {
            if let Some((shard, next)) = giving.left.front().filter(|(shard, _)| !runs.contains_key(shard)) {
                let by = clock + HAND_OVER_WITHIN;
                giving.handing = Some(Handing { by, in_doubt: false });
                asks.push(Ask::HandOver(me, *next, *shard, lease, by));
            }
        }
        asks.into_iter().for_each(|ask| self.ask(ask, bits));
        // What can no longer be done was done or was not: the next look at the rows tells.
        let over = |giving: &&Giving| giving.handing.is_some_and(|handing| handing.in_doubt && handing.by < clock);
        let over: Vec<ShardId> =
            self.steward.giving.iter().filter(over).filter_map(|giving| Some(giving.left.front()?.0)).collect();
        over.into_iter().for_each(|shard| self.handed_over(shard, bits.now));
    }

    fn handed_over(&mut self, shard: ShardId, now: Timestamp) {
        let steward = &mut self.steward;
        for giving in steward.giving.iter_mut().filter(|giving| giving.left.front().is_some_and(|(s, _)| *s == shard)) {
            giving.left.pop_front();
            giving.handing = None;
            let next = giving.left.front().and_then(|(shard, _)| self.runs.get_mut(shard));
            next.into_iter().for_each(|run| run.tell(Told::Stop));
            if giving.left.is_empty() {
                steward.busy.extend(giving.all.iter().map(|shard| (*shard, Some(now))));
            }
        }
        steward.giving.retain(|giving| !giving.left.is_empty());
    }

    fn take_roster_in(&mut self, picture: &Picture, bits: &Bits) {
        if self.steward.roster.as_ref().is_none_or(|(revision, _)| *revision != picture.revision) {
            let reads: &dyn Reads = &bits.desk.store;
            let roster = Roster {
                agents: reads.agents(soon()).expect("memory reads"),
                pools: reads.pools(soon()).expect("memory reads"),
                tenants: reads.tenants(soon()).expect("memory reads"),
                global_limit: reads.global_limit(soon()).expect("memory reads"),
            };
            self.steward.told.clear();
            self.steward.roster = Some((picture.revision, Arc::new(roster)));
        }
        let Some((_, roster)) = &self.steward.roster else { return };
        for run in self.runs.values_mut().filter(|run| run.shard != ShardId(0)) {
            if self.steward.told.insert(run.shard, run.term()) != Some(run.term()) {
                run.tell(Told::Input(Input::Roster(Arc::clone(roster))));
            }
        }
    }
}

/// How much too early the planted bug takes a shard.
fn impatience(terms: &Terms) -> Span {
    Span::from(terms.lease * 3 / 4)
}
