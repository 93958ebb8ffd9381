//! The thread that waits for the disk so that nobody else does: it flushes what was written, at most once in a while,
//! and gives each finished segment its index. Never changes what a reader sees.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::segment::Sealed;

/// Finished segments that may wait here, their runs still in memory; then writing waits.
const QUEUE: usize = 4;

/// When written frames are forced to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPolicy {
    /// At most this often while something is written, and when a segment is finished.
    Every(Duration),
    /// Whenever the system likes.
    Never,
}

impl SyncPolicy {
    pub(super) fn is_durable(self) -> bool {
        matches!(self, SyncPolicy::Every(_))
    }
}

/// A segment file that may hold bytes the disk does not.
pub(super) struct Wet {
    pub(super) file: File,
    wet: AtomicBool,
}

pub(super) enum Job {
    Wrote(Arc<Wet>),
    Seal(Arc<Sealed>, Option<Arc<Wet>>),
    Stop,
}

impl Wet {
    pub(super) fn new(file: File) -> Wet {
        Wet { file, wet: AtomicBool::new(false) }
    }

    /// True if nobody said so since it was last flushed.
    pub(super) fn wrote(&self) -> bool {
        !self.wet.swap(true, Ordering::AcqRel)
    }

    fn flush(&self) {
        // Before the flush: what is written during it is told anew.
        if self.wet.swap(false, Ordering::AcqRel)
            && let Err(error) = self.file.sync_data()
        {
            tracing::error!(%error, "cannot flush a log segment; a power cut may lose the latest logs");
        }
    }
}

pub(super) fn spawn(policy: SyncPolicy) -> io::Result<(SyncSender<Job>, JoinHandle<()>)> {
    let (jobs, queue) = sync_channel(QUEUE);
    let thread = thread::Builder::new().name("log-sync".into()).spawn(move || run(&queue, policy))?;
    Ok((jobs, thread))
}

fn run(jobs: &Receiver<Job>, policy: SyncPolicy) {
    let every = match policy {
        SyncPolicy::Every(every) => every,
        SyncPolicy::Never => Duration::MAX,
    };
    let mut wet: Vec<Arc<Wet>> = Vec::new();
    let mut due: Option<Instant> = None;
    loop {
        match next(jobs, due) {
            Ok(Job::Wrote(file)) => {
                wet.push(file);
                due = due.or_else(|| Instant::now().checked_add(every));
            }
            Ok(Job::Seal(segment, file)) => seal(&segment, file.as_deref(), policy),
            Err(RecvTimeoutError::Timeout) => {
                wet.drain(..).for_each(|file| file.flush());
                due = None;
            }
            Ok(Job::Stop) | Err(RecvTimeoutError::Disconnected) => {
                wet.drain(..).for_each(|file| file.flush());
                return;
            }
        }
    }
}

fn next(jobs: &Receiver<Job>, due: Option<Instant>) -> Result<Job, RecvTimeoutError> {
    match due {
        None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(due) => match due.checked_duration_since(Instant::now()) {
            Some(left) => jobs.recv_timeout(left),
            None => Err(RecvTimeoutError::Timeout),
        },
    }
}

fn seal(segment: &Sealed, file: Option<&Wet>, policy: SyncPolicy) {
    if policy.is_durable()
        && let Some(file) = file
    {
        file.flush();
    }
    match segment.write_index(policy.is_durable()).and_then(|()| sync_dir(&segment.path, policy)) {
        Ok(()) => {
            segment.forget_runs();
            // Dropped as too old meanwhile: an index without its segment is of no use.
            if !segment.path.exists() {
                let _ = std::fs::remove_file(segment.path.with_extension("idx"));
            }
        }
        // It stays known in memory, and the next start reads it through.
        Err(error) => tracing::error!(segment = segment.number, %error, "cannot write the index of a log segment"),
    }
}

fn sync_dir(path: &Path, policy: SyncPolicy) -> io::Result<()> {
    match path.parent() {
        Some(dir) if policy.is_durable() => File::open(dir)?.sync_all(),
        _ => Ok(()),
    }
}
