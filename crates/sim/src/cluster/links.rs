//! The server's end of the agents' streams, as `server::links` has it: words of the switchboard go down, what comes up is
//! told to the shards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::Input;
use engine::input::Held;
use model::{AgentRecord, AttemptId, Load, Report, ShardId, Span, Term, Timestamp, VersionId};
use server::links::{Uptime, Word};
use server::shard::{Parcel, Seat};
use store::Reads;
use wire::link::{self, Up, down, up};

use super::Mutant;
use super::driver::Told;
use super::network::{ServerEnd, Stream};
use super::process::{Bits, Leaving, Process};
use crate::checker::{Broken, Promise};
use crate::world::soon;

/// An agent that says nothing for this long is not there.
const SILENCE_MAX: Span = Span::secs(8);

impl Process {
    /// One message of an agent; none means that its end is closed.
    pub(super) fn listen(&mut self, stream: &mut Stream, up: Option<Up>, record: &Arc<AgentRecord>, bits: &mut Bits) {
        let now = bits.now;
        let Some(up) = up else { return self.hang_up(stream, record, bits) };
        if let (ServerEnd::Fresh, Some(up::Body::Hello(hello))) = (&stream.server_end, &up.body) {
            if self.leaving != Leaving::No {
                return stream.close_server_end(now, true, bits.die);
            }
            return self.welcome(stream, hello, record, bits);
        }
        let ServerEnd::Open { serial, stretch, uptime, heard, .. } = &mut stream.server_end else { return };
        *heard = now;
        let (serial, stretch, uptime) = (*serial, *stretch, *uptime);
        let up_since = uptime.since(self.machine.clock(now), self.machine.instant(now));
        if !self.board.is_current(record.id, serial) {
            return stream.close_server_end(now, true, bits.die);
        }
        match up.body {
            Some(up::Body::Reports(reports)) => {
                let mut parts: BTreeMap<ShardId, Vec<Input>> = BTreeMap::new();
                for item in reports.items {
                    let shard = ShardId(item.shard.into());
                    if let Some(report) = Option::<Report>::from(item) {
                        parts.entry(shard).or_default().push(Input::Report { agent: record.id, report });
                    }
                }
                for (shard, inputs) in parts {
                    if let Some(run) = self.runs.get_mut(&shard) {
                        inputs.into_iter().for_each(|input| run.tell(Told::Input(input)));
                    }
                }
            }
            Some(up::Body::Beat(beat)) => {
                let (agent, load) = (record.id, Load::default());
                self.tell_all(&Input::AgentBeat { agent, load });
                let blind = bits.mutant == Some(Mutant::LeaseCheckRemoved);
                if self.tenure.stretch() != stretch && !blind {
                    return self.hang_up(stream, record, bits);
                }
                if self.tenure.holds(stretch, self.machine.instant(now)) || blind {
                    let seen = link::BeatSeen { sent_at: beat.sent_at, now: self.machine.clock(now).0 };
                    stream.send_down(now, down::Body::BeatSeen(seen), bits.die);
                }
            }
            Some(up::Body::TermStored(stored)) => self.term_stored(record, up_since, serial, stored),
            Some(up::Body::TermsStored(all)) => {
                all.items.into_iter().for_each(|stored| self.term_stored(record, up_since, serial, stored));
            }
            Some(up::Body::Answer(answer)) => {
                let attempts = answer.not_here.into_iter().map(AttemptId).collect();
                if let Some(run) = self.runs.get_mut(&ShardId(answer.shard.into())) {
                    run.tell(Told::Input(Input::NotHere { agent: record.id, attempts, up_since }));
                }
            }
            Some(up::Body::Hello(_)) | None => {}
        }
    }

    fn welcome(&mut self, stream: &mut Stream, hello: &link::Hello, record: &Arc<AgentRecord>, bits: &mut Bits) {
        let now = bits.now;
        let clock = self.machine.clock(now);
        let stretch = self.tenure.stretch();
        let uptime = Uptime::of(hello, self.machine.instant(now));
        let (serial, words) = self.board.connect(record.id, clock);
        stream.server_end = ServerEnd::Open { serial, stretch, words, told: BTreeSet::new(), uptime, heard: now };
        let welcome = link::Welcome {
            protocol: link::PROTOCOL,
            now: clock.0,
            beat_every_ms: 2_000,
            server: self.steward.id().0,
            ..link::Welcome::default()
        };
        stream.send_down(now, down::Body::Welcome(welcome), bits.die);
        if self.tenure.holds(stretch, self.machine.instant(now)) {
            greet(stream, self.board.seats(), bits);
        }
    }

    fn term_stored(&mut self, record: &Arc<AgentRecord>, up_since: Timestamp, serial: u64, stored: link::TermStored) {
        let seat = Seat { shard: ShardId(stored.shard.into()), term: Term(stored.term) };
        if self.board.holds(seat)
            && let Some(run) = self.runs.get_mut(&seat.shard)
        {
            let held = |h: link::Held| Held { attempt: AttemptId(h.attempt), started_at: h.started_at.map(Timestamp) };
            let held = stored.held.into_iter().map(held).collect();
            run.tell(Told::Holds { term: seat.term, agent: Arc::clone(record), serial, held, up_since });
        }
    }

