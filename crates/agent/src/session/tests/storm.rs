//! Any order of messages, cuts and kills: what must hold whatever happens.

use std::collections::{BTreeMap, BTreeSet};

use model::{Outcome, Span, Timestamp, Verdict};
use proptest::prelude::*;
use wire::link::{self, Down, Up, down, report, up};

use super::super::*;

#[derive(Clone, Debug)]
enum Step {
    Order {
        attempt: i64,
        shard: u32,
        term: i64,
        noop: bool,
        late: bool,
    },
    Stop {
        attempt: i64,
        shard: u32,
    },
    Query {
        shard: u32,
        term: i64,
        attempts: Vec<i64>,
    },
    Greet {
        shard: u32,
        term: i64,
    },
    Greets {
        terms: Vec<(u32, i64)>,
    },
    Released {
        shard: u32,
    },
    /// The last heartbeat sent there was seen.
    BeatSeen,
    Ack {
        attempt: i64,
    },
    Starts {
        attempt: i64,
    },
    Ends {
        attempt: i64,
    },
    Pass {
        span: i64,
    },
    Cut,
    Connect,
    /// The agent dies and starts again with what was on disk; what ran goes on running.
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    let (attempt, shard, term) = (0..12i64, 0..2u32, 1..5i64);
    prop_oneof![
        6 => (attempt.clone(), shard.clone(), term.clone(), any::<bool>(), prop::bool::weighted(0.1))
            .prop_map(|(attempt, shard, term, noop, late)| Step::Order { attempt, shard, term, noop, late }),
        1 => (attempt.clone(), shard.clone()).prop_map(|(attempt, shard)| Step::Stop { attempt, shard }),
        2 => (shard.clone(), term.clone(), prop::collection::vec(attempt.clone(), 0..4))
            .prop_map(|(shard, term, attempts)| Step::Query { shard, term, attempts }),
        2 => (shard.clone(), term.clone()).prop_map(|(shard, term)| Step::Greet { shard, term }),
        1 => shard.clone().prop_map(|shard| Step::Released { shard }),
        1 => prop::collection::vec((shard, term), 0..3).prop_map(|terms| Step::Greets { terms }),
        2 => Just(Step::BeatSeen),
        3 => attempt.clone().prop_map(|attempt| Step::Ack { attempt }),
        2 => attempt.clone().prop_map(|attempt| Step::Starts { attempt }),
        3 => attempt.prop_map(|attempt| Step::Ends { attempt }),
        1 => (0..400_000i64).prop_map(|span| Step::Pass { span }),
        1 => Just(Step::Cut),
        2 => Just(Step::Connect),
        1 => Just(Step::Kill),
    ]
}

/// The world around a session: its disk, its processes, and what the server was told.
struct World {
    session: Session,
    now: i64,
    /// Each stream with when the server there last saw us, and the last beat it was sent.
    connected: BTreeMap<Server, (i64, Option<i64>)>,
    /// Who came last with the highest term of a shard.
    owners: BTreeMap<u32, Server>,
    terms: BTreeMap<u32, i64>,
    leashes: BTreeMap<i64, i64>,
    journal: BTreeMap<i64, Ending>,
    acked: BTreeMap<i64, Timestamp>,
    running: BTreeMap<i64, Taken>,
    /// Held, and not started: whose they are.
    waiting: BTreeMap<i64, u32>,
    ever_started: BTreeSet<i64>,
    out: Vec<Act>,
}

impl World {
    fn new() -> World {
        World {
            session: Session::new(profile(), Recovered::default()),
            now: 0,
            connected: BTreeMap::new(),
            owners: BTreeMap::new(),
            terms: BTreeMap::new(),
            leashes: BTreeMap::new(),
            journal: BTreeMap::new(),
            acked: BTreeMap::new(),
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
            ever_started: BTreeSet::new(),
            out: Vec::new(),
        }
    }

    fn down(&mut self, from: Server, body: down::Body) {
        self.session.on_down(from, Now::both(Timestamp(self.now)), Down { body: Some(body) }, &mut self.out);
    }

