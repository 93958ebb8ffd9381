//! Writes frames at the end of the open segment: repeats are dropped, a gap is marked, and all that came together goes
//! out in one write. Answers only for what was written.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::SystemTime;

use model::{AttemptId, Timestamp};
use rustc_hash::FxHashMap;

use super::frame::Frame;
use super::record::{FRAME_HEAD, Label, SyncWord, encode};
use super::segment::micros;
use super::shelf::{Progress, Shelf};
use super::sync::{Job, SyncPolicy};

/// Payload after which the next record begins, so that a reader of a few frames need not take in a long record.
const RECORD_BYTES: usize = 64 << 10;
/// Room the buffer may keep between writes.
const BUFFER_KEPT: usize = 1 << 20;

/// Frames of an attempt, numbered from `first`.
pub(super) struct Incoming {
    pub(super) attempt: AttemptId,
    pub(super) first: u64,
    pub(super) frames: Vec<Frame>,
    pub(super) last: bool,
}

/// What one write will put down, and what it means for each attempt.
struct Draft {
    sync: SyncWord,
    end: u64,
    bytes: Vec<u8>,
    notes: Vec<(Label, u32, u32)>,
    progress: FxHashMap<AttemptId, Progress>,
}

impl Shelf {
    /// For each message, the number up to which its attempt is now kept.
    pub(super) fn append(&self, incoming: &[Incoming]) -> io::Result<Vec<u64>> {
        let mut pen = self.pen.lock();
        self.turn_page(&mut pen)?;
        let (wet, sync, end) = {
            let state = self.state.read();
            let open = state.open.as_ref().expect("a page was just turned");
            (Arc::clone(&open.wet), open.sync, open.end)
        };
        let bytes = std::mem::take(&mut pen.buffer);
        let mut draft = Draft { sync, end, bytes, notes: Vec::new(), progress: FxHashMap::default() };
        let mut kept = Vec::with_capacity(incoming.len());
        for message in incoming {
            kept.push(draft.add(message, self)?);
        }
        if draft.notes.is_empty() {
            return Ok(kept);
        }
        if let Err(error) = wet.file.write_all_at(&draft.bytes, end) {
            // What got through must not be found after a crash: it was never answered for, and will come again.
            if wet.file.set_len(end).is_err() {
                self.finish(&mut pen);
            }
            return Err(error);
        }
        self.note(&mut draft);
        if draft.bytes.capacity() <= BUFFER_KEPT {
            draft.bytes.clear();
            pen.buffer = draft.bytes;
        }
        drop(pen);
        if matches!(self.options.sync, SyncPolicy::Every(_)) && wet.wrote() {
            let _ = self.jobs.send(Job::Wrote(wet));
        }
        self.tails.wake(draft.progress.keys().copied());
        Ok(kept)
    }

    fn note(&self, draft: &mut Draft) {
        let mut state = self.state.write();
        let open = state.open.as_mut().expect("only the holder of the pen ends a segment");
        for (label, offset, length) in draft.notes.drain(..) {
            open.runs.note(label, offset, length);
        }
        open.end += draft.bytes.len() as u64;
        open.newest = micros(SystemTime::now());
        metrics::counter!("duly_log_bytes_total").increment(draft.bytes.len() as u64);
    }
}

impl Draft {
    fn add(&mut self, message: &Incoming, shelf: &Shelf) -> io::Result<u64> {
        let attempt = message.attempt;
        let Progress { mut next, last } = match self.progress.get(&attempt) {
            Some(progress) => *progress,
            None => shelf.progress(attempt)?,
        };
        let repeated = usize::try_from(next.saturating_sub(message.first)).unwrap_or(usize::MAX);
        let frames = message.frames.get(repeated..).unwrap_or_default();
        if message.first > next {
            let marker = lost_on_the_way(message.first - next, frames.first().map(|frame| frame.at));
            self.record(Label { attempt, first: next, upto: message.first, last, gap: true }, &[marker]);
            next = message.first;
        }
        let mut pieces = split(frames).peekable();
        let mut said = last || !message.last;
        while let Some(piece) = pieces.next() {
            let upto = next + piece.len() as u64;
            let ends = !said && pieces.peek().is_none();
            // An end already known is said again: this record may be the first in its segment.
            self.record(Label { attempt, first: next, upto, last: last || ends, gap: false }, piece);
            said |= ends;
            next = upto;
        }
        if !said {
            self.record(Label { attempt, first: next, upto: next, last: true, gap: false }, &[]);
        }
        self.progress.insert(attempt, Progress { next, last: last || message.last });
        Ok(next)
    }

    fn record(&mut self, label: Label, frames: &[Frame]) {
        let begin = self.bytes.len();
        encode(&mut self.bytes, &self.sync, label, frames);
        // Segments end long before four gigabytes.
        self.notes.push((label, (self.end + begin as u64) as u32, (self.bytes.len() - begin) as u32));
    }
}

fn lost_on_the_way(count: u64, at: Option<Timestamp>) -> Frame {
    metrics::counter!("duly_log_frames_lost_total").increment(count);
    let at = at.unwrap_or_else(|| micros(SystemTime::now()));
    Frame::marker(at, format!("[{count} log frames were lost before they came to the server]"))
}

fn split(frames: &[Frame]) -> impl Iterator<Item = &[Frame]> {
    let mut rest = frames;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |frame: &&Frame| {
            let before = bytes;
            bytes += FRAME_HEAD + frame.bytes.len();
            before <= RECORD_BYTES
        };
        let (piece, after) = rest.split_at(rest.iter().take_while(fits).count());
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
