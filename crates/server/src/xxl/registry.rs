//! Which executors there are, and which of them are there: by what they say, by what people listed, and by what happened
//! when they were called. Pure: told what was heard and when, it answers what changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use model::{AgentId, AgentKind, AgentRecord, Executor, Span, TenantId, Timestamp};
use wire::xxl::Address;

/// An application at an address: the same address under another name is another executor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub tenant: TenantId,
    pub pool: String,
    /// The same however it is written: with a slash at its end or without.
    pub address: String,
}

impl Place {
    pub(super) fn new(tenant: TenantId, pool: String, told: &str) -> Place {
        let address = Address::parse(told).map_or_else(|_| told.to_string(), |address| address.to_string());
        Place { tenant, pool, address }
    }

    pub(super) fn of(record: &AgentRecord) -> Place {
        let pool = record.pools.first().cloned().unwrap_or_default();
        Place::new(record.tenant, pool, &record.name)
    }
}

#[derive(Debug)]
struct Known {
    record: Arc<AgentRecord>,
    heard_at: Option<Timestamp>,
    /// It registered and has not taken leave; for a listed one this is the list.
    registered: bool,
    /// Calls reach it.
    reachable: bool,
}

impl Known {
    fn is_listed(&self) -> bool {
        executor(&self.record).listed.is_some()
    }

    fn is_there(&self) -> bool {
        (self.registered || self.is_listed()) && self.reachable
    }
}

/// What has changed about an executor for everyone else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    None,
    /// It can be sent work.
    Up(Arc<AgentRecord>),
    /// It cannot.
    Gone(AgentId),
}

#[derive(Debug, Default)]
pub(super) struct Registry {
    known: BTreeMap<AgentId, Known>,
    by_place: HashMap<Place, AgentId>,
}

impl Registry {
    /// Takes in what the store has. Who was there when the server stopped is taken for there, for as long as one who has
    /// just registered would be.
    pub(super) fn load(&mut self, records: impl Iterator<Item = AgentRecord>, now: Timestamp) -> Vec<Arc<AgentRecord>> {
        let mut there = Vec::new();
        for record in records.filter(|record| record.kind.is_executor()) {
            let registered = executor(&record).present;
            let record = Arc::new(record);
            let heard_at = registered.then_some(now);
            self.by_place.insert(Place::of(&record), record.id);
            let known = Known { record: Arc::clone(&record), heard_at, registered, reachable: true };
            if known.is_there() {
                there.push(Arc::clone(&record));
            }
            self.known.insert(record.id, known);
        }
        there
    }

    /// Takes in what other servers wrote: who is new, who came and went, who was removed.
    pub(super) fn follow(&mut self, records: &[AgentRecord], now: Timestamp) -> Vec<News> {
        let mut news = Vec::new();
        let ids: BTreeSet<AgentId> = records.iter().map(|record| record.id).collect();
        let removed: Vec<AgentId> = self.known.keys().copied().filter(|id| !ids.contains(id)).collect();
        for id in removed {
            self.forget(id);
            news.push(News::Gone(id));
        }
        for record in records.iter().filter(|record| record.kind.is_executor()) {
            let Some(known) = self.known.get(&record.id) else {
                news.extend(self.load(std::iter::once(record.clone()), now).into_iter().map(News::Up));
                continue;
            };
            let (was, is) = (executor(&known.record).present, executor(record).present);
            self.put(Arc::new(record.clone()));
            match (was, is) {
                (false, true) => news.push(self.heard(record.id, now)),
                (true, false) => news.push(self.left(record.id)),
                _ => {}
            }
        }
        news
    }

    pub(super) fn find(&self, place: &Place) -> Option<AgentId> {
        self.by_place.get(place).copied()
    }

    pub(super) fn record(&self, id: AgentId) -> Option<Arc<AgentRecord>> {
        self.known.get(&id).map(|known| Arc::clone(&known.record))
    }

    pub(super) fn records(&self) -> Vec<Arc<AgentRecord>> {
        self.known.values().map(|known| Arc::clone(&known.record)).collect()
    }

    pub(super) fn is_there(&self, id: AgentId) -> bool {
        self.known.get(&id).is_some_and(Known::is_there)
    }

    pub(super) fn is_registered(&self, id: AgentId) -> bool {
        self.known.get(&id).is_some_and(|known| known.registered || known.is_listed())
    }

    pub(super) fn heard_at(&self, id: AgentId) -> Option<Timestamp> {
        self.known.get(&id)?.heard_at
    }

    /// Makes a record known, or changes it.
    pub(super) fn put(&mut self, record: Arc<AgentRecord>) {
        self.by_place.insert(Place::of(&record), record.id);
        match self.known.get_mut(&record.id) {
            Some(known) => known.record = record,
            None => {
                let known = Known { record, heard_at: None, registered: false, reachable: true };
                self.known.insert(known.record.id, known);
            }
        }
    }

