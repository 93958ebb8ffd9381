//! The shard loop without its threads: gathers what was decided, hands out one commit at a time, and releases effects
//! only after the commit they depend on, in order. It has no opinions, no clock and no IO, so the simulation drives
//! the very same one.
//!
//! Inputs are kept until their commit is known. When one of them breaks the engine or makes an impossible commit, the
//! shard is loaded again and they are told again one per commit (`again.rs`); while the outcome of a commit is unknown they
//! are only kept (`doubt.rs`).

mod again;
mod doubt;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use engine::{Answer, Caller, Commit, Decisions, Effect, Input, Shard};
use model::{Batch, Timestamp};
use store::Standing;

use self::again::is_of_the_past;
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
    /// Nobody knows whether the commit under way is on disk.
    in_doubt: bool,
    /// What came while it was in doubt, in order, and has not been told yet.
    held: VecDeque<Input>,
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
            in_doubt: false,
            held: VecDeque::new(),
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
        !self.is_mending() && !self.is_holding() && self.has_room()
    }

    /// Inputs are told one per commit, or will be.
    fn is_mending(&self) -> bool {
        self.stale || self.alone || !self.again.is_empty()
    }

    /// Inputs wait for the outcome of a commit, or behind those that did.
    fn is_holding(&self) -> bool {
        self.in_doubt || !self.held.is_empty()
    }

    fn has_room(&self) -> bool {
        self.gathered.decisions.changes.len() < GATHER_MAX
    }

    /// When time alone will make it decide something.
    pub fn next_wake(&self) -> Option<Timestamp> {
        if self.flight.is_some() { self.shard.next_wake_while_writing() } else { self.shard.next_wake() }
    }

    /// When it must know whether everybody was silent.
    pub fn next_silence(&self) -> Option<Timestamp> {
        self.shard.next_silence().filter(|_| self.takes_inputs())
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
        if self.is_mending() {
            self.again.extend(Some(input).filter(|input| !is_level(input)));
            return Ok(());
        }
        if self.is_holding() {
            self.hold(input);
            return Ok(());
        }
        self.step(now, input)
    }

    fn step(&mut self, now: Timestamp, input: Input) -> Result<(), Trouble> {
        let is_level = is_level(&input);
        if !is_level {
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
                let input = if is_level { Input::Tick } else { self.gathered.inputs.pop().expect("just kept") };
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
        if self.is_mending() || self.in_doubt {
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

    /// Everyone who still waits for an answer, when the shard is let go.
    pub fn callers(&self) -> Vec<Caller> {
        let flight = self.flight.iter().flat_map(|flight| &flight.inputs);
        let waiting =
            flight.chain(&self.gathered.inputs).chain(&self.held).chain(&self.again).filter_map(|input| match input {
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

/// Levels, not messages: they come again by themselves.
fn is_level(input: &Input) -> bool {
    matches!(input, Input::Tick | Input::Quiet { .. })
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".into())
}
