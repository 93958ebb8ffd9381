//! Shards on their way: loaded when they become ours, stopped and handed on when they are another's. Beside the thread
//! that renews, a few at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::Stretch;
use model::{ServerId, ShardId, Span};

use super::Steward;

/// A hand-over that arrives later than this is none.
const HAND_OVER_WITHIN: Span = Span::millis(1_500);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl Steward {
    /// Another has them: what is in memory here is worth nothing.
    pub(super) fn drop_lost(&self, shards: Vec<ShardId>) {
        for shard in shards {
            tracing::warn!(%shard, "another server has this shard, or had it meanwhile; it is let go");
            let shards = self.shards.clone();
            self.beside(vec![shard], async move { shards.let_go(shard).await });
        }
    }

    /// They are ours: takes each over and runs it.
    pub(super) fn own(&self, taken: Vec<ShardId>, stretch: Stretch) {
        if !taken.is_empty() {
            tracing::info!(shards = ?taken.iter().map(|shard| shard.0).collect::<Vec<_>>(), "taking shards over");
        }
        for shard in taken {
            let shards = self.shards.clone();
            self.beside(vec![shard], async move {
                let owned = tokio::task::spawn_blocking(move || shards.own(shard, Some(stretch))).await;
                match owned {
                    Ok(Ok(())) => {}
                    // The next round finds that it is ours and does not run.
                    Ok(Err(error)) => tracing::warn!(%shard, %error, "a shard could not be taken over"),
                    Err(panic) => tracing::error!(%shard, %panic, "taking a shard over failed"),
                }
            });
        }
    }

    /// Another should have them: each is stopped, then handed to it, one after the other, so that all but one go on.
    pub(super) fn give(&self, given: Vec<(ShardId, Option<ServerId>)>) {
        if given.is_empty() {
            return;
        }
        let all: Vec<ShardId> = given.iter().map(|(shard, _)| *shard).collect();
        let (shards, moving, me) = (self.shards.clone(), Arc::clone(&self.moving), self.me.life());
        let (lease, clock) = (Span::from(self.terms.lease), self.clock.clone());
        self.beside(all, async move {
            for (shard, next) in given {
                shards.let_go(shard).await;
                let (moving, by) = (Arc::clone(&moving), clock.now() + HAND_OVER_WITHIN);
                let give = move || moving.lock().hand_over(me, next, &[shard], lease, by);
                let handed = tokio::task::spawn_blocking(give).await;
                // What nobody answered may still be done: until it no longer can be, the shard is not touched.
                while !matches!(handed, Ok(Ok(()))) && clock.now() <= by {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                match handed {
                    Ok(Ok(())) => match next {
                        Some(next) => tracing::info!(%shard, to = %next, "a shard was handed over"),
                        None => tracing::warn!(%shard, "a shard is let go that none of the servers here may own"),
                    },
                    // It is still ours by its row: the next round takes it again, or gives it.
                    Ok(Err(error)) => tracing::warn!(%shard, %error, "a shard could not be handed over"),
                    Err(panic) => tracing::error!(%shard, %panic, "handing a shard over failed"),
                }
            }
        });
    }

    fn beside(&self, shards: Vec<ShardId>, work: impl Future<Output = ()> + Send + 'static) {
        let busy = Arc::clone(&self.busy);
        busy.lock().extend(shards.iter().map(|shard| (*shard, None)));
        self.runtime.spawn(async move {
            work.await;
            let ended = Some(Instant::now());
            busy.lock().extend(shards.into_iter().map(|shard| (shard, ended)));
        });
    }
}
