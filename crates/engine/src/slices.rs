//! How much of the limits that all shards share this one may use: what it was lent, and what it says about that. Who gets
//! how much is not decided here. A store with one shard has nobody to share with.

use std::collections::BTreeMap;

use model::{Account, Budget, Holding, Slice, Slices, Span, TenantId, Term, Timestamp};

use crate::effect::Decisions;
use crate::open::Phase;
use crate::queue::QueueId;
use crate::shard::Shard;

/// What may start and does not within this time starts by another's leave: nobody saves up.
const LAPSES: Span = Span::SECOND;

/// From whom this shard has its slices: which lender, and the how manieth of it.
#[derive(Debug, Default)]
pub(crate) struct Lent {
    lender: Term,
    seq: u64,
}

/// A limit on what runs at once, as far as this shard may use it.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    pub limit: Option<u32>,
    /// What it was lent, of how much.
    slice: Option<(u32, u32)>,
}

impl Bound {
    pub(crate) fn of(limit: Option<u32>) -> Bound {
        Bound { limit, slice: None }
    }

    pub(crate) fn binds(&self) -> bool {
        self.limit.is_some() || self.slice.is_some()
    }

    /// How many may run here. `lends`: only what was lent.
    fn most(&self, lends: bool) -> Option<u32> {
        match (lends, self.slice) {
            (false, _) => self.limit,
            (true, None) => self.limit.map(|_| 0),
            (true, Some((units, _))) => Some(self.limit.map_or(units, |limit| limit.min(units))),
        }
    }

    pub(crate) fn has_room(&self, running: u32, lends: bool) -> bool {
        self.most(lends).is_none_or(|most| running < most)
    }

    /// What to say if there is no room: the limit as a person set it.
    pub(crate) fn full(&self, running: u32, lends: bool) -> Option<u32> {
        let total = self.slice.map(|(_, total)| total);
        (!self.has_room(running, lends)).then(|| self.limit.or(total).unwrap_or(0))
    }
}

/// Starts this shard was lent: it may have begun so many since its lender lends to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Starts {
    lent: u32,
    begun: u32,
    per_second: u32,
    /// Since when the last of them may begin.
    since: Timestamp,
}

impl Starts {
    fn left(&self, now: Timestamp) -> u32 {
        if now - self.since > LAPSES { 0 } else { self.lent.saturating_sub(self.begun) }
    }

    pub(crate) fn has_room(&self, now: Timestamp) -> bool {
        self.left(now) > 0
    }

    pub(crate) fn per_second(&self) -> u32 {
        self.per_second
    }

    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.begun = if self.has_room(now) { self.begun + 1 } else { self.lent };
    }

    fn replace(earlier: Option<Starts>, slice: &Slice, now: Timestamp) -> Starts {
        let Starts { lent, begun, since, .. } = earlier.unwrap_or_default();
        // What lapsed stays so when more is lent.
        let begun = if now - since > LAPSES { lent } else { begun };
        let since = if slice.units > lent { now } else { since };
        Starts { lent: slice.units, begun, per_second: slice.total, since }
    }
}

impl Shard {
    pub(crate) fn lend(&mut self, slices: &Slices, now: Timestamp, out: &mut Decisions) {
        let newer = (slices.lender, slices.seq) > (self.lent.lender, self.lent.seq);
        if self.shards == 1 || slices.term != self.term || !newer {
            return;
        }
        let another = slices.lender != self.lent.lender;
        self.lent = Lent { lender: slices.lender, seq: slices.seq };
        self.queues.lends = true;
        self.queues.global.slice = None;
        self.queues.bounds_mut().for_each(|bound| bound.slice = None);
        let mut starts = self.queues.turns.take_slices();
        if another {
            starts.clear();
        }
        for slice in &slices.of {
            let lent = Some((slice.units, slice.total));
            match &slice.budget {
                Budget::Installation => self.queues.global.slice = lent,
                Budget::Pool(tenant, name) => self.queues.bound_of(*tenant, name).slice = lent,
                Budget::Running(tenant) => self.queues.turns.bound_of(*tenant).slice = lent,
                Budget::Starts(tenant) => {
                    let earlier = starts.remove(tenant);
                    self.queues.turns.set_starts(*tenant, Starts::replace(earlier, slice, now));
                }
            }
        }
        self.drain_all(now, out);
    }

