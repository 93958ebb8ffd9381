//! All segments of the store and the right to write: which one is open, which are done, what is known of an attempt.
//! Readers hold no lock while they read, and never wait for a write.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::SystemTime;

use model::AttemptId;
use parking_lot::{Mutex, RwLock};

use super::LogOptions;
use super::runs::Found;
use super::segment::{Open, Sealed, micros, path_of};
use super::sync::Job;
use super::tails::Tails;

/// Runs a segment may name before the next begins, so that the memory of the open one is bounded also when every
/// attempt prints a single word.
const RUNS_MAX: usize = 1 << 17;

pub(super) struct Shelf {
    pub(super) dir: PathBuf,
    pub(super) options: LogOptions,
    pub(super) tails: Arc<Tails>,
    /// Whoever holds it may write, begin and finish segments; taken before `state`.
    pub(super) pen: Mutex<Pen>,
    pub(super) state: RwLock<State>,
    pub(super) jobs: SyncSender<Job>,
}

#[derive(Default)]
pub(super) struct Pen {
    /// Kept between writes for its room.
    pub(super) buffer: Vec<u8>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) open: Option<Open>,
    /// Oldest first.
    pub(super) sealed: Vec<Arc<Sealed>>,
    next_number: u64,
}

/// What is known of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The number of the next frame.
    pub(super) next: u64,
    pub(super) last: bool,
}

impl Shelf {
    pub(super) fn open(dir: &Path, options: LogOptions, jobs: SyncSender<Job>) -> io::Result<Shelf> {
        fs::create_dir_all(dir)?;
        let numbers = numbers_in(dir)?;
        let mut state = State { next_number: numbers.last().map_or(0, |last| last + 1), ..State::default() };
        for number in &numbers {
            if let Some(sealed) = Sealed::load(dir, *number)? {
                state.sealed.push(Arc::new(sealed));
            } else if let Some(open) = Open::recover(dir, *number)? {
                let goes_on = Some(number) == numbers.last() && !is_full(&open, &options);
                if goes_on { state.open = Some(open) } else { seal(dir, open, &mut state, &jobs) }
            } else {
                set_aside(dir, *number, &mut state)?;
            }
        }
        let pen = Mutex::default();
        Ok(Shelf { dir: dir.to_owned(), options, tails: Arc::default(), pen, state: RwLock::new(state), jobs })
    }

    /// Makes sure that a segment with room is open.
    pub(super) fn turn_page(&self, pen: &mut Pen) -> io::Result<()> {
        let number = {
            let state = self.state.read();
            if state.open.as_ref().is_some_and(|open| !is_full(open, &self.options)) {
                return Ok(());
            }
            state.next_number
        };
        let next = Open::create(&self.dir, number, micros(SystemTime::now()), self.options.sync.is_durable())?;
        self.finish(pen);
        let mut state = self.state.write();
        state.next_number += 1;
        state.open = Some(next);
        Ok(())
    }

    /// Ends the open segment, if there is one; its runs stay in memory until its index is written.
    pub(super) fn finish(&self, _pen: &mut Pen) {
        let job = {
            let mut state = self.state.write();
            let Some(open) = state.open.take() else { return };
            let wet = Arc::clone(&open.wet);
            let sealed = Arc::new(open.into_sealed(&self.dir));
            state.sealed.push(Arc::clone(&sealed));
            Job::Seal(sealed, Some(wet))
        };
        // Outside the lock: it waits when the disk is far behind.
        let _ = self.jobs.send(job);
    }

    pub(super) fn progress(&self, attempt: AttemptId) -> io::Result<Progress> {
        let of = |found: Found| Progress { next: found.upto, last: found.last };
        let candidates = {
            let state = self.state.read();
            if let Some(found) = state.open.as_ref().and_then(|open| open.runs.find(attempt, u64::MAX, 0)) {
                return Ok(of(found));
            }
            state.sealed_with(attempt)
        };
        for sealed in candidates {
            if let Some(found) = sealed.find(attempt, u64::MAX, 0)? {
                return Ok(of(found));
            }
        }
        Ok(Progress::default())
    }
}

impl State {
    /// Those that may know the attempt, newest first.
    pub(super) fn sealed_with(&self, attempt: AttemptId) -> Vec<Arc<Sealed>> {
        self.sealed.iter().rev().filter(|sealed| sealed.summary.covers(attempt)).map(Arc::clone).collect()
    }
}

fn is_full(open: &Open, options: &LogOptions) -> bool {
    open.end >= options.segment_bytes || open.runs.len() >= RUNS_MAX
}

fn seal(dir: &Path, open: Open, state: &mut State, jobs: &SyncSender<Job>) {
    let wet = Arc::clone(&open.wet);
    let sealed = Arc::new(open.into_sealed(dir));
    state.sealed.push(Arc::clone(&sealed));
    let _ = jobs.send(Job::Seal(sealed, Some(wet)));
}

/// A file that is not a segment of ours: an empty one is what a crash left, any other is kept until its time is over.
fn set_aside(dir: &Path, number: u64, state: &mut State) -> io::Result<()> {
    let unreadable = Sealed::unreadable(dir, number)?;
    if unreadable.is_empty() {
        return fs::remove_file(&unreadable.path);
    }
    tracing::error!(path = %unreadable.path.display(), "a log segment has no readable beginning; its logs are lost");
    state.sealed.push(Arc::new(unreadable));
    Ok(())
}

/// The segments there are, in order; what a crash left beside them is removed.
fn numbers_in(dir: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u64>().ok());
        match (number, path.extension().and_then(|ext| ext.to_str())) {
            (Some(number), Some("seg")) if path == path_of(dir, number) => numbers.push(number),
            (Some(_), Some("tmp")) => fs::remove_file(&path)?,
            (Some(number), Some("idx")) if !path_of(dir, number).exists() => fs::remove_file(&path)?,
            _ => {}
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}
