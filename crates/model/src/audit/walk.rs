//! Follows a chain link by link and says where it breaks, and what that looks like: an entry that was changed, taken out
//! or moved, a chain cut off at either end, a chain that was written anew as a whole. Goes on behind a break, so that one
//! does not hide the next.

use std::cmp::Ordering;
use std::fmt;

use super::{Link, Mark, Sum};

/// What is told at most; a chain that is broken everywhere is broken.
const FINDINGS_MAX: usize = 20;

/// Something wrong with a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It does not follow from the one before it.
    Changed {
        seq: i64,
    },
    /// What a person or a list is shown of it is not what it says.
    Mislabelled {
        seq: i64,
    },
    Missing {
        first: i64,
        last: i64,
    },
    /// It stands elsewhere.
    Moved {
        seq: i64,
        to: i64,
    },
    /// The head knows of entries that are not there.
    CutOff {
        last: i64,
        head: i64,
    },
    /// There are entries of which the head does not know.
    Added {
        first: i64,
    },
    /// The head's hash is not the last entry's.
    Head {
        seq: i64,
    },
    /// The oldest entries are gone, and no entry says that they were dropped.
    Front {
        first: i64,
    },
    /// What was noted elsewhere is not in the chain.
    Rewritten {
        seq: Option<i64>,
    },
}

/// A head that somebody noted earlier, elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    pub seq: Option<i64>,
    pub hash: Sum,
}

/// What a walk came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    pub entries: u64,
    /// The last link.
    pub last: Mark,
    /// In the order they were found.
    pub findings: Vec<Finding>,
    /// Findings beyond those that are told.
    pub more: u64,
}

pub struct Walk {
    base: Mark,
    at: Mark,
    noted: Option<Noted>,
    /// What was noted has come by.
    seen: bool,
    signed_off: bool,
    entries: u64,
    findings: Vec<Finding>,
    suspects: Vec<Suspect>,
    more: u64,
}

/// A place at which something else stands than was written there.
struct Suspect {
    finding: usize,
    before: Mark,
    hash: Sum,
}

impl Walk {
    /// `base` is the last entry that was dropped, or the beginning.
    pub fn new(base: Mark, noted: Option<Noted>) -> Walk {
        let mut walk = Walk {
            base,
            at: base,
            noted,
            seen: false,
            signed_off: base == Mark::BEGINNING,
            entries: 0,
            findings: Vec::new(),
            suspects: Vec::new(),
            more: 0,
        };
        walk.note(base);
        walk
    }

    pub fn step(&mut self, link: &Link) {
        self.entries += 1;
        self.note(link.mark);
        self.signed_off |= link.signs_off == Some(self.base);
        let due = self.at.seq + 1;
        match link.mark.seq.cmp(&due) {
            Ordering::Less => return self.out_of_place(link.mark.seq),
            Ordering::Greater => {
                self.found(Finding::Missing { first: due, last: link.mark.seq - 1 });
            }
            Ordering::Equal => {
                self.recognise(link);
                if self.at.next(link.digest) != link.mark && self.found(Finding::Changed { seq: due }) {
                    let finding = self.findings.len() - 1;
                    self.suspects.push(Suspect { finding, before: self.at, hash: link.mark.hash });
                }
            }
        }
        // What follows is held against what stands here, whatever should.
        self.at = link.mark;
    }

    /// Something a look at the entry itself brought up.
    pub fn mislabelled(&mut self, seq: i64) {
        if !self.findings.contains(&Finding::Changed { seq }) {
            self.found(Finding::Mislabelled { seq });
        }
    }

    /// `head` is what whoever keeps the chain believes to be its last entry.
    pub fn end(mut self, head: Mark) -> Walked {
        let last = self.at;
        match last.seq.cmp(&head.seq) {
            Ordering::Less => {
                self.found(Finding::CutOff { last: last.seq, head: head.seq });
            }
            Ordering::Greater => {
                self.found(Finding::Added { first: head.seq + 1 });
            }
            Ordering::Equal if last.hash != head.hash => {
                self.found(Finding::Head { seq: head.seq });
            }
            Ordering::Equal => {}
        }
        if !self.signed_off {
            self.found(Finding::Front { first: self.base.seq + 1 });
        }
        if let Some(noted) = self.noted
            && !self.seen
            && noted.seq.is_none_or(|seq| seq >= self.base.seq)
        {
            self.found(Finding::Rewritten { seq: noted.seq });
        }
        Walked { entries: self.entries, last, findings: self.findings, more: self.more }
    }

