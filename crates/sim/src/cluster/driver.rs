//! Drives one shard's keeper as the server's own driver does: looks at the lease before it decides and before it
//! releases, tells, commits. Each of its steps can be the last before its server stands still.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use cluster::{Stretch, Tenure};
use engine::input::Held;
use engine::{Caller, Command, Effect, Input};
use model::{Actor, AgentRecord, ShardId, Span, Term, Timestamp};
use server::links::Switchboard;
use server::shard::keeper::{Keeper, Trouble};
use server::shard::{Answers, Outlets, Seat, release, revive};
use store::Reads;
use store::read::Letter;

use super::Mutant;
use super::desk::{Answer, Ask, Asker, Desk, Loaded};
use crate::checker::{Broken, Checker};
use crate::die::Die;

const SEND_AGAIN_AFTER: Span = Span::millis(200);
const LOOK_EVERY: Span = Span::SECOND;
const STOP_WITHIN: Span = Span::secs(5);

/// What a shard loop needs of its server and of the world.
pub(super) struct Around<'a> {
    pub server: usize,
    pub life: u64,
    pub now: Timestamp,
    /// What the server takes the time to be.
    pub clock: Timestamp,
    pub instant: Instant,
    pub tenure: &'a Tenure,
    pub board: &'a Switchboard,
    pub desk: &'a mut Desk,
    pub die: &'a mut Die,
    pub checker: &'a mut Checker,
    pub mutant: Option<Mutant>,
    /// Where the server is to stand still, if it gets there.
    pub trip: &'a mut Option<Trip>,
    /// It stands still from now on.
    pub tripped: bool,
}

/// Between which two steps a server stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trip {
    /// It has decided, its commit is on disk, and it has not looked at its lease again.
    BeforeLook,
    /// It has looked; what it says has not left the process.
    AfterLook,
}

pub(super) enum Told {
    Input(Input),
    Holds { term: Term, agent: Arc<AgentRecord>, serial: u64, held: Vec<Held>, up_since: Timestamp },
    Heard { term: Term, letters: Vec<Letter> },
    Written(Answer),
    HeardUntil(Timestamp),
    Stop,
}

/// Why a shard loop ended.
#[derive(Debug)]
pub(super) enum End {
    Stopped,
    LetGo,
    Broken(Broken),
}

impl From<Broken> for End {
    fn from(broken: Broken) -> End {
        End::Broken(broken)
    }
}

pub(super) struct Run {
    keeper: Keeper,
    pub shard: ShardId,
    /// Tells it from one that ran before it.
    pub number: u64,
    /// Of its server's tenure.
    stretch: Stretch,
    inbox: VecDeque<Told>,
    /// A mark of its own is among them.
    marked: bool,
    send_again: Vec<(Timestamp, Ask)>,
    pub reloading: bool,
    stopping: Option<Timestamp>,
    looked: Timestamp,
    /// What was about to be released when the server stood still.
    held_back: Option<Vec<Effect>>,
    /// Its thread gets no turn before that.
    pub not_before: Timestamp,
    callers: u64,
    /// Jumps of the clock that it has not been told of.
    pub jumps: Vec<Span>,
}

impl Run {
    pub(super) fn start(shard: ShardId, number: u64, stretch: Stretch, loaded: Loaded, around: &Around) -> (Run, Seat) {
        let (ownership, stored, ids) = loaded;
        let reads: &dyn Reads = &around.desk.store;
        let revived = revive(ownership, stored, ids, shard, reads, around.clock);
        let run = Run {
            keeper: Keeper::new(revived, ownership.standing),
            shard,
            number,
            stretch,
            inbox: VecDeque::new(),
            marked: false,
            send_again: Vec::new(),
            reloading: false,
            stopping: None,
            looked: around.now,
            held_back: None,
            not_before: around.now,
            callers: 0,
            jumps: Vec::new(),
        };
        (run, Seat { shard, term: ownership.term })
    }

    pub(super) fn term(&self) -> Term {
        self.keeper.shard().term()
    }

    pub(super) fn tell(&mut self, told: Told) {
        self.inbox.push_back(told);
    }

    pub(super) fn command(&mut self, command: Command) {
        self.callers += 1;
        let (caller, by) = (Caller(self.callers), Actor("sim".into()));
        self.tell(Told::Input(Input::Command { caller, by, command }));
    }

