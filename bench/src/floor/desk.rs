//! What the floor remembers of open runs, and the messages that follow a commit: orders for what was made,
//! acknowledgements for what has ended, and what is due again. The same whatever the rows are written to.

use std::collections::HashMap;

use crossbeam_channel::Receiver;
use tokio::sync::mpsc;
use wire::link::{self, Down, Report, down};

use super::Due;
use crate::measure;

/// Rows of one commit: more only adds to how long it takes.
const ROWS_MAX: usize = 2_000;
/// Orders of one message, as in the product.
const ORDERS_MAX: usize = 500;

pub(super) type Downs = mpsc::Sender<Result<Down, tonic::Status>>;

/// What is heard between two commits.
pub(super) enum Word {
    Due(Vec<Due>),
    Ended(Vec<Report>),
}

/// What the next commit writes.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) due: Vec<Due>,
    pub(super) ended: Vec<Report>,
}

impl Gathered {
    /// Waits for something to write and takes what else is there. What is due beyond one commit is left for the next; none:
    /// nobody is left to say that anything is.
    pub(super) fn fill(&mut self, words: &Receiver<Word>) -> Option<Vec<Due>> {
        if self.due.is_empty() {
            self.add(words.recv().ok()?);
        }
        while self.due.len() + self.ended.len() < ROWS_MAX {
            let Ok(word) = words.try_recv() else { break };
            self.add(word);
        }
        Some(self.due.split_off(self.due.len().min(ROWS_MAX)))
    }

    fn add(&mut self, word: Word) {
        match word {
            Word::Due(runs) => self.due.extend(runs),
            Word::Ended(reports) => self.ended.extend(reports),
        }
    }
}

pub(super) struct Desk {
    downs: Downs,
    /// Jobs are due again as soon as they end.
    again: bool,
    /// Which job an open attempt is of.
    open: HashMap<i64, i64>,
}

impl Desk {
    pub(super) fn new(downs: Downs, again: bool) -> Desk {
        Desk { downs, again, open: HashMap::new() }
    }

    pub(super) fn order(&mut self, due: &[Due], ids: &[i64]) {
        self.open.extend(ids.iter().zip(due).map(|(id, run)| (*id, run.job)));
        for (ids, runs) in ids.chunks(ORDERS_MAX).zip(due.chunks(ORDERS_MAX)) {
            let items = ids.iter().zip(runs).map(|(id, run)| order(*id, run)).collect();
            self.say(down::Body::Orders(link::Orders { items }));
        }
    }

    /// Gives back what is due again.
    pub(super) fn acknowledge(&mut self, ended: &[Report]) -> Vec<Due> {
        if ended.is_empty() {
            return Vec::new();
        }
        let items = ended.iter().map(|report| link::Ack { attempt: report.attempt, seq: report.seq }).collect();
        self.say(down::Body::Acks(link::Acks { items }));
        let planned = measure::now_us();
        let jobs = ended.iter().filter_map(|report| self.open.remove(&report.attempt));
        let again: Vec<Due> = jobs.map(|job| Due { job, planned }).collect();
        if self.again { again } else { Vec::new() }
    }

    /// An agent that is gone is the end of the measurement, which the driver sees.
    fn say(&self, body: down::Body) {
        let _ = self.downs.blocking_send(Ok(Down { body: Some(body) }));
    }
}

fn order(id: i64, run: &Due) -> link::Order {
    link::Order {
        term: 1,
        attempt: id,
        attempt_no: 1,
        instance: id,
        version: run.job,
        planned: run.planned,
        start_by: run.planned + 60_000_000,
        stop_grace_us: 10_000_000,
        ..link::Order::default()
    }
}
