//! The end of a log without its beginning: the last lines of an attempt that may have printed gigabytes.

use std::io;

use model::AttemptId;

use super::LogStore;
use super::read::Chunk;
use super::render::{count_lines, last_bytes, last_lines};

/// How many frames are tried first; four times as many each time they hold too few lines.
const FRAMES_FIRST: u64 = 64;

impl LogStore {
    /// The last `lines` lines, as far as they fit `bytes_max`; read on from `next` to follow. Blocks on the disk.
    pub fn read_last(&self, attempt: AttemptId, lines: usize, bytes_max: usize) -> io::Result<Chunk> {
        let end = self.end(attempt)?;
        let mut span = FRAMES_FIRST;
        loop {
            let from = end.saturating_sub(span);
            let mut chunk = self.read_between(attempt, from, end, bytes_max)?;
            let bytes: usize = chunk.frames.iter().map(|frame| frame.bytes.len()).sum();
            // The first line of a part may have begun before it.
            let is_enough = from == 0 || bytes >= bytes_max || count_lines(&chunk.frames) > lines;
            if is_enough {
                last_bytes(&mut chunk.frames, bytes_max);
                last_lines(&mut chunk.frames, lines);
                return Ok(chunk);
            }
            span = span.saturating_mul(4);
        }
    }

    fn read_between(&self, attempt: AttemptId, from: u64, end: u64, bytes: usize) -> io::Result<Chunk> {
        let mut all = self.read(attempt, from, bytes)?;
        while all.next < end && !all.ended {
            let mut more = self.read(attempt, all.next, bytes)?;
            if more.next == all.next {
                break;
            }
            all.frames.append(&mut more.frames);
            // What is before the last bytes will not be shown, and need not be held.
            last_bytes(&mut all.frames, bytes);
            all = Chunk { frames: all.frames, missing: all.missing || more.missing, ..more };
        }
        Ok(all)
    }
}
