//! The way to the floor's lanes: each has some of the jobs, and the runs it made itself.

use crossbeam_channel::{Receiver, Sender, unbounded};
use wire::link::Report;

use super::Due;
use super::desk::Word;

#[derive(Clone)]
pub(super) struct Words {
    lanes: Vec<Sender<Word>>,
}

/// Nobody listens any more.
pub(super) struct Gone;

impl Words {
    pub(super) fn new(lanes: usize) -> (Words, Vec<Receiver<Word>>) {
        let (lanes, received) = (0..lanes).map(|_| unbounded()).unzip();
        (Words { lanes }, received)
    }

    pub(super) fn due(&self, runs: Vec<Due>) -> Result<(), Gone> {
        self.share(runs, |run| run.job, Word::Due)
    }

    pub(super) fn ended(&self, reports: Vec<Report>) -> Result<(), Gone> {
        self.share(reports, |report| report.attempt, Word::Ended)
    }

    fn share<T>(&self, all: Vec<T>, number: fn(&T) -> i64, word: fn(Vec<T>) -> Word) -> Result<(), Gone> {
        let count = self.lanes.len();
        if count == 1 {
            return self.lanes[0].send(word(all)).map_err(|_| Gone);
        }
        let mut shares: Vec<Vec<T>> = (0..count).map(|_| Vec::with_capacity(all.len() / count + 1)).collect();
        for one in all {
            shares[number(&one).rem_euclid(count as i64) as usize].push(one);
        }
        for (lane, share) in self.lanes.iter().zip(shares) {
            if !share.is_empty() {
                lane.send(word(share)).map_err(|_| Gone)?;
            }
        }
        Ok(())
    }
}
