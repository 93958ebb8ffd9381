//! The shard loop without its threads: gathers what was decided, hands out one commit at a time, and releases effects
//! only after the commit they depend on, in order. It has no opinions, no clock and no IO, so the simulation drives
//! the very same one.
//!
//! Inputs are kept until their commit is known. When one of them breaks the engine or makes an impossible commit, the
//! shard is loaded again and they are told again one per commit; the one that fails again is put away.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use engine::{Answer, Caller, Change, Commit, Decisions, Effect, Input, Message, MessageId, Refusal, Shard};
use model::{Batch, JobId, Timestamp};
use store::{CommitError, Standing};

use super::unwritten::{Unwritten, is_free};

/// No more changes than this gather behind a commit that is under way.
pub const GATHER_MAX: usize = 4_000;

pub struct Keeper {
    shard: Shard,
    /// The last batch handed out.
    batch: Batch,
    /// Up to where everything is decided and on disk.
    horizon: Timestamp,
    gathered: Gathered,
    flight: Option<Flight>,
    /// Inputs told again, each in a commit of its own, after one of them broke something.
    again: VecDeque<Input>,
    /// The input being told alone.
    alone: bool,
    /// Memory is worth nothing any more; nothing is told until the shard is loaded again.
    stale: bool,
    /// Answers to those whose input was put away.
    refused: Vec<Effect>,
    /// How often time itself broke the engine with no job to blame.
    unblamed: u32,
}

#[derive(Default)]
struct Gathered {
    inputs: Vec<Input>,
    decisions: Decisions,
    unwritten: Unwritten,
    /// So many effects were looked at and wait for their commit.
    waiting: usize,
}

struct Flight {
    commit: Arc<Commit>,
    inputs: Vec<Input>,
    effects: Vec<Effect>,
    unwritten: Unwritten,
}

/// What the driver must do next about a commit that did not go through.
#[derive(Debug, PartialEq)]
pub enum Trouble {
    /// Send the same commit again, a little later.
    SendAgain(Arc<Commit>),
    /// Nobody knows: ask the store where the shard stands, then call `stands_at`.
    AskStanding,
    /// Load the shard again and call `reloaded`.
    Reload,
    /// The same, but only after the commit under way is answered.
    ReloadAfterCommit,
    /// Another owner has the shard: let go of it.
    LetGo,
    /// The disk cannot be trusted: end the process.
    Die(String),
}

impl Keeper {
    pub fn new(shard: Shard, standing: Standing) -> Keeper {
        Keeper {
            shard,
            batch: standing.batch,
            horizon: standing.horizon,
            gathered: Gathered::default(),
            flight: None,
            again: VecDeque::new(),
            alone: false,
            stale: false,
            refused: Vec::new(),
            unblamed: 0,
        }
    }

    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// Whether it can be told more; if not, wait for the commit under way.
    pub fn takes_inputs(&self) -> bool {
        !self.stale && !self.alone && self.again.is_empty() && self.gathered.decisions.changes.len() < GATHER_MAX
    }

    /// When time alone will make it decide something.
    pub fn next_wake(&self) -> Option<Timestamp> {
        if self.flight.is_some() { self.shard.next_wake_while_writing() } else { self.shard.next_wake() }
    }

