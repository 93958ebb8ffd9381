//! Drives a keeper with a thread and a real clock: waits for inputs or the next instant, tells, commits, releases. Before
//! it decides and before it releases anything it looks at its lease.

#[cfg(test)]
mod lapsed;
mod written;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::{Stretch, Tenure};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use engine::{Caller, Effect, Input, Refusal};
use model::{Account, ShardId, Span, Timestamp};
use store::Reads;
use store::read::Letter;
use tokio::sync::oneshot;
use tokio_util::sync::DropGuard;

use super::complaint::Complaint;
use super::handle::{Message, Progress};
use super::keeper::Keeper;
use super::lane::{Back, Lane, Wish};
use super::lent::Lent;
use super::release::{Answers, Outlets, Seat, release};
use crate::clock::Clock;
use crate::events::Ring;
use crate::lending::Lending;

/// At most so many messages are taken in before what they decided is handed on.
const TURN_MAX: usize = 1_000;
/// How often a shard says at most what it has and wants of limits it shares.
const ACCOUNT_EVERY: Duration = Duration::from_millis(10);
const LOOK_AT_CLOCK_EVERY: Duration = Duration::from_secs(1);
/// A shard of a cluster with nothing to do for so long need not look as often: there are many of them, and the clock is followed
/// by whoever renews the leases.
const CALM: Span = Span::MINUTE;
const LOOK_WHEN_CALM: Duration = Duration::from_secs(2);
/// A store that takes no writes keeps a stopping server no longer than this: what is not written was promised to nobody.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// What a shard loop needs of its server.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub reads: Arc<dyn Reads>,
    pub clock: Clock,
    pub outlets: Arc<dyn Outlets>,
    pub ring: Arc<Ring>,
    /// None: nobody else can own anything.
    pub tenure: Option<Arc<Tenure>>,
    pub lent: Lent,
    /// Where it says what it has and wants of limits it shares with other shards.
    pub lending: Lending,
    /// Messages that may wait for a shard; then whoever sends waits.
    pub messages_max: usize,
}

/// Why a shard loop came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It was asked to.
    Stopped,
    /// The shard is another's, or may be by now.
    LetGo(String),
    /// The store or the disk failed for good.
    Failed(String),
}

/// How the loop hears, and how it is answered.
pub(super) struct Channel {
    pub received: Receiver<Message>,
    /// Into `received`.
    pub own: Sender<Message>,
    /// Also into `received`, for the store.
    pub back: Back,
}

pub(super) struct Driver {
    keeper: Keeper,
    shard: ShardId,
    channel: Channel,
    /// A mark of ours is among what is received.
    marked: bool,
    lane: Lane,
    around: Surroundings,
    /// In which stretch of the tenure it was taken over; None: nobody else can own anything.
    stretch: Option<Stretch>,
    answers: Answers,
    callers: u64,
    progress: Arc<Progress>,
    /// What the store could not take, each with its next moment.
    send_again: Vec<(Instant, Wish)>,
    complaint: Complaint,
    /// A load is under way: nothing is told or released until it is done.
    reloading: bool,
    stopping: Option<oneshot::Sender<()>>,
    stop_by: Option<Instant>,
    looked: Instant,
    /// What it said last of limits it shares, and when it last looked if any binds it.
    account: Option<Account>,
    accounted: Option<Instant>,
    /// Something was told since.
    told: bool,
    _over: DropGuard,
}

impl Driver {
    pub(super) fn new(
        keeper: Keeper,
        channel: Channel,
        lane: Lane,
        around: Surroundings,
        stretch: Option<Stretch>,
        progress: Arc<Progress>,
        over: DropGuard,
    ) -> Driver {
        Driver {
            shard: keeper.shard().id(),
            keeper,
            channel,
            marked: false,
            lane,
            around,
            stretch,
            answers: Answers::default(),
            callers: 0,
            progress,
            send_again: Vec::new(),
            complaint: Complaint::default(),
            reloading: false,
            stopping: None,
            stop_by: None,
            looked: Instant::now(),
            account: None,
            accounted: None,
            told: true,
            _over: over,
        }
    }

