//! Tells inputs again, one per commit, after one of them broke the engine or made an impossible commit: the one that fails
//! again is put away, with its job held.

use engine::{Caller, Change, Commit, Effect, Input, Message, MessageId, Refusal, Shard};
use model::{JobId, Timestamp};
use store::Standing;

use super::{Gathered, Keeper, Trouble};

impl Keeper {
    /// Tells what was held back while a commit was in doubt; after a trouble, the next of the inputs that are told alone.
    /// False: there was nothing to tell.
    pub fn tell_next_again(&mut self, now: Timestamp) -> Result<bool, Trouble> {
        if self.tell_held(now)? {
            return Ok(true);
        }
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

    /// What other shards said is said until it is taken, so that it may have been heard once more than it was taken.
    pub(super) fn forget_taken(&mut self, commit: &Commit) {
        let taken: Vec<MessageId> = commit
            .changes
            .iter()
            .filter_map(|change| if let Change::Took { id } = change { Some(*id) } else { None })
            .collect();
        self.again.retain(|input| !matches!(input, Input::Heard { id, .. } if taken.contains(id)));
    }

    pub(super) fn keep_for_telling_again(&mut self, first: Vec<Input>) -> Trouble {
        let gathered = std::mem::take(&mut self.gathered);
        let later = std::mem::take(&mut self.again);
        // What was held was never told: it is as if it came only now.
        let held = std::mem::take(&mut self.held).into_iter().filter(|input| !is_of_the_past(input));
        self.again =
            first.into_iter().chain(gathered.inputs).chain(later).filter(worth_repeating).chain(held).collect();
        self.alone = false;
        self.stale = true;
        // A commit under way holds what was decided before the trouble; it may still succeed.
        if self.flight.is_some() { Trouble::ReloadAfterCommit } else { Trouble::Reload }
    }

    /// An input broke the engine. The first time all of them are told again, alone; the second time it is put away.
    pub(super) fn broke(&mut self, input: Input, job: Option<JobId>, error: String) -> Trouble {
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
}

/// What is said again after a load, and must not be told from before: what other shards said may be taken by now, and what
/// an agent holds is known when it has answered the greeting of the new term.
pub(super) fn is_of_the_past(input: &Input) -> bool {
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
        | Input::Quiet { .. }
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
        | Input::Lent(_)
        | Input::LentByNobody
        | Input::Ids { .. } => false,
    }
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
