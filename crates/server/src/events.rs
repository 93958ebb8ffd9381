//! The latest committed batches, kept in a bounded ring. Events are read off them when somebody asks, so a run that
//! nobody watches costs nothing; a resume older than the ring gets `reset`.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::Commit;
use parking_lot::RwLock;
use tokio::sync::watch;

/// No more changes than this are kept for those who resume.
pub const RING_CHANGES_MAX: usize = 50_000;

pub struct Ring {
    inner: RwLock<Inner>,
    /// The number of the latest position; waking up carries nothing else.
    latest: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    commits: VecDeque<(u64, Arc<Commit>)>,
    changes: usize,
    next: u64,
}

/// What came after a position.
#[derive(Debug)]
pub enum Since {
    Commits(Vec<(u64, Arc<Commit>)>),
    /// Older than the ring reaches: start anew from here.
    Reset(u64),
}

impl Ring {
    pub fn new() -> Arc<Ring> {
        // Positions of an earlier process must not be taken for ours.
        let start = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_micros();
        let inner = Inner { next: start as u64, ..Inner::default() };
        Arc::new(Ring { inner: RwLock::new(inner), latest: watch::channel(start as u64).0 })
    }

    pub fn push(&self, commit: Arc<Commit>) {
        let mut inner = self.inner.write();
        let number = inner.next;
        // Every change has a number of its own, so that a reader can resume in the middle of a commit.
        inner.next += commit.changes.len().max(1) as u64;
        let next = inner.next;
        inner.changes += commit.changes.len();
        inner.commits.push_back((number, commit));
        while inner.changes > RING_CHANGES_MAX && inner.commits.len() > 1 {
            let (_, gone) = inner.commits.pop_front().expect("more than one");
            inner.changes -= gone.changes.len();
        }
        drop(inner);
        self.latest.send_replace(next);
    }

    pub fn latest(&self) -> Option<Arc<Commit>> {
        self.inner.read().commits.back().map(|(_, commit)| Arc::clone(commit))
    }

    /// The position after the latest commit.
    pub fn position(&self) -> u64 {
        self.inner.read().next
    }

    /// From the commit this position lies in; a commit's number is that of its first change.
    pub fn since(&self, position: u64, most: usize) -> Since {
        let inner = self.inner.read();
        let oldest = inner.commits.front().map_or(inner.next, |(number, _)| *number);
        if position < oldest || position > inner.next {
            return Since::Reset(inner.next);
        }
        let skip = match inner.commits.binary_search_by_key(&position, |(number, _)| *number) {
            Ok(exactly) => exactly,
            Err(after) if position == inner.next => after,
            Err(after) => after.saturating_sub(1),
        };
        Since::Commits(inner.commits.iter().skip(skip).take(most).cloned().collect())
    }

    pub fn watch(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }
}
