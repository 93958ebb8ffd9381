//! What the store answered: the commit is on disk and what waited for it happens, or there is trouble and it is met.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Input, Refusal};
use store::StoreError;

use super::super::keeper::Trouble;
use super::super::lane::{Wish, Written};
use super::super::release::prepare;
use super::super::start::revive;
use super::{Driver, End};

/// How long to wait before a batch the store could not take is sent again.
const SEND_AGAIN_AFTER: Duration = Duration::from_millis(200);

impl Driver {
    pub(super) fn written(&mut self, written: Written) -> Result<(), End> {
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
                (self.reloading, self.told) = (false, true);
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

    pub(super) fn meet(&mut self, trouble: Trouble) -> Result<(), End> {
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
}
