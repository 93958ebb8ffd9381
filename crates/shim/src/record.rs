//! The one file format between an agent and its shims: a title line, then fields that each name their length.
//! Any bytes survive in a value, a reader skips names it does not know, and a file cut short is an error and never
//! a shorter truth: shims of an older version outlive an upgrade of the agent, and disks fill up.

use std::io;

const END: &str = "end";

/// Builds a file: `title\n`, then `name length\nvalue\n` for each field, closed by an empty field `end`.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new(title: &str) -> Writer {
        Writer(format!("{title}\n").into_bytes())
    }

    pub(crate) fn bytes(&mut self, name: &str, value: &[u8]) {
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(b' ');
        self.0.extend_from_slice(value.len().to_string().as_bytes());
        self.0.push(b'\n');
        self.0.extend_from_slice(value);
        self.0.push(b'\n');
    }

    pub(crate) fn number(&mut self, name: &str, value: impl Into<i128>) {
        self.bytes(name, value.into().to_string().as_bytes());
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes(END, b"");
        self.0
    }
}

/// All fields of a complete file, in the order they were written.
pub(crate) fn read<'a>(title: &str, file: &'a [u8]) -> io::Result<Vec<(&'a str, &'a [u8])>> {
    let (first, mut rest) = split_at_newline(file).ok_or_else(|| broken(title, "it has no title"))?;
    if first != title.as_bytes() {
        return Err(broken(title, "its title is another"));
    }
    let mut fields = Vec::new();
    loop {
        let (name, value, after) = field(rest).ok_or_else(|| broken(title, "it is cut short"))?;
        if name == END {
            return Ok(fields);
        }
        fields.push((name, value));
        rest = after;
    }
}

pub(crate) fn number<T: std::str::FromStr>(name: &str, value: &[u8]) -> io::Result<T> {
    let text = std::str::from_utf8(value).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| broken(name, "it is not a number"))
}

pub(crate) fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

pub(crate) fn broken(what: &str, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("cannot read {what}: {why}"))
}

fn field(bytes: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let (head, rest) = split_at_newline(bytes)?;
    let (name, length) = std::str::from_utf8(head).ok()?.split_once(' ')?;
    let length: usize = length.parse().ok()?;
    let value = rest.get(..length)?;
    let after = rest.get(length..)?.strip_prefix(b"\n")?;
    Some((name, value, after))
}

fn split_at_newline(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|b| *b == b'\n')?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut file = Writer::new("thing 1");
        file.bytes("name", b"two\nlines \xff");
        file.bytes("name", b"");
        file.number("size", -7);
        file.finish()
    }

    #[test]
    fn any_bytes_come_back_as_they_were() {
        let file = sample();
        let fields = read("thing 1", &file).unwrap();
        assert_eq!(fields, [("name", &b"two\nlines \xff"[..]), ("name", b""), ("size", b"-7")]);
        assert_eq!(number::<i64>("size", fields[2].1).unwrap(), -7);
    }

    #[test]
    fn every_cut_is_noticed() {
        let file = sample();
        for length in 0..file.len() {
            assert!(read("thing 1", &file[..length]).is_err(), "a file of {length} bytes was believed");
        }
        assert!(read("thing 2", &file).is_err());
    }
}
