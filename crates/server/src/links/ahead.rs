//! Tasks that will be ordered soon: they are read beside the words of a stream and sent when it has nothing else to say, so
//! that nobody's order waits for the tasks of thousands of others. Forgetting some is only a delay: what was not sent ahead
//! goes with its order.

use std::collections::VecDeque;
use std::sync::Arc;

use model::VersionId;
use store::StoreError;
use tokio::task::JoinHandle;

use super::tasks::{Task, Tasks};

/// Read and sent at a time: whatever comes meanwhile waits for the sending of so many and no more.
const PIECE: usize = 32;
/// So many may wait; of more the oldest were ordered meanwhile, and their tasks went with the orders.
const WAITING_MAX: usize = 100_000;

/// What a version runs, and what its tenant is called.
pub(super) type Read = Vec<(VersionId, Result<(String, Arc<Task>), StoreError>)>;

#[derive(Default)]
pub(super) struct Ahead {
    waiting: VecDeque<VersionId>,
    reading: Option<JoinHandle<Read>>,
}

impl Ahead {
    pub(super) fn add(&mut self, versions: Vec<VersionId>) {
        self.waiting.extend(versions);
        self.waiting.drain(..self.waiting.len().saturating_sub(WAITING_MAX));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.reading.is_none()
    }

    /// The next few. May be given up while it waits, and asked again: what is being read stays.
    pub(super) async fn next(&mut self, tasks: &Tasks, is_told: impl Fn(&VersionId) -> bool) -> Read {
        if self.reading.is_none() {
            let mut piece = Vec::with_capacity(PIECE);
            while piece.len() < PIECE
                && let Some(version) = self.waiting.pop_front()
            {
                piece.extend(Some(version).filter(|version| !is_told(version)));
            }
            self.reading = Some(read(tasks, piece));
        }
        let reading = self.reading.as_mut().expect("just begun");
        let read = reading.await.expect("a read does not panic");
        self.reading = None;
        read
    }
}

/// On a thread that may wait for the store.
pub(super) fn read(tasks: &Tasks, versions: Vec<VersionId>) -> JoinHandle<Read> {
    let tasks = tasks.clone();
    tokio::task::spawn_blocking(move || {
        let named = |task: Arc<Task>| Ok((tasks.tenant_name(task.tenant)?, task));
        tasks.all(&versions).into_iter().map(|(version, task)| (version, task.and_then(named))).collect()
    })
}

#[cfg(test)]
mod tests {
    use store::memory::MemoryStore;

    use super::*;

    fn tasks() -> Tasks {
        Tasks::new(Arc::new(MemoryStore::new()), Arc::new(crate::tenants::Tenants::new(Vec::new())))
    }

    fn numbers(read: &Read) -> Vec<i64> {
        read.iter().map(|(version, _)| version.0).collect()
    }

    #[tokio::test]
    async fn an_order_that_comes_between_loses_nothing() {
        let (tasks, mut ahead) = (tasks(), Ahead::default());
        ahead.add((0..40).map(VersionId).collect());
        // Begun and given up: a word was there first.
        let begun = futures::future::poll_immediate(ahead.next(&tasks, |_| false)).await;
        let mut seen = begun.map(|read| numbers(&read)).unwrap_or_default();
        while !ahead.is_empty() {
            seen.extend(numbers(&ahead.next(&tasks, |_| false).await));
        }
        assert_eq!(seen, (0..40).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn what_went_with_its_order_is_not_read_again() {
        let (tasks, mut ahead) = (tasks(), Ahead::default());
        ahead.add((0..10).map(VersionId).collect());
        assert_eq!(numbers(&ahead.next(&tasks, |version| version.0 % 2 == 0).await), [1, 3, 5, 7, 9]);
        assert!(ahead.is_empty());
    }

    #[tokio::test]
    async fn of_too_many_the_oldest_are_left_out() {
        let (tasks, mut ahead) = (tasks(), Ahead::default());
        ahead.add((0..WAITING_MAX as i64 + 5).map(VersionId).collect());
        assert_eq!(numbers(&ahead.next(&tasks, |_| false).await)[..2], [5, 6]);
    }
}