    /// Whether something may start now.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.takes_inputs() && self.shard.next_due().is_some_and(|due| due <= now)
    }

    /// Tells it one thing. An error means the engine broke: load the shard again.
    pub fn tell(&mut self, now: Timestamp, input: Input) -> Result<(), Trouble> {
        if self.stale && is_of_the_past(&input) {
            return Ok(());
        }
        if self.stale || self.alone || !self.again.is_empty() {
            self.again.extend(Some(input).filter(|input| !matches!(input, Input::Tick)));
            return Ok(());
        }
        self.step(now, input)
    }

    fn step(&mut self, now: Timestamp, input: Input) -> Result<(), Trouble> {
        // Ticks are levels: they come again by themselves.
        let is_tick = matches!(input, Input::Tick);
        if !is_tick {
            self.gathered.inputs.push(input.clone());
        }
        let Gathered { decisions, unwritten, .. } = &mut self.gathered;
        let (shard, before) = (&mut self.shard, decisions.changes.len());
        // After a panic the shard is thrown away, so nobody sees it half changed.
        match catch_unwind(AssertUnwindSafe(|| shard.step(now, input, decisions))) {
            Ok(()) => {
                unwritten.note(&decisions.changes[before..]);
                Ok(())
            }
            Err(panic) => {
                let input = if is_tick { Input::Tick } else { self.gathered.inputs.pop().expect("just kept") };
                let job = self.shard.blamed();
                Err(self.broke(input, job, panic_text(&*panic)))
            }
        }
    }

    /// The next commit, if none is under way and there is something to write.
    pub fn take_commit(&mut self) -> Option<Arc<Commit>> {
        if self.flight.is_some() || self.gathered.decisions.writes_nothing() {
            return None;
        }
        let Gathered { inputs, mut decisions, unwritten, .. } = std::mem::take(&mut self.gathered);
        // What was overtaken within the batch stays overtaken, even if memory is dropped before its effects happen.
        decisions.effects.retain(|effect| self.shard.stands(effect));
        self.batch = Batch(self.batch.0 + 1);
        let commit = Arc::new(Commit {
            shard: self.shard.id(),
            term: self.shard.term(),
            batch: self.batch,
            horizon: self.shard.horizon(),
            next_id: self.shard.next_id(),
            changes: decisions.changes,
            claims: decisions.claims,
        });
        self.flight = Some(Flight { commit: Arc::clone(&commit), inputs, effects: decisions.effects, unwritten });
        Some(commit)
    }

    /// Effects that depend on nothing unwritten.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        if self.flight.is_some() || !self.gathered.decisions.writes_nothing() {
            return self.take_free_orders();
        }
        self.gathered.waiting = 0;
        if !self.gathered.inputs.is_empty() {
            self.gathered.inputs.clear();
            self.alone = false;
        }
        let effects = std::mem::take(&mut self.gathered.decisions.effects);
        self.standing(effects)
    }

    /// Orders of what was written ahead of its time leave past what is still to be written, unless that is about the same
    /// job: a flood of others does not delay them.
    fn take_free_orders(&mut self) -> Vec<Effect> {
        if self.stale || self.alone || !self.again.is_empty() {
            return Vec::new();
        }
        let Gathered { decisions, unwritten, waiting, .. } = &mut self.gathered;
        let from = (*waiting).min(decisions.effects.len());
        let mut unwritten = vec![&*unwritten];
        unwritten.extend(self.flight.as_ref().map(|flight| &flight.unwritten));
        let is_free = |effect: &mut Effect| match effect {
            Effect::Order(order) => is_free(order, self.horizon, &unwritten) && self.shard.stands(effect),
            _ => false,
        };
        let free: Vec<Effect> = decisions.effects.extract_if(from.., is_free).collect();
        *waiting = decisions.effects.len();
        free
    }

    /// What waited for its commit and was overtaken meanwhile does not happen. Memory that is about to be dropped has
    /// no say: what it concluded is forgotten with it.
    fn standing(&self, mut effects: Vec<Effect>) -> Vec<Effect> {
        if !self.stale {
            effects.retain(|effect| self.shard.stands(effect));
        }
        effects
    }

    /// What will happen once the commit under way is on disk.
    pub fn effects_under_way(&self) -> &[Effect] {
        self.flight.as_ref().map_or(&[], |flight| &flight.effects)
    }

    pub fn in_flight(&self) -> bool {
        self.flight.is_some()
    }

    /// The commit under way is on disk: what it was, what happens now, and what to do if memory is stale.
    pub fn committed(&mut self, answers: Vec<Answer>, now: Timestamp) -> (Arc<Commit>, Vec<Effect>, Option<Trouble>) {
        let flight = self.flight.take().expect("a commit was under way");
        let mut trouble = self.stale.then_some(Trouble::Reload);
        self.alone = false;
        self.forget_taken(&flight.commit);
        self.horizon = flight.commit.horizon;
        // Answers come before everything that waits, or two claims of one name would be answered out of order.
        for answer in answers {
            if trouble.is_none() {
                let input = match answer {
                    Answer::Claim(answer) => Input::ClaimAnswered(answer),
                    Answer::Granted(grant) => Input::Granted(grant),
                };
                trouble = self.step(now, input).err();
            }
        }
        let effects = self.standing(flight.effects);
        (flight.commit, effects, trouble)
    }

    /// After a trouble: tells the next of the inputs that are told alone. False: there is none.
    pub fn tell_next_again(&mut self, now: Timestamp) -> Result<bool, Trouble> {
        if self.stale || self.alone || self.flight.is_some() || !self.gathered.inputs.is_empty() {
            return Ok(false);
        }
        let Some(input) = self.again.pop_front() else { return Ok(false) };
        self.alone = true;
        self.step(now, input)?;
        if self.gathered.decisions.is_empty() {
            self.gathered.inputs.clear();
            self.alone = false;
        }
        Ok(true)
    }

    /// What a failed commit means.
    pub fn failed(&mut self, error: CommitError) -> Trouble {
        let flight = self.flight.as_ref().expect("a commit was under way");
        match error {
            CommitError::NotOwner { .. } => Trouble::LetGo,
            CommitError::Retry(_) => Trouble::SendAgain(Arc::clone(&flight.commit)),
            CommitError::Unknown(_) => Trouble::AskStanding,
            CommitError::Fatal(what) => Trouble::Die(what),
            CommitError::Impossible { index, what } => {
                let flight = self.flight.take().expect("looked at above");
                // A tick decides about many jobs, and the last of them need not be the one that went wrong.
                let job = flight.commit.changes.get(index).and_then(Change::job);
                if self.alone && flight.inputs.len() == 1 {
                    let input = flight.inputs.into_iter().next().expect("counted");
                    return self.broke(input, job.or(self.shard.blamed()), what);
                }
                if flight.inputs.is_empty() {
                    return self.broke(Input::Tick, job, what);
                }
                self.keep_for_telling_again(flight.inputs)
            }
        }
    }

    /// Where the store stands after a commit of unknown outcome. None: it is done, see `done_after_all`.
    pub fn stands_at(&mut self, standing: Standing) -> Option<Trouble> {
        let flight = self.flight.as_ref().expect("a commit was under way");
        if standing.term != flight.commit.term {
            return Some(Trouble::LetGo);
        }
        match standing.batch {
            batch if batch == flight.commit.batch => None,
            batch if batch.0 == flight.commit.batch.0 - 1 => Some(Trouble::SendAgain(Arc::clone(&flight.commit))),
            // The store went back: what we remember is a future it no longer knows.
            _ => {
                let flight = self.flight.take().expect("looked at above");
                Some(self.keep_for_telling_again(flight.inputs))
            }
        }
    }

    /// The commit under way turned out to be done, though its answer was lost. Its claims are asked again: whoever
    /// holds them by now is the answer. Whom it let through is seen by loading.
    pub fn done_after_all(&mut self) -> (Arc<Commit>, Vec<Effect>, Option<Trouble>) {
        let flight = self.flight.take().expect("a commit was under way");
        self.horizon = flight.commit.horizon;
        if self.stale {
            self.forget_taken(&flight.commit);
            return (flight.commit, flight.effects, Some(Trouble::Reload));
        }
        self.alone = false;
        if flight.commit.changes.iter().any(lets_through) {
            let trouble = self.keep_for_telling_again(Vec::new());
            self.forget_taken(&flight.commit);
            return (flight.commit, flight.effects, Some(trouble));
        }
        let asked_later = std::mem::replace(&mut self.gathered.decisions.claims, flight.commit.claims.clone());
        self.gathered.decisions.claims.extend(asked_later);
        let effects = self.standing(flight.effects);
        (flight.commit, effects, None)
    }

    /// What other shards said is said until it is taken, so that it may have been heard once more than it was taken.
    fn forget_taken(&mut self, commit: &Commit) {
        let taken: Vec<MessageId> = commit
            .changes
            .iter()
            .filter_map(|change| if let Change::Took { id } = change { Some(*id) } else { None })
            .collect();
        self.again.retain(|input| !matches!(input, Input::Heard { id, .. } if taken.contains(id)));
    }

    fn keep_for_telling_again(&mut self, first: Vec<Input>) -> Trouble {
        let gathered = std::mem::take(&mut self.gathered);
        let later = std::mem::take(&mut self.again);
        self.again = first.into_iter().chain(gathered.inputs).chain(later).filter(worth_repeating).collect();
        self.alone = false;
        self.stale = true;
        // A commit under way holds what was decided before the trouble; it may still succeed.
        if self.flight.is_some() { Trouble::ReloadAfterCommit } else { Trouble::Reload }
    }

    /// An input broke the engine. The first time all of them are told again, alone; the second time it is put away.
    fn broke(&mut self, input: Input, job: Option<JobId>, error: String) -> Trouble {
        let is_tick = matches!(input, Input::Tick);
        if job.is_none() && is_tick {
            self.unblamed += 1;
            if self.unblamed > 3 {
                return Trouble::Die(format!("the engine fails at every tick and no job is to blame: {error}"));
            }
        }
        if !self.alone && !is_tick {
            self.gathered.inputs.push(input);
            return self.keep_for_telling_again(Vec::new());
        }
        // It was told alone, or it is time itself, which need not be told twice to know the job to blame.
        if let Input::Command { caller, .. } = &input {
            self.refused.push(refusal(*caller, &error));
        }
        let mut next = vec![Input::Quarantine { job, input: describe(&input), error }];
        // It would come again for ever.
        if let Input::Heard { id, .. } = input {
            next.push(Input::Heard { id, message: Message::Nothing });
        }
        self.keep_for_telling_again(next)
    }

    /// The shard as the store has it now, under a new term.
    pub fn reloaded(&mut self, shard: Shard, standing: Standing) {
        self.shard = shard;
        self.batch = standing.batch;
        self.horizon = standing.horizon;
        self.alone = false;
        self.stale = false;
        self.gathered = Gathered::default();
        self.gathered.decisions.effects = std::mem::take(&mut self.refused);
    }

    /// Everyone who still waits for an answer, when the shard is let go.
    pub fn callers(&self) -> Vec<Caller> {
        let flight = self.flight.iter().flat_map(|flight| &flight.inputs);
        let waiting = flight.chain(&self.gathered.inputs).chain(&self.again).filter_map(|input| match input {
            Input::Command { caller, .. } => Some(*caller),
            _ => None,
        });
        let answered = self.gathered.decisions.effects.iter().filter_map(|effect| match effect {
            Effect::Reply { caller, .. } => Some(*caller),
            _ => None,
        });
        waiting.chain(answered).collect()
    }
}