    /// When it next has something to do; `when` finds an instant of the server's clock in the world's.
    pub(super) fn next(&self, when: &dyn Fn(Timestamp) -> Timestamp) -> Timestamp {
        let mut next = self.looked + LOOK_EVERY;
        if !self.inbox.is_empty() || self.held_back.is_some() {
            next = Timestamp::MIN;
        }
        next = self.send_again.iter().map(|(at, _)| *at).chain(self.stopping).chain([next]).min().expect("not empty");
        if self.keeper.takes_inputs() && !self.reloading && self.stopping.is_none() {
            let silence = self.keeper.next_silence().filter(|_| !self.marked);
            let wake = self.keeper.next_wake().into_iter().chain(silence).min();
            next = wake.map_or(next, |wake| next.min(when(wake)));
        }
        next.max(self.not_before)
    }

    pub(super) fn turn(&mut self, around: &mut Around) -> Result<(), End> {
        if let Some(effects) = self.held_back.take() {
            self.release(effects, around)?;
        }
        self.hold_on(around)?;
        self.launch_due(around)?;
        while !around.tripped
            && let Some(told) = self.inbox.pop_front()
        {
            self.take(told, around)?;
            if !self.keeper.takes_inputs() {
                break;
            }
        }
        if around.tripped {
            return Ok(());
        }
        if around.now - self.looked >= LOOK_EVERY {
            self.looked = around.now;
            for by in std::mem::take(&mut self.jumps) {
                self.step(Input::ClockJumped { by }, around)?;
            }
        }
        self.advance(around)?;
        let written = !self.keeper.in_flight() && self.send_again.is_empty();
        match self.stopping {
            Some(by) if !around.tripped && (written || by <= around.now) => Err(End::Stopped),
            _ => Ok(()),
        }
    }

    fn hold_on(&self, around: &mut Around) -> Result<(), End> {
        let stretch = match around.mutant {
            Some(Mutant::GapForgotten) => around.tenure.stretch(),
            _ => self.stretch,
        };
        if around.mutant != Some(Mutant::LeaseCheckRemoved) && !around.tenure.holds(stretch, around.instant) {
            return Err(End::LetGo);
        }
        around.checker.decides(self.shard, self.term(), around.server as u64, "decides")?;
        Ok(())
    }

    fn launch_due(&mut self, around: &mut Around) -> Result<(), End> {
        let mut turns = 0;
        while !around.tripped && !self.reloading && self.stopping.is_none() && self.keeper.is_due(around.clock) {
            self.step(Input::Tick, around)?;
            let effects = self.keeper.take_effects();
            self.release(effects, around)?;
            turns += 1;
            assert!(turns < 10_000, "time stands still and something is due for ever");
        }
        Ok(())
    }

    fn take(&mut self, told: Told, around: &mut Around) -> Result<(), End> {
        match told {
            Told::Input(input) => self.step(input, around),
            Told::Holds { term, agent, serial, held, up_since } => {
                if !self.reloading && self.term() == term && around.board.open(self.shard, agent.id, serial) {
                    self.step(Input::AgentUp { agent, held, up_since }, around)?;
                }
                Ok(())
            }
            Told::Heard { term, letters } => {
                // What was read before a load may have been taken under the term before.
                let current = !self.reloading && self.term() == term;
                for Letter { id, message, .. } in letters.into_iter().filter(|_| current) {
                    self.step(Input::Heard { id, message }, around)?;
                }
                Ok(())
            }
            Told::Written(answer) => self.written(answer, around),
            Told::HeardUntil(until) => {
                self.marked = false;
                self.step(Input::Quiet { until }, around)
            }
            Told::Stop => {
                self.stopping = Some(around.now + STOP_WITHIN);
                Ok(())
            }
        }
    }

    fn step(&mut self, input: Input, around: &mut Around) -> Result<(), End> {
        if self.stopping.is_some() {
            return Ok(());
        }
        crate::server_node::trace(around.now, "told", &input);
        match self.keeper.tell(around.clock, input) {
            Ok(()) => Ok(()),
            Err(trouble) => self.meet(trouble, around),
        }
    }

    fn advance(&mut self, around: &mut Around) -> Result<(), End> {
        let now = around.now;
        for (_, ask) in self.send_again.extract_if(.., |(at, _)| *at <= now).collect::<Vec<_>>() {
            self.ask(ask, around);
        }
        if self.reloading {
            return Ok(());
        }
        if self.keeper.takes_inputs() && self.keeper.next_wake().is_some_and(|wake| wake <= around.clock) {
            self.step(Input::Tick, around)?;
        }
        if self.reloading {
            return Ok(());
        }
        let silence = self.keeper.next_silence().filter(|_| !self.marked && self.stopping.is_none());
        if silence.is_some_and(|at| at <= around.clock) {
            self.marked = true;
            self.tell(Told::HeardUntil(around.clock));
        }
        if let Err(trouble) = self.keeper.tell_next_again(around.clock) {
            return self.meet(trouble, around);
        }
        let effects = self.keeper.take_effects();
        self.release(effects, around)?;
        if let Some(commit) = self.keeper.take_commit() {
            let early = self.keeper.effects_under_way().iter().filter(|effect| is_early(effect, around.mutant));
            let early: Vec<Effect> = early.cloned().collect();
            self.release(early, around)?;
            self.ask(Ask::Commit(commit), around);
        }
        Ok(())
    }

