//! The suites: each measures ours and a bare floor in turn, round by round, and gives back figures. None asserts speed.

mod burst;
mod console;
mod idle;
mod latency;
mod neighbour;
mod postgres;
pub(crate) mod processes;
mod reads;
mod saturated;
pub(crate) mod schedules;
mod xxl;

use std::path::PathBuf;
use std::time::Duration;

use crate::figure::Figure;

/// What every suite is told.
pub(crate) struct Bench {
    pub(crate) duly: PathBuf,
    /// Drives the browser, where a suite needs one.
    pub(crate) python: PathBuf,
    /// Everything is made and removed below this directory; it should be on the disk that matters.
    pub(crate) dir: PathBuf,
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
}

pub(crate) type Suite = fn(&Bench) -> anyhow::Result<Vec<Figure>>;

pub(crate) const ALL: &[(&str, Suite)] = &[
    ("saturated", saturated::run),
    ("latency", latency::run),
    ("burst", burst::run),
    ("neighbour", neighbour::run),
    ("schedules", schedules::run),
    ("processes", processes::run),
    ("reads", reads::run),
    ("idle", idle::run),
    ("xxl", xxl::run),
    ("postgres", postgres::run),
    ("console", console::run),
];

impl Bench {
    /// An empty directory of that name.
    pub(crate) fn fresh(&self, name: &str) -> anyhow::Result<PathBuf> {
        let dir = self.dir.join(name);
        if dir.exists() {
            std::fs::remove_dir_all(&dir)?;
        }
        std::fs::create_dir_all(&dir)?;
        Ok(std::path::absolute(dir)?)
    }

    /// How long one side is measured in one round.
    pub(crate) fn span(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

/// Progress, for people who wait.
pub(crate) fn say(suite: &str, round: u32, what: &str) {
    eprintln!("{suite} {}: {what}", round + 1);
}
