//! Wakes those who follow an attempt's log when more of it was written. A wake-up carries nothing: what there is to see
//! is read from the store. Attempts nobody follows cost nothing.

use std::sync::Arc;

use model::AttemptId;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::watch;

#[derive(Default)]
pub(super) struct Tails {
    /// With the number of those who wait.
    followed: Mutex<FxHashMap<AttemptId, (watch::Sender<()>, usize)>>,
}

/// Follows one attempt. Take it before the first read: what is written after that is never missed.
pub struct Tail {
    tails: Arc<Tails>,
    attempt: AttemptId,
    changes: watch::Receiver<()>,
}

impl Tail {
    /// Waits until something was written that this tail was not told of. False: the store is closed.
    pub async fn changed(&mut self) -> bool {
        self.changes.changed().await.is_ok()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let mut followed = self.tails.followed.lock();
        if let Some((_, count)) = followed.get_mut(&self.attempt) {
            *count -= 1;
            if *count == 0 {
                followed.remove(&self.attempt);
            }
        }
    }
}

impl Tails {
    pub(super) fn follow(self: &Arc<Self>, attempt: AttemptId) -> Tail {
        let mut followed = self.followed.lock();
        let (sender, count) = followed.entry(attempt).or_insert_with(|| (watch::Sender::new(()), 0));
        *count += 1;
        Tail { tails: Arc::clone(self), attempt, changes: sender.subscribe() }
    }

    pub(super) fn wake(&self, attempts: impl Iterator<Item = AttemptId>) {
        let followed = self.followed.lock();
        if followed.is_empty() {
            return;
        }
        for attempt in attempts {
            if let Some((sender, _)) = followed.get(&attempt) {
                sender.send_replace(());
            }
        }
    }

    /// Nothing will be written any more.
    pub(super) fn close(&self) {
        self.followed.lock().clear();
    }

    #[cfg(test)]
    pub(super) fn followed(&self) -> usize {
        self.followed.lock().len()
    }
}
