//! Reads a task's log while it is written. Never sees half a frame, and never reads more than it is asked for.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::shim::{FRAME_MAX, Frame, HEADER, LOG, parse_header};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPart {
    pub frames: Vec<Frame>,
    /// Where to read on. Unchanged when there was nothing new.
    pub next: u64,
}

/// The whole frames from `from` on (0, or a `next` of before), of about `bytes_max` bytes together but at least one.
pub fn read_log(dir: &Path, from: u64, bytes_max: usize) -> io::Result<LogPart> {
    let mut file = match File::open(dir.join(LOG)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LogPart { frames: Vec::new(), next: from }),
        file => file?,
    };
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(bytes_max.max(HEADER + FRAME_MAX) as u64).read_to_end(&mut bytes)?;
    let (frames, used) = split(&bytes)?;
    Ok(LogPart { frames, next: from + used as u64 })
}

fn split(bytes: &[u8]) -> io::Result<(Vec<Frame>, usize)> {
    let mut frames = Vec::new();
    let mut used = 0;
    while let Some((header, rest)) = bytes[used..].split_first_chunk::<HEADER>() {
        let Some((stream, at, length)) = parse_header(*header) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "cannot read the log: no frame begins here"));
        };
        let Some(payload) = rest.get(..length) else { break };
        frames.push(Frame { stream, at, bytes: payload.to_vec() });
        used += HEADER + length;
    }
    Ok((frames, used))
}