    pub(super) fn forget(&mut self, id: AgentId) {
        if let Some(known) = self.known.remove(&id) {
            self.by_place.remove(&Place::of(&known.record));
        }
    }

    /// It registered, or did so again.
    pub(super) fn heard(&mut self, id: AgentId, now: Timestamp) -> News {
        self.change(id, |known| {
            (known.heard_at, known.registered, known.reachable) = (Some(now), true, true);
        })
    }

    /// It took leave.
    pub(super) fn left(&mut self, id: AgentId) -> News {
        self.change(id, |known| known.registered = false)
    }

    /// A call did not get through, or did again.
    pub(super) fn reached(&mut self, id: AgentId, reachable: bool) -> News {
        self.change(id, |known| known.reachable = reachable)
    }

    /// Those who have not registered again for too long.
    pub(super) fn overdue(&mut self, now: Timestamp, death: Span) -> Vec<News> {
        let late = |known: &&Known| known.registered && known.heard_at.is_none_or(|at| now - at > death);
        let dead: Vec<AgentId> = self.known.values().filter(late).map(|known| known.record.id).collect();
        dead.into_iter().map(|id| self.left(id)).collect()
    }

    fn change(&mut self, id: AgentId, change: impl FnOnce(&mut Known)) -> News {
        let Some(known) = self.known.get_mut(&id) else { return News::None };
        let before = known.is_there();
        change(known);
        match (before, known.is_there()) {
            (false, true) => News::Up(Arc::clone(&known.record)),
            (true, false) => News::Gone(id),
            (true, true) | (false, false) => News::None,
        }
    }
}

pub(super) fn executor(record: &AgentRecord) -> Executor {
    match record.kind {
        AgentKind::Agent => Executor::default(),
        AgentKind::Executor(executor) => executor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEATH: Span = Span::secs(90);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    fn record(id: i64, present: bool, listed: Option<u32>) -> AgentRecord {
        AgentRecord {
            id: AgentId(id),
            tenant: TenantId(1),
            name: format!("http://10.0.0.{id}:9999/"),
            pools: vec!["app".into()],
            labels: BTreeMap::new(),
            slots: 1,
            drained: false,
            joined_at: at(0),
            seen_at: None,
            version: String::new(),
            serves: model::Serves::Own,
            runs: model::TaskSorts::ALL,
            kind: AgentKind::Executor(Executor { listed, present, ..Executor::default() }),
        }
    }

    fn one() -> (Registry, AgentId) {
        let mut registry = Registry::default();
        registry.put(Arc::new(record(1, false, None)));
        assert!(matches!(registry.heard(AgentId(1), at(0)), News::Up(_)));
        (registry, AgentId(1))
    }

    #[test]
    fn one_that_beats_every_minute_lives_and_one_that_stops_dies_after_ninety_seconds() {
        let (mut registry, id) = one();
        for minute in 1..10 {
            assert_eq!(registry.overdue(at(60 * minute), DEATH), []);
            assert_eq!(registry.heard(id, at(60 * minute)), News::None);
        }
        assert_eq!(registry.overdue(at(540 + 90), DEATH), []);
        assert_eq!(registry.overdue(at(540 + 91), DEATH), [News::Gone(id)]);
        assert_eq!(registry.overdue(at(9_999), DEATH), [], "it dies once");
        assert!(matches!(registry.heard(id, at(10_000)), News::Up(_)));
    }

    #[test]
    fn who_takes_leave_is_gone_at_once() {
        let (mut registry, id) = one();
        assert_eq!(registry.left(id), News::Gone(id));
        assert_eq!(registry.left(id), News::None);
    }

    #[test]
    fn who_cannot_be_reached_is_set_aside_until_a_call_or_a_beat() {
        let (mut registry, id) = one();
        assert_eq!(registry.reached(id, false), News::Gone(id));
        assert!(matches!(registry.reached(id, true), News::Up(_)));
        assert_eq!(registry.reached(id, false), News::Gone(id));
        assert!(matches!(registry.heard(id, at(5)), News::Up(_)));
        registry.left(id);
        assert_eq!(registry.reached(id, true), News::None, "it has taken leave all the same");
    }

    #[test]
    fn after_a_restart_who_was_there_is_taken_for_there_and_a_list_needs_no_beats() {
        let mut registry = Registry::default();
        let records = [record(1, true, None), record(2, false, None), record(3, false, Some(0))];
        let there = registry.load(records.into_iter(), at(0));
        assert_eq!(there.iter().map(|record| record.id.0).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(registry.overdue(at(91), DEATH), [News::Gone(AgentId(1))]);
        assert!(registry.is_there(AgentId(3)));
    }
}
