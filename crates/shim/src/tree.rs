//! The processes of a task, however they scattered. We are their subreaper: whoever loses its parent becomes our
//! child, so nobody leaves the tree by forking twice or by a session of its own. Never touches a process outside it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::procfs;

pub(crate) struct Tree {
    root: i32,
    cgroup: Option<Cgroup>,
}

impl Tree {
    /// `cgroups` is where groups may be made; without one, or where it is refused, the tree is found by its parents.
    pub(crate) fn of_this_process(attempt: i64, cgroups: Option<&Path>) -> io::Result<Tree> {
        nix::sys::prctl::set_child_subreaper(true)?;
        let cgroup = cgroups.and_then(|parent| Cgroup::make(parent, attempt).ok());
        Ok(Tree { root: std::process::id() as i32, cgroup })
    }

    pub(crate) fn cgroup(&self) -> Option<&Path> {
        self.cgroup.as_ref().map(|cgroup| cgroup.path.as_path())
    }

    /// Where the first process of the task enters the cgroup by itself.
    pub(crate) fn door(&self) -> Option<&File> {
        self.cgroup.as_ref().map(|cgroup| &cgroup.procs)
    }

    /// A group that the task was not let into counts and kills nothing.
    pub(crate) fn settle(&mut self, in_cgroup: bool) {
        if !in_cgroup {
            self.cgroup.take().into_iter().for_each(Cgroup::remove);
        }
    }

    pub(crate) fn ask_to_end(&self) {
        self.signal(Signal::SIGTERM);
        // A stopped process hears nothing but this.
        self.signal(Signal::SIGCONT);
    }

    /// One pass: a process forked meanwhile is found by the next one.
    pub(crate) fn kill(&self) {
        if let Some(cgroup) = &self.cgroup {
            let _ = cgroup.write("cgroup.kill", "1");
        }
        self.signal(Signal::SIGKILL);
    }

    /// CPU microseconds and peak kilobytes of the whole tree, where a cgroup counted them.
    pub(crate) fn usage(&self) -> (Option<u64>, Option<u64>) {
        let Some(cgroup) = &self.cgroup else { return (None, None) };
        let cpu = cgroup.read("cpu.stat").and_then(|stat| {
            let usage = stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
            usage.trim().parse().ok()
        });
        let peak = cgroup.read("memory.peak").and_then(|peak| peak.trim().parse::<u64>().ok());
        (cpu, peak.map(|bytes| bytes / 1024))
    }

    pub(crate) fn remove(self) {
        self.cgroup.into_iter().for_each(Cgroup::remove);
    }

    fn signal(&self, signal: Signal) {
        for pid in procfs::descendants(self.root) {
            // Gone already, or of another user: the caller looks again.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

struct Cgroup {
    path: PathBuf,
    procs: File,
}

impl Cgroup {
    fn make(parent: &Path, attempt: i64) -> io::Result<Cgroup> {
        let path = parent.join(format!("attempt-{attempt}"));
        fs::create_dir(&path)?;
        // Not created here: a directory that is no cgroup has no such file, and then we do without.
        match OpenOptions::new().write(true).open(path.join("cgroup.procs")) {
            Ok(procs) => Ok(Cgroup { path, procs }),
            Err(error) => {
                fs::remove_dir(&path)?;
                Err(error)
            }
        }
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        OpenOptions::new().write(true).open(self.path.join(file))?.write_all(text.as_bytes())
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.path.join(file)).ok()
    }

    fn remove(self) {
        // Fails only while someone is in it, and then it says the truth by being there.
        let _ = fs::remove_dir(&self.path);
    }
}