    /// Whoever should lend does not know how: until somebody does, this shard counts for itself.
    pub(crate) fn count_alone(&mut self, now: Timestamp, out: &mut Decisions) {
        if std::mem::take(&mut self.queues.lends) {
            self.drain_all(now, out);
        }
    }

    /// What it has and wants of what it shares with other shards; None if it shares with nobody.
    pub fn account(&self, now: Timestamp) -> Option<Account> {
        if self.shards == 1 {
            return None;
        }
        let mut rooms = self.rooms(now);
        if !rooms.is_empty() {
            self.count_asked(&mut rooms);
            self.count_wanted(&mut rooms);
        }
        let holdings = rooms.into_values().map(|room| room.holding).collect();
        let Lent { lender, seq } = self.lent;
        Some(Account { shard: self.id, term: self.term, lender, seq, holdings })
    }

    fn rooms(&self, now: Timestamp) -> BTreeMap<Key, Room> {
        let mut rooms = BTreeMap::new();
        let mut add = |key, budget, bound: &Bound, used: u32| {
            if bound.binds() {
                let left = bound.most(true).unwrap_or(0).saturating_sub(used);
                rooms.insert(key, Room::new(budget, bound.limit, used, left));
            }
        };
        add(Key::Installation, Budget::Installation, &self.queues.global, self.queues.running);
        for (at, (tenant, name, bound, running)) in self.queues.pools().enumerate() {
            add(Key::Pool(at), Budget::Pool(tenant, name.to_string()), bound, running);
        }
        for (tenant, bound, running) in self.queues.turns.bounds() {
            add(Key::Running(tenant), Budget::Running(tenant), bound, running);
        }
        for (tenant, per_second, starts) in self.queues.turns.paces() {
            let starts = starts.unwrap_or_default();
            let left = starts.left(now);
            let room = Room::new(Budget::Starts(tenant), per_second, starts.lent - left, left);
            rooms.insert(Key::Starts(tenant), room);
        }
        rooms
    }

    /// What is being asked about may start with the next answer: its place is kept.
    fn count_asked(&self, rooms: &mut BTreeMap<Key, Room>) {
        if !self.agents.values().any(|agent| agent.record.kind.is_executor()) {
            return;
        }
        for open in self.open.values().filter(|open| open.phase == Phase::Asking) {
            for key in self.keys(open.queue).into_iter().take(3) {
                if let Some(room) = rooms.get_mut(&key) {
                    room.holding.used += 1;
                    room.left = room.left.saturating_sub(1);
                }
            }
        }
    }

    /// What waits for nothing else wants more of the first budget that keeps it, and of the next when it has that: nobody
    /// keeps from others what he cannot use yet, and all want in the same order.
    fn count_wanted(&self, rooms: &mut BTreeMap<Key, Room>) {
        for line in self.queues.with_waiting() {
            if self.queues.turns.is_closing(self.queues.tenant(line)) {
                continue;
            }
            let members = self.queues.get(line).members.iter().map(|id| &self.agents[id]);
            let up = members.filter(|agent| agent.takes_work());
            let slots: u32 = up.map(|agent| agent.record.slots.saturating_sub(agent.busy.len() as u32)).sum();
            let mut could = slots.min(self.queues.len(line) as u32);
            for key in self.keys(line) {
                let Some(room) = rooms.get_mut(&key) else { continue };
                room.holding.wanted += could.saturating_sub(room.left);
                could = could.min(room.left);
                room.left -= could;
            }
        }
    }

    fn keys(&self, line: QueueId) -> [Key; 4] {
        let tenant = self.queues.tenant(line);
        let pool = self.queues.get(line).pool;
        [Key::Pool(pool), Key::Running(tenant), Key::Installation, Key::Starts(tenant)]
    }
}

/// The order in which an instance wants what it needs: what lapses comes last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Pool(usize),
    Running(TenantId),
    Installation,
    Starts(TenantId),
}

struct Room {
    holding: Holding,
    /// How many more may start.
    left: u32,
}

impl Room {
    fn new(budget: Budget, limit: Option<u32>, used: u32, left: u32) -> Room {
        Room { holding: Holding { budget, limit, used, wanted: 0 }, left }
    }
}
