//! What a task gets, and what is kept of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Command;

use duly_agent::process::remove;
use duly_agent::shim::{Exit, Reason, ShimOrder, Stream, TASK_TAG};

use crate::world::*;

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
    let mut order = sh(
        1,
        "pwd; cat; echo; ls /proc/self/fd | tr '\\n' ' '; ps -o pgid= -p $$ | grep -qw $$ && ps -o sid= -p $$ | grep -qw $PPID && echo alone",
    );
    (order.cwd, order.stdin) = ("/usr".into(), Some(input));
    agent.run(&order);
    let printed = String::from_utf8(agent.printed(1, Stream::Stdout)).unwrap();
    // The fourth descriptor is the one by which ls reads the list.
    assert_eq!(printed, "/usr\nfrom a file\n0 1 2 3 alone\n");
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
    // Open for both: a gate that is never without a writer gives the script no early end, and never blocks us.
    let mut gate = fs::File::options().read(true).write(true).open(&go).unwrap();
    let dir = agent.start(&order);
    for line in ["one", "two"] {
        wait_until(line, || printed_line(&dir, line));
        gate.write_all(b"\n").unwrap();
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

#[test]
fn an_attempt_starts_once() {
    let agent = Agent::new();
    let order = sh(1, "true");
    let dir = agent.start(&order);
    agent.result();
    assert_eq!(starter().start(&dir, &order).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    // A second shim in the same directory, however it came about, does nothing.
    let second = Command::new(env!("CARGO_BIN_EXE_test-shim")).arg(&dir).output().unwrap();
    assert!(!second.status.success());
    remove(&dir).unwrap();
    assert!(!dir.exists());
    remove(&dir).unwrap();
}
