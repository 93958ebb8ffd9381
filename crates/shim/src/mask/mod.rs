//! Hides words in what a task prints, also when they come in pieces: `***` stands for them. Hands on at once whatever
//! cannot become a word any more; the rest waits for more, or until it is told that nothing came for a moment.
//! Pure: knows no clock and no file, and never holds more than the longest word.

#[cfg(test)]
mod tests;
mod words;

use std::collections::VecDeque;
use std::sync::Arc;

use words::Words;

pub const MASK: &[u8] = b"***";
/// Less of a word than this tells nothing, and may be shown while the rest is awaited.
const TELLING: usize = 4;

/// The words to hide.
pub struct Masks {
    exact: Words,
    /// Found also where line ends break them, as in base64.
    wrapped: Words,
}

impl Masks {
    pub fn new(exact: &[Vec<u8>], wrapped: &[Vec<u8>]) -> Masks {
        let words = |words: &[Vec<u8>]| Words::of(words.iter().map(Vec::as_slice));
        Masks { exact: words(exact), wrapped: words(wrapped) }
    }

    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.wrapped.is_empty()
    }

    /// A whole text at once.
    pub fn hide(self: &Arc<Masks>, text: &[u8]) -> Vec<u8> {
        let (mut masker, mut out) = (Masker::new(Arc::clone(self)), Vec::with_capacity(text.len()));
        masker.feed(text, &mut out);
        masker.flush(&mut out);
        out
    }
}

// Its words are secrets.
impl std::fmt::Debug for Masks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Masks").finish_non_exhaustive()
    }
}

/// One stream on its way through. Places are counted from the stream's beginning.
#[derive(Debug)]
pub struct Masker {
    masks: Arc<Masks>,
    exact: u32,
    wrapped: u32,
    /// What is not handed on yet, from `from` on.
    held: Vec<u8>,
    from: u64,
    /// What of it is to be hidden, in order and apart.
    hidden: VecDeque<(u64, u64)>,
    /// Where the last `***` ended: what is hidden right behind it needs no other.
    masked_to: Option<u64>,
}

impl Masker {
    pub fn new(masks: Arc<Masks>) -> Masker {
        Masker { masks, exact: 0, wrapped: 0, held: Vec::new(), from: 0, hidden: VecDeque::new(), masked_to: None }
    }

    /// Takes the next piece and appends to `out` what can be shown.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let masks = Arc::clone(&self.masks);
        let mut at = self.held.len();
        self.held.extend_from_slice(bytes);
        while at < self.held.len() {
            if (self.exact, self.wrapped) == (0, 0) {
                let dull = |byte: &u8| !masks.exact.begins(*byte) && !masks.wrapped.begins(*byte);
                at += self.held[at..].iter().take_while(|byte| dull(byte)).count();
                if at == self.held.len() {
                    break;
                }
            }
            let byte = self.held[at];
            at += 1;
            self.exact = masks.exact.step(self.exact, byte);
            match masks.exact.ends(self.exact) {
                0 => {}
                length => self.hide(at.saturating_sub(length), at),
            }
            if !is_line_end(byte) {
                self.wrapped = masks.wrapped.step(self.wrapped, byte);
                match masks.wrapped.ends(self.wrapped) {
                    0 => {}
                    length => self.hide(self.back(at, length), at),
                }
            }
        }
        let open = self.open_from();
        self.hand_on(open, out);
    }

    /// Nothing came for a moment, or nothing will: what is held is handed on. So much of a word as would tell
    /// something is hidden; the rest of it will be, should it come after all.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        let end = self.held.len();
        let exact = self.masks.exact.open(self.exact);
        if exact >= TELLING {
            self.hide(end.saturating_sub(exact), end);
        }
        let wrapped = self.masks.wrapped.open(self.wrapped);
        if wrapped >= TELLING {
            let last = self.held.iter().rposition(|byte| !is_line_end(*byte)).map_or(0, |last| last + 1);
            self.hide(self.back(end, wrapped), last);
        }
        self.hand_on(end, out);
    }

    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// The first of what is held that may still become a word.
    fn open_from(&self) -> usize {
        let end = self.held.len();
        let exact = end.saturating_sub(self.masks.exact.open(self.exact));
        match self.masks.wrapped.open(self.wrapped) {
            0 => exact,
            open => exact.min(self.back(end, open)),
        }
    }

    /// So many bytes before `end`, not counting line ends. What was handed on already cannot be had back.
    fn back(&self, end: usize, mut count: usize) -> usize {
        let mut at = end;
        while at > 0 && count > 0 {
            at -= 1;
            count -= usize::from(!is_line_end(self.held[at]));
        }
        at
    }

    /// Ends come in order, so only the last of the hidden can meet a new one.
    fn hide(&mut self, start: usize, end: usize) {
        if start >= end {
            return;
        }
        let (mut start, mut end) = (self.from + start as u64, self.from + end as u64);
        while let Some((first, last)) = self.hidden.back().copied().filter(|(_, last)| *last >= start) {
            start = start.min(first);
            end = end.max(last);
            self.hidden.pop_back();
        }
        self.hidden.push_back((start, end));
    }

    /// Everything before `to`, an index of what is held.
    fn hand_on(&mut self, to: usize, out: &mut Vec<u8>) {
        let to_place = self.from + to as u64;
        let mut at = self.from;
        while at < to_place {
            let plain_to = match self.hidden.front().copied() {
                Some((start, end)) if start <= at => {
                    if self.masked_to != Some(at) {
                        out.extend_from_slice(MASK);
                    }
                    at = end.min(to_place);
                    self.masked_to = Some(at);
                    if end <= to_place {
                        self.hidden.pop_front();
                    }
                    continue;
                }
                Some((start, _)) => start.min(to_place),
                None => to_place,
            };
            out.extend_from_slice(&self.held[(at - self.from) as usize..(plain_to - self.from) as usize]);
            at = plain_to;
        }
        self.held.drain(..to);
        self.from = to_place;
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
