//! What an agent finds when it comes back.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use duly_agent::process::{Ending, Found, Owned, Starter, State, adopt, remove, stop};
use duly_agent::shim::{Exit, Reason, Stream};

use crate::world::*;

fn adopt_one(agent: &Agent) -> State {
    let mut found = adopt(&agent.run_dir()).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    let Found { attempt, dir, state } = found.pop().unwrap();
    assert_eq!((attempt, dir), (1, agent.dir(1)));
    state
}

fn adopt_running(agent: &Agent) -> Owned {
    match adopt_one(agent) {
        State::Running(owned) => owned,
        other => panic!("{other:?}"),
    }
}

/// Not a test: the agent that the next one kills.
#[test]
#[ignore = "is started by the_task_outlives_its_agent"]
fn an_agent_to_be_killed() {
    let run = PathBuf::from(std::env::var_os("RUN_DIR").unwrap());
    let mut order = sh(1, "echo up; read x < $GO; echo after; exit 9");
    order.env.push(("GO".into(), std::env::var_os("GO").unwrap()));
    starter().start(&run.join("1"), &order).unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn the_task_outlives_its_agent() {
    let agent = Agent::new();
    let go = agent.data.path().join("go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap());
    other
        .args(["--exact", "adopting::an_agent_to_be_killed", "--ignored"])
        .env("RUN_DIR", agent.run_dir())
        .env("GO", &go);
    let mut other = other.process_group(0).stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_until("the task is up", || printed_line(&agent.dir(1), "up"));
    // The whole group, as a terminal or a service manager would.
    nix::sys::signal::killpg(nix::unistd::Pid::from_raw(other.id() as i32), nix::sys::signal::SIGKILL).unwrap();
    other.wait().unwrap();

    assert_eq!(remove(&agent.dir(1)).unwrap_err().kind(), std::io::ErrorKind::ResourceBusy);
    agent.watcher.watch(adopt_running(&agent)).unwrap();
    fs::write(&go, "\n").unwrap();
    let result = agent.result();
    assert_eq!((result.reason, result.exit), (Reason::Exited, Some(Exit::Code(9))));
    assert_eq!(agent.printed(1, Stream::Stdout), b"up\nafter\n");
    match adopt_one(&agent) {
        State::Ended(Ending::Result(again)) => assert_eq!(again.exit, Some(Exit::Code(9))),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_killed_shim_leaves_is_swept_up() {
    for seen_by_watcher in [true, false] {
        let agent = Agent::new();
        let mark = mark(&agent, "swept");
        let order = sh(1, &escape_script(&mark));
        let dir = agent.dir(1);
        let owned = starter().start(&dir, &order).unwrap();
        wait_for_escapes(&dir, &mark);
        let shim = nix::unistd::Pid::from_raw(shim_pid(&dir));
        nix::sys::signal::kill(shim, nix::sys::signal::SIGKILL).unwrap();
        let ending = match seen_by_watcher {
            true => {
                agent.watcher.watch(owned).unwrap();
                agent.end().1
            }
            false => {
                wait_until("the shim is dead", || is_zombie(shim.as_raw()));
                match adopt_one(&agent) {
                    State::Ended(ending) => ending,
                    other => panic!("{other:?}"),
                }
            }
        };
        assert_eq!(ending, Ending::Vanished { survivors: 0 });
        assert_eq!(alive(&mark), [0; 0]);
    }
}

#[test]
fn a_stranger_with_our_pid_is_neither_adopted_nor_harmed() {
    let agent = Agent::new();
    let dir = agent.start(&sh(1, "true"));
    agent.result();
    fs::remove_file(dir.join("result")).unwrap();
    // A process that has the pid of the signature and leads a session under it, but began at another time.
    let mut stranger = Command::new("setsid").args(["sleep", "1000"]).spawn().unwrap();
    let comm = format!("/proc/{}/comm", stranger.id());
    wait_until("the stranger leads a session", || fs::read_to_string(&comm).unwrap() == "sleep\n");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let pid = stranger.id().to_string();
    let fields = [("attempt", "1"), ("boot", boot.trim()), ("pid", &pid), ("start", "1"), ("end", "")].into_iter();
    let forged: String = fields.map(|(name, value)| format!("{name} {}\n{value}\n", value.len())).collect();
    let forged = format!("duly-shim 1\n{forged}");
    fs::write(dir.join("shim"), forged).unwrap();
    assert!(matches!(adopt_one(&agent), State::Ended(Ending::Vanished { survivors: 0 })));
    stop(&dir, "li wei", Duration::ZERO).unwrap();
    assert_eq!(stranger.try_wait().unwrap(), None, "the stranger lives");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn what_never_started_never_will() {
    let agent = Agent::new();
    let trace = agent.data.path().join("trace");
    // An agent that died between writing the order and starting the shim: `true` takes no order.
    let order = sh(1, &format!("echo ran > {}", trace.display()));
    starter_that_does_nothing().start(&agent.dir(1), &order).unwrap();
    assert!(matches!(adopt_one(&agent), State::Ended(Ending::NeverStarted)));
    let late = Command::new(env!("CARGO_BIN_EXE_test-shim")).arg(agent.dir(1)).output().unwrap();
    assert!(!late.status.success());
    assert!(!trace.exists());
    assert!(matches!(adopt_one(&agent), State::Ended(Ending::NeverStarted)));
}

#[test]
fn a_shim_that_dies_before_it_signs_never_started() {
    let agent = Agent::new();
    agent.watcher.watch(starter_that_does_nothing().start(&agent.dir(1), &sh(1, "true")).unwrap()).unwrap();
    assert_eq!(agent.end(), (1, Ending::NeverStarted));
}

#[test]
fn an_order_of_an_earlier_boot_is_not_believed_to_be_unstarted() {
    let agent = Agent::new();
    starter_that_does_nothing().start(&agent.dir(1), &sh(1, "true")).unwrap();
    let order = fs::read_to_string(agent.dir(1).join("order")).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let earlier = order.replace(boot.trim(), &boot.trim().chars().rev().collect::<String>());
    assert_ne!(order, earlier);
    fs::write(agent.dir(1).join("order"), earlier).unwrap();
    assert!(matches!(adopt_one(&agent), State::Ended(Ending::Vanished { .. })));
}

#[test]
fn adoption_races_with_a_start_and_both_agree() {
    for _ in 0..50 {
        let agent = Agent::new();
        let trace = agent.data.path().join("trace");
        let owned = starter().start(&agent.dir(1), &sh(1, &format!("echo ran >> {}", trace.display()))).unwrap();
        let state = adopt_one(&agent);
        agent.watcher.watch(owned).unwrap();
        let (_, ending) = agent.end();
        match state {
            State::Ended(Ending::NeverStarted) => {
                assert_eq!(ending, Ending::NeverStarted);
                assert!(!trace.exists());
            }
            State::Running(_) | State::Ended(Ending::Result(_)) => {
                assert!(matches!(ending, Ending::Result(_)), "{ending:?}");
                assert_eq!(fs::read_to_string(&trace).unwrap(), "ran\n");
            }
            State::Ended(Ending::Vanished { .. }) => panic!("nobody was killed"),
        }
    }
}

fn starter_that_does_nothing() -> Starter {
    Starter::new("/bin/true", [""; 0])
}
