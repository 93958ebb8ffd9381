//! Keeps what tasks print, for every attempt, in a few append-only files. Agents send frames; people read and follow
//! them; retention drops them by whole files. Never decides anything about a run, and a run never waits for it.
//!
//! `<dir>/<number>.seg` holds records of all attempts as they came, each with a checksum; when it is full it gets
//! `<number>.idx`, sorted by attempt, and the next begins. Memory holds the places of the open segment only.
//!
//! A frame is acknowledged when the system has it, so it outlives a crash of this process. It is forced to the disk
//! within a second: **a power cut may lose the last second of logs**, and the log then says that frames are missing.
//! What is damaged is skipped with a marker in its place, and the rest stays readable.

mod append;
mod frame;
mod index;
mod last;
mod read;
mod receive;
mod record;
pub mod render;
mod runs;
mod scan;
mod segment;
mod shelf;
mod sync;
mod tails;
#[cfg(test)]
mod tests;
mod tidy;
mod write;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

use model::{AgentId, AttemptId};
use tokio::sync::mpsc;

pub use frame::{Frame, Stream};
pub use read::Chunk;
pub use sync::SyncPolicy;
pub use tails::Tail;

use shelf::Shelf;
use sync::Job;
use write::Batch;

/// Places in a segment are 32 bits wide; this leaves room for the write that fills it.
const SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// Whether an agent may write so many bytes more of an attempt's log.
pub type Allowed = Arc<dyn Fn(AgentId, AttemptId, u64) -> Leave + Send + Sync>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    Keep,
    /// It is answered and kept without its bytes; with a line that says why, where there is one to say.
    Blank(Option<String>),
    /// The attempt is none of this agent's.
    Refused,
}

pub struct LogOptions {
    /// A segment that has grown to this is full; at most a gigabyte.
    pub segment_bytes: u64,
    pub sync: SyncPolicy,
    pub allowed: Allowed,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        let sync = SyncPolicy::Every(Duration::from_secs(1));
        LogOptions { segment_bytes: 64 << 20, sync, allowed: Arc::new(|_, _, _| Leave::Keep) }
    }
}

pub struct LogStore {
    shelf: Arc<Shelf>,
    /// None: being closed.
    batches: Option<mpsc::Sender<Batch>>,
    jobs: SyncSender<Job>,
    /// The writing and the flushing one.
    threads: Option<(JoinHandle<()>, JoinHandle<()>)>,
}

impl LogStore {
    /// Takes up what is in `dir`, made if it is not there. Only one store at a time may have it.
    pub fn open(dir: &Path, mut options: LogOptions) -> io::Result<Arc<LogStore>> {
        options.segment_bytes = options.segment_bytes.min(SEGMENT_BYTES_MAX);
        let (jobs, syncing) = sync::spawn(options.sync)?;
        let shelf = Arc::new(Shelf::open(dir, options, jobs.clone())?);
        let (batches, writing) = write::spawn(Arc::clone(&shelf))?;
        Ok(Arc::new(LogStore { shelf, batches: Some(batches), jobs, threads: Some((writing, syncing)) }))
    }

    /// Wakes when more of the attempt's log is written.
    pub fn watch(&self, attempt: AttemptId) -> Tail {
        self.shelf.tails.follow(attempt)
    }

    fn batches(&self) -> &mpsc::Sender<Batch> {
        self.batches.as_ref().expect("only dropping the store takes it")
    }
}

impl Drop for LogStore {
    /// Waits until all that was taken is written and flushed.
    fn drop(&mut self) {
        self.batches = None;
        if let Some((writing, syncing)) = self.threads.take() {
            let written = writing.join();
            // Only now has the other been given all its work.
            let _ = self.jobs.send(Job::Stop);
            if written.and(syncing.join()).is_err() {
                tracing::error!("a thread of the log store panicked");
            }
        }
        self.shelf.tails.close();
    }
}
