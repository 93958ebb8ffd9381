//! Keeps what a task prints, up to its caps. Never makes the task wait or fail: what cannot be kept is counted.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::frame::{self, Stream};

pub struct Log {
    place: Place,
    /// Where the last whole frame ends.
    end: u64,
    bytes_left: u64,
    lines_left: u64,
    pub kept: u64,
    pub dropped: u64,
}

enum Place {
    /// Made with the first frame: a task that prints nothing needs no file.
    Named(PathBuf),
    Open(File),
}

impl Log {
    pub fn new(file: File, bytes_max: u64, lines_max: u64) -> Log {
        let place = Place::Open(file);
        Log { place, end: 0, bytes_left: bytes_max, lines_left: lines_max, kept: 0, dropped: 0 }
    }

    pub fn at(path: impl Into<PathBuf>, bytes_max: u64, lines_max: u64) -> Log {
        let place = Place::Named(path.into());
        Log { place, end: 0, bytes_left: bytes_max, lines_left: lines_max, kept: 0, dropped: 0 }
    }

    pub fn append(&mut self, stream: Stream, at: i64, bytes: &[u8]) {
        let fits = self.fitting(bytes);
        let kept = fits > 0 && self.write(stream, at, &bytes[..fits]).is_ok();
        let kept = if kept { fits as u64 } else { 0 };
        self.kept += kept;
        self.bytes_left = if kept < bytes.len() as u64 { 0 } else { self.bytes_left - kept };
        self.dropped += bytes.len() as u64 - kept;
    }

    /// Says at the end how much is missing, once.
    pub fn finish(&mut self, at: i64) {
        if self.dropped > 0 {
            // Without room even for this, the result still carries the count.
            let _ = self.write(Stream::Dropped, at, &self.dropped.to_le_bytes());
        }
    }

    fn fitting(&mut self, bytes: &[u8]) -> usize {
        let fits = bytes.len().min(usize::try_from(self.bytes_left).unwrap_or(usize::MAX));
        if self.lines_left == u64::MAX {
            return fits;
        }
        for (at, _) in bytes[..fits].iter().enumerate().filter(|(_, b)| **b == b'\n') {
            self.lines_left = self.lines_left.saturating_sub(1);
            if self.lines_left == 0 {
                return at + 1;
            }
        }
        if self.lines_left == 0 { 0 } else { fits }
    }

    fn write(&mut self, stream: Stream, at: i64, bytes: &[u8]) -> io::Result<()> {
        let header = frame::header(stream, at, bytes.len());
        let length = header.len() + bytes.len();
        let file = self.place.open()?;
        let written = file.write_vectored(&[IoSlice::new(&header), IoSlice::new(bytes)]);
        if written.as_ref().is_ok_and(|written| *written == length) {
            self.end += length as u64;
            return Ok(());
        }
        // Half a frame would make everything behind it unreadable.
        file.set_len(self.end)?;
        file.seek(SeekFrom::Start(self.end))?;
        Err(written.err().unwrap_or_else(|| io::ErrorKind::StorageFull.into()))
    }
}

impl Place {
    fn open(&mut self) -> io::Result<&mut File> {
        if let Place::Named(path) = self {
            *self = Place::Open(OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)?);
        }
        match self {
            Place::Open(file) => Ok(file),
            Place::Named(_) => unreachable!("it was opened above"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes_max: u64, lines_max: u64, chunks: &[&str], kept: &str) {
        let mut log = Log::new(tempfile::tempfile().unwrap(), bytes_max, lines_max);
        chunks.iter().for_each(|chunk| log.append(Stream::Stdout, 0, chunk.as_bytes()));
        let all: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        assert_eq!((log.kept, log.dropped), (kept.len() as u64, (all - kept.len()) as u64));
    }

    #[test]
    fn caps_cut_exactly() {
        let none = u64::MAX;
        check(none, none, &["ab\n", "c"], "ab\nc");
        check(4, none, &["ab\n", "cd\n", "e"], "ab\nc");
        check(3, none, &["ab\n", "cd\n"], "ab\n");
        check(0, none, &["ab\n"], "");
        check(none, 2, &["a\nb", "b\nc\n", "d"], "a\nbb\n");
        check(none, 0, &["a"], "");
    }

    #[test]
    fn after_a_cap_nothing_more_is_kept_even_if_it_would_fit() {
        check(5, u64::MAX, &["abc", "defg", "h"], "abcde");
    }
}
