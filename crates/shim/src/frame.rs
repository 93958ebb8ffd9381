//! The frames of a task's log: what came, on which stream, when, in the order of arrival. Bytes are kept as they came.

/// Where the bytes of a frame come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
    /// Not output: the payload is the number of bytes left out beyond the caps (`u64`, little endian). Comes last.
    Dropped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub stream: Stream,
    /// Microseconds since 1970, UTC.
    pub at: i64,
    pub bytes: Vec<u8>,
}

pub const HEADER: usize = 13;
/// No frame is longer: a greater length in a file is damage and not a reason to allocate.
pub const FRAME_MAX: usize = 64 * 1024;

pub(crate) fn header(stream: Stream, at: i64, length: usize) -> [u8; HEADER] {
    debug_assert!(length <= FRAME_MAX);
    let mut header = [0; HEADER];
    header[0] = match stream {
        Stream::Stdout => 1,
        Stream::Stderr => 2,
        Stream::Dropped => 3,
    };
    header[1..9].copy_from_slice(&at.to_le_bytes());
    header[9..].copy_from_slice(&(length as u32).to_le_bytes());
    header
}

/// Stream, time and length of the payload that follows; `None` for what no shim of ours wrote.
pub fn parse_header(header: [u8; HEADER]) -> Option<(Stream, i64, usize)> {
    let stream = match header[0] {
        1 => Stream::Stdout,
        2 => Stream::Stderr,
        3 => Stream::Dropped,
        _ => return None,
    };
    let at = i64::from_le_bytes(header[1..9].try_into().expect("eight bytes"));
    let length = u32::from_le_bytes(header[9..].try_into().expect("four bytes")) as usize;
    (length <= FRAME_MAX).then_some((stream, at, length))
}
