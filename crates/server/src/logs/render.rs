//! Frames as people read them. Bytes stay as they were printed, colours and broken UTF-8 included; only markers, and
//! the prefix if asked for, are added. Times are UTC.

use std::collections::VecDeque;

use model::{Span, Timestamp};

use super::frame::{Frame, Stream};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// What a terminal would have shown.
    Plain,
    /// Each line after its time and stream: `09:30:00.250 stderr | …`.
    Prefixed,
}

/// Turns frames into text, chunk after chunk: it remembers whether a line is open.
#[derive(Debug)]
pub struct Renderer {
    look: Look,
    /// Whose line has no end yet.
    open: Option<Stream>,
}

impl Renderer {
    pub fn new(look: Look) -> Renderer {
        Renderer { look, open: None }
    }

    pub fn push(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        let is_marker = frame.stream == Stream::Marker;
        // Two streams share a line on a terminal; under a prefix that names one of them they cannot.
        let breaks = is_marker || self.look == Look::Prefixed;
        if breaks && self.open.is_some_and(|open| open != frame.stream) {
            self.end_line(out);
        }
        for line in frame.bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.open.is_none() && self.look == Look::Prefixed {
                prefix(frame, out);
            }
            out.extend_from_slice(line);
            self.open = (!line.ends_with(b"\n")).then_some(frame.stream);
        }
        if is_marker {
            self.end_line(out);
        }
    }

    /// Ends a line that is still open, where lines are ours.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if self.look == Look::Prefixed {
            self.end_line(out);
        }
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        if self.open.take().is_some() {
            out.push(b'\n');
        }
    }
}

/// All of them at once.
pub fn render(frames: &[Frame], look: Look) -> Vec<u8> {
    let mut out = Vec::new();
    let mut renderer = Renderer::new(look);
    frames.iter().for_each(|frame| renderer.push(frame, &mut out));
    renderer.finish(&mut out);
    out
}

pub fn count_lines(frames: &[Frame]) -> usize {
    let mut count = 0;
    each_line(frames, |_, _| count += 1);
    count
}

/// Leaves the last lines only; a line without an end counts.
pub fn last_lines(frames: &mut Vec<Frame>, lines: usize) {
    let mut starts = VecDeque::new();
    each_line(frames, |frame, byte| {
        starts.push_back((frame, byte));
        if starts.len() > lines {
            starts.pop_front();
        }
    });
    match starts.front() {
        Some((frame, byte)) => cut(frames, *frame, *byte),
        None => frames.clear(),
    }
}

/// Leaves the last bytes only; a marker is kept or dropped as a whole.
pub fn last_bytes(frames: &mut Vec<Frame>, bytes: usize) {
    let mut left = bytes;
    for at in (0..frames.len()).rev() {
        let length = frames[at].bytes.len();
        if length > left {
            let byte = if frames[at].stream == Stream::Marker { length } else { length - left };
            return cut(frames, at, byte);
        }
        left -= length;
    }
}

fn cut(frames: &mut Vec<Frame>, frame: usize, byte: usize) {
    frames.drain(..frame);
    frames[0].bytes.drain(..byte);
    if frames[0].bytes.is_empty() {
        frames.remove(0);
    }
}

/// Tells where each line begins: the frame, and the byte in it.
fn each_line(frames: &[Frame], mut begins: impl FnMut(usize, usize)) {
    let mut at_start = true;
    for (number, frame) in frames.iter().enumerate().filter(|(_, frame)| !frame.bytes.is_empty()) {
        if frame.stream == Stream::Marker {
            begins(number, 0);
            at_start = true;
            continue;
        }
        for (at, byte) in frame.bytes.iter().enumerate() {
            if at_start {
                begins(number, at);
            }
            at_start = *byte == b'\n';
        }
    }
}

fn prefix(frame: &Frame, out: &mut Vec<u8>) {
    let who = match frame.stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
        Stream::Marker => "duly  ",
    };
    out.extend_from_slice(format!("{} {who} | ", time_of_day(frame.at)).as_bytes());
}

fn time_of_day(at: Timestamp) -> String {
    let millis = at.0.rem_euclid(Span::DAY.0) / 1_000;
    let (secs, millis) = (millis / 1_000, millis % 1_000);
    format!("{:02}:{:02}:{:02}.{millis:03}", secs / 3_600, secs / 60 % 60, secs % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(stream: Stream, millis: i64, bytes: &[u8]) -> Frame {
        Frame { stream, at: Timestamp::from_millis(millis), bytes: bytes.to_vec() }
    }

    fn sample() -> Vec<Frame> {
        vec![
            frame(Stream::Stdout, 34_200_250, b"one\ntw"),
            frame(Stream::Stdout, 34_200_251, b"o\nthr"),
            frame(Stream::Stderr, 34_200_252, b"oops"),
            frame(Stream::Marker, 34_200_253, b"[4 bytes were dropped]"),
            frame(Stream::Stdout, 86_399_999, b"\x1b[31m\xff\x1b[0m"),
        ]
    }

    fn text(bytes: &[u8]) -> String {
        bytes.escape_ascii().to_string().replace("\\n", "\n")
    }

    #[test]
    fn plain_is_what_a_terminal_would_show() {
        let expected = "one\ntwo\nthroops\n[4 bytes were dropped]\n\\x1b[31m\\xff\\x1b[0m";
        assert_eq!(text(&render(&sample(), Look::Plain)), expected);
    }

    #[test]
    fn a_prefix_names_time_and_stream_of_each_line() {
        let expected = "09:30:00.250 stdout | one\n09:30:00.250 stdout | two\n09:30:00.251 stdout | thr\n\
                        09:30:00.252 stderr | oops\n09:30:00.253 duly   | [4 bytes were dropped]\n\
                        23:59:59.999 stdout | \\x1b[31m\\xff\\x1b[0m\n";
        assert_eq!(text(&render(&sample(), Look::Prefixed)), expected);
    }

    #[test]
    fn the_last_lines_are_cut_across_frames() {
        for (lines, expected) in [
            (0, ""),
            (1, "\\x1b[31m\\xff\\x1b[0m"),
            (2, "[4 bytes were dropped]\n\\x1b[31m\\xff\\x1b[0m"),
            (3, "throops\n[4 bytes were dropped]\n\\x1b[31m\\xff\\x1b[0m"),
            (4, "two\nthroops\n[4 bytes were dropped]\n\\x1b[31m\\xff\\x1b[0m"),
            (9, "one\ntwo\nthroops\n[4 bytes were dropped]\n\\x1b[31m\\xff\\x1b[0m"),
        ] {
            let mut frames = sample();
            last_lines(&mut frames, lines);
            assert_eq!(text(&render(&frames, Look::Plain)), expected, "{lines} lines");
        }
        assert_eq!(count_lines(&sample()), 5);
        assert_eq!(count_lines(&[]), 0);
    }

    #[test]
    fn the_last_bytes_do_not_cut_a_marker() {
        for (bytes, expected) in [
            (0, ""),
            (4, "\\x1b[0m"),
            (20, "\\x1b[31m\\xff\\x1b[0m"),
            (32, "[4 bytes were dropped]\n\\x1b[31m\\xff\\x1b[0m"),
        ] {
            let mut frames = sample();
            last_bytes(&mut frames, bytes);
            assert_eq!(text(&render(&frames, Look::Plain)), expected, "{bytes} bytes");
        }
        let mut frames = sample();
        last_bytes(&mut frames, 1_000);
        assert_eq!(frames, sample());
    }
}