    fn tell_all(&mut self, input: &Input) {
        self.runs.values_mut().for_each(|run| run.tell(Told::Input(input.clone())));
    }

    /// Agents that have been silent for too long, or whose end is closed.
    pub(super) fn hang_up(&mut self, stream: &mut Stream, record: &Arc<AgentRecord>, bits: &mut Bits) {
        if let ServerEnd::Open { serial, .. } = &stream.server_end
            && self.board.disconnect(record.id, *serial)
        {
            self.tell_all(&Input::AgentGone { agent: record.id });
        }
        stream.close_server_end(bits.now, true, bits.die);
    }

    pub(super) fn is_silent(&self, stream: &Stream, now: Timestamp) -> bool {
        matches!(&stream.server_end, ServerEnd::Open { heard, .. } if now - *heard > SILENCE_MAX)
    }

    /// Everything that is to be said leaves.
    pub(super) fn speak(&mut self, bits: &mut Bits, streams: &mut [Stream]) -> Result<(), Broken> {
        let blind = bits.mutant == Some(Mutant::LeaseCheckRemoved);
        for stream in streams.iter_mut().filter(|s| s.server == self.server && s.life == self.life) {
            while let ServerEnd::Open { words, stretch, .. } = &mut stream.server_end
                && let Ok(word) = words.try_recv()
            {
                // It ends with the agent's next heartbeat.
                if self.tenure.stretch() == *stretch || blind {
                    say(stream, word, bits)?;
                }
            }
        }
        Ok(())
    }
}

fn say(stream: &mut Stream, word: Word, bits: &mut Bits) -> Result<(), Broken> {
    let now = bits.now;
    match word {
        Word::Greet(seat) => greet(stream, vec![seat], bits),
        Word::Released(shard) => {
            let released = link::Released { shards: vec![shard.0 as u32] };
            stream.send_down(now, down::Body::Released(released), bits.die);
        }
        Word::Servers(_) => {}
        Word::Parcel(from, parcel) => hand_over(stream, from, parcel, bits)?,
        Word::Prepare(versions) => tell_tasks(stream, versions, bits)?,
        Word::Close { reason } => {
            stream.send_down(now, down::Body::Goodbye(link::Goodbye { reason: reason.into() }), bits.die);
            stream.close_server_end(now, true, bits.die);
        }
    }
    Ok(())
}

fn greet(stream: &mut Stream, seats: Vec<Seat>, bits: &mut Bits) {
    let items = seats.into_iter().map(|seat| link::Greet { shard: seat.shard.0 as u32, term: seat.term.0 }).collect();
    stream.send_down(bits.now, down::Body::Greets(link::Greets { items }), bits.die);
}

fn hand_over(stream: &mut Stream, from: Seat, parcel: Parcel, bits: &mut Bits) -> Result<(), Broken> {
    let (now, shard) = (bits.now, from.shard.0 as u32);
    if !parcel.acks.is_empty() {
        let items = parcel.acks.iter().map(|(attempt, seq)| link::Ack { attempt: attempt.0, seq: *seq }).collect();
        stream.send_down(now, down::Body::Acks(link::Acks { items }), bits.die);
    }
    if !parcel.orders.is_empty() {
        tell_tasks(stream, parcel.orders.iter().map(|order| order.version), bits)?;
        let items = parcel.orders.iter().map(|order| server::links::order_message(order, Vec::new())).collect();
        stream.send_down(now, down::Body::Orders(link::Orders { items }), bits.die);
    }
    for stop in parcel.stops {
        let body = link::Stop { attempt: stop.attempt.0, by: stop.by, grace_us: stop.grace.0, shard };
        stream.send_down(now, down::Body::Stop(body), bits.die);
    }
    if !parcel.queries.is_empty() {
        let attempts = parcel.queries.iter().map(|attempt| attempt.0).collect();
        stream.send_down(now, down::Body::Query(link::Query { shard, term: from.term.0, attempts }), bits.die);
    }
    Ok(())
}

/// What these versions run, as far as this stream has not carried it.
fn tell_tasks(
    stream: &mut Stream,
    versions: impl IntoIterator<Item = VersionId>,
    bits: &mut Bits,
) -> Result<(), Broken> {
    for id in versions {
        let ServerEnd::Open { told, .. } = &mut stream.server_end else { return Ok(()) };
        if told.insert(id) {
            let reads: &dyn Reads = &bits.desk.store;
            let Some(version) = reads.version(id, soon()).expect("memory reads") else {
                let what = format!("something was ordered before its job's version {id} was on disk");
                return Err(Broken::new(Promise::DurableBeforeSent, what));
            };
            let body = reads.content(version.task, soon()).expect("memory reads").expect("interned").into();
            let job = version.job.0;
            let task = link::Task { version: id.0, job, job_name: format!("job-{job}"), body, ..link::Task::default() };
            stream.send_down(bits.now, down::Body::Task(task), bits.die);
        }
    }
    Ok(())
}