    /// Somebody comes with a term, and is the owner if nobody came with a higher one.
    fn claim(&mut self, from: Server, shard: u32, term: i64) {
        if self.connected.contains_key(&from) && self.terms.get(&shard).is_none_or(|known| *known <= term) {
            self.owners.insert(shard, from);
        }
    }

    fn cut(&mut self, server: Server) {
        self.session.on_disconnected(server);
        self.connected.remove(&server);
        self.owners.retain(|_, owner| *owner != server);
    }

    fn connect(&mut self, server: Server) {
        let now = Now::both(Timestamp(self.now));
        self.cut(server);
        self.session.on_connected(server, now, &mut self.out);
        self.connected.insert(server, (self.now, None));
        let welcome = link::Welcome { protocol: link::PROTOCOL, now: self.now, ..link::Welcome::default() };
        self.down(server, down::Body::Welcome(welcome));
        for (version, body) in [(1, r#"{"kind":"noop"}"#), (2, r#"{"kind":"command","argv":["x"]}"#)] {
            let body = body.as_bytes().to_vec().into();
            let task = link::Task { version, job: 1, body, ..link::Task::default() };
            self.down(server, down::Body::Task(task));
        }
    }

    fn take(&mut self, from: Server, step: Step) {
        let now = Now::both(Timestamp(self.now));
        match step {
            Step::Order { attempt, shard, term, noop, late } => {
                let start_by = if late { self.now - 1 } else { self.now + Span::HOUR.0 };
                let version = if noop { 1 } else { 2 };
                let leash_us = (attempt % 2 == 0).then_some(LEASH.0);
                let order = link::Order { attempt, shard, term, version, start_by, leash_us, ..link::Order::default() };
                self.claim(from, shard, term);
                let before = self.session.waiting();
                self.down(from, down::Body::Orders(link::Orders { items: vec![order] }));
                if self.session.waiting() > before {
                    assert!(self.waiting.insert(attempt, shard).is_none(), "{attempt} was taken twice");
                }
            }
            Step::Stop { attempt, shard } => {
                self.down(from, down::Body::Stop(link::Stop { attempt, by: "li".into(), grace_us: 0, shard }));
            }
            Step::Query { shard, term, attempts } => {
                self.claim(from, shard, term);
                self.down(from, down::Body::Query(link::Query { shard, term, attempts }));
            }
            Step::Greet { shard, term } => {
                self.claim(from, shard, term);
                self.down(from, down::Body::Greet(link::Greet { shard, term }));
            }
            Step::Greets { terms } => {
                // A server has one term of a shard.
                let terms: BTreeMap<u32, i64> = terms.into_iter().collect();
                terms.iter().for_each(|(shard, term)| self.claim(from, *shard, *term));
                let items = terms.into_iter().map(|(shard, term)| link::Greet { shard, term }).collect();
                self.down(from, down::Body::Greets(link::Greets { items }));
            }
            Step::Released { shard } => {
                self.owners.retain(|of, owner| *of != shard || *owner != from);
                self.down(from, down::Body::Released(link::Released { shards: vec![shard] }));
            }
            Step::BeatSeen => {
                if let Some((heard, Some(beat))) = self.connected.get_mut(&from) {
                    *heard = (*heard).max(*beat);
                    let seen = link::BeatSeen { sent_at: *beat, now: self.now };
                    self.down(from, down::Body::BeatSeen(seen));
                }
            }
            Step::Ack { attempt } => {
                self.down(from, down::Body::Acks(link::Acks { items: vec![link::Ack { attempt, seq: ENDED }] }));
            }
            Step::Starts { attempt } => {
                if let Some(taken) = self.running.get_mut(&attempt) {
                    taken.started_at = Some(Timestamp(self.now));
                    self.session.on_started(now, attempt, Timestamp(self.now));
                }
            }
            Step::Ends { attempt } => {
                if self.running.remove(&attempt).is_some() {
                    self.session.on_ended(attempt, Outcome::of(Verdict::Succeeded, "", now.wall));
                }
            }
            Step::Pass { span } => {
                self.now += span;
                self.session.on_tick(Now::both(Timestamp(self.now)), &mut self.out);
            }
            Step::Cut => self.cut(from),
            Step::Connect => self.connect(from),
            Step::Kill => self.kill(),
        }
        self.session.flush(Now::both(Timestamp(self.now)), &mut self.out);
    }

    fn kill(&mut self) {
        let recovered = Recovered {
            terms: self.terms.iter().map(|(shard, term)| (*shard, *term)).collect(),
            running: self.running.values().copied().collect(),
            unacked: self.journal.values().cloned().collect(),
            graves: self.acked.iter().map(|(attempt, until)| (*attempt, *until)).collect(),
            rebooted: false,
            booted: Timestamp(0),
        };
        // What waited is forgotten and may be ordered again.
        self.waiting.clear();
        self.session = Session::new(profile(), recovered);
        self.connected.clear();
        self.owners.clear();
    }

    /// Does what is asked, and holds it against what must never be.
    fn perform(&mut self) {
        for act in std::mem::take(&mut self.out) {
            match act {
                Act::Persist(records) => records.into_iter().for_each(|record| self.keep(record)),
                Act::Send { to, up } => self.hear(to, up),
                Act::Beat { to, sent_at, .. } => {
                    self.connected.get_mut(&to).expect("beats go to servers that are there").1 = Some(sent_at.0);
                }
                Act::Start(start) => {
                    let order = &start.order;
                    assert!(self.ever_started.insert(order.attempt), "{} was started twice", order.attempt);
                    let waited = self.waiting.remove(&order.attempt).is_some();
                    assert!(order.term <= self.terms[&order.shard], "started under a term that is not on disk");
                    assert!(waited || order.term == self.terms[&order.shard], "started under a term that is past");
                    assert!(waited || order.start_by >= self.now, "started too late");
                    assert!(start.leash_until.is_none_or(|until| until.0 >= self.now), "started beyond its leash");
                    assert!(self.running.len() < profile().slots as usize, "more run than there are slots");
                    let (attempt, shard, until) = (order.attempt, order.shard, start.until);
                    let leash = order.leash_us.map(Span);
                    self.leashes.extend(start.leash_until.map(|until| (attempt, until.0)));
                    let taken = Taken { attempt, shard, until, started_at: None, leash };
                    self.running.insert(attempt, taken);
                }
                Act::Stop { attempt, .. } => assert!(self.running.contains_key(&attempt), "{attempt} does not run"),
                Act::Settled { attempt } => {
                    assert!(self.acked.contains_key(&attempt), "{attempt} was not kept as acked")
                }
                Act::MoveLeash { attempt, until } => {
                    let owner = self.owners.get(&self.running[&attempt].shard).expect("only an owner moves a leash");
                    assert_eq!(until.0, self.connected[owner].0 + LEASH.0, "its owner saw us at another time");
                    let before = self.leashes.insert(attempt, until.0);
                    assert!(before.is_none_or(|before| before <= until.0), "a leash became shorter");
                }
                Act::Redial { .. } | Act::Identified { .. } | Act::Servers { .. } | Act::Note(_) => {}
                Act::Owner { shard, server } => assert_eq!(self.owners.get(&shard), Some(&server)),
            }
        }
        assert_eq!(self.session.running() as usize, self.running.len());
        assert_eq!(self.session.waiting(), self.waiting.len());
        let slots = profile().slots as usize;
        assert!(self.waiting.is_empty() || self.running.len() >= slots, "some wait though a slot is free");
    }

    fn keep(&mut self, record: Record) {
        match record {
            Record::Term { shard, term } => {
                assert!(self.terms.insert(shard, term).is_none_or(|before| before < term), "a term went back");
            }
            Record::Ended(ending) => {
                let attempt = ending.report.attempt;
                assert!(!self.running.contains_key(&attempt), "{attempt} still runs");
                self.waiting.remove(&attempt);
                self.journal.insert(attempt, ending);
            }
            Record::Acked(attempts) => {
                for attempt in attempts {
                    let ending = self.journal.remove(&attempt).expect("only what is in the journal is acked");
                    self.acked.insert(attempt, ending.until);
                }
            }
        }
    }

    fn hear(&mut self, at: Server, up: Up) {
        assert!(self.connected.contains_key(&at), "said into the void");
        match up.body.expect("a message has a body") {
            up::Body::Reports(reports) => {
                let owned = |report: &link::Report| self.owners.get(&report.shard) == Some(&at);
                assert!(reports.items.iter().all(owned), "told to somebody who does not own it");
                reports.items.iter().for_each(|report| self.hear_report(report));
            }
            up::Body::Answer(answer) => {
                assert_eq!(answer.term, self.terms[&answer.shard], "answered under a term that is not on disk");
                for attempt in answer.not_here {
                    let here = self.running.contains_key(&attempt) || self.journal.contains_key(&attempt);
                    assert!(!here && !self.waiting.contains_key(&attempt), "{attempt} was denied");
                }
            }
            up::Body::TermStored(stored) => self.hear_stored(at, &stored),
            up::Body::TermsStored(stored) => stored.items.iter().for_each(|stored| self.hear_stored(at, stored)),
            up::Body::Hello(_) | up::Body::Beat(_) => {}
        }
    }

    fn hear_stored(&self, at: Server, stored: &link::TermStored) {
        assert_eq!(stored.term, self.terms[&stored.shard], "a term that is not on disk");
        assert_eq!(self.owners.get(&stored.shard), Some(&at), "told to somebody who does not own it");
        let held: BTreeSet<i64> = stored.held.iter().map(|held| held.attempt).collect();
        let running = self.running.values().map(|taken| (taken.attempt, taken.shard));
        let mut here = running.chain(self.waiting.iter().map(|(attempt, shard)| (*attempt, *shard)));
        assert!(here.all(|(attempt, shard)| shard != stored.shard || held.contains(&attempt)), "one was denied");
    }

    fn hear_report(&self, report: &link::Report) {
        match report.body.as_ref().expect("a report has a body") {
            report::Body::Started(_) => assert!(self.running.contains_key(&report.attempt), "it does not run"),
            report::Body::Ended(ended) => {
                let attempt = report.attempt;
                // A repeat of what was acknowledged is answered without a trace; everything else is on disk first.
                let kept = self.journal.get(&attempt).is_some_and(|ending| ending.report == *report);
                let repeat = ended.verdict() == link::Verdict::Lost && self.acked.contains_key(&attempt);
                assert!(kept || repeat, "{attempt} was reported before it was kept");
            }
        }
    }
}

const LEASH: Span = Span::SECOND;

fn profile() -> Profile {
    Profile { slots: 3, ..Profile::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_starts_twice_nothing_is_denied_and_nothing_is_told_before_it_is_kept(
        steps in prop::collection::vec((0..3u32, step()), 1..160),
    ) {
        let mut world = World::new();
        for server in 0..3 {
            world.connect(Server(server));
            world.perform();
        }
        for (server, step) in steps {
            world.take(Server(server), step);
            world.perform();
        }
        // In the end everything that ended and was not acknowledged is told to the next owner.
        world.out.clear();
        world.connect(Server(9));
        world.take(Server(9), Step::Greets { terms: vec![(0, 99), (1, 99)] });
        let told: BTreeSet<i64> = world.out.iter().flat_map(reported).collect();
        prop_assert!(world.journal.keys().all(|attempt| told.contains(attempt)));
    }
}

fn reported(act: &Act) -> Vec<i64> {
    match act {
        Act::Send { up: Up { body: Some(up::Body::Reports(reports)) }, .. } => {
            let ended = reports.items.iter().filter(|report| report.seq == ENDED);
            ended.map(|report| report.attempt).collect()
        }
        _ => Vec::new(),
    }
}
