//! The agent's side of the link as a state machine: it is told what came and what time it is, and answers with acts.
//! It has a stream to every server, takes an order at most once, keeps the highest term of every shard, and keeps an
//! ending until it is acknowledged. Never touches a socket, a disk, a process or a clock.

mod act;
mod graves;
mod greeting;
mod order;
mod outbox;
mod owners;
mod server_clock;
mod tasks;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::{BTreeMap, VecDeque};

use model::{Span, Timestamp};
use wire::link::{self, Down, Up, down, up};

pub use act::{Act, Ending, Note, Now, Profile, Record, Recovered, Server, StartOrder, Taken, Task};
use graves::Graves;
use outbox::{Kept, Outbox};
use server_clock::ServerClock;
use tasks::Tasks;

use crate::slots::Slots;

/// Numbers of the two reports an attempt can have.
pub const STARTED: u32 = 1;
pub const ENDED: u32 = 2;

/// A task that ends sooner is reported once, with its ending.
const LASTING: Span = Span::millis(200);
const BEAT_EVERY: Span = Span::SECOND;
const BEAT_EVERY_MIN: Span = Span::millis(50);

#[derive(Debug)]
pub struct Session {
    profile: Profile,
    rebooted: bool,
    booted: Timestamp,
    streams: BTreeMap<Server, Stream>,
    /// The highest term of each shard; on disk, too.
    terms: BTreeMap<u32, i64>,
    /// Who came with that term, as long as its stream lasts.
    owners: BTreeMap<u32, Server>,
    runs: BTreeMap<i64, Run>,
    slots: Slots,
    /// Orders that found no slot, in the order in which they came. Only in memory: what an agent forgets here when it is
    /// killed never ran, and is not among what it holds at the next greeting, so that it is ordered again.
    waiting: VecDeque<Box<StartOrder>>,
    outbox: Outbox,
    graves: Graves,
    /// Attempts to be reported as started, by when.
    lasting: VecDeque<(Timestamp, i64)>,
    /// There is no room on disk to keep the ending of one more attempt.
    full: bool,
}

/// What is true of one connection only.
#[derive(Debug)]
struct Stream {
    said_hello: Timestamp,
    clock: ServerClock,
    tasks: Tasks,
    beat_every: Span,
    /// None until the server has welcomed us.
    next_beat: Option<Timestamp>,
    /// When the last message was sent that the server is known to have seen: leashes are counted from here.
    heard: Option<Timestamp>,
}

/// An attempt that was taken and has not ended.
#[derive(Debug)]
struct Run {
    shard: u32,
    until: Timestamp,
    leash: Option<Leash>,
    /// False while it waits for a slot.
    begun: bool,
    started_at: Option<Timestamp>,
    told: Told,
}

/// How long a task may run on without a sign of its owner.
#[derive(Clone, Copy, Debug)]
struct Leash {
    span: Span,
    /// The last instant it was given, by this agent.
    until: Option<Timestamp>,
}

impl Run {
    /// Its owner saw us at `at`.
    fn lengthen(&mut self, attempt: i64, at: Timestamp, out: &mut Vec<Act>) {
        let Some(leash) = &mut self.leash else { return };
        let until = at + leash.span;
        if leash.until.is_none_or(|before| before < until) {
            leash.until = Some(until);
            out.extend(self.begun.then_some(Act::MoveLeash { attempt, until }));
        }
    }
}

/// A leash is as long as it says only to whoever was heard a moment ago: of a short one little must be gone when its owner
/// dies, or the next has no time to come.
fn beats_on(leash: Span) -> Span {
    Span(leash.0 / 5).max(BEAT_EVERY_MIN)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Started,
    /// And the server has it on disk.
    StartedAcked,
}

