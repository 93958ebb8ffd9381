//! The journal of endings: written before an ending is sent, read again when the agent was killed, and dropped, a
//! whole segment at a time, once everything in it is acknowledged. Survives the death of the agent at any instant;
//! never waits for the disk, since after a power cut the machine's new boot tells the server what to doubt.

mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use model::Timestamp;
use rustc_hash::FxHashMap;

use crate::session::{Ending, Record};
use record::Kept;

#[derive(Clone, Copy, Debug)]
pub struct SpoolLimits {
    /// A segment longer than this is closed, and the next begun.
    pub segment_bytes: u64,
    /// With more than this on disk the agent takes no work.
    pub bytes_max: u64,
}

impl Default for SpoolLimits {
    fn default() -> Self {
        SpoolLimits { segment_bytes: 4 << 20, bytes_max: 256 << 20 }
    }
}

/// What the journal knew when it was opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Endings nobody acknowledged, oldest first.
    pub unacked: Vec<Ending>,
    /// Attempts whose ending was acknowledged, with the instant until which they are remembered.
    pub graves: Vec<(i64, Timestamp)>,
    /// Bytes that were no whole record, and are gone.
    pub cut_bytes: u64,
}

#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    limits: SpoolLimits,
    active: File,
    active_number: u64,
    segments: BTreeMap<u64, Segment>,
    /// In which segment the ending of an attempt is.
    place: FxHashMap<i64, u64>,
    buffer: Vec<u8>,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Segment {
    bytes: u64,
    /// Endings in it that are not acknowledged.
    open: u64,
}

impl Spool {
    /// Reads what is there and writes what still matters into one new segment. Attempts that can be ordered no more by
    /// `now` are forgotten.
    pub fn open(dir: &Path, limits: SpoolLimits, now: Timestamp) -> io::Result<(Spool, Found)> {
        let old = segments(dir)?;
        let found = read(&old, now)?;
        let number = old.last().map_or(0, |(number, _)| number + 1);
        let mut buffer = Vec::new();
        found.unacked.iter().for_each(|ending| record::ended(ending, &mut buffer));
        found.graves.iter().for_each(|(attempt, until)| record::grave(*attempt, *until, &mut buffer));
        let active = begin(dir, number, &buffer)?;
        for (_, path) in &old {
            fs::remove_file(path)?;
        }
        let bytes = buffer.len() as u64;
        let open = found.unacked.len() as u64;
        let spool = Spool {
            dir: dir.to_owned(),
            limits,
            active,
            active_number: number,
            segments: BTreeMap::from([(number, Segment { bytes, open })]),
            place: found.unacked.iter().map(|ending| (ending.report.attempt, number)).collect(),
            buffer,
            bytes,
        };
        Ok((spool, found))
    }

    /// One write for all of them; terms are not ours and are passed over. After an error none of them is kept.
    pub fn append(&mut self, records: &[Record]) -> io::Result<()> {
        self.buffer.clear();
        for record in records {
            match record {
                Record::Ended(ending) => record::ended(ending, &mut self.buffer),
                Record::Acked(attempts) => record::acked(attempts, &mut self.buffer),
                Record::Term { .. } => {}
            }
        }
        self.write()?;
        for record in records {
            match record {
                Record::Ended(ending) => self.opened(ending.report.attempt),
                Record::Acked(attempts) => attempts.iter().try_for_each(|attempt| self.closed(*attempt))?,
                Record::Term { .. } => {}
            }
        }
        if self.active_bytes() >= self.limits.segment_bytes {
            self.roll()?;
        }
        Ok(())
    }

    pub fn has_room(&self) -> bool {
        self.bytes < self.limits.bytes_max
    }

    fn write(&mut self) -> io::Result<()> {
        let before = self.active_bytes();
        if let Err(error) = self.active.write_all(&self.buffer) {
            // Half a record would hide every later one.
            self.active.set_len(before)?;
            return Err(error);
        }
        self.bytes += self.buffer.len() as u64;
        self.active_segment().bytes += self.buffer.len() as u64;
        Ok(())
    }

    fn opened(&mut self, attempt: i64) {
        self.active_segment().open += 1;
        if let Some(earlier) = self.place.insert(attempt, self.active_number) {
            self.segments.get_mut(&earlier).expect("a place is a segment that exists").open -= 1;
        }
    }

    fn closed(&mut self, attempt: i64) -> io::Result<()> {
        let Some(number) = self.place.remove(&attempt) else { return Ok(()) };
        let segment = self.segments.get_mut(&number).expect("a place is a segment that exists");
        segment.open -= 1;
        if segment.open == 0 && number != self.active_number {
            self.drop_segment(number)?;
        }
        Ok(())
    }

    fn roll(&mut self) -> io::Result<()> {
        let full = self.active_number;
        self.active = begin(&self.dir, full + 1, &[])?;
        self.active_number = full + 1;
        self.segments.insert(full + 1, Segment::default());
        if self.segments[&full].open == 0 {
            self.drop_segment(full)?;
        }
        Ok(())
    }

    fn drop_segment(&mut self, number: u64) -> io::Result<()> {
        if let Some(segment) = self.segments.remove(&number) {
            self.bytes -= segment.bytes;
        }
        fs::remove_file(path(&self.dir, number))
    }

    fn active_segment(&mut self) -> &mut Segment {
        self.segments.get_mut(&self.active_number).expect("the active segment exists")
    }

    fn active_bytes(&self) -> u64 {
        self.segments[&self.active_number].bytes
    }
}

fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:016x}.log"))
}

/// All segments, oldest first.
fn segments(dir: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    fs::create_dir_all(dir)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".log"));
        if let Some(number) = number.and_then(|number| u64::from_str_radix(number, 16).ok()) {
            found.push((number, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// A new segment; what it begins with is there whole or the segment is not there at all.
fn begin(dir: &Path, number: u64, bytes: &[u8]) -> io::Result<File> {
    let draft = dir.join("draft");
    let _ = fs::remove_file(&draft);
    let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    if !bytes.is_empty() {
        file.sync_all()?;
    }
    fs::rename(&draft, path(dir, number))?;
    Ok(file)
}

fn read(segments: &[(u64, PathBuf)], now: Timestamp) -> io::Result<Found> {
    let mut found = Found::default();
    let mut open: BTreeMap<u64, Ending> = BTreeMap::new();
    let mut place: FxHashMap<i64, u64> = FxHashMap::default();
    for (next, kept) in records(segments, &mut found.cut_bytes)?.into_iter().enumerate() {
        match kept {
            Kept::Ended(ending) => {
                if let Some(earlier) = place.insert(ending.report.attempt, next as u64) {
                    open.remove(&earlier);
                }
                open.insert(next as u64, ending);
            }
            Kept::Acked(attempts) => {
                let acked = attempts.iter().filter_map(|attempt| open.remove(&place.remove(attempt)?));
                found.graves.extend(acked.map(|ending| (ending.report.attempt, ending.until)));
            }
            Kept::Grave(attempt, until) => found.graves.push((attempt, until)),
        }
    }
    found.graves.retain(|(_, until)| *until >= now);
    found.unacked = open.into_values().collect();
    Ok(found)
}

fn records(segments: &[(u64, PathBuf)], cut_bytes: &mut u64) -> io::Result<Vec<Kept>> {
    let mut all = Vec::new();
    for (_, path) in segments {
        let bytes = fs::read(path)?;
        let mut rest = &bytes[..];
        while let Some((kept, after)) = record::split(rest) {
            all.extend(kept);
            rest = after;
        }
        *cut_bytes += rest.len() as u64;
    }
    Ok(all)
}
