//! Endings until their owner has them: kept, sent, sent again to every new owner, forgotten when acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use model::Timestamp;
use rustc_hash::FxHashMap;
use wire::link::{self, Up, up};

use super::act::{Act, Ending, Record, Server};

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

    /// Everything of these shards, in the order in which it ended. What still waits to be sent of them is not sent
    /// twice.
    pub(crate) fn push_all_again(&mut self, shards: &BTreeSet<u32>) {
        let again: Vec<link::Report> = self.in_order(shards).map(|unacked| unacked.report.clone()).collect();
        self.to_send.retain(|report| !shards.contains(&report.shard));
        self.to_send.extend(again);
    }

    fn in_order(&self, shards: &BTreeSet<u32>) -> impl Iterator<Item = &Unacked> {
        let of_shards = |unacked: &&Unacked| shards.contains(&unacked.report.shard);
        let mut all: Vec<&Unacked> = self.unacked.values().filter(of_shards).collect();
        all.sort_unstable_by_key(|unacked| unacked.number);
        all.into_iter()
    }

    pub(crate) fn ack(&mut self, attempt: i64) -> Option<Kept> {
        self.unacked.remove(&attempt).map(|unacked| unacked.kept)
    }

    /// What the owners of shards are told they may still hear of, oldest first.
    pub(crate) fn held(&self, shards: &BTreeSet<u32>) -> impl Iterator<Item = link::Held> {
        self.in_order(shards).map(|unacked| held(&unacked.report))
    }

    pub(crate) fn held_of(&self, attempt: i64) -> Option<link::Held> {
        self.unacked.get(&attempt).map(|unacked| held(&unacked.report))
    }

    /// First to disk, then to whoever owns the shard. What has no owner just now is not sent: the next owner begins by
    /// hearing everything.
    pub(crate) fn flush(&mut self, owners: &BTreeMap<u32, Server>, out: &mut Vec<Act>) {
        if !self.to_persist.is_empty() {
            out.push(Act::Persist(std::mem::take(&mut self.to_persist)));
        }
        let mut by_server: BTreeMap<Server, Vec<link::Report>> = BTreeMap::new();
        for report in self.to_send.drain(..) {
            if let Some(owner) = owners.get(&report.shard) {
                by_server.entry(*owner).or_default().push(report);
            }
        }
        for (to, reports) in by_server {
            let mut rest = reports.into_iter();
            while !rest.as_slice().is_empty() {
                let items = rest.by_ref().take(BATCH_MAX).collect();
                out.push(Act::Send { to, up: Up { body: Some(up::Body::Reports(link::Reports { items })) } });
            }
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