impl Session {
    pub fn new(profile: Profile, recovered: Recovered) -> Session {
        let mut graves = Graves::default();
        let ended = recovered.unacked.iter().map(|ending| (ending.report.attempt, ending.until));
        ended.chain(recovered.graves).for_each(|(attempt, until)| graves.insert(attempt, until));
        let adopt = |taken: Taken| {
            let Taken { attempt, shard, until, started_at, leash } = taken;
            let leash = leash.map(|span| Leash { span, until: None });
            (attempt, Run { shard, until, leash, begun: true, started_at, told: Told::Nothing })
        };
        let runs: BTreeMap<i64, Run> = recovered.running.into_iter().map(adopt).collect();
        Session {
            slots: Slots::new(profile.slots, runs.len() as u32),
            profile,
            rebooted: recovered.rebooted,
            booted: recovered.booted,
            streams: BTreeMap::new(),
            terms: recovered.terms.into_iter().collect(),
            owners: BTreeMap::new(),
            runs,
            waiting: VecDeque::new(),
            outbox: Outbox::recover(recovered.unacked),
            graves,
            lasting: VecDeque::new(),
            full: false,
        }
    }

    /// A stream is open. Whatever came over an earlier one to the same server is over: its orders can come no more.
    pub fn on_connected(&mut self, server: Server, now: Now, out: &mut Vec<Act>) {
        self.on_disconnected(server);
        let stream = Stream {
            said_hello: now.steady,
            clock: ServerClock::default(),
            tasks: Tasks::default(),
            beat_every: BEAT_EVERY,
            next_beat: None,
            heard: None,
        };
        self.streams.insert(server, stream);
        out.push(send(server, up::Body::Hello(self.hello(now))));
    }

    /// What this server owned has no owner until somebody greets again.
    pub fn on_disconnected(&mut self, server: Server) {
        self.streams.remove(&server);
        self.owners.retain(|_, owner| *owner != server);
    }

    pub fn on_down(&mut self, from: Server, now: Now, down: Down, out: &mut Vec<Act>) {
        if !self.streams.contains_key(&from) {
            return;
        }
        match down.body {
            Some(down::Body::Welcome(welcome)) => self.on_welcome(from, now, welcome, out),
            Some(down::Body::Greet(greet)) => self.on_greet(from, greet, out),
            Some(down::Body::Greets(greets)) => self.on_greets(from, greets, out),
            Some(down::Body::Released(released)) => self.on_released(from, &released.shards),
            Some(down::Body::Servers(servers)) => {
                out.push(Act::Servers { by: from, endpoints: servers.endpoints });
            }
            Some(down::Body::Task(task)) => self.stream_mut(from).tasks.tell(task),
            Some(down::Body::Orders(orders)) => self.on_orders(from, now, orders.items, out),
            Some(down::Body::Stop(stop)) => self.on_stop(from, now, stop, out),
            Some(down::Body::Query(query)) => self.on_query(from, query, out),
            Some(down::Body::Acks(acks)) => self.on_acks(acks.items, out),
            Some(down::Body::BeatSeen(seen)) => self.on_beat_seen(from, now, seen, out),
            Some(down::Body::ForgetTasks(_)) => self.stream_mut(from).tasks.forget(),
            Some(down::Body::Goodbye(goodbye)) => out.push(Act::Redial { from, reason: goodbye.reason }),
            // Something a newer server says.
            None => {}
        }
    }

    /// The task of an attempt runs. Answers whether it is still thought to.
    pub fn on_started(&mut self, now: Now, attempt: i64, at: Timestamp) -> bool {
        let Some(run) = self.runs.get_mut(&attempt) else { return false };
        run.started_at = Some(at);
        self.lasting.push_back((now.steady + LASTING, attempt));
        true
    }

    /// The task of an attempt has ended, or was found not to run.
    pub fn on_ended(&mut self, attempt: i64, outcome: model::Outcome) {
        let Some(run) = self.runs.remove(&attempt) else { return };
        self.slots.give_back();
        self.end(attempt, run.shard, run.until, outcome, Kept::JournalAndFiles);
    }

    /// Whether there is room to keep more endings.
    pub fn on_room(&mut self, room: bool) {
        self.full = !room;
    }

    pub fn has_room(&self) -> bool {
        !self.full
    }

