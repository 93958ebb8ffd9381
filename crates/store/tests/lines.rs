//! Servers that write at the same time and stand in the same lines: no two have what only one may, nobody waits for ever, and
//! nobody waits in a circle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use duly_store::postgres::{Options, PgStore};
use duly_store::{Reads, Store};
use engine::TicketId;
use engine::change::{Answer, Change, Commit, Draw, Message};
use model::*;

#[path = "support/cluster.rs"]
mod cluster;
mod support;

use cluster::Database;

const SERVERS: i64 = 4;
const SHARDS_EACH: i64 = 2;
const ROUNDS: i64 = 40;
const SEATS: u32 = 3;

/// What is in use, as those who use it know.
#[derive(Default)]
struct InUse {
    gate: AtomicU32,
    door: AtomicU32,
    seat: AtomicU32,
}

impl InUse {
    fn of(&self, need: &Need) -> (&AtomicU32, u32) {
        match need.name.as_str() {
            "gate" => (&self.gate, 1),
            "door" => (&self.door, 1),
            _ => (&self.seat, SEATS),
        }
    }

    fn take(&self, needs: &[Need]) {
        for need in needs {
            let (used, most) = self.of(need);
            let now = used.fetch_add(need.units, Ordering::SeqCst) + need.units;
            assert!(now <= most, "{now} of {most} {} are in use", need.name);
        }
    }

    fn give(&self, needs: &[Need]) {
        for need in needs {
            self.of(need).0.fetch_sub(need.units, Ordering::SeqCst);
        }
    }
}

/// In whatever order a job may name them.
fn needs(n: i64) -> Vec<Need> {
    let mutex = |name: &str| Need { kind: ResourceKind::Mutex, name: name.into(), units: 1 };
    let seats = |units| Need { kind: ResourceKind::Counted, name: "seat".into(), units };
    match n % 6 {
        0 => vec![mutex("gate"), mutex("door")],
        1 => vec![mutex("door"), mutex("gate")],
        2 => vec![seats(1), mutex("gate")],
        3 => vec![seats(2)],
        4 => vec![mutex("door"), seats(1)],
        _ => vec![seats(SEATS)],
    }
}

/// One shard: draws, waits, uses, gives back, so many times.
struct Place {
    shard: ShardId,
    term: Term,
    batch: i64,
    round: i64,
    drawn: Option<Draw>,
    /// Grants that were answered or told, which must be as many as were drawn for.
    heard: usize,
    inside: bool,
}

impl Place {
    fn next(&mut self, in_use: &InUse) -> Option<Change> {
        match &self.drawn {
            Some(draw) if self.inside => {
                in_use.give(&draw.needs);
                Some(Change::Returned(Box::new(draw.clone())))
            }
            Some(_) => None,
            None if self.round == ROUNDS => None,
            None => {
                let number = self.shard.0 * 1_000_000 + self.round + 1;
                let (ticket, instance, job) = (TicketId(number), InstanceId(number), JobId(self.shard.0 + 1));
                let needs = needs(self.shard.0 + self.round);
                let draw = Draw { ticket, tenant: TenantId(1), job, instance, needs, at: support::row(1).planned };
                self.drawn = Some(draw.clone());
                Some(Change::Drawn(Box::new(draw)))
            }
        }
    }

    fn commit(&self, change: Change, letters: &[i64]) -> Commit {
        let mut changes: Vec<Change> = letters.iter().map(|id| Change::Took { id: engine::MessageId(*id) }).collect();
        changes.push(change);
        Commit {
            shard: self.shard,
            term: self.term,
            batch: Batch(self.batch + 1),
            horizon: support::row(1).planned,
            next_id: self.shard.0 * 1_000_000 + self.round + 2,
            changes,
            claims: vec![],
        }
    }

