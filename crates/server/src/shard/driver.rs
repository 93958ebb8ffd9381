//! Drives a keeper with a thread and a real clock: waits for inputs or the next instant, tells, commits, releases. Before
//! it decides and before it releases anything it looks at its lease.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::{Stretch, Tenure};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use engine::{Caller, Effect, Input, Refusal, Shard};
use model::{ShardId, Timestamp};
use store::read::Letter;
use store::{Reads, StoreError};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::complaint::Complaint;
use super::handle::{Message, Progress, ShardHandle};
use super::keeper::{Keeper, Trouble};
use super::lane::{Back, Lane, Wish, Written};
use super::lent::Lent;
use super::load;
use super::release::{Answers, Outlets, Seat, prepare, release};
use crate::clock::Clock;
use crate::events::Ring;
use crate::short_slice;

/// At most so many messages are taken in before what they decided is handed on.
const TURN_MAX: usize = 1_000;
/// How long to wait before a batch the store could not take is sent again.
const SEND_AGAIN_AFTER: Duration = Duration::from_millis(200);
const LOOK_AT_CLOCK_EVERY: Duration = Duration::from_secs(1);
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

/// Takes the shard over, loads it and starts its thread; blocks until it runs. `ended` is called on that thread.
pub(crate) fn start(
    shard: ShardId,
    stretch: Option<Stretch>,
    lane: Lane,
    around: Surroundings,
    ended: impl FnOnce(End) + Send + 'static,
) -> Result<(ShardHandle, Seat), StoreError> {
    let (loads, loaded) = crossbeam_channel::bounded(1);
    let back: Back = Arc::new(move |written| drop(loads.send(written)));
    let gone = || StoreError::Failed("the writer has stopped".into());
    if !lane.wish(Wish::Load(shard), &back) {
        return Err(gone());
    }
    let Written::Load(loaded) = loaded.recv().map_err(|_| gone())? else { return Err(gone()) };
    let (ownership, stored, ids) = *loaded?;
    around.lent.note(ids.clone(), shard);
    let revived = revive(ownership, stored, ids, shard, &*around.reads, around.clock.now());
    let keeper = Keeper::new(revived, ownership.standing);
    let (messages, received) = crossbeam_channel::bounded(around.messages_max);
    let written = messages.clone();
    let (progress, over) = (Arc::new(Progress::default()), CancellationToken::new());
    progress.term.store(ownership.term.0, std::sync::atomic::Ordering::Relaxed);
    let driver = Driver {
        keeper,
        shard,
        received,
        back: Arc::new(move |w| drop(written.send(Message::Written(w)))),
        lane,
        around,
        stretch,
        answers: Answers::default(),
        callers: 0,
        progress: Arc::clone(&progress),
        send_again: Vec::new(),
        complaint: Complaint::default(),
        reloading: false,
        stopping: None,
        stop_by: None,
        looked: Instant::now(),
        _over: over.clone().drop_guard(),
    };
    std::thread::Builder::new()
        .name(format!("duly-shard-{shard}"))
        .spawn(move || {
            short_slice::ask_on_time();
            ended(driver.run());
        })
        .map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))?;
    Ok((ShardHandle { messages, over, progress }, Seat { shard, term: ownership.term }))
}

/// The engine's memory, made from what the store has.
pub fn revive(
    ownership: store::Ownership,
    stored: store::Stored,
    ids: std::ops::Range<i64>,
    shard: ShardId,
    reads: &dyn Reads,
    now: Timestamp,
) -> Shard {
    let mut loaded = load::decode(ownership, stored, ids, shard);
    for parent in load::broadcasts(&loaded) {
        let filter = store::read::InstanceFilter { parent: Some(parent), limit: 10_000, ..Default::default() };
        let by = Instant::now() + Duration::from_secs(10);
        let children = reads.instances(&filter, by).unwrap_or_default();
        let failed = children.iter().filter(|c| matches!(c.state, model::State::Failed | model::State::Dead)).count();
        loaded.spread_failures.push((parent, failed as u32));
    }
    Shard::load(loaded, now)
}

struct Driver {
    keeper: Keeper,
    shard: ShardId,
    received: Receiver<Message>,
    back: Back,
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
    _over: DropGuard,
}

