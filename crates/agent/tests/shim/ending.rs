//! Every way to end a task, and that nothing of it is left.

use std::fs;
use std::time::Duration;

use duly_agent::process::{Stopping, extend_leash, stop};
use duly_agent::shim::{Exit, Reason, Stream, boot_micros};

use crate::world::*;

#[test]
fn a_stop_ends_the_whole_tree_whatever_it_does_to_escape() {
    let agent = Agent::new();
    let mark = mark(&agent, "escape");
    let dir = agent.start(&sh(1, &escape_script(&mark)));
    wait_for_escapes(&dir, &mark);
    assert_eq!(stop(&dir, "li wei", Duration::from_millis(50)).unwrap(), Stopping::Asked);
    assert_eq!(stop(&dir, "somebody else", Duration::from_secs(1000)).unwrap(), Stopping::Asked);
    let result = agent.result();
    assert_eq!(alive(&mark), [0; 0], "gone before the result says so");
    assert_eq!((result.reason, result.exit), (Reason::Stopped { by: "li wei".into() }, Some(Exit::Signal(9))));
    assert_eq!(stop(&dir, "li wei", Duration::ZERO).unwrap(), Stopping::AlreadyEnded);
}

#[test]
fn a_stop_leaves_time_to_end_well_unless_somebody_is_in_a_hurry() {
    let agent = Agent::new();
    let dir = agent.start(&sh(1, "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done"));
    wait_until("the task is up", || printed_line(&dir, "up"));
    stop(&dir, "li wei", Duration::from_secs(1000)).unwrap();
    let result = agent.result();
    assert_eq!((result.reason, result.exit), (Reason::Stopped { by: "li wei".into() }, Some(Exit::Code(7))));
    assert!(printed_line(&dir, "bye"));

    let deaf = agent.start(&sh(2, "trap 'echo deaf' TERM; echo up; while :; do sleep 0.01; done"));
    wait_until("the task is up", || printed_line(&deaf, "up"));
    stop(&deaf, "li wei", Duration::from_secs(1000)).unwrap();
    wait_until("it was asked", || printed_line(&deaf, "deaf"));
    stop(&deaf, "somebody else", Duration::ZERO).unwrap();
    let result = agent.result();
    assert_eq!((result.reason, result.exit), (Reason::Stopped { by: "li wei".into() }, Some(Exit::Signal(9))));
}

#[test]
fn a_stop_that_overtakes_the_start_prevents_it() {
    let agent = Agent::new();
    let trace = agent.data.path().join("trace");
    let script = format!("echo ran >> {}; sleep 1000", trace.display());
    for attempt in 0..40 {
        let dir = agent.start(&sh(attempt, &script));
        stop(&dir, "li wei", Duration::ZERO).unwrap();
        let result = agent.result();
        assert_eq!(result.reason, Reason::Stopped { by: "li wei".into() }, "attempt {attempt}");
        let ran = fs::read_to_string(&trace).is_ok();
        assert!(result.exit.is_some() || !ran, "said it never ran");
        let _ = fs::remove_file(&trace);
    }
}

#[test]
fn a_signal_to_the_shim_is_a_stop() {
    let agent = Agent::new();
    let mut order = sh(1, "echo up; sleep 1000");
    order.grace = Duration::from_millis(10);
    let dir = agent.start(&order);
    wait_until("the task is up", || printed_line(&dir, "up"));
    let shim = nix::unistd::Pid::from_raw(shim_pid(&dir));
    for deaf_to in [nix::sys::signal::SIGHUP, nix::sys::signal::SIGINT] {
        nix::sys::signal::kill(shim, deaf_to).unwrap();
    }
    nix::sys::signal::kill(shim, nix::sys::signal::SIGTERM).unwrap();
    assert_eq!(agent.result().reason, Reason::Stopped { by: "signal".into() });
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    let agent = Agent::new();
    let mark = mark(&agent, "timeout");
    let mut order = sh(1, &escape_script(&mark));
    (order.timeout, order.grace) = (Some(Duration::from_millis(300)), Duration::from_millis(50));
    let result = agent.run(&order);
    assert_eq!(alive(&mark), [0; 0]);
    assert_eq!(result.reason, Reason::Timeout);
    assert!(result.ended_at - result.started_at >= 300_000, "{result:?}");
}

#[test]
fn a_leash_that_nobody_moves_ends_the_task() {
    let agent = Agent::new();
    let mut order = sh(1, "echo up; sleep 1000");
    (order.leash, order.grace) = (Some(boot_micros() + 50_000), Duration::from_secs(1000));
    let dir = agent.start(&order);
    let moved_to = boot_micros() + 600_000;
    extend_leash(&dir, moved_to).unwrap();
    let result = agent.result();
    assert_eq!(result.reason, Reason::Leash);
    assert!(boot_micros() >= moved_to, "ended before the deadline it was given");
}

#[test]
fn children_left_behind_do_not_keep_an_attempt_open() {
    let agent = Agent::new();
    let mark = mark(&agent, "left");
    let hidden = format!("setsid sh -c 'while :; do sleep 1000; done # {mark}'");
    let holds_pipes = agent.run(&sh(1, &format!("{hidden} & echo done; exit 5")));
    assert_eq!((holds_pipes.reason, holds_pipes.exit), (Reason::Exited, Some(Exit::Code(5))));
    assert_eq!(agent.printed(1, Stream::Stdout), b"done\n");
    let silent = agent.run(&sh(2, &format!("{hidden} >/dev/null 2>&1 & exit 6")));
    assert_eq!((silent.reason, silent.exit), (Reason::Exited, Some(Exit::Code(6))));
    assert_eq!(alive(&mark), [0; 0]);
}

/// Run with a directory of cgroup v2 that may be written, which not every machine has.
#[test]
#[ignore = "needs a cgroup in DULY_TEST_CGROUP"]
fn a_cgroup_counts_and_kills_the_tree() {
    let agent = Agent::new();
    let cgroup = std::path::PathBuf::from(std::env::var_os("DULY_TEST_CGROUP").unwrap());
    let mark = mark(&agent, "cgroup");
    let mut order = sh(1, &format!("cat /proc/self/cgroup; {}", escape_script(&mark)));
    order.cgroup = Some(cgroup.clone());
    let dir = agent.start(&order);
    wait_for_escapes(&dir, &mark);
    let group = cgroup.join("attempt-1");
    let members = fs::read_to_string(group.join("cgroup.procs")).unwrap();
    assert!(alive(&mark).iter().all(|pid| members.lines().any(|member| member == pid.to_string())), "{members}");
    stop(&dir, "li wei", Duration::ZERO).unwrap();
    let result = agent.result();
    assert_eq!(alive(&mark), [0; 0]);
    assert!(result.cpu_micros > 0, "{result:?}");
    assert!(!group.exists());
}

#[test]
fn a_cgroup_that_is_none_is_done_without() {
    let agent = Agent::new();
    let mut order = sh(1, "exit 3");
    order.cgroup = Some(agent.data.path().to_owned());
    agent.start(&order);
    assert_eq!(agent.result().exit, Some(Exit::Code(3)));
    assert!(!agent.data.path().join("attempt-1").exists());
}
