//! Says when the floor's runs are due: a thread that sleeps until the next instant and hands over all that has come.

use std::time::Duration;

use super::words::Words;
use super::{Due, Load};
use crate::{measure, short_slice};

const SECOND: i64 = 1_000_000;

/// Until the writer is gone.
pub(super) fn run(load: Load, words: &Words) {
    short_slice::ask();
    match load {
        Load::Saturate { jobs } => {
            let planned = measure::now_us();
            let _ = words.due((0..i64::from(jobs)).map(|job| Due { job, planned }).collect());
            park();
        }
        Load::Burst { runs, at } => {
            sleep_until(at);
            let _ = words.due((0..i64::from(runs)).map(|job| Due { job, planned: at }).collect());
            park();
        }
        Load::Aligned { per_second } => aligned(i64::from(per_second), words),
        Load::Spread { per_second } => spread(i64::from(per_second), words),
    }
}

fn aligned(per_second: i64, words: &Words) {
    let mut planned = next_second();
    loop {
        sleep_until(planned);
        if words.due((0..per_second).map(|job| Due { job, planned }).collect()).is_err() {
            return;
        }
        planned += SECOND;
    }
}

fn spread(per_second: i64, words: &Words) {
    let from = next_second();
    let planned = |n: i64| from + n * SECOND / per_second;
    let mut next = 0;
    loop {
        sleep_until(planned(next));
        let now = measure::now_us();
        let first = next;
        while planned(next) <= now {
            next += 1;
        }
        let due = (first..next).map(|n| Due { job: n % per_second, planned: planned(n) }).collect();
        if words.due(due).is_err() {
            return;
        }
    }
}

fn next_second() -> i64 {
    (measure::now_us() / SECOND + 1) * SECOND
}

fn sleep_until(at: i64) {
    loop {
        let left = at - measure::now_us();
        if left <= 0 {
            return;
        }
        std::thread::sleep(Duration::from_micros(left as u64));
    }
}

/// The channel must stay open: the rest comes from the writer itself.
fn park() {
    loop {
        std::thread::park();
    }
}
