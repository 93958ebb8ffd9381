//! The index file of a segment that is written no more: its runs sorted by attempt, each with its own checksum, so that
//! a look-up reads a few entries and never the whole. Written beside and renamed, so it is whole or absent.
//!
//! ```text
//! magic 8 | entries 8 | least attempt 8 | greatest attempt 8 | newest write 8 | bytes of the segment 8 | sync word 8 | crc32 4
//! entry: attempt 8 | first 8 | upto 8 | offset 4 | length 4 | last 4 | crc32 4
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::{AttemptId, Timestamp};

use super::record::{SyncWord, u32_at, u64_at};
use super::runs::{Found, Run, Runs};

const MAGIC: &[u8; 8] = b"dulyidx1";
const HEAD: usize = 60;
const ENTRY: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) entries: u64,
    /// Attempts it may know; `least > greatest` when it knows none.
    pub(super) least: AttemptId,
    pub(super) greatest: AttemptId,
    pub(super) newest: Timestamp,
    pub(super) segment_bytes: u64,
    pub(super) sync: SyncWord,
}

impl Summary {
    pub(super) fn of(runs: &Runs, newest: Timestamp, segment_bytes: u64, sync: SyncWord) -> Summary {
        let (least, greatest) = runs.range();
        Summary { entries: runs.len() as u64, least, greatest, newest, segment_bytes, sync }
    }

    pub(super) fn covers(&self, attempt: AttemptId) -> bool {
        (self.least..=self.greatest).contains(&attempt)
    }

    pub(super) fn file_bytes(&self) -> u64 {
        HEAD as u64 + self.entries * ENTRY as u64
    }
}

pub(super) fn write(path: &Path, summary: &Summary, runs: &Runs, durable: bool) -> io::Result<()> {
    let mut out = Vec::with_capacity(summary.file_bytes() as usize);
    out.extend_from_slice(MAGIC);
    let numbers = [summary.entries, summary.least.0 as u64, summary.greatest.0 as u64, summary.newest.0 as u64];
    numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    out.extend_from_slice(&summary.segment_bytes.to_le_bytes());
    out.extend_from_slice(&summary.sync);
    seal(&mut out, 0);
    for run in runs.sorted() {
        let begin = out.len();
        out.extend_from_slice(&run.attempt.0.to_le_bytes());
        out.extend_from_slice(&run.first.to_le_bytes());
        out.extend_from_slice(&run.upto.to_le_bytes());
        out.extend_from_slice(&run.offset.to_le_bytes());
        out.extend_from_slice(&run.length.to_le_bytes());
        out.extend_from_slice(&u32::from(run.last).to_le_bytes());
        seal(&mut out, begin);
    }
    let beside = path.with_extension("tmp");
    let mut file = File::create(&beside)?;
    file.write_all(&out)?;
    if durable {
        file.sync_data()?;
    }
    fs::rename(&beside, path)
}

/// None: there is no index, or not one that can be trusted.
pub(super) fn read_summary(path: &Path) -> io::Result<Option<Summary>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut head = [0; HEAD];
    if file.metadata()?.len() < HEAD as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut head, 0)?;
    let summary = Summary {
        entries: u64_at(&head, 8),
        least: AttemptId(u64_at(&head, 16) as i64),
        greatest: AttemptId(u64_at(&head, 24) as i64),
        newest: Timestamp(u64_at(&head, 32) as i64),
        segment_bytes: u64_at(&head, 40),
        sync: head[48..56].try_into().expect("eight bytes"),
    };
    let sound = head.starts_with(MAGIC) && sealed(&head) && file.metadata()?.len() == summary.file_bytes();
    Ok(sound.then_some(summary))
}

/// `InvalidData` when an entry it had to read is damaged.
pub(super) fn find(
    file: &File,
    summary: &Summary,
    attempt: AttemptId,
    from: u64,
    bytes: usize,
) -> io::Result<Option<Found>> {
    let begin = partition(file, 0..summary.entries, |run| run.attempt < attempt)?;
    let end = partition(file, begin..summary.entries, |run| run.attempt == attempt)?;
    if begin == end {
        return Ok(None);
    }
    let newest = entry(file, end - 1)?;
    let reaches = entry(file, begin)?.first <= from;
    let mut runs = Vec::new();
    let mut sum = 0;
    for place in partition(file, begin..end, |run| run.upto <= from)?..end {
        if sum > bytes {
            break;
        }
        let run = entry(file, place)?;
        sum += run.length as usize;
        runs.push(run);
    }
    Ok(Some(Found { reaches, upto: newest.upto, last: newest.last, runs }))
}

/// The first place in `range` whose run is not `before`.
fn partition(file: &File, range: std::ops::Range<u64>, before: impl Fn(&Run) -> bool) -> io::Result<u64> {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(&entry(file, middle)?) { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

fn entry(file: &File, place: u64) -> io::Result<Run> {
    let mut bytes = [0; ENTRY];
    file.read_exact_at(&mut bytes, HEAD as u64 + place * ENTRY as u64)?;
    if !sealed(&bytes) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "an entry of the log index is damaged"));
    }
    Ok(Run {
        attempt: AttemptId(u64_at(&bytes, 0) as i64),
        first: u64_at(&bytes, 8),
        upto: u64_at(&bytes, 16),
        offset: u32_at(&bytes, 24),
        length: u32_at(&bytes, 28),
        last: u32_at(&bytes, 32) != 0,
    })
}

/// Closes what was written since `begin` with its checksum.
fn seal(out: &mut Vec<u8>, begin: usize) {
    let crc = crc32fast::hash(&out[begin..]);
    out.extend_from_slice(&crc.to_le_bytes());
}

fn sealed(bytes: &[u8]) -> bool {
    let (covered, crc) = bytes.split_at(bytes.len() - 4);
    crc32fast::hash(covered) == u32_at(crc, 0)
}
