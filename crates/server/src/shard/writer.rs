//! The one thread that writes to the store. Commits of the shard and everything else that must be written (contents,
//! accounts, settings, upkeep) pass through it one after the other.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use engine::{ClaimAnswer, Commit};
use model::ShardId;
use store::{CommitError, Ownership, Standing, Store, StoreError, Stored};
use tokio::sync::oneshot;

use crate::short_slice;

type Errand = Box<dyn FnOnce(&mut dyn Store) + Send>;

pub(crate) enum Wish {
    Commit(Arc<Commit>),
    Standing(ShardId),
    Reload(ShardId),
    Ids(ShardId, i64),
    Errand(Errand),
}

pub(crate) enum Written {
    Commit(Result<Vec<ClaimAnswer>, CommitError>),
    Standing(Result<Standing, StoreError>),
    Reload(Result<Box<(Ownership, Stored, std::ops::Range<i64>)>, StoreError>),
    /// How many were asked for, and which they are.
    Ids(i64, Result<std::ops::Range<i64>, StoreError>),
}

/// For everyone but the shard: runs something on the writer thread and waits for its result.
#[derive(Clone)]
pub struct WriterHandle {
    wishes: Sender<Wish>,
}

impl WriterHandle {
    pub async fn run<T: Send + 'static>(
        &self,
        errand: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let errand: Errand = Box::new(move |store| drop(answer.send(errand(store))));
        let gone = || StoreError::Failed("the writer has stopped".into());
        self.wishes.send(Wish::Errand(errand)).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

pub(crate) fn load(
    store: &mut dyn Store,
    shard: ShardId,
) -> Result<(Ownership, Stored, std::ops::Range<i64>), StoreError> {
    let ownership = store.take_over(shard)?;
    let stored = store.load(shard)?;
    let ids = store.take_ids(Some(shard), engine::FIRST_BLOCK)?;
    Ok((ownership, stored, ids))
}

/// Starts the thread; `written` gets the answers to the shard's wishes.
pub(crate) fn start(
    mut store: Box<dyn Store>,
    written: impl Fn(Written) + Send + 'static,
) -> std::io::Result<(Sender<Wish>, WriterHandle, std::thread::JoinHandle<()>)> {
    let (wishes, asked): (Sender<Wish>, Receiver<Wish>) = crossbeam_channel::unbounded();
    let thread = std::thread::Builder::new().name("duly-writer".into()).spawn(move || {
        short_slice::ask();
        for wish in asked {
            match wish {
                Wish::Commit(commit) => {
                    let begun = std::time::Instant::now();
                    let result = store.commit(&commit);
                    metrics::histogram!("duly_commit_seconds").record(begun.elapsed().as_secs_f64());
                    metrics::histogram!("duly_commit_changes").record(commit.changes.len() as f64);
                    written(Written::Commit(result));
                }
                Wish::Standing(shard) => written(Written::Standing(store.standing(shard))),
                Wish::Reload(shard) => written(Written::Reload(load(&mut *store, shard).map(Box::new))),
                Wish::Ids(shard, count) => written(Written::Ids(count, store.take_ids(Some(shard), count))),
                Wish::Errand(errand) => errand(&mut *store),
            }
        }
    })?;
    Ok((wishes.clone(), WriterHandle { wishes }, thread))
}
