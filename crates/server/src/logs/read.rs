//! Reads an attempt's frames back, over as many segments as they lie in. Where frames should be and are not (damaged,
//! dropped by retention), it says so in their place and goes on after them.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use model::{AttemptId, Timestamp};

use super::LogStore;
use super::frame::Frame;
use super::record::{FRAME_HEAD, Record, SyncWord};
use super::runs::{Found, Run};
use super::scan::walk;
use super::sync::Wet;

/// Frames of an attempt, in the order they were printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    pub frames: Vec<Frame>,
    /// The number to read on from.
    pub next: u64,
    /// The agent said that no more will come, and nothing follows `next`.
    pub ended: bool,
    /// A marker among the frames stands for some that are not here.
    pub missing: bool,
}

/// The part of the attempt that one segment holds.
struct Part {
    file: Source,
    sync: SyncWord,
    newest: Timestamp,
    found: Found,
}

enum Source {
    Open(Arc<Wet>),
    Sealed(File),
}

impl LogStore {
    /// The frames from number `from` on, of about `bytes_max` bytes together but at least one if there is any. Blocks
    /// on the disk. An attempt nobody knows reads as one that printed nothing yet.
    pub fn read(&self, attempt: AttemptId, from: u64, bytes_max: usize) -> io::Result<Chunk> {
        let parts = self.parts(attempt, from, bytes_max)?;
        let mut reading = Reading::new(attempt, from, bytes_max);
        for part in &parts {
            if reading.part(part)?.is_break() {
                break;
            }
        }
        let end = parts.last().map(|part| (part.found.upto, part.found.last));
        reading.chunk.ended = end.is_some_and(|(upto, last)| last && reading.chunk.next >= upto);
        Ok(reading.chunk)
    }

    /// The number after the attempt's latest frame.
    pub fn end(&self, attempt: AttemptId) -> io::Result<u64> {
        Ok(self.shelf.progress(attempt)?.next)
    }

    /// From the newest segment back to the one that holds `from`; handed out oldest first.
    fn parts(&self, attempt: AttemptId, from: u64, bytes: usize) -> io::Result<Vec<Part>> {
        let mut parts = Vec::new();
        let sealed = {
            let state = self.shelf.state.read();
            if let Some(open) = &state.open
                && let Some(found) = open.runs.find(attempt, from, bytes)
            {
                let file = Source::Open(Arc::clone(&open.wet));
                parts.push(Part { file, sync: open.sync, newest: open.newest, found });
            }
            state.sealed_with(attempt)
        };
        for segment in sealed {
            if parts.last().is_some_and(|part| part.found.reaches) {
                break;
            }
            if let Some(found) = segment.find(attempt, from, bytes)?
                && let Some(file) = segment.open()?
            {
                let (sync, newest) = (segment.summary.sync, segment.summary.newest);
                parts.push(Part { file: Source::Sealed(file), sync, newest, found });
            }
        }
        parts.reverse();
        Ok(parts)
    }
}

impl Source {
    fn file(&self) -> &File {
        match self {
            Source::Open(wet) => &wet.file,
            Source::Sealed(file) => file,
        }
    }
}

struct Reading {
    attempt: AttemptId,
    chunk: Chunk,
    room: usize,
    /// When the frame before was printed, to date a marker that has none after it.
    at: Option<Timestamp>,
}

impl Reading {
    fn new(attempt: AttemptId, from: u64, bytes_max: usize) -> Reading {
        Reading { attempt, chunk: Chunk { next: from, ..Chunk::default() }, room: bytes_max, at: None }
    }

    /// Breaks when the chunk is full.
    fn part(&mut self, part: &Part) -> io::Result<ControlFlow<()>> {
        for run in &part.found.runs {
            if self.run(part, run)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let all = part.found.runs.last().is_none_or(|run| run.upto == part.found.upto);
        Ok(if all { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }

    fn run(&mut self, part: &Part, run: &Run) -> io::Result<ControlFlow<()>> {
        let range = u64::from(run.offset)..u64::from(run.offset) + u64::from(run.length);
        let mut full = ControlFlow::Continue(());
        let walked = walk(part.file.file(), &part.sync, range, |_, _, record| {
            if record.label.attempt == self.attempt {
                full = self.record(&record);
            }
            full
        });
        match walked {
            // The file ends before the run does, or the disk cannot read it: the same to a reader as damage.
            Err(error) => tracing::warn!(attempt = %self.attempt, %error, "cannot read a part of a log"),
            Ok(_) if full.is_break() => return Ok(full),
            Ok(_) => {}
        }
        self.hole(run.upto, self.at.unwrap_or(part.newest));
        Ok(self.flow())
    }

    fn record(&mut self, record: &Record<'_>) -> ControlFlow<()> {
        let label = record.label;
        let mut frames = record.frames().peekable();
        if let Some(frame) = frames.peek() {
            self.hole(label.first, frame.at);
        }
        if label.gap {
            if let Some(marker) = frames.next().filter(|_| self.chunk.next < label.upto) {
                self.push(marker);
                self.chunk.missing = true;
                self.chunk.next = label.upto;
            }
            return self.flow();
        }
        for (number, frame) in (label.first..).zip(frames) {
            self.flow()?;
            if number == self.chunk.next {
                self.push(frame);
                self.chunk.next += 1;
            }
        }
        self.flow()
    }

    /// Says that nothing is known up to this number, unless it is.
    fn hole(&mut self, upto: u64, at: Timestamp) {
        let Some(count) = upto.checked_sub(self.chunk.next).filter(|count| *count > 0) else { return };
        self.push(Frame::marker(at, format!("[{count} log frames are no longer here, or cannot be read]")));
        self.chunk.missing = true;
        self.chunk.next = upto;
    }

    fn push(&mut self, frame: Frame) {
        // An empty frame takes room as well, or a chunk of them would have no bound.
        self.room = self.room.saturating_sub(frame.bytes.len() + FRAME_HEAD);
        self.at = Some(frame.at);
        self.chunk.frames.push(frame);
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.room == 0 && !self.chunk.frames.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
