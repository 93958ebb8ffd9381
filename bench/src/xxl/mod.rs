//! The other end of XXL-JOB, and the least a durable admin can do: a stub executor in its own process, and a bare admin
//! with the same HTTP both ways and the same durable rows, but no jobs, no rules and no recovery.

pub(crate) mod bare;
mod http;
pub(crate) mod stub;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use crate::measure;
use crate::runs::Window;

pub(crate) const TOKEN: &str = "a bench is no secret";
pub(crate) const APP: &str = "bench";
const STUB: &str = "stub";
const BARE: &str = "bare";

/// The stub executor, for as long as this lives.
pub(crate) struct Stub {
    process: Child,
    address: String,
}

/// What the stub saw of the runs planned in a window.
pub(crate) struct Seen {
    pub(crate) runs: i64,
    /// Runs it was sent more than once.
    pub(crate) doubled: i64,
    /// From planned to received, in microseconds: half of them, and 99 of 100, came within this.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// When the last one came.
    pub(crate) last_at: i64,
}

impl Stub {
    /// `ack` is how long it takes to say that it has a run.
    pub(crate) fn start(dir: &Path, admin: &str, ack: Duration) -> anyhow::Result<Stub> {
        let process =
            role("xxl-stub", dir)?.args(["--admin", admin, "--ack-ms", &ack.as_millis().to_string()]).spawn()?;
        let address = written(dir, STUB)?;
        Ok(Stub { process, address })
    }

    pub(crate) fn seen(&self, window: Window) -> anyhow::Result<Seen> {
        let path = format!("/stats?{}&{}", window.from, window.until);
        let answer: Value = serde_json::from_slice(&http::get(&self.address, &path)?)?;
        let number = |key: &str| answer[key].as_f64().with_context(|| format!("the stub says no {key}"));
        Ok(Seen {
            runs: number("runs")? as i64,
            doubled: number("doubled")? as i64,
            p50: number("p50")?,
            p99: number("p99")?,
            last_at: number("last_at")? as i64,
        })
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The bare admin, for as long as this lives.
pub(crate) struct Bare {
    process: Child,
    pub(crate) url: String,
}

impl Bare {
    pub(crate) fn start(dir: &Path, load: &str) -> anyhow::Result<Bare> {
        let process = role("xxl-bare", dir)?.args(["--load", load]).spawn()?;
        Ok(Bare { process, url: written(dir, BARE)? })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.process.id() as i32
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn role(role: &str, dir: &Path) -> anyhow::Result<Command> {
    std::fs::create_dir_all(dir)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(role).arg("--dir").arg(dir).stdin(Stdio::null());
    Ok(command)
}

fn written(dir: &Path, name: &str) -> anyhow::Result<String> {
    let file = dir.join(name);
    measure::wait_for(name, Duration::from_secs(10), || Ok(file.exists()))?;
    Ok(std::fs::read_to_string(file)?)
}

/// Says where a process listens, all at once.
fn write(dir: &Path, name: &str, address: &str) -> std::io::Result<()> {
    let draft: PathBuf = dir.join(format!("{name}.new"));
    std::fs::write(&draft, address)?;
    std::fs::rename(draft, dir.join(name))
}

/// Triggers so many jobs by hand over some kept connections, and waits for every answer.
pub(crate) fn trigger_many(
    url: &str,
    token: &str,
    count: usize,
    connections: usize,
    job: impl Fn(usize) -> String + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (address, job) = (url.trim_start_matches("http://").to_string(), std::sync::Arc::new(job));
    let workers = (0..connections).map(|worker| {
        let (address, job, token) = (address.clone(), std::sync::Arc::clone(&job), token.to_string());
        runtime.spawn(async move {
            let mut line = http::Line::dial(&address).await?;
            for n in (worker..count).step_by(connections) {
                line.trigger(&format!("/api/v1/jobs/{}/trigger", job(n)), &token).await?;
            }
            anyhow::Ok(())
        })
    });
    let workers: Vec<_> = workers.collect();
    workers.into_iter().try_for_each(|worker| runtime.block_on(worker)?)
}
