//! Reads server-sent events out of a stream of bytes, however it is cut into pieces.

/// A line longer than this is no event of ours.
const LINE_MAX: usize = 16 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    /// `message` if the server did not say.
    pub(crate) name: String,
    pub(crate) data: String,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a line of the event stream is too long")]
pub(crate) struct TooLong;

#[derive(Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    /// The last byte was a carriage return: a line feed right after it ends no further line.
    after_cr: bool,
    event: Event,
    has_data: bool,
}

impl Parser {
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<Event>) -> Result<(), TooLong> {
        for &byte in bytes {
            let second_half = std::mem::replace(&mut self.after_cr, byte == b'\r') && byte == b'\n';
            match byte {
                b'\n' if second_half => {}
                b'\r' | b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    self.take_line(&String::from_utf8_lossy(&line), out);
                }
                _ if self.line.len() >= LINE_MAX => return Err(TooLong),
                _ => self.line.push(byte),
            }
        }
        Ok(())
    }

    fn take_line(&mut self, line: &str, out: &mut Vec<Event>) {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                let name = if event.name.is_empty() { "message".into() } else { event.name };
                out.push(Event { name, ..event });
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => self.event.name = value.into(),
            "id" => self.event.id = Some(value.into()),
            // A comment (the server's heartbeat), or a field we have no use for.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": hello\n\nid: 7\nevent: frame\ndata: {\"a\":\ndata: 1}\n\n\r\ndata:夜\r\n\r\nevent: lonely\n\nretry: 5\ndata: x\rid: 8\r\rdata: cut";

    fn parse(pieces: &[&[u8]]) -> Vec<Event> {
        let mut out = Vec::new();
        let mut parser = Parser::default();
        for piece in pieces {
            parser.feed(piece, &mut out).unwrap();
        }
        out
    }

    #[test]
    fn events_do_not_depend_on_how_the_stream_is_cut() {
        let event = |id: Option<&str>, name: &str, data: &str| Event {
            id: id.map(String::from),
            name: name.into(),
            data: data.into(),
        };
        let expected =
            [event(Some("7"), "frame", "{\"a\":\n1}"), event(None, "message", "夜"), event(Some("8"), "message", "x")];
        let bytes = STREAM.as_bytes();
        assert_eq!(parse(&[bytes]), expected);
        for at in 0..bytes.len() {
            assert_eq!(parse(&[&bytes[..at], &bytes[at..]]), expected, "cut at {at}");
        }
        assert_eq!(parse(&bytes.chunks(1).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut parser = Parser::default();
        let big = vec![b'x'; LINE_MAX + 1];
        assert_eq!(parser.feed(&big, &mut Vec::new()), Err(TooLong));
    }
}
