//! One stream between an agent and a server: messages arrive in order and late; a cut loses what is under way. The
//! server's end translates as the real one does.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use engine::Input;
use engine::input::Held;
use model::{AgentRecord, AttemptId, Load, Report, Span, Term, Timestamp, VersionId};
use server::shard::Parcel;
use wire::link::{self, Down, Up, down, up};

use crate::die::Die;

#[derive(Default)]
pub struct Line {
    ups: VecDeque<(Timestamp, Up)>,
    downs: VecDeque<(Timestamp, Down)>,
    told: BTreeSet<VersionId>,
    up_since: Timestamp,
}

/// What a version runs, for those who must send it.
pub type Bodies = dyn Fn(VersionId) -> (i64, Vec<u8>);

impl Line {
    pub fn send_up(&mut self, now: Timestamp, up: Up, die: &mut Die) {
        let at = arrival(self.ups.back().map(|(at, _)| *at), now, die);
        self.ups.push_back((at, up));
    }

    pub fn send_down(&mut self, now: Timestamp, body: down::Body, die: &mut Die) {
        let at = arrival(self.downs.back().map(|(at, _)| *at), now, die);
        self.downs.push_back((at, Down { body: Some(body) }));
    }

    pub fn next(&self) -> Option<Timestamp> {
        [self.ups.front().map(|(at, _)| *at), self.downs.front().map(|(at, _)| *at)].into_iter().flatten().min()
    }

    pub fn take_up(&mut self, now: Timestamp) -> Option<Up> {
        self.ups.pop_front_if(|(at, _)| *at <= now).map(|(_, up)| up)
    }

    pub fn take_down(&mut self, now: Timestamp) -> Option<Down> {
        self.downs.pop_front_if(|(at, _)| *at <= now).map(|(_, down)| down)
    }

    /// The server's end hands a parcel over, tasks before their first order.
    pub fn parcel(&mut self, now: Timestamp, parcel: Parcel, bodies: &Bodies, die: &mut Die) {
        if !parcel.acks.is_empty() {
            let items = parcel.acks.iter().map(|(attempt, seq)| link::Ack { attempt: attempt.0, seq: *seq }).collect();
            self.send_down(now, down::Body::Acks(link::Acks { items }), die);
        }
        for order in &parcel.orders {
            if self.told.insert(order.version) {
                let (job, body) = bodies(order.version);
                let task = link::Task {
                    version: order.version.0,
                    job,
                    job_name: format!("job-{job}"),
                    body: body.into(),
                    ..link::Task::default()
                };
                self.send_down(now, down::Body::Task(task), die);
            }
        }
        if !parcel.orders.is_empty() {
            let items = parcel.orders.iter().map(|order| server::links::order_message(order, Vec::new())).collect();
            self.send_down(now, down::Body::Orders(link::Orders { items }), die);
        }
        for stop in parcel.stops {
            let body = link::Stop { attempt: stop.attempt.0, by: stop.by, grace_us: stop.grace.0, shard: 0 };
            self.send_down(now, down::Body::Stop(body), die);
        }
    }

    /// The server's end takes a message in: what the shard is told, and what is answered at once.
    pub fn taken_in(
        &mut self,
        now: Timestamp,
        up: Up,
        record: &Arc<AgentRecord>,
        term: Term,
        die: &mut Die,
    ) -> Vec<Input> {
        match up.body {
            Some(up::Body::Hello(hello)) => {
                let heard = std::time::Instant::now();
                self.up_since = server::links::Uptime::of(&hello, heard).since(now, heard);
                let welcome = link::Welcome {
                    protocol: link::PROTOCOL,
                    now: now.0,
                    beat_every_ms: 2_000,
                    ..link::Welcome::default()
                };
                self.send_down(now, down::Body::Welcome(welcome), die);
                self.greet(now, term, die);
                Vec::new()
            }
            Some(up::Body::TermStored(stored)) if stored.term == term.0 => {
                let held = stored
                    .held
                    .into_iter()
                    .map(|h| Held { attempt: AttemptId(h.attempt), started_at: h.started_at.map(Timestamp) });
                vec![Input::AgentUp { agent: Arc::clone(record), held: held.collect(), up_since: self.up_since }]
            }
            Some(up::Body::Reports(reports)) => {
                let known = reports.items.into_iter().filter_map(Option::<Report>::from);
                known.map(|report| Input::Report { agent: record.id, report }).collect()
            }
            Some(up::Body::Beat(beat)) => {
                self.send_down(now, down::Body::BeatSeen(link::BeatSeen { sent_at: beat.sent_at, now: now.0 }), die);
                vec![Input::AgentBeat { agent: record.id, load: Load::default() }]
            }
            _ => Vec::new(),
        }
    }

    pub fn greet(&mut self, now: Timestamp, term: Term, die: &mut Die) {
        self.send_down(now, down::Body::Greet(link::Greet { shard: 0, term: term.0 }), die);
    }
}

/// After whatever was sent before it, and a little later than it was sent.
fn arrival(before: Option<Timestamp>, now: Timestamp, die: &mut Die) -> Timestamp {
    let delay = if die.one_in(50) { die.between(1_000, 300_000) } else { die.between(50, 3_000) };
    (now + Span(delay)).max(before.unwrap_or(Timestamp::MIN))
}
