//! One start of a server: its clocks, its tenure, its shards, its steward and its ends of the agents' streams. It may stand
//! still at any moment and go on where it was.

use std::collections::BTreeMap;

use cluster::{Stretch, Tenure, Terms};
use engine::Command;
use model::{ServerId, ShardId, Span, Timestamp};
use server::links::Switchboard;
use server::shard::Outlets;

use super::Mutant;
use super::desk::{Answer, Ask, Asker, Desk, Loaded};
use super::driver::{Around, End, Run, Told, Trip};
use super::machine::Machine;
use super::network::Stream;
use super::postman::Postman;
use super::steward::Steward;
use crate::checker::{Broken, Checker};
use crate::die::Die;

pub(super) struct Process {
    pub server: usize,
    pub life: u64,
    pub machine: Machine,
    pub tenure: Tenure,
    pub board: Switchboard,
    pub runs: BTreeMap<ShardId, Run>,
    pub steward: Steward,
    pub postman: Postman,
    runs_begun: u64,
    /// It stands still until then.
    pub asleep_until: Timestamp,
    /// Where it will stand still next, and how long.
    pub trip: Option<(Trip, Span)>,
    /// What agents say is not read before that.
    pub ears_from: Timestamp,
    pub leaving: Leaving,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    No,
    /// Its shards are being let go.
    Stopping,
    /// The others are being told.
    Telling,
    /// It only has to end.
    Left(Timestamp),
}

/// What of the world a process may touch.
pub(super) struct Bits<'a> {
    pub now: Timestamp,
    pub die: &'a mut Die,
    pub checker: &'a mut Checker,
    pub desk: &'a mut Desk,
    pub mutant: Option<Mutant>,
}

impl Process {
    pub(super) fn start(
        server: usize,
        life: u64,
        id: ServerId,
        terms: Terms,
        (drift, shift): (i64, Span),
        now: Timestamp,
    ) -> Process {
        let machine = Machine::start(now, drift, shift);
        Process {
            server,
            life,
            tenure: Tenure::new(machine.base()),
            machine,
            board: Switchboard::default(),
            runs: BTreeMap::new(),
            steward: Steward::new(id, terms, now),
            postman: Postman::Idle,
            runs_begun: 0,
            asleep_until: now,
            trip: None,
            ears_from: now,
            leaving: Leaving::No,
        }
    }

    pub(super) fn is_awake(&self, now: Timestamp) -> bool {
        self.asleep_until <= now
    }

    pub(super) fn sleep(&mut self, now: Timestamp, span: Span, die: &mut Die) {
        self.asleep_until = now + span;
        note(now, self.server, "sleeps for", &span);
        // Whoever wakes runs in no particular order.
        let mut later = || now + span + Span(if die.one_in(2) { 0 } else { die.between(0, 400_000) });
        self.ears_from = later();
        self.steward.not_before = later();
        self.runs.values_mut().for_each(|run| run.not_before = later());
    }

    /// When it next has something to do by itself.
    pub(super) fn next(&self, now: Timestamp) -> Timestamp {
        let when = |at: Timestamp| self.machine.when(at, now);
        let runs = self.runs.values().map(|run| run.next(&when));
        let exit = if let Leaving::Left(at) = self.leaving { Some(at) } else { None };
        let next =
            runs.chain(self.steward.next()).chain(self.postman.next()).chain(exit).min().unwrap_or(Timestamp::MAX);
        next.max(self.asleep_until)
    }

    pub(super) fn step(&mut self, bits: &mut Bits, streams: &mut [Stream]) -> Result<(), Broken> {
        if !self.is_awake(bits.now) {
            return Ok(());
        }
        self.tend(bits);
        self.fetch_letters(bits);
        let when = |at: Timestamp| self.machine.when(at, bits.now);
        let due: Vec<ShardId> =
            self.runs.iter().filter(|(_, run)| run.next(&when) <= bits.now).map(|(shard, _)| *shard).collect();
        for shard in due {
            self.turn(shard, bits)?;
            if !self.is_awake(bits.now) {
                return Ok(());
            }
        }
        self.tend(bits);
        self.leave_on(bits);
        self.speak(bits, streams)
    }

