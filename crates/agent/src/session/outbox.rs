//! Endings until the server has them: kept, sent, sent again on every new stream, forgotten when acknowledged.

use model::Timestamp;
use rustc_hash::FxHashMap;
use wire::link::{self, Up, up};

use super::act::{Act, Ending, Record};

/// Reports in one message.
const BATCH_MAX: usize = 500;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    unacked: FxHashMap<i64, Unacked>,
    /// Counts endings, so that they are sent in the order in which they happened.
    next: u64,
    to_persist: Vec<Record>,
    to_send: Vec<link::Report>,
}

#[derive(Debug)]
struct Unacked {
    number: u64,
    report: link::Report,
    kept: Kept,
}

/// What of an ending is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Nothing: if it is lost, the server asks and learns that the attempt is not here.
    Nowhere,
    Journal,
    /// The attempt's own files as well.
    JournalAndFiles,
}

impl Outbox {
    pub(crate) fn recover(endings: Vec<Ending>) -> Outbox {
        let mut outbox = Outbox::default();
        for Ending { report, .. } in endings {
            outbox.insert(report, Kept::JournalAndFiles);
        }
        outbox
    }

    pub(crate) fn push(&mut self, report: link::Report, until: Timestamp, kept: Kept) {
        if kept != Kept::Nowhere {
            self.to_persist.push(Record::Ended(Ending { report: report.clone(), until }));
        }
        self.to_send.push(report.clone());
        self.insert(report, kept);
    }

    /// A report that is not kept: it only says sooner what an ending will say too.
    pub(crate) fn push_passing(&mut self, report: link::Report) {
        self.to_send.push(report);
    }

    pub(crate) fn push_again(&mut self, attempt: i64) -> bool {
        let found = self.unacked.get(&attempt);
        self.to_send.extend(found.map(|unacked| unacked.report.clone()));
        found.is_some()
    }

    /// A new stream begins with everything, once.
    pub(crate) fn start_over(&mut self) {
        self.to_send.clear();
        self.push_all_again(None);
    }

    /// Everything, or everything of one shard, in the order in which it ended.
    pub(crate) fn push_all_again(&mut self, shard: Option<u32>) {
        let again: Vec<link::Report> = self.in_order(shard).into_iter().map(|unacked| unacked.report.clone()).collect();
        self.to_send.extend(again);
    }

    fn in_order(&self, shard: Option<u32>) -> Vec<&Unacked> {
        let of_shard = |unacked: &&Unacked| shard.is_none_or(|shard| unacked.report.shard == shard);
        let mut all: Vec<&Unacked> = self.unacked.values().filter(of_shard).collect();
        all.sort_unstable_by_key(|unacked| unacked.number);
        all
    }

    pub(crate) fn ack(&mut self, attempt: i64) -> Option<Kept> {
        self.unacked.remove(&attempt).map(|unacked| unacked.kept)
    }

    /// What the owner of a shard is told it may still hear of, oldest first.
    pub(crate) fn held(&self, shard: u32) -> impl Iterator<Item = link::Held> {
        self.in_order(Some(shard)).into_iter().map(|unacked| held(&unacked.report))
    }

    pub(crate) fn held_of(&self, attempt: i64) -> Option<link::Held> {
        self.unacked.get(&attempt).map(|unacked| held(&unacked.report))
    }

    /// First to disk, then to the server. Without a stream nothing is sent: the next one begins with everything.
    pub(crate) fn flush(&mut self, connected: bool, out: &mut Vec<Act>) {
        if !self.to_persist.is_empty() {
            out.push(Act::Persist(std::mem::take(&mut self.to_persist)));
        }
        if !connected {
            self.to_send.clear();
        }
        let mut rest = std::mem::take(&mut self.to_send).into_iter();
        while !rest.as_slice().is_empty() {
            let items = rest.by_ref().take(BATCH_MAX).collect();
            out.push(Act::Send(Up { body: Some(up::Body::Reports(link::Reports { items })) }));
        }
    }

    fn insert(&mut self, report: link::Report, kept: Kept) {
        self.unacked.insert(report.attempt, Unacked { number: self.next, report, kept });
        self.next += 1;
    }
}

fn held(report: &link::Report) -> link::Held {
    let started_at = match &report.body {
        Some(link::report::Body::Ended(ended)) => ended.started_at,
        Some(link::report::Body::Started(started)) => Some(started.at),
        None => None,
    };
    link::Held { attempt: report.attempt, shard: report.shard, started_at }
}
