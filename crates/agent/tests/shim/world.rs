//! An agent around the real shim, and what can be seen of its tasks from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use duly_agent::process::{Ending, Starter, Watcher, read_log};
use duly_agent::shim::{Frame, ShimOrder, ShimResult, Stream};
use tempfile::TempDir;

/// No test is that slow; it only turns a hang into a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Agent {
    pub(crate) data: TempDir,
    pub(crate) watcher: Watcher,
    pub(crate) ends: Receiver<(i64, Ending)>,
}

impl Agent {
    pub(crate) fn new() -> Agent {
        let (tell, ends) = channel();
        let watcher = Watcher::new(move |attempt, ending| tell.send((attempt, ending)).unwrap()).unwrap();
        Agent { data: tempfile::tempdir().unwrap(), watcher, ends }
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.data.path().join("run")
    }

    pub(crate) fn dir(&self, attempt: i64) -> PathBuf {
        self.run_dir().join(attempt.to_string())
    }

    pub(crate) fn start(&self, order: &ShimOrder) -> PathBuf {
        let dir = self.dir(order.attempt);
        self.watcher.watch(starter().start(&dir, order).unwrap()).unwrap();
        dir
    }

    pub(crate) fn end(&self) -> (i64, Ending) {
        self.ends.recv_timeout(PATIENCE).expect("an attempt ends")
    }

    pub(crate) fn result(&self) -> ShimResult {
        match self.end() {
            (_, Ending::Result(result)) => result,
            (attempt, other) => panic!("attempt {attempt} ended as {other:?}"),
        }
    }

    /// Runs the order to its end.
    pub(crate) fn run(&self, order: &ShimOrder) -> ShimResult {
        self.start(order);
        self.result()
    }

    /// Everything printed, by stream.
    pub(crate) fn printed(&self, attempt: i64, stream: Stream) -> Vec<u8> {
        let frames = frames(&self.dir(attempt)).into_iter().filter(|frame| frame.stream == stream);
        frames.flat_map(|frame| frame.bytes).collect()
    }
}

pub(crate) fn starter() -> Starter {
    Starter::new(env!("CARGO_BIN_EXE_test-shim"), [""; 0])
}

pub(crate) fn sh(attempt: i64, script: &str) -> ShimOrder {
    let mut order = ShimOrder::new(attempt, ["/bin/sh", "-c", script]);
    order.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    order
}

pub(crate) fn frames(dir: &Path) -> Vec<Frame> {
    let (mut all, mut next) = (Vec::new(), 0);
    loop {
        // As small as allowed, so that every test reads in pieces.
        let part = read_log(dir, next, 0).unwrap();
        if part.frames.is_empty() {
            return all;
        }
        all.extend(part.frames);
        next = part.next;
    }
}

pub(crate) fn wait_until(what: &str, fact: impl Fn() -> bool) {
    let began = Instant::now();
    while !fact() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn printed_line(dir: &Path, line: &str) -> bool {
    let bytes: Vec<u8> = frames(dir).into_iter().flat_map(|frame| frame.bytes).collect();
    String::from_utf8_lossy(&bytes).lines().any(|printed| printed == line)
}

/// The living processes of a task: all that carry `mark` in their arguments.
pub(crate) fn alive(mark: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let cmdline = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        *pid != std::process::id() as i32 && String::from_utf8_lossy(&cmdline).contains(mark)
    })
    .collect()
}

/// A program that carries a mark nobody else has, so that its processes can be counted from outside.
pub(crate) fn mark(agent: &Agent, name: &str) -> String {
    format!("{name}-{}", agent.data.path().file_name().unwrap().to_string_lossy())
}

/// Forks, ignores TERM, starts sessions of its own, and forks twice: none of that is a way out.
pub(crate) fn escape_script(mark: &str) -> String {
    let deaf = format!("trap \"\" TERM; : {mark}; while :; do sleep 1000; done");
    format!("sh -c '{deaf}' & setsid sh -c '{deaf}' & (setsid sh -c '({deaf}) & ' &); echo up; {deaf}")
}

pub(crate) fn wait_for_escapes(dir: &Path, mark: &str) {
    wait_until("the task is up", || printed_line(dir, "up"));
    // The task, its plain child, its child with a session, and the child of nobody.
    wait_until("all escapees run", || alive(mark).len() >= 4);
}

/// As the shim signed it: the line after the one that begins the field `pid`.
pub(crate) fn shim_pid(dir: &Path) -> i32 {
    let signed = fs::read_to_string(dir.join("shim")).unwrap();
    signed.lines().skip_while(|line| !line.starts_with("pid ")).nth(1).unwrap().parse().unwrap()
}

pub(crate) fn is_zombie(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains("(test-shim) Z "))
}