    fn note(&mut self, mark: Mark) {
        let is_it = |noted: Noted| noted.hash == mark.hash && noted.seq.is_none_or(|seq| seq == mark.seq);
        self.seen |= self.noted.is_some_and(is_it);
    }

    fn found(&mut self, finding: Finding) -> bool {
        let told = self.findings.len() < FINDINGS_MAX;
        if told {
            self.findings.push(finding);
        } else {
            self.more += 1;
        }
        told
    }

    /// Whether this is what should have stood at an earlier place.
    fn recognise(&mut self, link: &Link) {
        for suspect in &self.suspects {
            let due = suspect.before.next(link.digest);
            if due.seq != link.mark.seq && (due.hash == link.mark.hash || due.hash == suspect.hash) {
                self.findings[suspect.finding] = Finding::Moved { seq: due.seq, to: link.mark.seq };
            }
        }
    }

    /// It comes after a later one: what was taken for missing has only been moved.
    fn out_of_place(&mut self, seq: i64) {
        let moved = Finding::Moved { seq, to: self.at.seq };
        let missed = |finding: &&mut Finding| matches!(finding, Finding::Missing { first, last } if *first == seq && *last == seq);
        match self.findings.iter_mut().find(missed) {
            Some(finding) => *finding = moved,
            None => {
                self.found(moved);
            }
        }
    }
}

