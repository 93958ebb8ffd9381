//! Real processes under the real shim: what a task may do to escape, to hide or to fail, and what is found afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use duly_agent::process::{
    Ending, Found, Owned, Starter, State, Stopping, Watcher, adopt, extend_leash, read_log, remove, stop,
};
use duly_agent::shim::{Exit, Frame, Reason, ShimOrder, ShimResult, Stream, TASK_TAG, boot_micros};
use tempfile::TempDir;

/// No test is that slow; it only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

struct Agent {
    data: TempDir,
    watcher: Watcher,
    ends: Receiver<(i64, Ending)>,
}

impl Agent {
    fn new() -> Agent {
        let (tell, ends) = channel();
        let watcher = Watcher::new(move |attempt, ending| tell.send((attempt, ending)).unwrap()).unwrap();
        Agent { data: tempfile::tempdir().unwrap(), watcher, ends }
    }

    fn run_dir(&self) -> PathBuf {
        self.data.path().join("run")
    }

    fn dir(&self, attempt: i64) -> PathBuf {
        self.run_dir().join(attempt.to_string())
    }

    fn start(&self, order: &ShimOrder) -> PathBuf {
        let dir = self.dir(order.attempt);
        self.watcher.watch(starter().start(&dir, order).unwrap()).unwrap();
        dir
    }

    fn end(&self) -> (i64, Ending) {
        self.ends.recv_timeout(PATIENCE).expect("an attempt ends")
    }

    fn result(&self) -> ShimResult {
        match self.end() {
            (_, Ending::Result(result)) => result,
            (attempt, other) => panic!("attempt {attempt} ended as {other:?}"),
        }
    }

    /// Runs the order to its end.
    fn run(&self, order: &ShimOrder) -> ShimResult {
        self.start(order);
        self.result()
    }

    /// Everything printed, by stream.
    fn printed(&self, attempt: i64, stream: Stream) -> Vec<u8> {
        let frames = frames(&self.dir(attempt)).into_iter().filter(|frame| frame.stream == stream);
        frames.flat_map(|frame| frame.bytes).collect()
    }
}

fn starter() -> Starter {
    Starter::new(env!("CARGO_BIN_EXE_duly-shim"), [""; 0])
}

fn sh(attempt: i64, script: &str) -> ShimOrder {
    let mut order = ShimOrder::new(attempt, ["/bin/sh", "-c", script]);
    order.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    order
}

fn frames(dir: &Path) -> Vec<Frame> {
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

fn wait_until(what: &str, fact: impl Fn() -> bool) {
    let began = Instant::now();
    while !fact() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn printed_line(dir: &Path, line: &str) -> bool {
    let bytes: Vec<u8> = frames(dir).into_iter().flat_map(|frame| frame.bytes).collect();
    String::from_utf8_lossy(&bytes).lines().any(|printed| printed == line)
}

/// The living processes of a task: all that carry `mark` in their arguments.
fn alive(mark: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let cmdline = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        *pid != std::process::id() as i32 && String::from_utf8_lossy(&cmdline).contains(mark)
    })
    .collect()
}

/// A program that carries a mark nobody else has, so that its processes can be counted from outside.
fn mark(agent: &Agent, name: &str) -> String {
    format!("{name}-{}", agent.data.path().file_name().unwrap().to_string_lossy())
}

#[test]
fn exit_codes_and_signals_are_told_apart() {
    let agent = Agent::new();
    for (attempt, script, exit) in [
        (1, "exit 0", Exit::Code(0)),
        (2, "exit 3", Exit::Code(3)),
        (3, "exit 255", Exit::Code(255)),
        (4, "kill -KILL $$", Exit::Signal(9)),
        (5, "kill -TERM $$", Exit::Signal(15)),
        (6, "kill -PIPE $$", Exit::Signal(13)),
    ] {
        let result = agent.run(&sh(attempt, script));
        assert_eq!((result.attempt, result.reason, result.exit), (attempt, Reason::Exited, Some(exit)), "{script}");
        assert!(result.started_at > 0 && result.ended_at >= result.started_at);
    }
}