impl Driver {
    /// Until the shard is stopped, let go, or the store fails for good.
    fn run(mut self) -> End {
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
        match self.received.recv_deadline(self.wait_until()) {
            Ok(message) => {
                self.hold_on()?;
                self.take(message)?;
                for _ in 1..TURN_MAX {
                    // What falls due meanwhile does not wait for the rest of a flood.
                    if !self.keeper.takes_inputs() || self.keeper.is_due(self.around.clock.now()) {
                        break;
                    }
                    let Ok(message) = self.received.try_recv() else { break };
                    self.take(message)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(End::Stopped),
        }
        self.look_at_clock()?;
        self.advance()
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
        let mut until = self.looked + LOOK_AT_CLOCK_EVERY;
        for (at, _) in &self.send_again {
            until = until.min(*at);
        }
        if self.keeper.takes_inputs() && !self.reloading && self.stopping.is_none() {
            until = until.min(self.keeper.next_wake().map_or(until, |wake| self.around.clock.instant_of(wake)));
        }
        until
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
        match self.keeper.tell(self.around.clock.now(), input) {
            Ok(()) => Ok(()),
            Err(trouble) => self.meet(trouble),
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

    fn written(&mut self, written: Written) -> Result<(), End> {
        match written {
            Written::Commit(Ok(answers)) => {
                *self.progress.trouble.lock() = None;
                if let Some((lasted, tries)) = self.complaint.over(Instant::now()) {
                    tracing::info!(?lasted, tries, "the store takes writes again");
                }
                let (commit, effects, trouble) = self.keeper.committed(answers, self.around.clock.now());
                prepare(&commit, &*self.around.outlets);
                self.written_down(commit);
                self.release(effects)?;
                trouble.map_or(Ok(()), |trouble| self.meet(trouble))
            }
            Written::Commit(Err(error)) => {
                self.complain(&error, "a commit did not go through");
                let trouble = self.keeper.failed(error);
                self.meet(trouble)
            }
            Written::Standing(Ok(standing)) => match self.keeper.stands_at(standing) {
                Some(trouble) => self.meet(trouble),
                None => {
                    let (commit, effects, trouble) = self.keeper.done_after_all();
                    self.written_down(commit);
                    self.release(effects)?;
                    trouble.map_or(Ok(()), |trouble| self.meet(trouble))
                }
            },
            Written::Standing(Err(error)) => self.wait_and(Wish::Standing(self.shard), &error),
            Written::Load(Ok(loaded)) => {
                let (ownership, stored, ids) = *loaded;
                self.around.lent.note(ids.clone(), self.shard);
                let shard = revive(ownership, stored, ids, self.shard, &*self.around.reads, self.around.clock.now());
                self.keeper.reloaded(shard, ownership.standing);
                self.reloading = false;
                self.progress.term.store(ownership.term.0, std::sync::atomic::Ordering::Relaxed);
                let kept: std::collections::HashSet<_> = self.keeper.callers().into_iter().collect();
                for (caller, answer) in self.answers.extract_if(|caller, _| !kept.contains(caller)).collect::<Vec<_>>()
                {
                    tracing::debug!(?caller, "an answer was lost with a load");
                    let _ = answer.send(Err(Refusal::NotOwner));
                }
                self.around.outlets.greet_all(self.seat());
                self.around.outlets.wake(self.shard);
                Ok(())
            }
            Written::Load(Err(error)) => self.wait_and(Wish::Load(self.shard), &error),
            Written::Ids(_, Ok(ids)) => {
                self.around.lent.note(ids.clone(), self.shard);
                self.tell(Input::Ids { from: ids.start, until: ids.end })
            }
            Written::Ids(count, Err(error)) => self.wait_and(Wish::Ids(self.shard, count), &error),
        }
    }

    fn written_down(&self, commit: Arc<engine::Commit>) {
        *self.progress.latest.lock() = Some((commit.batch, commit.horizon));
        self.around.ring.push(commit);
    }

    /// Tries follow each other five times a second: not each of them is worth a line.
    fn complain(&mut self, error: &dyn std::fmt::Display, what: &str) {
        if let Some(tries) = self.complaint.failed(Instant::now()) {
            tracing::warn!(%error, tries, "{what}; said once a minute while it lasts");
        }
        *self.progress.trouble.lock() = Some(error.to_string());
    }

    fn wait_and(&mut self, wish: Wish, error: &StoreError) -> Result<(), End> {
        self.complain(error, "the store does not answer");
        self.send_again.push((Instant::now() + SEND_AGAIN_AFTER, wish));
        Ok(())
    }

    fn meet(&mut self, trouble: Trouble) -> Result<(), End> {
        match trouble {
            Trouble::SendAgain(commit) => {
                self.send_again.push((Instant::now() + SEND_AGAIN_AFTER, Wish::Commit(commit)));
                Ok(())
            }
            Trouble::AskStanding => self.wish(Wish::Standing(self.shard)),
            Trouble::Reload => {
                tracing::error!("the shard is loaded again");
                self.reloading = true;
                self.wish(Wish::Load(self.shard))
            }
            Trouble::ReloadAfterCommit => Ok(()),
            Trouble::LetGo => Err(End::LetGo("another server owns it".into())),
            Trouble::Die(what) => Err(End::Failed(format!("the store failed for good: {what}"))),
        }
    }

    fn wish(&mut self, wish: Wish) -> Result<(), End> {
        if self.lane.wish(wish, &self.back) { Ok(()) } else { Err(End::Failed("the writer has stopped".into())) }
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
