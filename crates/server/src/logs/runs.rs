//! Where the frames of each attempt lie in one segment, in memory: for the segment being written, and for one whose
//! index file is still on its way. Never holds a frame.

use model::AttemptId;
use rustc_hash::FxHashMap;

use super::record::Label;

/// Records of an attempt that lie this near to each other are one run: the records of others between them are read and
/// passed over, which costs less than an entry for each.
const RUN_BYTES: u32 = 32 << 10;

const NONE: u32 = u32::MAX;

/// A stretch of a segment that holds the frames `first..upto` of an attempt, possibly among those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) attempt: AttemptId,
    pub(super) first: u64,
    pub(super) upto: u64,
    pub(super) offset: u32,
    pub(super) length: u32,
    /// No frame follows this run.
    pub(super) last: bool,
}

/// What a segment knows of an attempt, asked for its frames from some number on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// It begins at or before that number, so that no older segment is needed.
    pub(super) reaches: bool,
    pub(super) upto: u64,
    pub(super) last: bool,
    /// In order, as many as make up the bytes asked for, but at least one if there is any.
    pub(super) runs: Vec<Run>,
}

#[derive(Debug, Default)]
pub(super) struct Runs {
    /// Each with the place of the run before it of the same attempt.
    all: Vec<(Run, u32)>,
    newest: FxHashMap<AttemptId, u32>,
}

impl Runs {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The least and the greatest attempt; the other way round when there is none.
    pub(super) fn range(&self) -> (AttemptId, AttemptId) {
        let attempts = || self.newest.keys().copied();
        (attempts().min().unwrap_or(AttemptId(i64::MAX)), attempts().max().unwrap_or(AttemptId(i64::MIN)))
    }

    pub(super) fn note(&mut self, label: Label, offset: u32, length: u32) {
        let before = self.newest.get(&label.attempt).copied().unwrap_or(NONE);
        let mut last = label.last;
        if let Some((run, _)) = self.all.get_mut(before as usize) {
            last |= run.last;
            if offset + length - run.offset <= RUN_BYTES {
                run.upto = run.upto.max(label.upto);
                run.length = offset + length - run.offset;
                run.last = last;
                return;
            }
        }
        let run = Run { attempt: label.attempt, first: label.first, upto: label.upto, offset, length, last };
        self.newest.insert(label.attempt, self.all.len() as u32);
        self.all.push((run, before));
    }

    pub(super) fn find(&self, attempt: AttemptId, from: u64, bytes: usize) -> Option<Found> {
        let mut place = *self.newest.get(&attempt)?;
        let newest = self.all[place as usize].0;
        let mut runs = Vec::new();
        let mut reaches = false;
        while let Some((run, before)) = self.all.get(place as usize) {
            if run.upto > from {
                runs.push(*run);
            }
            reaches = run.first <= from;
            if reaches {
                break;
            }
            place = *before;
        }
        runs.reverse();
        runs.truncate(enough(&runs, bytes));
        Some(Found { reaches, upto: newest.upto, last: newest.last, runs })
    }

    /// By attempt, then as they lie.
    pub(super) fn sorted(&self) -> Vec<Run> {
        let mut all: Vec<Run> = self.all.iter().map(|(run, _)| *run).collect();
        all.sort_by_key(|run| (run.attempt, run.offset));
        all
    }
}

fn enough(runs: &[Run], bytes: usize) -> usize {
    let mut sum = 0;
    let fits = |run: &&Run| {
        let before = sum;
        sum += run.length as usize;
        before <= bytes
    };
    runs.iter().take_while(fits).count()
}