#[test]
fn what_cannot_run_says_why() {
    let agent = Agent::new();
    let mut nowhere = sh(3, "true");
    nowhere.cwd = "/no/such/place".into();
    let mut no_input = sh(4, "true");
    no_input.stdin = Some("/no/such/file".into());
    for (order, text) in [
        (ShimOrder::new(1, ["/no/such/program"]), "cannot run /no/such/program: "),
        (ShimOrder::new(2, ["no-such-program"]), "cannot run no-such-program: "),
        (nowhere, "cannot enter /no/such/place: "),
        (no_input, "cannot read /no/such/file: "),
    ] {
        let result = agent.run(&order);
        let Reason::SpawnFailed { errno: 2, text: told } = &result.reason else { panic!("{result:?}") };
        assert!(told.starts_with(text), "{told}");
        assert_eq!(result.exit, None);
    }
    let result = agent.run(&ShimOrder::new(5, ["/etc/passwd"]));
    assert!(matches!(result.reason, Reason::SpawnFailed { errno: 13, .. }), "{result:?}");
}

#[test]
fn the_environment_is_what_was_given_and_one_tag() {
    let agent = Agent::new();
    let mut order = ShimOrder::new(7, ["env", "-0"]);
    order.env = vec![("A".into(), "x=y\nz".into()), ("B".into(), "".into())];
    agent.run(&order);
    let printed = String::from_utf8(agent.printed(7, Stream::Stdout)).unwrap();
    let seen: BTreeMap<&str, &str> = printed.split_terminator('\0').map(|v| v.split_once('=').unwrap()).collect();
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), ["A", "B", TASK_TAG]);
    assert_eq!((seen["A"], seen["B"]), ("x=y\nz", ""));
    assert!(seen[TASK_TAG].starts_with("7-"));
}

#[test]
fn a_task_gets_its_directory_its_input_and_nothing_else_open() {
    let agent = Agent::new();
    let input = agent.data.path().join("input");
    fs::write(&input, "from a file").unwrap();
    let mut order =
        sh(1, "pwd; cat; echo; ls /proc/self/fd | tr '\\n' ' '; ps -o sid= -p $$ | grep -qw $$ && echo leader");
    (order.cwd, order.stdin) = ("/usr".into(), Some(input));
    agent.run(&order);
    let printed = String::from_utf8(agent.printed(1, Stream::Stdout)).unwrap();
    // The fourth descriptor is the one by which ls reads the list.
    assert_eq!(printed, "/usr\nfrom a file\n0 1 2 3 leader\n");
    agent.run(&sh(2, "cat"));
    assert_eq!(agent.printed(2, Stream::Stdout), b"");
}

#[test]
fn output_keeps_its_streams_and_the_order_of_arrival() {
    let agent = Agent::new();
    let go = agent.data.path().join("go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let script = "echo one; read x < $GO; echo two >&2; read x < $GO; printf 'three'";
    let mut order = sh(1, script);
    order.env.push(("GO".into(), go.clone().into()));
    let dir = agent.start(&order);
    for line in ["one", "two"] {
        wait_until(line, || printed_line(&dir, line));
        fs::write(&go, "\n").unwrap();
    }
    let result = agent.result();
    let frames = frames(&dir);
    let seen: Vec<_> = frames.iter().map(|f| (f.stream, std::str::from_utf8(&f.bytes).unwrap())).collect();
    assert_eq!(seen, [(Stream::Stdout, "one\n"), (Stream::Stderr, "two\n"), (Stream::Stdout, "three")]);
    assert!(frames.is_sorted_by_key(|frame| frame.at));
    assert_eq!((result.log_bytes, result.dropped_bytes), (13, 0));
}

#[test]
fn bytes_that_are_no_text_survive() {
    let agent = Agent::new();
    agent.run(&sh(1, r"printf '\377\000\303(\n'"));
    assert_eq!(agent.printed(1, Stream::Stdout), b"\xff\0\xc3(\n");
}

#[test]
fn a_cap_cuts_the_log_but_never_the_task() {
    let agent = Agent::new();
    let mut bytes = sh(1, "head -c 300000 /dev/zero; echo to the end >&2; exit 4");
    bytes.log_bytes_max = 100_000;
    let result = agent.run(&bytes);
    assert_eq!(result.exit, Some(Exit::Code(4)));
    assert_eq!(result.log_bytes, 100_000);
    assert_eq!(result.dropped_bytes, 200_000 + "to the end\n".len() as u64);
    let last = frames(&agent.dir(1)).pop().unwrap();
    assert_eq!((last.stream, last.bytes), (Stream::Dropped, result.dropped_bytes.to_le_bytes().to_vec()));

    let mut lines = sh(2, "seq 1 1000");
    lines.log_lines_max = 3;
    assert_eq!(agent.run(&lines).log_bytes, 6);
    assert_eq!(agent.printed(2, Stream::Stdout), b"1\n2\n3\n");
    let marks = frames(&agent.dir(2)).iter().filter(|frame| frame.stream == Stream::Dropped).count();
    assert_eq!(marks, 1);
}

#[test]
fn outputs_and_message_come_back() {
    let agent = Agent::new();
    let script = "printf '::du'; printf 'ly rows=12\n' ; echo '::duly file=/tmp/a b'; echo '::duly rows=13' >&2; \
        echo ' ::duly no=1'; printf '::duly-message all fine'";
    let mut order = sh(1, script);
    // What is beyond the log's cap still counts.
    order.log_bytes_max = 5;
    let result = agent.run(&order);
    let mut outputs = result.outputs;
    outputs.sort();
    let names: Vec<&str> = outputs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["file", "rows"]);
    assert_eq!(outputs[0].1, b"/tmp/a b");
    assert_eq!(result.message.as_deref(), Some(&b"all fine"[..]));
}