impl Finding {
    /// The entry at which it shows.
    pub fn seq(&self) -> i64 {
        match *self {
            Finding::Changed { seq }
            | Finding::Mislabelled { seq }
            | Finding::Moved { seq, .. }
            | Finding::Head { seq } => seq,
            Finding::Missing { first, .. } | Finding::Added { first } | Finding::Front { first } => first,
            Finding::CutOff { last, .. } => last + 1,
            Finding::Rewritten { seq } => seq.unwrap_or(0),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Changed { seq } => {
                write!(f, "entry {seq} was changed, or the one before it together with its hash")
            }
            Finding::Mislabelled { seq } => write!(f, "entry {seq} is listed as something else than it says"),
            Finding::Missing { first, last } if first == last => write!(f, "entry {first} was taken out"),
            Finding::Missing { first, last } => write!(f, "entries {first} to {last} were taken out"),
            Finding::Moved { seq, to } => write!(f, "entry {seq} was moved: it stands at {to}"),
            Finding::CutOff { last, head } => {
                write!(f, "the newest entries were cut off: the last is {last}, and the head knows of {head}")
            }
            Finding::Added { first } => write!(f, "entries from {first} on were added behind the head's back"),
            Finding::Head { seq } => write!(f, "the head was changed: its hash is not that of entry {seq}"),
            Finding::Front { first } => {
                write!(
                    f,
                    "the oldest entries were cut off: {first} is the first, and no entry says that those before it were dropped"
                )
            }
            Finding::Rewritten { seq: Some(seq) } => {
                write!(f, "entry {seq} does not have the hash that was noted: the chain was written anew or cut off")
            }
            Finding::Rewritten { seq: None } => {
                f.write_str("no entry has the hash that was noted: the chain was written anew or cut off")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of so many entries, each with its own words.
    fn chain(count: i64) -> Vec<Link> {
        let mut at = Mark::BEGINNING;
        let link = |n: i64| {
            let digest = Sum::of(&format!("entry {n}"));
            at = at.next(digest);
            Link { mark: at, digest, signs_off: None }
        };
        (1..=count).map(link).collect()
    }

    fn walked(links: &[Link], head: Mark) -> Walked {
        let mut walk = Walk::new(Mark::BEGINNING, None);
        links.iter().for_each(|link| walk.step(link));
        walk.end(head)
    }

    fn findings(links: &[Link]) -> Vec<Finding> {
        walked(links, chain(6)[5].mark).findings
    }

    #[test]
    fn a_whole_chain_has_no_findings() {
        let links = chain(6);
        let walked = walked(&links, links[5].mark);
        assert_eq!((walked.entries, walked.last, walked.findings), (6, links[5].mark, vec![]));
        assert_eq!(super::Walk::new(Mark::BEGINNING, None).end(Mark::BEGINNING).findings, []);
    }

    #[test]
    fn a_changed_entry_is_named() {
        let mut links = chain(6);
        links[2].digest = Sum::of("something else");
        assert_eq!(findings(&links), [Finding::Changed { seq: 3 }]);
        // With a hash of its own, the next one does not follow from it.
        links[2].mark = links[1].mark.next(links[2].digest);
        assert_eq!(findings(&links), [Finding::Changed { seq: 4 }]);
    }

    #[test]
    fn a_rewritten_rest_ends_in_another_head() {
        let mut links = chain(6);
        links[2].digest = Sum::of("something else");
        for n in 2..6 {
            links[n].mark = links[n - 1].mark.next(links[n].digest);
        }
        assert_eq!(findings(&links), [Finding::Head { seq: 6 }]);
    }

    #[test]
    fn what_was_taken_out_is_told_from_what_was_cut_off() {
        let mut links = chain(6);
        links.drain(2..4);
        assert_eq!(findings(&links), [Finding::Missing { first: 3, last: 4 }]);
        links.pop();
        let cut = Finding::CutOff { last: 5, head: 6 };
        assert_eq!(findings(&links), [Finding::Missing { first: 3, last: 4 }, cut]);
        assert_eq!(findings(&chain(6)[1..]), [Finding::Missing { first: 1, last: 1 }]);
        assert_eq!(findings(&[]), [Finding::CutOff { last: 0, head: 6 }]);
        assert_eq!(findings(&chain(8)), [Finding::Added { first: 7 }]);
    }

    #[test]
    fn what_was_moved_is_found_where_it_went() {
        let mut lines = chain(6);
        lines.swap(2, 3);
        assert_eq!(findings(&lines), [Finding::Moved { seq: 3, to: 4 }]);
        // Rows that got each other's numbers.
        let mut rows = chain(6);
        rows.swap(1, 3);
        (rows[1].mark.seq, rows[3].mark.seq) = (2, 4);
        assert_eq!(findings(&rows)[0], Finding::Moved { seq: 2, to: 4 });
        // Rows whose words were exchanged and whose hashes were not.
        let mut words = chain(6);
        (words[1].digest, words[3].digest) = (words[3].digest, words[1].digest);
        assert_eq!(findings(&words)[0], Finding::Moved { seq: 2, to: 4 });
    }

    #[test]
    fn old_entries_may_go_if_an_entry_says_so() {
        let mut links = chain(6);
        let (base, head) = (links[2].mark, links[5].mark);
        let walk = |links: &[Link]| {
            let mut walk = Walk::new(base, None);
            links.iter().for_each(|link| walk.step(link));
            walk.end(head).findings
        };
        assert_eq!(walk(&links[3..]), [Finding::Front { first: 4 }]);
        links[4].signs_off = Some(links[1].mark);
        assert_eq!(walk(&links[3..]), [Finding::Front { first: 4 }]);
        links[4].signs_off = Some(base);
        assert_eq!(walk(&links[3..]), []);
    }

    #[test]
    fn a_noted_head_finds_a_chain_that_was_written_anew() {
        let links = chain(6);
        let against = |noted: Noted, links: &[Link]| {
            let mut walk = Walk::new(Mark::BEGINNING, Some(noted));
            links.iter().for_each(|link| walk.step(link));
            walk.end(links.last().unwrap().mark).findings
        };
        let noted = Noted { seq: Some(4), hash: links[3].mark.hash };
        assert_eq!(against(noted, &links), []);
        assert_eq!(against(Noted { seq: None, ..noted }, &links), []);
        assert_eq!(against(Noted { seq: Some(5), ..noted }, &links), [Finding::Rewritten { seq: Some(5) }]);
        assert_eq!(against(noted, &links[..3]), [Finding::Rewritten { seq: Some(4) }]);
        let other = Noted { seq: None, hash: Sum::of("noted elsewhere") };
        assert_eq!(against(other, &links), [Finding::Rewritten { seq: None }]);
    }

    #[test]
    fn a_chain_that_is_broken_everywhere_is_told_in_few_words() {
        let mut links = chain(100);
        links.iter_mut().for_each(|link| link.mark.hash = Sum::of("x"));
        let walked = walked(&links, links[99].mark);
        assert_eq!((walked.findings.len(), walked.more), (FINDINGS_MAX, 80));
    }
}
