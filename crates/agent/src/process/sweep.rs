//! Kills what a dead shim left behind. Its first process died with it; others are found by the tag in their
//! environment, by the session of the shim, by its cgroup, and by being children of such processes.
//! Never kills a process that merely got a known pid.

use std::fs;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use crate::shim::{Claim, Stat, TASK_TAG, all, below, boot_id, pidfd_open, pidfd_signal, stat};

const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// How many processes would not die within our patience.
pub(super) fn sweep(claim: &Claim) -> usize {
    if claim.boot != boot_id() {
        return 0;
    }
    let began = Instant::now();
    loop {
        if let Some(cgroup) = &claim.cgroup {
            let _ = fs::write(cgroup.join("cgroup.kill"), "1");
        }
        let found = remains(claim);
        found.iter().for_each(kill);
        if found.is_empty() || began.elapsed() > PATIENCE {
            claim.cgroup.iter().for_each(|cgroup| drop(fs::remove_dir(cgroup)));
            return found.len();
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn remains(claim: &Claim) -> Vec<Stat> {
    let all = all();
    let tag = format!("{TASK_TAG}={}", claim.tag());
    // While its session has members a pid is not given again; another process under it says that it has none.
    let ours = all.iter().all(|stat| stat.pid != claim.shim.pid || claim.shim.is(stat));
    let known = |stat: &&Stat| ours && stat.session == claim.shim.pid || is_tagged(stat.pid, &tag);
    let mut found: Vec<i32> = all.iter().filter(known).map(|stat| stat.pid).collect();
    let children: Vec<i32> = found.iter().flat_map(|pid| below(*pid, &all)).collect();
    found.extend(children);
    let me = std::process::id() as i32;
    all.into_iter().filter(|stat| found.contains(&stat.pid) && !stat.zombie && stat.pid != me).collect()
}

fn is_tagged(pid: i32, tag: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|b| *b == 0).any(|variable| variable == tag.as_bytes())
}

fn kill(found: &Stat) {
    let Ok(pidfd) = pidfd_open(found.pid) else { return };
    // The handle is of whoever has the pid now; only if that is still the one we judged may it be killed.
    if stat(found.pid).is_ok_and(|now| now.is_some_and(|now| now.start == found.start)) {
        let _ = pidfd_signal(pidfd.as_fd(), libc::SIGKILL);
    }
}