#[test]
fn usage_counts_the_whole_tree() {
    let agent = Agent::new();
    let result = agent.run(&sh(
        1,
        "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; head -c 50m /dev/zero | tail -c 40m | wc -c",
    ));
    assert!(result.cpu_micros > 10_000, "{result:?}");
    assert!(result.peak_kb > 30_000, "{result:?}");
}

/// Forks, ignores TERM, starts sessions of its own, and forks twice: none of that is a way out.
fn escape_script(mark: &str) -> String {
    let deaf = format!("trap \"\" TERM; : {mark}; while :; do sleep 1000; done");
    format!("sh -c '{deaf}' & setsid sh -c '{deaf}' & (setsid sh -c '({deaf}) & ' &); echo up; {deaf}")
}

fn wait_for_escapes(dir: &Path, mark: &str) {
    wait_until("the task is up", || printed_line(dir, "up"));
    // The task, its plain child, its child with a session, and the child of nobody.
    wait_until("all escapees run", || alive(mark).len() >= 4);
}

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

#[test]
fn two_hundred_short_tasks_have_one_result_each() {
    let agent = Agent::new();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let agent = &agent;
            let (run, watcher) = (agent.run_dir(), &agent.watcher);
            scope.spawn(move || {
                for attempt in worker * 25..(worker + 1) * 25 {
                    let order = sh(attempt, &format!("echo {attempt}; exit {}", attempt % 7));
                    let owned = starter().start(&run.join(attempt.to_string()), &order).unwrap();
                    watcher.watch(owned).unwrap();
                }
            });
        }
    });
    let mut results = BTreeMap::new();
    for _ in 0..200 {
        let result = agent.result();
        let (attempt, exit) = (result.attempt, result.exit);
        assert!(results.insert(attempt, result).is_none(), "attempt {attempt} ended twice");
        assert_eq!(exit, Some(Exit::Code(attempt as i32 % 7)));
        assert_eq!(agent.printed(attempt, Stream::Stdout), format!("{attempt}\n").into_bytes());
    }
    assert!(agent.ends.try_recv().is_err());
    let uncollected = (0..200).filter(|attempt| is_zombie(shim_pid(&agent.dir(*attempt)))).count();
    assert_eq!(uncollected, 0);
}

/// As the shim signed it: the line after the one that begins the field `pid`.
fn shim_pid(dir: &Path) -> i32 {
    let signed = fs::read_to_string(dir.join("shim")).unwrap();
    signed.lines().skip_while(|line| !line.starts_with("pid ")).nth(1).unwrap().parse().unwrap()
}

fn is_zombie(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains("(duly-shim) Z "))
}

#[test]
fn an_attempt_starts_once() {
    let agent = Agent::new();
    let order = sh(1, "true");
    let dir = agent.start(&order);
    agent.result();
    assert_eq!(starter().start(&dir, &order).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    // A second shim in the same directory, however it came about, does nothing.
    let second = Command::new(env!("CARGO_BIN_EXE_duly-shim")).arg(&dir).output().unwrap();
    assert!(!second.status.success());
    remove(&dir).unwrap();
    assert!(!dir.exists());
    remove(&dir).unwrap();
}

// What an agent finds when it comes back.

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
    other.args(["--exact", "an_agent_to_be_killed", "--ignored"]).env("RUN_DIR", agent.run_dir()).env("GO", &go);
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
    // A process that has both pids of the signature, but began at another time.
    let mut stranger = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let pid = stranger.id().to_string();
    let fields = [
        ("attempt", "1"),
        ("boot", boot.trim()),
        ("pid", &pid),
        ("start", "1"),
        ("task_pid", &pid),
        ("task_start", "1"),
    ];
    let fields = fields.into_iter().chain([("end", "")]);
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
    let late = Command::new(env!("CARGO_BIN_EXE_duly-shim")).arg(agent.dir(1)).output().unwrap();
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
