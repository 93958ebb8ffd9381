//! What a task printed, as it is kept and handed out.

use model::Timestamp;
use wire::link::{self, LogFrame};

/// Where the bytes of a frame come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
    /// A line of ours about the log itself, such as that a part of it is missing.
    Marker,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub stream: Stream,
    pub at: Timestamp,
    /// As they came: no line ends where a frame ends, and nothing promises UTF-8.
    pub bytes: Vec<u8>,
}

impl Frame {
    pub(super) fn marker(at: Timestamp, text: String) -> Frame {
        Frame { stream: Stream::Marker, at, bytes: text.into_bytes() }
    }

    /// Its number is kept: those after it have theirs.
    pub(super) fn blank(self) -> Frame {
        Frame { bytes: Vec::new(), ..self }
    }
}

impl From<LogFrame> for Frame {
    fn from(frame: LogFrame) -> Frame {
        let stream = match frame.stream() {
            link::Stream::Stdout => Stream::Stdout,
            link::Stream::Stderr => Stream::Stderr,
            link::Stream::Marker => Stream::Marker,
        };
        Frame { stream, at: Timestamp(frame.at), bytes: frame.bytes.into() }
    }
}
