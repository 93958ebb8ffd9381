//! One segment file: made, taken up again after a restart, and looked up once it is written no more. Never decides
//! when to begin the next.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{AttemptId, Timestamp};
use parking_lot::RwLock;

use super::index::{self, Summary};
use super::record::{SyncWord, u32_at};
use super::runs::{Found, Runs};
use super::scan::walk;
use super::sync::Wet;

const MAGIC: &[u8; 8] = b"dulylog1";
/// Magic, sync word, crc32.
const HEAD: usize = 20;

/// The segment being written.
pub(super) struct Open {
    pub(super) number: u64,
    pub(super) wet: Arc<Wet>,
    pub(super) sync: SyncWord,
    pub(super) end: u64,
    pub(super) runs: Runs,
    /// When its first and its latest record came.
    pub(super) oldest: Timestamp,
    pub(super) newest: Timestamp,
}

/// A segment written no more.
pub(super) struct Sealed {
    pub(super) number: u64,
    pub(super) path: PathBuf,
    pub(super) summary: Summary,
    index: RwLock<Index>,
}

enum Index {
    /// While there is no index file to trust.
    Memory(Arc<Runs>),
    Disk,
}

pub(super) fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:010}.seg"))
}

impl Open {
    pub(super) fn create(dir: &Path, number: u64, now: Timestamp, durable: bool) -> io::Result<Open> {
        let path = path_of(dir, number);
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        let mut sync = SyncWord::default();
        let begun = getrandom::fill(&mut sync).map_err(io::Error::other).and_then(|()| {
            file.write_all_at(&header(&sync), 0)?;
            if durable { File::open(dir)?.sync_all() } else { Ok(()) }
        });
        if let Err(error) = begun {
            // Or the next try would find the name taken.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        let wet = Arc::new(Wet::new(file));
        Ok(Open { number, wet, sync, end: HEAD as u64, runs: Runs::default(), oldest: now, newest: now })
    }

    /// Reads through a segment without an index and cuts the tail a crash tore. None: it does not begin as ours do.
    pub(super) fn recover(dir: &Path, number: u64) -> io::Result<Option<Open>> {
        let file = OpenOptions::new().read(true).write(true).open(path_of(dir, number))?;
        let about = file.metadata()?;
        let newest = micros(about.modified()?);
        let Some(sync) = read_header(&file, about.len())? else { return Ok(None) };
        let mut runs = Runs::default();
        let mut oldest = newest;
        let walked = walk(&file, &sync, HEAD as u64..about.len(), |offset, length, record| {
            if runs.len() == 0 {
                oldest = record.frames().next().map_or(newest, |frame| frame.at.min(newest));
            }
            runs.note(record.label, offset as u32, length as u32);
            ControlFlow::Continue(())
        })?;
        if walked.damaged > 0 {
            tracing::warn!(segment = number, places = walked.damaged, "a log segment is damaged; the rest is kept");
        }
        if walked.sound_to < about.len() {
            tracing::info!(
                segment = number,
                bytes = about.len() - walked.sound_to,
                "cut the torn end of a log segment"
            );
            file.set_len(walked.sound_to)?;
        }
        Ok(Some(Open { number, wet: Arc::new(Wet::new(file)), sync, end: walked.sound_to, runs, oldest, newest }))
    }

    pub(super) fn into_sealed(self, dir: &Path) -> Sealed {
        let summary = Summary::of(&self.runs, self.newest, self.end, self.sync);
        let index = RwLock::new(Index::Memory(Arc::new(self.runs)));
        Sealed { number: self.number, path: path_of(dir, self.number), summary, index }
    }
}

impl Sealed {
    /// None: its index is not there or cannot be trusted, or bytes are missing.
    pub(super) fn load(dir: &Path, number: u64) -> io::Result<Option<Sealed>> {
        let path = path_of(dir, number);
        let Some(summary) = index::read_summary(&path.with_extension("idx"))? else { return Ok(None) };
        let whole = fs::metadata(&path)?.len() >= summary.segment_bytes;
        Ok(whole.then_some(Sealed { number, path, summary, index: RwLock::new(Index::Disk) }))
    }

