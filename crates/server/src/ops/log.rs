//! The output of an attempt: what there is, and when there is no more to come.

use std::sync::Arc;
use std::time::Duration;

use engine::Change;
use model::{AgentId, AttemptId, Instance, InstanceId, State, TenantId, Timestamp};
use wire::{Code, Problem};

use super::{Desk, Done, Sight};
use crate::events::Since;
use crate::logs::{Chunk, Frame, LogStore, Stream};

/// Read from disk at a time.
pub(crate) const PIECE: usize = 256 << 10;
/// Commits looked through at a time.
const COMMITS: usize = 256;
/// An attempt that ended well before its last output arrived is waited for this long: its agent may be gone for good.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(15);

/// An executor that cannot be asked is not asked again.
const ALL_READ: u64 = u64::MAX;

/// An attempt whose log is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject {
    tenant: TenantId,
    pub(crate) instance: InstanceId,
    pub(crate) attempt: AttemptId,
    /// Its log is with the executor that ran it.
    pub(crate) rolled: Option<Rolled>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rolled {
    executor: AgentId,
    dated: Timestamp,
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
    pub(crate) async fn log_subject(&self, sight: &Sight, id: InstanceId, attempt: Option<i64>) -> Done<Subject> {
        let instance = self.instance(sight, id).await?;
        let Some(attempt) = attempt.map(AttemptId).filter(|attempt| *attempt != instance.attempt) else {
            let rolled = self.rolled(&instance, instance.target);
            return Ok(Subject { tenant: instance.tenant, instance: id, attempt: instance.attempt, rolled });
        };
        let earlier = self.read(move |reads, by| reads.attempts(id, by)).await?;
        let Some(found) = earlier.iter().find(|one| one.id == attempt) else {
            let detail = format!("instance {id} has no attempt {attempt}");
            return Err(Problem::new(Code::NoSuchAttempt, detail).into());
        };
        Ok(Subject { tenant: instance.tenant, instance: id, attempt, rolled: self.rolled(&instance, found.target) })
    }

    fn rolled(&self, instance: &Instance, target: Option<AgentId>) -> Option<Rolled> {
        let executor = target.filter(|target| self.executors.record(*target).is_some())?;
        Some(Rolled { executor, dated: instance.planned.max(instance.created_at) })
    }

    pub(crate) async fn log_chunk(&self, subject: Subject, from: u64) -> Done<Chunk> {
        let attempt = subject.attempt;
        if let Some(rolled) = subject.rolled {
            return Ok(self.rolled_chunk(rolled, attempt, from).await);
        }
        let logs: Arc<LogStore> = Arc::clone(&self.logs);
        let read = tokio::task::spawn_blocking(move || logs.read(attempt, from, PIECE)).await;
        let failed = |what: String| Problem::new(Code::Internal, format!("the log cannot be read: {what}"));
        match read {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(error)) => Err(failed(error.to_string()).into()),
            Err(panic) => Err(failed(panic.to_string()).into()),
        }
    }

    /// What the executor has beyond the lines read so far. It never says whether that is all: we know that better.
    async fn rolled_chunk(&self, rolled: Rolled, attempt: AttemptId, read: u64) -> Chunk {
        let empty = Chunk { frames: Vec::new(), next: read, ended: true, missing: false };
        if read == ALL_READ {
            return empty;
        }
        let at = self.clock.now();
        let from_line = i64::try_from(read).unwrap_or(i64::MAX - 1) + 1;
        match self.executors.log_page(rolled.executor, attempt, rolled.dated, from_line).await {
            Ok(page) if page.text.is_empty() || page.to_line < from_line => empty,
            Ok(page) => {
                // Executors disagree about the numbers of lines; what they sent can be counted.
                let lines = page.text.lines().count() as u64;
                let mut bytes = page.text.into_bytes();
                if !bytes.ends_with(b"\n") {
                    bytes.push(b'\n');
                }
                let frame = Frame { stream: Stream::Stdout, at, bytes };
                Chunk { frames: vec![frame], next: read + lines, ..empty }
            }
            Err(error) => {
                let frame = Frame { stream: Stream::Marker, at, bytes: error.to_string().into_bytes() };
                Chunk { frames: vec![frame], next: ALL_READ, ..empty }
            }
        }
    }

    /// Whether the attempt has ended, from its row.
    pub(crate) async fn log_over(&self, subject: Subject) -> Done<Option<Over>> {
        let instance = self.instance(&Sight::of_tenant(subject.tenant), subject.instance).await?;
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
        let instance = self.instance(&Sight::of_tenant(subject.tenant), subject.instance).await?;
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