/// What is said again after a load, and must not be told from before: what other shards said may be taken by now, and what
/// an agent holds is known when it has answered the greeting of the new term.
fn is_of_the_past(input: &Input) -> bool {
    match input {
        Input::Heard { .. } | Input::NotHere { .. } => true,
        // Executors are not greeted.
        Input::AgentUp { agent, .. } => !agent.kind.is_executor(),
        _ => false,
    }
}

/// Ticks come by themselves; what agents said comes again when they are greeted under the new term.
fn worth_repeating(input: &Input) -> bool {
    match input {
        Input::Command { .. }
        | Input::Report { .. }
        | Input::Heard { .. }
        | Input::Quarantine { .. }
        | Input::ClockJumped { .. } => true,
        Input::Tick
        | Input::ClaimAnswered(_)
        | Input::Granted(_)
        | Input::AgentUp { .. }
        | Input::AgentBeat { .. }
        | Input::AgentGone { .. }
        | Input::AgentRemoved { .. }
        | Input::NotHere { .. }
        | Input::Unanswered { .. }
        | Input::Asked { .. }
        | Input::Reconcile { .. }
        | Input::Roster(_)
        | Input::Ids { .. } => false,
    }
}

/// Its answer tells who holds what from now on.
fn lets_through(change: &Change) -> bool {
    matches!(change, Change::Drawn(_) | Change::Returned(_) | Change::ResourcePut { .. })
}

fn refusal(caller: Caller, error: &str) -> Effect {
    Effect::Reply { caller, reply: Err(Refusal::Quarantining(error.to_string())) }
}

fn describe(input: &Input) -> String {
    let mut text = format!("{input:?}");
    if text.len() > 2_000 {
        let cut = (0..=2_000).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(cut);
    }
    text
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".into())
}