    fn written(&mut self, answer: Answer, around: &mut Around) -> Result<(), End> {
        match answer {
            Answer::Commit(Ok(answers)) => {
                let (_, effects, trouble) = self.keeper.committed(answers, around.clock);
                self.release(effects, around)?;
                trouble.map_or(Ok(()), |trouble| self.meet(trouble, around))
            }
            Answer::Commit(Err(error)) => {
                let trouble = self.keeper.failed(error);
                self.meet(trouble, around)
            }
            Answer::Standing(_, Ok(standing)) => match self.keeper.stands_at(standing) {
                Some(trouble) => self.meet(trouble, around),
                None => {
                    let (_, effects, trouble) = self.keeper.done_after_all();
                    self.release(effects, around)?;
                    trouble.map_or(Ok(()), |trouble| self.meet(trouble, around))
                }
            },
            Answer::Load(_, Ok(loaded)) => {
                let (ownership, stored, ids) = *loaded;
                let reads: &dyn Reads = &around.desk.store;
                let shard = revive(ownership, stored, ids, self.shard, reads, around.clock);
                self.keeper.reloaded(shard, ownership.standing);
                self.reloading = false;
                around.board.greet_all(self.seat());
                Ok(())
            }
            Answer::Ids(_, _, Ok(ids)) => self.step(Input::Ids { from: ids.start, until: ids.end }, around),
            Answer::Standing(shard, Err(_)) => self.later(Ask::Standing(shard), around),
            Answer::Load(shard, Err(_)) => self.later(Ask::Load(shard), around),
            Answer::Ids(shard, count, Err(_)) => self.later(Ask::Ids(shard, count), around),
            Answer::Renew(_) | Answer::Take(_) | Answer::HandOver(..) | Answer::Letters(..) | Answer::Left => {
                unreachable!("the steward's own")
            }
        }
    }

    fn later(&mut self, ask: Ask, around: &Around) -> Result<(), End> {
        self.send_again.push((around.now + SEND_AGAIN_AFTER, ask));
        Ok(())
    }

    fn meet(&mut self, trouble: Trouble, around: &mut Around) -> Result<(), End> {
        match trouble {
            Trouble::SendAgain(commit) => self.later(Ask::Commit(commit), around),
            Trouble::AskStanding => {
                self.ask(Ask::Standing(self.shard), around);
                Ok(())
            }
            Trouble::Reload => {
                self.reloading = true;
                self.ask(Ask::Load(self.shard), around);
                Ok(())
            }
            Trouble::ReloadAfterCommit => Ok(()),
            Trouble::LetGo => Err(End::LetGo),
            Trouble::Die(what) => panic!("the memory store never fails for good: {what}"),
        }
    }

    fn ask(&mut self, ask: Ask, around: &mut Around) {
        let asker = Asker { server: around.server, life: around.life, run: self.number };
        around.desk.ask(asker, ask, around.now, around.die);
    }

    fn release(&mut self, effects: Vec<Effect>, around: &mut Around) -> Result<(), End> {
        if effects.is_empty() {
            return Ok(());
        }
        let orders = effects.iter().any(|effect| matches!(effect, Effect::Order(_)));
        if orders && around.trip.take_if(|trip| *trip == Trip::BeforeLook).is_some() {
            around.tripped = true;
            self.held_back = Some(effects);
            return Ok(());
        }
        if around.mutant == Some(Mutant::ReleasedUnlooked) {
            around.checker.decides(self.shard, self.term(), around.server as u64, "releases")?;
        } else {
            self.hold_on(around)?;
        }
        effects.iter().for_each(|effect| crate::server_node::trace(around.now, "releases", effect));
        if let Some(count) = release(effects, self.seat(), around.board, &mut Answers::default()) {
            self.ask(Ask::Ids(self.shard, count), around);
        }
        if orders && around.trip.take_if(|trip| *trip == Trip::AfterLook).is_some() {
            around.tripped = true;
        }
        Ok(())
    }

    fn seat(&self) -> Seat {
        Seat { shard: self.shard, term: self.term() }
    }
}

/// Released before its commit, by a planted bug.
fn is_early(effect: &Effect, mutant: Option<Mutant>) -> bool {
    match mutant {
        Some(Mutant::AcknowledgeBeforeCommit) => matches!(effect, Effect::Acknowledge { .. }),
        Some(Mutant::OrderBeforeCommit) => matches!(effect, Effect::Order(_)),
        _ => false,
    }
}
