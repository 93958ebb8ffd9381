//! The output of an attempt: what there is, and when there is no more to come.

use std::sync::Arc;
use std::time::Duration;

use engine::Change;
use model::{AttemptId, InstanceId, State, Timestamp};
use wire::{Code, Problem};

use super::{Desk, Done};
use crate::events::Since;
use crate::logs::{Chunk, LogStore};

/// Read from disk at a time.
pub(crate) const PIECE: usize = 256 << 10;
/// Commits looked through at a time.
const COMMITS: usize = 256;
/// An attempt that ended well before its last output arrived is waited for this long: its agent may be gone for good.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(15);

/// An attempt whose log is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject {
    pub(crate) instance: InstanceId,
    pub(crate) attempt: AttemptId,
}

/// What is known of an attempt's end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Over {
    /// The state of its instance.
    pub(crate) state: State,
    /// Whether it printed anything, as far as it said.
    pub(crate) printed: bool,
}

impl Desk {
    /// The newest attempt, or one that is named and belongs to the instance.
    pub(crate) async fn log_subject(&self, id: InstanceId, attempt: Option<i64>) -> Done<Subject> {
        let instance = self.instance(id).await?;
        let Some(attempt) = attempt.map(AttemptId).filter(|attempt| *attempt != instance.attempt) else {
            return Ok(Subject { instance: id, attempt: instance.attempt });
        };
        let earlier = self.read(move |reads, by| reads.attempts(id, by)).await?;
        if !earlier.iter().any(|one| one.id == attempt) {
            let detail = format!("instance {id} has no attempt {attempt}");
            return Err(Problem::new(Code::NoSuchAttempt, detail).into());
        }
        Ok(Subject { instance: id, attempt })
    }

    pub(crate) async fn log_chunk(&self, attempt: AttemptId, from: u64) -> Done<Chunk> {
        let logs: Arc<LogStore> = Arc::clone(&self.logs);
        let read = tokio::task::spawn_blocking(move || logs.read(attempt, from, PIECE)).await;
        let failed = |what: String| Problem::new(Code::Internal, format!("the log cannot be read: {what}"));
        match read {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(error)) => Err(failed(error.to_string()).into()),
            Err(panic) => Err(failed(panic.to_string()).into()),
        }
    }

    /// Whether the attempt has ended, from its row.
    pub(crate) async fn log_over(&self, subject: Subject) -> Done<Option<Over>> {
        let instance = self.instance(subject.instance).await?;
        let is_earlier = instance.attempt != subject.attempt;
        if !is_earlier && instance.state.is_open() {
            return Ok(None);
        }
        // Whoever ended well has said how much it printed; what has no output says nothing.
        let said = |bytes: Option<i64>| bytes.map_or(instance.state != State::Succeeded, |bytes| bytes > 0);
        let printed = is_earlier || said(instance.usage.log_bytes);
        let ran = is_earlier || instance.started_at.is_some();
        Ok(Some(Over { state: instance.state, printed: printed && ran }))
    }

    /// The log of an attempt that printed and has nothing left was dropped by retention.
    pub(crate) async fn log_is_gone(&self, subject: Subject, chunk: &Chunk) -> Done<bool> {
        if !chunk.frames.is_empty() || chunk.ended {
            return Ok(false);
        }
        let instance = self.instance(subject.instance).await?;
        let oldest = self.clock.now() - model::Span::from(self.config.keep_logs);
        let printed = instance.usage.log_bytes.is_some_and(|bytes| bytes > 0);
        Ok(printed && instance.ended_at.unwrap_or(Timestamp::MAX) < oldest)
    }
}

/// Waits for an attempt's end by looking at what is committed.
pub(crate) struct Watcher {
    desk: Desk,
    subject: Subject,
    position: u64,
    changes: tokio::sync::watch::Receiver<u64>,
}

impl Watcher {
    /// Take it before the row is read: what is committed after that is never missed.
    pub(crate) fn new(desk: Desk, subject: Subject) -> Watcher {
        let changes = desk.ring.watch();
        Watcher { position: desk.ring.position(), changes, desk, subject }
    }

    /// Returns when something was committed that may have ended the attempt; the row says whether it did.
    pub(crate) async fn changed(&mut self) {
        loop {
            if self.looked_through() {
                return;
            }
            if self.changes.changed().await.is_err() {
                // The server stops; whoever waits is cut with it.
                std::future::pending::<()>().await;
            }
        }
    }

    fn looked_through(&mut self) -> bool {
        loop {
            match self.desk.ring.since(self.position, COMMITS) {
                Since::Reset(next) => {
                    self.position = next;
                    return true;
                }
                Since::Commits(commits) => {
                    let Some((number, last)) = commits.last() else { return false };
                    self.position = number + last.changes.len().max(1) as u64;
                    let ends = |change: &Change| match change {
                        Change::Ended(ended) => ended.row.id == self.subject.instance,
                        Change::Retried(retried) => retried.row.id == self.subject.instance,
                        Change::Reopened { row, .. } => row.id == self.subject.instance,
                        _ => false,
                    };
                    if commits.iter().any(|(_, commit)| commit.changes.iter().any(ends)) {
                        return true;
                    }
                }
            }
        }
    }
}
