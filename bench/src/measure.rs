//! What processes cost, read from /proc the same way for both sides; and what else the machine was doing meanwhile.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde_json::{Value, json};

/// Microseconds since 1970.
pub(crate) fn now_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_micros() as i64)
}

/// Waits for a fact, and says which one did not come.
pub(crate) fn wait_for(
    what: &str,
    patience: Duration,
    mut is_there: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let until = Instant::now() + patience;
    while !is_there()? {
        anyhow::ensure!(Instant::now() < until, "{what} did not come within {patience:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Processor seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    pub(crate) own: f64,
    /// Of children that have ended and were waited for, with theirs.
    pub(crate) reaped: f64,
}

pub(crate) fn cpu(pid: i32) -> anyhow::Result<Cpu> {
    let stat = Stat::read(pid).with_context(|| format!("process {pid} is gone"))?;
    Ok(Cpu { own: stat.own, reaped: stat.reaped })
}

/// Processor seconds of the threads a process has now: finer than ticks, for those that do next to nothing.
pub(crate) fn cpu_of_threads(pid: i32) -> anyhow::Result<f64> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let stat = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        nanos += stat.split_whitespace().next().and_then(|first| first.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(nanos as f64 / 1e9)
}

pub(crate) fn children(pid: i32) -> Vec<i32> {
    processes().into_iter().filter(|(_, parent)| *parent == pid).map(|(child, _)| child).collect()
}

/// Every process below this one, parents first.
pub(crate) fn descendants(pid: i32) -> Vec<i32> {
    let all = processes();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child));
        next += 1;
    }
    found.split_off(1)
}

pub(crate) fn command_line(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ")
}

/// Proportional share of memory, in kB.
pub(crate) fn pss_kb(pid: i32) -> anyhow::Result<f64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).context("no Pss in smaps_rollup")?;
    let number = line.split_whitespace().next().context("an empty Pss")?;
    Ok(number.parse()?)
}

/// Processor seconds the whole machine spent so far: working, and taken away by its host.
pub(crate) fn machine_cpu() -> (f64, f64) {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: Vec<f64> =
        stat.lines().next().unwrap_or_default().split_whitespace().skip(1).flat_map(str::parse).collect();
    let of = |n: usize| ticks.get(n).copied().unwrap_or(0.0) / ticks_per_second();
    ([0, 1, 2, 5, 6].map(of).iter().sum(), of(7))
}

pub(crate) fn machine() -> Value {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_string();
    let cpu = text("/proc/cpuinfo");
    let model = cpu.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(": "));
    json!({
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "cpu": model.map(|(_, name)| name),
        "kernel": text("/proc/sys/kernel/osrelease"),
        "memory": text("/proc/meminfo").lines().next().and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).map(|kb| kb * 1024),
        "load_average": text("/proc/loadavg"),
    })
}

struct Stat {
    parent: i32,
    own: f64,
    reaped: f64,
}

impl Stat {
    fn read(pid: i32) -> anyhow::Result<Stat> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name may hold blanks and brackets: what follows the last one is plain.
        let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let seconds = |n: usize| fields.get(n).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0) / ticks_per_second();
        let parent = fields.get(1).context("no parent")?.parse()?;
        Ok(Stat { parent, own: seconds(11) + seconds(12), reaped: seconds(13) + seconds(14) })
    }
}

fn processes() -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, Stat::read(pid).ok()?.parent))).collect()
}

/// Fixed at 100 for everything user space sees.
fn ticks_per_second() -> f64 {
    100.0
}
