//! One attempt's output on its way to the server: what was read, what is under way, what is kept there. Pure: it is
//! handed what was read from the file and answers with what to send.

use std::collections::VecDeque;

use wire::link::{LogFrame, LogUp, Stream as WireStream};

use crate::process::LogPart;
use crate::session::Server;
use crate::shim::{Frame, Stream};

#[derive(Debug, Default)]
pub(super) struct Tail {
    attempt: i64,
    /// Whose owner it goes to; unknown of some that were found, which go to the first owner there is.
    pub(super) shard: Option<u32>,
    /// Where to read on.
    read: Place,
    /// The last place of which everything before is kept by the server.
    kept_place: Place,
    /// How many frames the server has; may be beyond `kept_place`, in the middle of a message.
    kept: u64,
    under_way: VecDeque<UnderWay>,
    /// Where what is under way was sent.
    pub(super) sent_to: Option<Server>,
    pub(super) ended: bool,
    pub(super) settled: bool,
    /// Nothing was left to read after the end.
    all_read: bool,
    /// And the server was told so.
    said_last: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Place {
    frame: u64,
    offset: u64,
}

#[derive(Debug)]
struct UnderWay {
    end: Place,
    bytes: usize,
}

impl Tail {
    pub(super) fn new(attempt: i64, shard: Option<u32>) -> Tail {
        Tail { attempt, shard, ..Tail::default() }
    }

    /// From where in the file to read.
    pub(super) fn offset(&self) -> u64 {
        self.read.offset
    }

    /// What was read there; `part.frames` is empty when there was nothing new. `ended` must have been true before the
    /// reading for its emptiness to mean that nothing will follow.
    pub(super) fn take(&mut self, part: LogPart) -> Option<(LogUp, usize)> {
        let first = self.read.frame;
        let read_nothing = part.frames.is_empty();
        self.read = Place { frame: first + part.frames.len() as u64, offset: part.next };
        // The server may have more than we remember, from before a restart.
        let known = usize::try_from(self.kept.saturating_sub(first)).unwrap_or(usize::MAX).min(part.frames.len());
        let frames: Vec<LogFrame> = part.frames.into_iter().skip(known).map(frame).collect();
        if frames.is_empty() && self.under_way.is_empty() {
            self.kept_place = self.read;
        }
        self.all_read |= read_nothing && self.ended;
        // Without any output there is nothing to close.
        let last = self.all_read && !self.said_last && self.read.frame > 0;
        if frames.is_empty() && !last {
            return None;
        }
        self.said_last |= last;
        let bytes = frames.iter().map(|frame| frame.bytes.len()).sum();
        self.under_way.push_back(UnderWay { end: self.read, bytes });
        Some((LogUp { attempt: self.attempt, first: first + known as u64, frames, last }, bytes))
    }

    /// The server has everything before frame `kept`. Answers how many bytes are no longer under way.
    pub(super) fn keep(&mut self, kept: u64) -> usize {
        self.kept = self.kept.max(kept);
        let mut freed = 0;
        while let Some(first) = self.under_way.front().filter(|first| first.end.frame <= self.kept) {
            freed += first.bytes;
            self.kept_place = first.end;
            self.under_way.pop_front();
        }
        freed
    }

    /// A new stream: what was under way on the old one may not have arrived. Answers how much that was.
    pub(super) fn start_over(&mut self) -> usize {
        let bytes = self.under_way.drain(..).map(|part| part.bytes).sum();
        self.read = self.kept_place;
        self.all_read = false;
        self.said_last = false;
        bytes
    }

    /// Whether the server has all there will ever be.
    pub(super) fn is_done(&self) -> bool {
        self.all_read && self.under_way.is_empty()
    }
}

fn frame(frame: Frame) -> LogFrame {
    let (stream, bytes) = match frame.stream {
        Stream::Stdout => (WireStream::Stdout, frame.bytes),
        Stream::Stderr => (WireStream::Stderr, frame.bytes),
        Stream::Dropped => {
            let dropped = frame.bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
            (WireStream::Marker, format!("{dropped} bytes of output were dropped\n").into_bytes())
        }
    };
    LogFrame { stream: stream.into(), at: frame.at, bytes: bytes.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of frames "0", "1", …, of ten bytes each.
    fn part(tail: &Tail, count: u64) -> LogPart {
        let first = tail.offset() / 10;
        let frames = (first..first + count).map(|number| Frame {
            stream: Stream::Stdout,
            at: 0,
            bytes: number.to_string().into_bytes(),
        });
        LogPart { frames: frames.collect(), next: tail.offset() + 10 * count }
    }

    fn take(tail: &mut Tail, count: u64) -> Option<String> {
        let part = part(tail, count);
        tail.take(part).map(|(up, _)| {
            let frames: Vec<_> = up.frames.iter().map(|frame| String::from_utf8_lossy(&frame.bytes)).collect();
            format!("{}:{}{}", up.first, frames.join(","), if up.last { " last" } else { "" })
        })
    }

    #[test]
    fn frames_go_in_order_and_the_last_word_is_said_once() {
        let mut tail = Tail::new(1, None);
        assert_eq!(take(&mut tail, 2).unwrap(), "0:0,1");
        assert_eq!(take(&mut tail, 0), None);
        assert_eq!(tail.keep(2), 2);
        tail.ended = true;
        assert_eq!(take(&mut tail, 1).unwrap(), "2:2");
        assert!(!tail.is_done());
        assert_eq!(take(&mut tail, 0).unwrap(), "3: last");
        assert_eq!(take(&mut tail, 0), None);
        assert!(!tail.is_done());
        tail.keep(3);
        assert!(tail.is_done());
    }

    #[test]
    fn what_was_not_kept_is_read_again_on_a_new_stream() {
        let mut tail = Tail::new(1, None);
        take(&mut tail, 2);
        take(&mut tail, 2);
        assert_eq!(tail.keep(3), 2, "the message of frames 2 and 3 is not kept whole");
        tail.start_over();
        assert_eq!(take(&mut tail, 3).unwrap(), "3:3,4", "frame 2 was kept");
    }

    #[test]
    fn a_server_that_knows_more_than_we_remember_is_not_told_again() {
        let mut tail = Tail::new(1, None);
        assert_eq!(take(&mut tail, 1).unwrap(), "0:0");
        tail.keep(5);
        assert_eq!(take(&mut tail, 2), None);
        assert_eq!(take(&mut tail, 4).unwrap(), "5:5,6");
    }

    #[test]
    fn silence_needs_no_message() {
        let mut tail = Tail::new(1, None);
        assert_eq!(take(&mut tail, 0), None);
        tail.ended = true;
        assert!(!tail.is_done(), "something may have been printed since");
        assert_eq!(take(&mut tail, 0), None);
        assert!(tail.is_done());
    }

    #[test]
    fn what_was_dropped_is_said_in_words() {
        let dropped = Frame { stream: Stream::Dropped, at: 3, bytes: 70u64.to_le_bytes().to_vec() };
        let marker = frame(dropped);
        assert_eq!(marker.stream(), WireStream::Marker);
        assert_eq!(&marker.bytes[..], b"70 bytes of output were dropped\n");
    }
}
