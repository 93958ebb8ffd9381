//! Walks the records of a segment, over damage if need be: after bytes that make no sense it looks for the next sync
//! word and goes on there. Holds a window of the file and never the whole.

use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;

use super::record::{Parsed, Record, SyncWord, parse};

/// How much is read at once when a record does not ask for more.
const WINDOW: usize = 256 << 10;

/// What a walk found besides its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walked {
    /// Where the last sound record ends; after it comes nothing that makes sense.
    pub(super) sound_to: u64,
    /// How many times sense was lost and found again.
    pub(super) damaged: u32,
}

/// Shows `each` every sound record in `range` with its offset and length.
pub(super) fn walk(
    file: &File,
    sync: &SyncWord,
    range: Range<u64>,
    mut each: impl FnMut(u64, usize, Record<'_>) -> ControlFlow<()>,
) -> io::Result<Walked> {
    let mut window = Window { file, at: range.start, end: range.end, bytes: Vec::new(), used: 0 };
    let mut walked = Walked { sound_to: range.start, damaged: 0 };
    let mut lost = false;
    loop {
        match parse(window.ahead(), sync) {
            Parsed::Record(record, length) => {
                walked.damaged += u32::from(std::mem::take(&mut lost));
                let flow = each(window.at, length, record);
                window.advance(length);
                walked.sound_to = window.at;
                if flow.is_break() {
                    return Ok(walked);
                }
            }
            Parsed::Short(needed) if window.can_hold(needed) => window.fill(needed)?,
            Parsed::Short(_) | Parsed::Damaged => {
                lost = true;
                if !window.seek_past_here(sync)? {
                    return Ok(walked);
                }
            }
        }
    }
}

struct Window<'a> {
    file: &'a File,
    /// Where in the file `ahead` begins.
    at: u64,
    end: u64,
    bytes: Vec<u8>,
    used: usize,
}

impl Window<'_> {
    fn ahead(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    fn advance(&mut self, by: usize) {
        self.used += by;
        self.at += by as u64;
    }

    fn can_hold(&self, needed: usize) -> bool {
        self.at + needed as u64 <= self.end
    }

    /// Reads until at least `needed` bytes are ahead.
    fn fill(&mut self, needed: usize) -> io::Result<()> {
        self.bytes.drain(..self.used);
        self.used = 0;
        let have = self.bytes.len();
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        self.bytes.resize(needed.max(WINDOW).min(left), 0);
        self.file.read_exact_at(&mut self.bytes[have..], self.at + have as u64)
    }

    /// Goes to the next sync word after this place; false if there is none.
    fn seek_past_here(&mut self, sync: &SyncWord) -> io::Result<bool> {
        let mut skip = 1;
        loop {
            let ahead = self.ahead();
            if let Some(found) = (skip..ahead.len().saturating_sub(7)).find(|at| ahead[*at..].starts_with(sync)) {
                self.advance(found);
                return Ok(true);
            }
            let seen = ahead.len().saturating_sub(7).max(skip.min(ahead.len()));
            self.advance(seen);
            skip = if seen == 0 { skip } else { 0 };
            let needed = self.ahead().len() + 1;
            if !self.can_hold(needed.max(8)) {
                return Ok(false);
            }
            self.fill(needed.max(8))?;
        }
    }
}
