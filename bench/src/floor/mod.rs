//! The floor: the least a durable scheduler can do for a run. A generator, one SQLite writer thread or two connections
//! to PostgreSQL, the product's own stream messages, an agent that answers at once. It has no jobs, no rules, no fences, no recovery: whatever the
//! product costs beyond it is the price of being a scheduler.
//!
//! It runs in two processes like the product (`duly-bench floor-server`, `duly-bench floor-agent`), so that both are
//! measured from outside in the same way, and writes times into its rows like the product, so that both are judged by
//! the same query.

pub(crate) mod agent;
mod desk;
mod generate;
mod log_mover;
mod pg_lane;
pub(crate) mod server;
mod words;
pub(crate) mod writer;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;

use crate::measure;
use crate::runs::Window;

/// The database within the floor's directory.
pub(crate) const FILE: &str = "floor.db";
const ENDPOINT: &str = "endpoint";
/// How long commits took, a file for each lane.
const COMMITS: &str = "commits-";

/// A run to be made.
#[derive(Clone, Copy)]
struct Due {
    job: i64,
    planned: i64,
}

/// Where runs come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    /// So many jobs, each due again as soon as it has ended.
    Saturate { jobs: u32 },
    /// So many runs a second, evenly spread.
    Spread { per_second: u32 },
    /// So many runs at every whole second.
    Aligned { per_second: u32 },
    /// So many runs at one instant.
    Burst { runs: u32, at: i64 },
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Load::Saturate { jobs } => write!(f, "saturate:{jobs}"),
            Load::Spread { per_second } => write!(f, "spread:{per_second}"),
            Load::Aligned { per_second } => write!(f, "aligned:{per_second}"),
            Load::Burst { runs, at } => write!(f, "burst:{runs}:{at}"),
        }
    }
}

impl std::str::FromStr for Load {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Load> {
        let mut parts = text.split(':');
        let kind = parts.next().unwrap_or_default();
        let count = parts.next().and_then(|n| n.parse().ok()).with_context(|| format!("{text} names no count"))?;
        match (kind, parts.next()) {
            ("saturate", None) => Ok(Load::Saturate { jobs: count }),
            ("spread", None) => Ok(Load::Spread { per_second: count }),
            ("aligned", None) => Ok(Load::Aligned { per_second: count }),
            ("burst", Some(at)) => Ok(Load::Burst { runs: count, at: at.parse()? }),
            _ => anyhow::bail!("{text} is no load"),
        }
    }
}

/// Both processes, for as long as this lives.
pub(crate) struct Floor {
    server: Child,
    agent: Child,
    dir: PathBuf,
}

impl Floor {
    pub(crate) fn start(dir: &Path, load: Load) -> anyhow::Result<Floor> {
        let floor = Floor::launch(dir, load, &[])?;
        measure::wait_for("the floor", Duration::from_secs(10), || Ok(dir.join(FILE).exists()))?;
        Ok(floor)
    }

    /// The same with its rows in a database.
    pub(crate) fn start_on(dir: &Path, load: Load, address: &str) -> anyhow::Result<Floor> {
        let floor = Floor::launch(dir, load, &["--database", address])?;
        let last = dir.join(format!("{COMMITS}{}", pg_lane::LANES - 1));
        measure::wait_for("the floor", Duration::from_secs(10), || Ok(last.exists()))?;
        Ok(floor)
    }

    fn launch(dir: &Path, load: Load, told: &[&str]) -> anyhow::Result<Floor> {
        std::fs::create_dir_all(dir)?;
        let program = std::env::current_exe()?;
        let of = |role: &str| {
            let mut command = Command::new(&program);
            command.arg(role).arg("--dir").arg(dir).stdin(Stdio::null());
            command
        };
        let server = of("floor-server").args(["--load", &load.to_string()]).args(told).spawn()?;
        let agent = of("floor-agent").spawn()?;
        Ok(Floor { server, agent, dir: dir.into() })
    }

    pub(crate) fn server_pid(&self) -> i32 {
        self.server.id() as i32
    }

    pub(crate) fn agent_pid(&self) -> i32 {
        self.agent.id() as i32
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.dir.join(FILE)
    }

    /// How long each commit within the window took, in microseconds.
    pub(crate) fn commits(&self, window: Window) -> anyhow::Result<Vec<f64>> {
        let mut took = Vec::new();
        for lane in 0..pg_lane::LANES {
            let written = std::fs::read_to_string(self.dir.join(format!("{COMMITS}{lane}")))?;
            let lines = written.lines().filter_map(|line| line.split_once(' '));
            let timed = lines.filter_map(|(at, took)| Some((at.parse::<i64>().ok()?, took.parse::<f64>().ok()?)));
            took.extend(timed.filter(|(at, _)| (window.from..window.until).contains(at)).map(|(_, took)| took));
        }
        Ok(took)
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        for child in [&mut self.server, &mut self.agent] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