    pub fn on_tick(&mut self, now: Now, out: &mut Vec<Act>) {
        while self.lasting.front().is_some_and(|(due, _)| *due <= now.steady) {
            let (_, attempt) = self.lasting.pop_front().expect("just looked at");
            if let Some(run) = self.runs.get_mut(&attempt) {
                run.told = Told::Started;
                self.outbox.push_passing(started(attempt, run));
            }
        }
        let running = self.slots.used() + self.waiting.len() as u32;
        let leashed = self.runs.values().filter_map(|run| run.leash.map(|leash| beats_on(leash.span))).min();
        for (to, stream) in &mut self.streams {
            if stream.next_beat.is_some_and(|at| at <= now.steady) {
                stream.next_beat =
                    Some(now.steady + leashed.map_or(stream.beat_every, |often| often.min(stream.beat_every)));
                out.push(Act::Beat { to: *to, sent_at: now.steady, running });
            }
        }
        // By the slowest of their clocks, since any of them may still have an order under way.
        let earliest = self.streams.values().filter_map(|stream| stream.clock.earliest(now.steady)).min();
        if let Some(server_now) = earliest {
            self.graves.sweep(server_now);
        }
    }

    /// When `on_tick` next has something to do.
    pub fn next_tick(&self) -> Option<Timestamp> {
        let lasting = self.lasting.front().map(|(due, _)| *due);
        let beat = self.streams.values().filter_map(|stream| stream.next_beat).min();
        lasting.into_iter().chain(beat).min()
    }

    /// Starts what can be started, and gives out the reports of everything told since the last time: to be called once
    /// after a few inputs.
    pub fn flush(&mut self, now: Now, out: &mut Vec<Act>) {
        self.start_waiting(now, out);
        self.outbox.flush(&self.owners, out);
    }

    /// Whose attempt it is, as long as it is taken and has not ended.
    pub fn shard_of(&self, attempt: i64) -> Option<u32> {
        self.runs.get(&attempt).map(|run| run.shard)
    }

    pub fn running(&self) -> u32 {
        self.slots.used()
    }

    /// Orders that wait for a slot.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn on_acks(&mut self, acks: Vec<link::Ack>, out: &mut Vec<Act>) {
        let mut settled = Vec::new();
        let mut journalled = Vec::with_capacity(acks.len());
        for link::Ack { attempt, seq } in acks {
            if seq == ENDED {
                match self.outbox.ack(attempt) {
                    Some(Kept::JournalAndFiles) => {
                        journalled.push(attempt);
                        settled.push(Act::Settled { attempt });
                    }
                    Some(Kept::Journal) => journalled.push(attempt),
                    Some(Kept::Nowhere) | None => {}
                }
            } else if let Some(run) = self.runs.get_mut(&attempt).filter(|run| run.told == Told::Started) {
                run.told = Told::StartedAcked;
            }
        }
        // An acknowledged ending may still wait to be written, if the server knew it from an earlier stream.
        self.outbox.flush(&self.owners, out);
        if !journalled.is_empty() {
            out.push(Act::Persist(vec![Record::Acked(journalled)]));
        }
        out.append(&mut settled);
    }

    fn end(&mut self, attempt: i64, shard: u32, until: Timestamp, outcome: model::Outcome, kept: Kept) {
        self.graves.insert(attempt, until);
        let body = Some(link::report::Body::Ended(outcome.into()));
        self.outbox.push(link::Report { attempt, seq: ENDED, shard, body }, until, kept);
    }

    fn stream_mut(&mut self, server: Server) -> &mut Stream {
        self.streams.get_mut(&server).expect("messages come over a stream")
    }
}

fn held(attempt: i64, run: &Run) -> link::Held {
    link::Held { attempt, shard: run.shard, started_at: run.started_at.map(|at| at.0) }
}

fn started(attempt: i64, run: &Run) -> link::Report {
    let at = run.started_at.expect("only a started task is reported as such").0;
    let body = Some(link::report::Body::Started(link::Started { at }));
    link::Report { attempt, seq: STARTED, shard: run.shard, body }
}

fn send(to: Server, body: up::Body) -> Act {
    Act::Send { to, up: Up { body: Some(body) } }
}