    fn written(&mut self, answers: &[Answer]) {
        self.batch += 1;
        if self.inside {
            let drawn = self.drawn.take().expect("it was given back");
            assert_eq!(self.heard, drawn.needs.len(), "each grant is heard of once");
            (self.inside, self.heard, self.round) = (false, 0, self.round + 1);
        }
        let ours = |answer: &&Answer| matches!(answer, Answer::Granted(grant) if grant.shard == self.shard);
        self.heard += answers.iter().filter(ours).count();
    }
}

fn serve(address: &str, first: i64, in_use: &InUse) {
    let options = Options { shards: (SERVERS * SHARDS_EACH) as u32, ..Options::default() };
    let mut store = PgStore::open(address, &options).unwrap();
    let reads = store.reads().unwrap();
    let soon = || Instant::now() + Duration::from_secs(30);
    let place = |shard: i64| {
        let (shard, term) = (ShardId(shard), store.take_over(ShardId(shard)).unwrap().term);
        Place { shard, term, batch: 0, round: 0, drawn: None, heard: 0, inside: false }
    };
    let mut places: Vec<Place> = (first..first + SHARDS_EACH).map(place).collect();
    let end = Instant::now() + Duration::from_secs(120);
    while places.iter().any(|place| place.round < ROUNDS) {
        assert!(Instant::now() < end, "somebody waits for ever");
        let shards: Vec<ShardId> = places.iter().map(|place| place.shard).collect();
        let letters = reads.outbox(&shards, 100, soon()).unwrap();
        let (mut who, mut commits) = (Vec::new(), Vec::new());
        for (n, place) in places.iter_mut().enumerate() {
            let Some(change) = place.next(in_use) else { continue };
            let mine = letters.iter().filter(|letter| letter.to == place.shard);
            let granted = mine.filter(|letter| matches!(letter.message, Message::Granted { .. }));
            let taken: Vec<i64> = granted.map(|letter| letter.id.0).collect();
            place.heard += taken.len();
            commits.push(Arc::new(place.commit(change, &taken)));
            who.push(n);
        }
        for (answer, n) in store.commit_all(&commits).into_iter().zip(who) {
            places[n].written(&answer.expect("nobody is in nobody's way for long"));
        }
        for place in places.iter_mut().filter(|place| !place.inside) {
            let Some(draw) = &place.drawn else { continue };
            let tickets = reads.tickets_of(draw.instance, soon()).unwrap();
            assert_eq!(tickets.len(), draw.needs.len());
            if tickets.iter().all(|ticket| ticket.held) {
                in_use.take(&draw.needs);
                place.inside = true;
            }
        }
    }
}

#[test]
fn servers_that_write_at_once_share_what_they_share() {
    let database = Database::fresh();
    let options = Options { shards: (SERVERS * SHARDS_EACH) as u32, ..Options::default() };
    let mut first = PgStore::open(&database.address, &options).unwrap();
    let in_use = InUse::default();
    // Somebody gives the resource its units while others wait for them already.
    std::thread::scope(|scope| {
        for server in 1..SERVERS {
            let (address, in_use) = (&database.address, &in_use);
            scope.spawn(move || serve(address, server * SHARDS_EACH, in_use));
        }
        let term = first.take_over(ShardId(0)).unwrap().term;
        let name = ResourceName { tenant: TenantId(1), kind: ResourceKind::Counted, name: "seat".into() };
        let place = Place { shard: ShardId(0), term, batch: 0, round: 0, drawn: None, heard: 0, inside: false };
        first.commit(&place.commit(Change::ResourcePut { name, units: SEATS }, &[])).unwrap();
    });
    let reads = first.reads().unwrap();
    let all = reads.resources(Instant::now() + Duration::from_secs(30)).unwrap();
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|one| one.held == 0 && one.waiting == 0), "{all:?}");
    let circles = "select 1 from pg_stat_database where datname = current_database() and deadlocks > 0";
    assert_eq!(database.run(circles), 0, "nobody waited in a circle");
}