    fn turn(&mut self, shard: ShardId, bits: &mut Bits) -> Result<(), Broken> {
        let mut run = self.runs.remove(&shard).expect("just listed");
        let mut trip = self.trip.map(|(trip, _)| trip);
        let mut around = self.around(bits, &mut trip);
        let end = run.turn(&mut around);
        let tripped = around.tripped;
        let (now, die) = (bits.now, &mut *bits.die);
        match end {
            Ok(()) => drop(self.runs.insert(shard, run)),
            Err(End::Broken(broken)) => return Err(broken),
            Err(end @ (End::Stopped | End::LetGo)) => {
                note(now, self.server, "no longer runs", &(shard, run.term(), end));
                self.board.let_go(shard);
            }
        }
        if tripped {
            let (_, span) = self.trip.take().expect("it was tripped");
            self.sleep(now, span, die);
        }
        Ok(())
    }

    fn around<'a>(&'a mut self, bits: &'a mut Bits, trip: &'a mut Option<Trip>) -> Around<'a> {
        Around {
            server: self.server,
            life: self.life,
            now: bits.now,
            clock: self.machine.clock(bits.now),
            instant: self.machine.instant(bits.now),
            tenure: &self.tenure,
            board: &self.board,
            desk: bits.desk,
            die: bits.die,
            checker: bits.checker,
            mutant: bits.mutant,
            trip,
            tripped: false,
        }
    }

    pub(super) fn own(&mut self, shard: ShardId, stretch: Stretch, loaded: Loaded, bits: &mut Bits) {
        self.runs_begun += 1;
        let number = self.runs_begun;
        let (run, seat) = Run::start(shard, number, stretch, loaded, &self.around(bits, &mut None));
        self.runs.insert(shard, run);
        note(bits.now, self.server, "runs", &seat);
        self.board.greet_all(seat);
    }

    /// The store has answered.
    pub(super) fn hears(&mut self, asker: Asker, answer: Answer, bits: &mut Bits) {
        if asker.run == 0 {
            match answer {
                Answer::Left => {
                    self.leaving = Leaving::Left(bits.now + Span(bits.die.between(0, 3_000_000)));
                }
                Answer::Letters(terms, letters) => self.bring_letters(terms, letters, bits),
                answer => self.steward_hears(answer, bits),
            }
        } else if let Some(run) = self.runs.values_mut().find(|run| run.number == asker.run) {
            run.tell(Told::Written(answer));
        }
    }

    pub(super) fn take_jumps(&mut self) {
        for by in self.machine.take_jumps() {
            self.runs.values_mut().for_each(|run| run.jumps.push(by));
        }
    }

    /// False: the shard does not run here.
    pub(super) fn command(&mut self, shard: ShardId, command: &Command) -> bool {
        self.runs.get_mut(&shard).map(|run| run.command(command.clone())).is_some()
    }

    /// It is asked to end in peace.
    pub(super) fn leave(&mut self) {
        if self.leaving == Leaving::No {
            self.leaving = Leaving::Stopping;
            note(self.asleep_until, self.server, "leaves", &self.life);
            self.board.hang_up_all("the server is stopping");
            self.runs.values_mut().for_each(|run| run.tell(Told::Stop));
        }
    }

    fn leave_on(&mut self, bits: &mut Bits) {
        if self.leaving == Leaving::Stopping && self.runs.is_empty() && self.steward.stop() {
            self.leaving = Leaving::Telling;
            if bits.mutant != Some(Mutant::LeavesInHalf) {
                self.tenure.end();
            }
            self.ask(Ask::Leave(self.steward.life()), bits);
        }
    }

    pub(super) fn has_ended(&self, now: Timestamp) -> bool {
        matches!(self.leaving, Leaving::Left(at) if at <= now)
    }
}

/// `DULY_TRACE=server` prints what becomes of servers and shards.
pub(super) fn note(now: Timestamp, server: usize, what: &str, thing: &dyn std::fmt::Debug) {
    crate::server_node::trace(now, &format!("server {server} {what}"), thing);
}