    /// A file that does not begin as ours do: kept as it is until retention takes it, and never read.
    pub(super) fn unreadable(dir: &Path, number: u64) -> io::Result<Sealed> {
        let path = path_of(dir, number);
        let about = fs::metadata(&path)?;
        let runs = Runs::default();
        let summary = Summary::of(&runs, micros(about.modified()?), about.len(), SyncWord::default());
        Ok(Sealed { number, path, summary, index: RwLock::new(Index::Memory(Arc::new(runs))) })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.summary.segment_bytes + self.summary.file_bytes()
    }

    /// Not even a header was written.
    pub(super) fn is_empty(&self) -> bool {
        self.summary.segment_bytes <= HEAD as u64
    }

    pub(super) fn write_index(&self, durable: bool) -> io::Result<()> {
        let Index::Memory(runs) = &*self.index.read() else { return Ok(()) };
        index::write(&self.path.with_extension("idx"), &self.summary, runs, durable)
    }

    pub(super) fn forget_runs(&self) {
        *self.index.write() = Index::Disk;
    }

    /// None: it knows nothing of the attempt, or was dropped meanwhile.
    pub(super) fn find(&self, attempt: AttemptId, from: u64, bytes: usize) -> io::Result<Option<Found>> {
        if !self.summary.covers(attempt) {
            return Ok(None);
        }
        if let Index::Memory(runs) = &*self.index.read() {
            return Ok(runs.find(attempt, from, bytes));
        }
        let on_disk = match File::open(self.path.with_extension("idx")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            file => file.and_then(|file| index::find(&file, &self.summary, attempt, from, bytes)),
        };
        match on_disk {
            Ok(found) => Ok(found),
            Err(error) => Ok(self.reindex(error)?.and_then(|runs| runs.find(attempt, from, bytes))),
        }
    }

    /// The file to read from; None: dropped meanwhile.
    pub(super) fn open(&self) -> io::Result<Option<File>> {
        match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => file.map(Some),
        }
    }

    fn reindex(&self, why: io::Error) -> io::Result<Option<Arc<Runs>>> {
        let Some(file) = self.open()? else { return Ok(None) };
        tracing::warn!(segment = self.number, error = %why, "the index of a log segment is damaged; making it anew");
        let mut runs = Runs::default();
        walk(&file, &self.summary.sync, HEAD as u64..self.summary.segment_bytes, |offset, length, record| {
            runs.note(record.label, offset as u32, length as u32);
            ControlFlow::Continue(())
        })?;
        let runs = Arc::new(runs);
        let as_before = runs.len() as u64 == self.summary.entries;
        if !as_before || index::write(&self.path.with_extension("idx"), &self.summary, &runs, false).is_err() {
            // The segment is damaged too, or the disk full: memory serves until the next start reads it through.
            let _ = fs::remove_file(self.path.with_extension("idx"));
            *self.index.write() = Index::Memory(Arc::clone(&runs));
        }
        Ok(Some(runs))
    }
}

pub(super) fn micros(time: std::time::SystemTime) -> Timestamp {
    let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

fn header(sync: &SyncWord) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(sync);
    let crc = crc32fast::hash(&head[..16]);
    head[16..].copy_from_slice(&crc.to_le_bytes());
    head
}

fn read_header(file: &File, length: u64) -> io::Result<Option<SyncWord>> {
    if length < HEAD as u64 {
        return Ok(None);
    }
    let mut head = [0; HEAD];
    file.read_exact_at(&mut head, 0)?;
    let sound = head.starts_with(MAGIC) && crc32fast::hash(&head[..16]) == u32_at(&head, 16);
    Ok(sound.then(|| head[8..16].try_into().expect("eight bytes")))
}
