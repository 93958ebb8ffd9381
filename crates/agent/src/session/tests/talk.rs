//! A conversation with a session, and its transcript.

use std::fmt::Write;

use expect_test::Expect;
use model::{Outcome, Timestamp, Usage, Verdict};
use wire::link::{self, Down, down, report, up};

use super::super::*;

/// The server's clock is this far ahead of the agent's.
pub(super) const AHEAD: i64 = 1_000;

pub(super) struct Talk {
    pub(super) session: Session,
    /// Who talks, until another is named.
    pub(super) server: Server,
    now: i64,
    said: String,
}

pub(super) fn talk() -> Talk {
    restarted(Recovered::default())
}

pub(super) fn restarted(recovered: Recovered) -> Talk {
    let profile = Profile { name: "a".into(), slots: 2, ..Profile::default() };
    Talk { session: Session::new(profile, recovered), server: Server(1), now: 0, said: String::new() }
}

/// A connected agent that knows a task of each kind, with the talk so far left out.
pub(super) fn working() -> Talk {
    let mut talk =
        talk().connect().greet(1, 5).task(1, r#"{"kind":"noop"}"#).task(2, r#"{"kind":"command","argv":["x"]}"#);
    talk.said.clear();
    talk
}

impl Talk {
    fn now(&self) -> Now {
        Now::both(Timestamp(self.now))
    }

    pub(super) fn step(mut self, title: String, tell: impl FnOnce(&mut Session, Now, &mut Vec<Act>)) -> Talk {
        let mut out = Vec::new();
        let now = self.now();
        tell(&mut self.session, now, &mut out);
        self.session.flush(now, &mut out);
        writeln!(self.said, "{title}").unwrap();
        out.iter().filter_map(show).for_each(|act| writeln!(self.said, "  {act}").unwrap());
        self
    }

    /// What follows comes from this server.
    pub(super) fn by(mut self, server: u32) -> Talk {
        self.server = Server(server);
        writeln!(self.said, "server {server}:").unwrap();
        self
    }

    fn down(self, title: String, body: down::Body) -> Talk {
        let from = self.server;
        self.step(title, |session, now, out| session.on_down(from, now, Down { body: Some(body) }, out))
    }

    pub(super) fn at(mut self, now: i64) -> Talk {
        self.now = now;
        let title = format!("at {now}");
        self.step(title, |session, now, out| session.on_tick(now, out))
    }

    pub(super) fn connect(self) -> Talk {
        let now = self.now + AHEAD;
        let protocol = link::PROTOCOL;
        let welcome = link::Welcome { protocol, now, beat_every_ms: 1_000, ..link::Welcome::default() };
        let server = self.server;
        self.step("connect".into(), |session, now, out| session.on_connected(server, now, out))
            .down("welcome".into(), down::Body::Welcome(welcome))
    }

    pub(super) fn cut(self) -> Talk {
        let server = self.server;
        self.step("cut".into(), |session, _, _| session.on_disconnected(server))
    }

    pub(super) fn greet(self, shard: u32, term: i64) -> Talk {
        self.down(format!("greet {shard}={term}"), down::Body::Greet(link::Greet { shard, term }))
    }

    pub(super) fn greets(self, terms: &[(u32, i64)]) -> Talk {
        let items = terms.iter().map(|(shard, term)| link::Greet { shard: *shard, term: *term }).collect();
        self.down(format!("greet {terms:?}"), down::Body::Greets(link::Greets { items }))
    }

    pub(super) fn released(self, shards: &[u32]) -> Talk {
        let shards = shards.to_vec();
        self.down(format!("released {shards:?}"), down::Body::Released(link::Released { shards }))
    }

    pub(super) fn task(self, version: i64, body: &str) -> Talk {
        let body = body.as_bytes().to_vec().into();
        let task = link::Task { version, job: 1, job_name: "job".into(), body, ..link::Task::default() };
        self.down(format!("task {version}"), down::Body::Task(task))
    }

    pub(super) fn orders(self, title: &str, items: Vec<link::Order>) -> Talk {
        self.down(format!("order {title}"), down::Body::Orders(link::Orders { items }))
    }

    pub(super) fn order(self, attempt: i64, version: i64) -> Talk {
        let title = format!("{attempt} of task {version}");
        self.orders(&title, vec![order(attempt, version)])
    }

    pub(super) fn stop(self, attempt: i64) -> Talk {
        let stop = link::Stop { attempt, by: "li".into(), grace_us: 7, shard: 1 };
        self.down(format!("stop {attempt}"), down::Body::Stop(stop))
    }

    pub(super) fn query(self, term: i64, attempts: &[i64]) -> Talk {
        let query = link::Query { shard: 1, term, attempts: attempts.to_vec() };
        self.down(format!("query {attempts:?} under {term}"), down::Body::Query(query))
    }

    pub(super) fn ack(self, attempt: i64, seq: u32) -> Talk {
        let items = vec![link::Ack { attempt, seq }];
        self.down(format!("ack {attempt}#{seq}"), down::Body::Acks(link::Acks { items }))
    }

    pub(super) fn beat_seen(self, sent_at: i64) -> Talk {
        let now = self.now + AHEAD;
        self.down(format!("beat of {sent_at} seen"), down::Body::BeatSeen(link::BeatSeen { sent_at, now }))
    }

    pub(super) fn started(self, attempt: i64) -> Talk {
        self.step(format!("{attempt} starts"), |session, now, _| assert!(session.on_started(now, attempt, now.wall)))
    }

    pub(super) fn ended(self, attempt: i64) -> Talk {
        let ended_at = Timestamp(self.now);
        let outcome = Outcome {
            verdict: Verdict::Failed,
            exit_code: Some(3),
            message: None,
            outputs: None,
            started_at: Some(ended_at),
            ended_at,
            usage: Usage::default(),
        };
        self.step(format!("{attempt} exits"), |session, _, _| session.on_ended(attempt, outcome))
    }

    /// Only what the last step said.
    pub(super) fn last(mut self, expected: Expect) -> Talk {
        let begin = self.said.rfind("\nquery").map_or(0, |at| at + 1);
        self.said.drain(..begin);
        self.check(expected)
    }

    pub(super) fn check(self, expected: Expect) -> Talk {
        expected.assert_eq(&self.said);
        Talk { said: String::new(), ..self }
    }
}

pub(super) fn order(attempt: i64, version: i64) -> link::Order {
    let start_by = AHEAD + 10_000_000;
    link::Order { shard: 1, term: 5, attempt, version, start_by, instance: 9, attempt_no: 1, ..link::Order::default() }
}

/// Only what goes to another server than the usual one says to which.
fn to(server: &Server) -> String {
    if *server == Server(1) { String::new() } else { format!(" to {}", server.0) }
}

fn show(act: &Act) -> Option<String> {
    Some(match act {
        Act::Persist(records) => format!("keep {}", each(records, show_record)),
        Act::Send { to: server, up } => {
            format!("send{} {}", to(server), show_up(up.body.as_ref().expect("a message has a body")))
        }
        Act::Beat { to: server, sent_at, running } => {
            format!("beat{} at {} with {running} running", to(server), sent_at.0)
        }
        Act::Start(start) => match start.leash_until {
            Some(until) => format!("start {} on a leash until {}", start.order.attempt, until.0),
            None => format!("start {}", start.order.attempt),
        },
        Act::Stop { attempt, by, grace } => format!("stop {attempt} for {by} within {grace}"),
        Act::MoveLeash { attempt, until } => format!("leash {attempt} until {}", until.0),
        Act::Settled { attempt } => format!("settled {attempt}"),
        Act::Redial { from, reason } => format!("redial{}: {reason}", to(from)),
        Act::Identified { at, server } => format!("way {} leads to server {server}", at.0),
        Act::Servers { endpoints, .. } => format!("servers {endpoints:?}"),
        // Follows from every greeting, and is told where it matters.
        Act::Owner { .. } => return None,
        Act::Note(note) => format!("note: {note}"),
    })
}

fn show_record(record: &Record) -> String {
    match record {
        Record::Term { shard, term } => format!("term {shard}={term}"),
        Record::Ended(ending) => format!("{} until {}", show_report(&ending.report), ending.until.0),
        Record::Acked(attempts) => format!("acked {attempts:?}"),
    }
}

fn show_up(body: &up::Body) -> String {
    match body {
        up::Body::Hello(hello) => {
            let rebooted = if hello.rebooted { ", rebooted" } else { "" };
            format!("hello, {} slots{rebooted}", hello.slots)
        }
        up::Body::Beat(_) => "beat".into(),
        up::Body::Reports(reports) => each(&reports.items, show_report),
        up::Body::Answer(answer) => {
            format!("here [{}], not here {:?}, under {}", each(&answer.here, show_held), answer.not_here, answer.term)
        }
        up::Body::TermStored(stored) => show_stored(stored),
        up::Body::TermsStored(stored) => each(&stored.items, show_stored),
    }
}

fn show_stored(stored: &link::TermStored) -> String {
    format!("stored {}={}, holding [{}]", stored.shard, stored.term, each(&stored.held, show_held))
}

fn show_held(held: &link::Held) -> String {
    held.started_at.map_or(held.attempt.to_string(), |at| format!("{} since {at}", held.attempt))
}

fn show_report(report: &link::Report) -> String {
    let body = match report.body.as_ref().expect("a report has a body") {
        report::Body::Started(started) => format!("started at {}", started.at),
        report::Body::Ended(ended) => {
            let why = ended.message.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            format!("{:?}{why}", ended.verdict())
        }
    };
    format!("{}#{} of {} {body}", report.attempt, report.seq, report.shard)
}

fn each<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join("; ")
}
