//! The threads that write to the store, a few of them: each has a connection of its own and writes for some of the
//! shards, never two batches of one at once. Commits of different shards that wait together become one transaction.
//! Everything else that must be written (contents, accounts, upkeep) passes through the first of them.

use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use engine::{Answer, Commit};
use model::ShardId;
use store::{CommitError, Ownership, Standing, Store, StoreError, Stored};
use tokio::sync::oneshot;

use crate::short_slice;

/// Changes that are written together at most: a commit that is too long delays what falls due behind it.
const TOGETHER_MAX: usize = 4_000;

type Errand = Box<dyn FnOnce(&mut dyn Store) + Send>;

pub(crate) enum Wish {
    Commit(Arc<Commit>),
    Standing(ShardId),
    /// Take the shard over, if it is not ours, and load it.
    Load(ShardId),
    Ids(ShardId, i64),
    Errand(Errand),
}

pub(crate) enum Written {
    Commit(Result<Vec<Answer>, CommitError>),
    Standing(Result<Standing, StoreError>),
    Load(Result<Box<LoadedShard>, StoreError>),
    /// How many were asked for.
    Ids(i64, Result<std::ops::Range<i64>, StoreError>),
}

pub(crate) type LoadedShard = (Ownership, Stored, std::ops::Range<i64>);

/// Whom to tell what became of a wish.
pub(crate) type Back = Arc<dyn Fn(Written) + Send + Sync>;

struct Asked {
    wish: Wish,
    back: Option<Back>,
}

/// The way to one of the threads.
#[derive(Clone)]
pub struct Lane {
    asked: Sender<Asked>,
}

impl Lane {
    pub(crate) fn start(store: Box<dyn Store>, number: usize) -> std::io::Result<Lane> {
        let (asked, received) = crossbeam_channel::unbounded();
        std::thread::Builder::new().name(format!("duly-lane-{number}")).spawn(move || {
            short_slice::ask_on_time();
            run(store, &received);
        })?;
        Ok(Lane { asked })
    }

    /// False: its thread has ended.
    pub(crate) fn wish(&self, wish: Wish, back: &Back) -> bool {
        self.asked.send(Asked { wish, back: Some(Arc::clone(back)) }).is_ok()
    }

    /// Runs something on the thread, between two commits, and waits for its result.
    pub async fn run<T: Send + 'static>(
        &self,
        errand: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let errand: Errand = Box::new(move |store| drop(answer.send(errand(store))));
        let gone = || StoreError::Failed("the writer has stopped".into());
        self.asked.send(Asked { wish: Wish::Errand(errand), back: None }).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

fn run(mut store: Box<dyn Store>, received: &Receiver<Asked>) {
    let mut waiting: VecDeque<Asked> = VecDeque::new();
    loop {
        let Some(asked) = waiting.pop_front().or_else(|| received.recv().ok()) else { return };
        let written = match asked.wish {
            Wish::Commit(commit) => {
                let first = (commit, asked.back);
                let group = gather(first, received, &mut waiting);
                commit_all(&mut *store, group);
                continue;
            }
            Wish::Errand(errand) => {
                errand(&mut *store);
                continue;
            }
            Wish::Standing(shard) => Written::Standing(store.standing(shard)),
            Wish::Load(shard) => Written::Load(load(&mut *store, shard).map(Box::new)),
            Wish::Ids(shard, count) => Written::Ids(count, store.take_ids(Some(shard), count)),
        };
        if let Some(back) = asked.back {
            back(written);
        }
    }
}

type Group = Vec<(Arc<Commit>, Option<Back>)>;

/// What other shards want written by now goes with it; whatever else was asked for meanwhile has its turn after.
fn gather(first: (Arc<Commit>, Option<Back>), received: &Receiver<Asked>, waiting: &mut VecDeque<Asked>) -> Group {
    let mut changes = first.0.changes.len();
    let mut group = vec![first];
    while changes < TOGETHER_MAX {
        let Ok(asked) = received.try_recv() else { break };
        match asked.wish {
            Wish::Commit(commit) if group.iter().all(|(other, _)| other.shard != commit.shard) => {
                changes += commit.changes.len();
                group.push((commit, asked.back));
            }
            wish => waiting.push_back(Asked { wish, back: asked.back }),
        }
    }
    group
}

fn commit_all(store: &mut dyn Store, group: Group) {
    let begun = std::time::Instant::now();
    let (commits, backs): (Vec<Arc<Commit>>, Vec<Option<Back>>) = group.into_iter().unzip();
    let results = store.commit_all(&commits);
    metrics::histogram!("duly_commit_seconds").record(begun.elapsed().as_secs_f64());
    metrics::histogram!("duly_commit_changes")
        .record(commits.iter().map(|commit| commit.changes.len()).sum::<usize>() as f64);
    for (result, back) in results.into_iter().zip(backs) {
        if let Some(back) = back {
            back(Written::Commit(result));
        }
    }
}

fn load(store: &mut dyn Store, shard: ShardId) -> Result<LoadedShard, StoreError> {
    let ownership = store.take_over(shard)?;
    let stored = store.load(shard)?;
    let ids = store.take_ids(Some(shard), engine::FIRST_BLOCK)?;
    Ok((ownership, stored, ids))
}
