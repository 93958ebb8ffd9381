//! What becomes of a commit that did not go through. While nobody knows whether it did, the shard neither steps nor releases:
//! what it would decide may rest on something that never was.

use std::sync::Arc;

use engine::{Change, Commit, Effect, Input};
use model::Timestamp;
use store::{CommitError, Standing};

use super::{Keeper, Trouble, is_level};

impl Keeper {
    /// What a failed commit means.
    pub fn failed(&mut self, error: CommitError) -> Trouble {
        let flight = self.flight.as_ref().expect("a commit was under way");
        match error {
            CommitError::NotOwner { .. } => Trouble::LetGo,
            CommitError::Retry(_) => Trouble::SendAgain(Arc::clone(&flight.commit)),
            CommitError::Unknown(_) => {
                self.in_doubt = true;
                Trouble::AskStanding
            }
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
        self.in_doubt = false;
        if standing.term != flight.commit.term {
            return Some(Trouble::LetGo);
        }
        match standing.batch {
            batch if batch == flight.commit.batch => None,
            batch if batch.0 == flight.commit.batch.0 - 1 => Some(Trouble::SendAgain(Arc::clone(&flight.commit))),
            // The store went back: what we remember is a future it no longer knows. What other shards said is heard again,
            // if they still say it: told from before, it might be taken from a store that never had it.
            _ => {
                let flight = self.flight.take().expect("looked at above");
                let trouble = self.keep_for_telling_again(flight.inputs);
                self.again.retain(|input| !matches!(input, Input::Heard { .. }));
                Some(trouble)
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

    /// Keeps what comes while nobody knows the outcome. What other shards said is said until it is taken.
    pub(super) fn hold(&mut self, input: Input) {
        if !is_level(&input) && !matches!(input, Input::Heard { .. }) {
            self.held.push_back(input);
        }
    }

    /// Once the outcome is known, in the order in which it came. False: there was none, or it must wait.
    pub(super) fn tell_held(&mut self, now: Timestamp) -> Result<bool, Trouble> {
        let mut told = false;
        while !self.in_doubt && self.has_room() {
            let Some(input) = self.held.pop_front() else { break };
            self.step(now, input)?;
            told = true;
        }
        Ok(told)
    }
}

/// Its answer tells who holds what from now on.
fn lets_through(change: &Change) -> bool {
    matches!(change, Change::Drawn(_) | Change::Returned(_) | Change::ResourcePut { .. })
}