    /// Until the shard is stopped, let go, or the store fails for good.
    pub(super) fn run(mut self) -> End {
        loop {
            if let Err(end) = self.turn() {
                self.answer_everyone();
                return end;
            }
            let written = !self.keeper.in_flight() && self.send_again.is_empty();
            let overdue = self.stop_by.is_some_and(|by| by <= Instant::now());
            if self.stopping.is_some() && (written || overdue) {
                self.answer_everyone();
                if let Some(done) = self.stopping.take() {
                    let _ = done.send(());
                }
                return End::Stopped;
            }
        }
    }

    fn turn(&mut self) -> Result<(), End> {
        self.hold_on()?;
        self.launch_due()?;
        match self.channel.received.recv_deadline(self.wait_until()) {
            Ok(message) => {
                self.hold_on()?;
                self.take(message)?;
                for _ in 1..TURN_MAX {
                    // What falls due meanwhile does not wait for the rest of a flood.
                    if !self.keeper.takes_inputs() || self.keeper.is_due(self.around.clock.now()) {
                        break;
                    }
                    let Ok(message) = self.channel.received.try_recv() else { break };
                    self.take(message)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(End::Stopped),
        }
        self.look_at_clock()?;
        self.advance()?;
        self.give_account();
        Ok(())
    }

    /// Says what it has and wants of limits it shares with other shards, if that is news.
    fn give_account(&mut self) {
        let early = self.accounted.is_some_and(|last| last.elapsed() < ACCOUNT_EVERY);
        if !self.told || early || self.reloading || self.stopping.is_some() {
            return;
        }
        let account = self.keeper.shard().account(self.around.clock.now());
        // Where nothing binds, nothing changes.
        let bound = account.as_ref().is_some_and(|account| !account.holdings.is_empty());
        (self.told, self.accounted) = (false, bound.then(Instant::now));
        if account != self.account {
            self.account.clone_from(&account);
            account.into_iter().for_each(|account| self.around.lending.say(account));
        }
    }

    /// Whoever cannot renew its lease stops deciding before another may begin.
    fn hold_on(&self) -> Result<(), End> {
        match (&self.around.tenure, self.stretch) {
            (Some(tenure), Some(stretch)) if !tenure.holds(stretch, Instant::now()) => {
                Err(End::LetGo("its lease could not be renewed in time".into()))
            }
            _ => Ok(()),
        }
    }

    /// What is due leaves before anything is taken in, so that a flood of reports cannot delay a fire.
    fn launch_due(&mut self) -> Result<(), End> {
        while !self.reloading && self.stopping.is_none() && self.keeper.is_due(self.around.clock.now()) {
            self.tell(Input::Tick)?;
            let effects = self.keeper.take_effects();
            self.release(effects)?;
        }
        Ok(())
    }

    fn wait_until(&self) -> Instant {
        let mut until = self.looked + self.look_after();
        for (at, _) in &self.send_again {
            until = until.min(*at);
        }
        if let Some(last) = self.accounted.filter(|_| self.told && !self.reloading && self.stopping.is_none()) {
            until = until.min(last + ACCOUNT_EVERY);
        }
        if self.keeper.takes_inputs() && !self.reloading && self.stopping.is_none() {
            let silence = self.keeper.next_silence().filter(|_| !self.marked);
            let wake = self.keeper.next_wake().into_iter().chain(silence).min();
            until = until.min(wake.map_or(until, |wake| self.around.clock.instant_of(wake)));
        }
        until
    }

    fn look_after(&self) -> Duration {
        let clock = &self.around.clock;
        let soon = clock.now() + CALM;
        let calm = clock.follows_store() && self.keeper.next_wake().is_none_or(|wake| wake > soon);
        if calm { LOOK_WHEN_CALM } else { LOOK_AT_CLOCK_EVERY }
    }

    fn look_at_clock(&mut self) -> Result<(), End> {
        if self.looked.elapsed() < LOOK_AT_CLOCK_EVERY {
            return Ok(());
        }
        self.looked = Instant::now();
        self.around.clock.look();
        for by in self.around.clock.take_jumps() {
            tracing::warn!(%by, "the machine's clock jumped");
            self.tell(Input::ClockJumped { by })?;
        }
        *self.progress.census.lock() = self.keeper.shard().census();
        Ok(())
    }

    fn take(&mut self, message: Message) -> Result<(), End> {
        match message {
            // Unanswered means untold: whoever asked may ask the next owner.
            Message::Ask { .. } if self.stopping.is_some() => {}
            Message::Ask { by, command, answer } => {
                self.callers += 1;
                let caller = Caller(self.callers);
                self.answers.insert(caller, answer);
                self.tell(Input::Command { caller, by, command })?;
            }
            Message::Tell(input) => self.tell(input)?,
            Message::TellMany(inputs) => {
                for input in inputs {
                    self.tell(input)?;
                    self.launch_due()?;
                }
            }
            Message::Holds { term, agent, serial, held, up_since } => {
                // Said before a load, it is no answer to the greeting after it: whoever orders something on it hears that
                // answer when the order is under way, and finds it missing.
                let current = !self.reloading && self.keeper.shard().term() == term;
                if current && self.around.outlets.open(self.shard, agent.id, serial) {
                    self.tell(Input::AgentUp { agent, held, up_since })?;
                }
            }
            Message::Heard { term, letters } => {
                // What was read before a load may have been taken under the term before.
                let current = !self.reloading && self.keeper.shard().term() == term;
                for Letter { id, to, message, .. } in letters {
                    if current && to == self.shard {
                        self.tell(Input::Heard { id, message })?;
                    }
                }
            }
            Message::Written(written) => self.written(written)?,
            Message::HeardUntil(until) => {
                self.marked = false;
                self.tell(Input::Quiet { until })?;
            }
            Message::Stop(done) => {
                self.stopping = Some(done);
                self.stop_by = Some(Instant::now() + STOP_WITHIN);
            }
        }
        Ok(())
    }

    fn tell(&mut self, input: Input) -> Result<(), End> {
        // While it stops, what agents report waits for the next owner: they keep it until it is acknowledged.
        if self.stopping.is_some() {
            return Ok(());
        }
        self.told = true;
        match self.keeper.tell(self.around.clock.now(), input) {
            Ok(()) => Ok(()),
            Err(trouble) => self.meet(trouble),
        }
    }

    /// Before anybody is judged by its silence, everything that waits here is taken in: it may be a word of his.
    fn mark_silence(&mut self, now: Timestamp) {
        if self.stopping.is_none() && !self.marked && self.keeper.next_silence().is_some_and(|at| at <= now) {
            // A channel that is full is read first.
            self.marked = self.channel.own.try_send(Message::HeardUntil(now)).is_ok();
        }
    }

    /// Ticks if it is time, then hands on what was decided.
    fn advance(&mut self) -> Result<(), End> {
        *self.progress.turned_at.lock() = Some(Instant::now());
        let now = Instant::now();
        for (_, wish) in self.send_again.extract_if(.., |(at, _)| *at <= now).collect::<Vec<_>>() {
            self.wish(wish)?;
        }
        if self.reloading {
            return Ok(());
        }
        let now = self.around.clock.now();
        if self.keeper.takes_inputs() && self.keeper.next_wake().is_some_and(|wake| wake <= now) {
            self.tell(Input::Tick)?;
        }
        if self.reloading {
            return Ok(());
        }
        self.mark_silence(now);
        match self.keeper.tell_next_again(now) {
            Ok(_) => {}
            Err(trouble) => return self.meet(trouble),
        }
        let effects = self.keeper.take_effects();
        self.release(effects)?;
        if let Some(commit) = self.keeper.take_commit() {
            self.wish(Wish::Commit(commit))?;
        }
        Ok(())
    }

    fn wish(&mut self, wish: Wish) -> Result<(), End> {
        if self.lane.wish(wish, &self.channel.back) {
            Ok(())
        } else {
            Err(End::Failed("the writer has stopped".into()))
        }
    }

    fn release(&mut self, effects: Vec<Effect>) -> Result<(), End> {
        if effects.is_empty() {
            return Ok(());
        }
        // Once more, and last: whoever was paused between deciding and this must not act on it.
        self.hold_on()?;
        match release(effects, self.seat(), &*self.around.outlets, &mut self.answers) {
            Some(count) => self.wish(Wish::Ids(self.shard, count)),
            None => Ok(()),
        }
    }

    fn seat(&self) -> Seat {
        Seat { shard: self.shard, term: self.keeper.shard().term() }
    }

    fn answer_everyone(&mut self) {
        for (_, answer) in self.answers.drain() {
            let _ = answer.send(Err(Refusal::NotOwner));
        }
    }
}
