//! Finds what a task returns in what it prints: a line `::duly name=value` is a named output, a line
//! `::duly-message text` the message of the attempt. The last of a name wins. Lines stay in the log as well.
//! Never keeps more than the limits below, whatever the task prints; what it refuses is counted.

const OUTPUT: &[u8] = b"::duly ";
const MESSAGE: &[u8] = b"::duly-message ";
pub const OUTPUTS_MAX: usize = 64;
pub const NAME_BYTES_MAX: usize = 128;
/// Names, values and the message together.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;
const LINE_BYTES_MAX: usize = OUTPUT_BYTES_MAX + OUTPUT.len() + 2;

#[derive(Default)]
pub(crate) struct Outputs {
    pub(crate) named: Vec<(String, Vec<u8>)>,
    pub(crate) message: Option<Vec<u8>>,
    pub(crate) refused: u64,
}

/// One stream's current line, as far as it can still be one of ours.
#[derive(Default)]
pub(crate) struct Line {
    start: Vec<u8>,
    /// The rest of this line is of no interest.
    skip: bool,
}

impl Line {
    /// Takes the next piece of a stream, cut anywhere.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], outputs: &mut Outputs) {
        while !bytes.is_empty() {
            let end = bytes.iter().position(|b| *b == b'\n');
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.extend(piece, outputs);
            bytes = rest.get(1..).unwrap_or_default();
            if end.is_some() {
                self.close(outputs);
            }
        }
    }

    /// The line is complete: at its newline, or at the end of the stream.
    pub(crate) fn close(&mut self, outputs: &mut Outputs) {
        if !self.skip && !self.start.is_empty() {
            outputs.take(self.start.strip_suffix(b"\r").unwrap_or(&self.start));
        }
        self.start.clear();
        self.skip = false;
    }

    fn extend(&mut self, piece: &[u8], outputs: &mut Outputs) {
        if self.skip {
            return;
        }
        let known = self.start.len();
        // Judged before copying: nearly every line of nearly every task is of no interest.
        let ours = |prefix: &[u8]| match prefix.get(known..) {
            Some(open) => piece.iter().zip(open).all(|(a, b)| a == b) && prefix.starts_with(&self.start[..known]),
            None => self.start.starts_with(prefix),
        };
        let interesting = ours(OUTPUT) || ours(MESSAGE);
        let too_long = interesting && known + piece.len() > LINE_BYTES_MAX;
        outputs.refused += u64::from(too_long);
        if interesting && !too_long {
            self.start.extend_from_slice(piece);
        } else {
            self.skip = true;
        }
    }
}

impl Outputs {
    fn take(&mut self, line: &[u8]) {
        if let Some(text) = line.strip_prefix(MESSAGE) {
            let others = self.size() - self.message.as_ref().map_or(0, Vec::len);
            match others + text.len() <= OUTPUT_BYTES_MAX {
                true => self.message = Some(text.to_vec()),
                false => self.refused += 1,
            }
        } else if let Some(assignment) = line.strip_prefix(OUTPUT) {
            self.refused += u64::from(self.assign(assignment).is_none());
        }
    }

    fn assign(&mut self, assignment: &[u8]) -> Option<()> {
        let equals = assignment.iter().position(|b| *b == b'=')?;
        let name = std::str::from_utf8(&assignment[..equals]).ok().filter(|name| is_name(name))?;
        let value = &assignment[equals + 1..];
        let before = self.named.iter().position(|(known, _)| known == name);
        let freed = before.map_or(0, |at| name.len() + self.named[at].1.len());
        if self.size() - freed + name.len() + value.len() > OUTPUT_BYTES_MAX {
            return None;
        }
        match before {
            Some(at) => self.named[at].1 = value.to_vec(),
            None if self.named.len() < OUTPUTS_MAX => self.named.push((name.to_owned(), value.to_vec())),
            None => return None,
        }
        Some(())
    }

    fn size(&self) -> usize {
        let named: usize = self.named.iter().map(|(name, value)| name.len() + value.len()).sum();
        named + self.message.as_ref().map_or(0, Vec::len)
    }
}

/// Letters, digits, `_`, `-` and `.`, not starting with a digit, `-` or `.`.
fn is_name(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    first && name.len() <= NAME_BYTES_MAX && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], cut: usize) -> Outputs {
        let (mut line, mut outputs) = (Line::default(), Outputs::default());
        text.chunks(cut).for_each(|piece| line.feed(piece, &mut outputs));
        line.close(&mut outputs);
        outputs
    }

    #[test]
    fn outputs_are_found_wherever_the_stream_is_cut() {
        let text =
            b"hello\n::duly rows=12\n ::duly no=1\n::dulx a=1\n::duly path=/a=b\r\n::duly-message all \xff fine\n\
            ::duly rows=13\n::duly 9=x\n::duly-messages x\n::duly\n::duly empty=";
        for cut in 1..=text.len() {
            let outputs = read(text, cut);
            let expected = [("rows", "13"), ("path", "/a=b"), ("empty", "")];
            let named: Vec<_> =
                outputs.named.iter().map(|(n, v)| (n.as_str(), std::str::from_utf8(v).unwrap())).collect();
            assert_eq!(named, expected, "cut every {cut} bytes");
            assert_eq!(outputs.message.as_deref(), Some(&b"all \xff fine"[..]));
            assert_eq!(outputs.refused, 1, "the name 9");
        }
    }

    #[test]
    fn limits_refuse_and_count() {
        let many: String = (0..70).map(|n| format!("::duly n{n}=1\n")).collect();
        let outputs = read(many.as_bytes(), 7);
        assert_eq!((outputs.named.len(), outputs.refused), (OUTPUTS_MAX, 6));

        let big = format!("::duly a={}\n::duly b={}\n::duly c=1\n", "x".repeat(60_000), "y".repeat(10_000));
        let outputs = read(big.as_bytes(), 4096);
        let names: Vec<_> = outputs.named.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, outputs.refused), (vec!["a", "c"], 1));

        let endless = read(format!("::duly a={}", "x".repeat(1_000_000)).as_bytes(), 4096);
        assert_eq!((endless.named.len(), endless.refused), (0, 1));
    }
}
