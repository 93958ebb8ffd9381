//! The stream against a brute search of the whole text.

use super::*;

/// A small generator of our own: the shim's tests need no other crate for it.
struct Die(u64);

impl Die {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn text(&mut self, letters: &[u8], length: usize) -> Vec<u8> {
        (0..length).map(|_| letters[self.roll(letters.len())]).collect()
    }
}

/// Every occurrence of every word, hidden; at the end also what would tell of a word that does not come any more.
fn by_brute_force(text: &[u8], exact: &[Vec<u8>], wrapped: &[Vec<u8>]) -> Vec<u8> {
    let mut hidden = vec![false; text.len()];
    let all: Vec<usize> = (0..text.len()).collect();
    let without_ends: Vec<usize> = all.iter().copied().filter(|at| !is_line_end(text[*at])).collect();
    for (words, places) in [(exact, &all), (wrapped, &without_ends)] {
        let seen: Vec<u8> = places.iter().map(|at| text[*at]).collect();
        for word in words {
            let mut hide = |first: usize, length: usize| {
                (places[first]..=places[first + length - 1]).for_each(|at| hidden[at] = true);
            };
            let found = |at: &usize| seen[*at..].starts_with(word);
            (0..seen.len()).filter(found).for_each(|at| hide(at, word.len()));
            let open = (TELLING..word.len()).rev().find(|length| seen.ends_with(&word[..*length]));
            if let Some(length) = open {
                hide(seen.len() - length, length);
            }
        }
    }
    let mut out = Vec::new();
    for at in 0..text.len() {
        match hidden[at] {
            false => out.push(text[at]),
            true if at > 0 && hidden[at - 1] => {}
            true => out.extend_from_slice(MASK),
        }
    }
    out
}

fn in_pieces(text: &[u8], masks: &Arc<Masks>, cuts: &mut impl FnMut() -> usize) -> Vec<u8> {
    let (mut masker, mut out, mut rest) = (Masker::new(Arc::clone(masks)), Vec::new(), text);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(cuts().clamp(1, rest.len()));
        masker.feed(piece, &mut out);
        rest = after;
    }
    masker.flush(&mut out);
    assert!(!masker.is_holding());
    out
}

fn owned(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

fn check(exact: &[&str], wrapped: &[&str], text: &str, expected: &str) {
    let masks = Arc::new(Masks::new(&owned(exact), &owned(wrapped)));
    for size in 1..=text.len() {
        let shown = in_pieces(text.as_bytes(), &masks, &mut || size);
        assert_eq!(String::from_utf8_lossy(&shown), expected, "in pieces of {size}");
    }
}

#[test]
fn a_word_is_hidden_however_it_is_cut() {
    check(&["hunter22"], &[], "password: hunter22\n", "password: ***\n");
    check(&["hunter22"], &[], "hunter2hunter22hunter2", "hunter2***");
    check(&["hunter22", "unter"], &[], "a hunter b", "a h*** b");
    check(&["abab"], &[], "ababab abba", "*** abba");
    check(&["abcd"], &[], "abcdabcd", "***");
    check(&[], &["aHVudGVyMjI"], "aHVu\nZGVy aHVud\r\nGVyMjI=\n", "aHVu\nZGVy ***=\n");
}

#[test]
fn any_text_in_any_pieces_is_as_brute_force_says() {
    let mut die = Die(0x9E37_79B9_7F4A_7C15);
    for round in 0..4_000 {
        let letters: &[u8] = if round % 2 == 0 { b"ab\n" } else { b"abcd\n\r." };
        let mut words = |count: usize| -> Vec<Vec<u8>> {
            (0..count).map(|_| (4 + die.roll(6), die.0)).map(|(n, seed)| Die(seed | 1).text(&letters[..2], n)).collect()
        };
        let (exact, wrapped) = (words(round % 4), words(round % 3));
        let text = {
            let length = die.roll(80);
            die.text(letters, length)
        };
        let masks = Arc::new(Masks::new(&exact, &wrapped));
        let shown = in_pieces(&text, &masks, &mut || die.roll(12));
        let expected = by_brute_force(&text, &exact, &wrapped);
        let words = [exact, wrapped].concat();
        let told: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
        assert_eq!(String::from_utf8_lossy(&shown), String::from_utf8_lossy(&expected), "{told:?} in {text:?}");
    }
}

#[test]
fn a_pause_hands_everything_on_and_still_no_word_is_told() {
    let mut die = Die(77);
    for _ in 0..4_000 {
        let (length, long) = (4 + die.roll(5), die.roll(60));
        let words = vec![die.text(b"ab", length)];
        let text = die.text(b"ab", long);
        let masks = Arc::new(Masks::new(&words, &[]));
        let (mut masker, mut out) = (Masker::new(masks), Vec::new());
        for byte in &text {
            masker.feed(&[*byte], &mut out);
            if die.roll(3) == 0 {
                masker.flush(&mut out);
                assert!(!masker.is_holding());
            }
        }
        masker.flush(&mut out);
        assert!(!out.windows(words[0].len()).any(|part| part == words[0]), "{words:?} in {text:?} became {out:?}");
    }
}

#[test]
fn only_what_may_become_a_word_waits() {
    let masks = Arc::new(Masks::new(&owned(&["hunter22"]), &[]));
    let (mut masker, mut out) = (Masker::new(masks), Vec::new());
    masker.feed(b"the hun", &mut out);
    assert_eq!((&out[..], masker.is_holding()), (&b"the "[..], true));
    masker.feed(b"ter22", &mut out);
    assert_eq!((&out[..], masker.is_holding()), (&b"the ***"[..], false), "a whole word waits for nothing");
    masker.feed(b" hu", &mut out);
    masker.flush(&mut out);
    masker.feed(b"nter22!", &mut out);
    assert_eq!(String::from_utf8_lossy(&out), "the *** hu***!");
    masker.feed(b" hunter", &mut out);
    masker.flush(&mut out);
    masker.feed(b"22 huh.", &mut out);
    assert_eq!(String::from_utf8_lossy(&out), "the *** hu***! *** huh.");
}

#[test]
fn nothing_is_held_longer_than_the_longest_word() {
    let word = "ab".repeat(500);
    let masks = Arc::new(Masks::new(&owned(&[&word]), &owned(&[&word])));
    let (mut masker, mut out) = (Masker::new(masks), Vec::new());
    for _ in 0..200 {
        masker.feed("ab".repeat(499).as_bytes(), &mut out);
        masker.feed(b"aab", &mut out);
        assert!(masker.held.len() <= word.len());
    }
}
