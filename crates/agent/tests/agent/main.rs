//! A whole agent against a server played by the test: real streams, real files, real processes.

mod cluster;
mod fake_server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use duly_agent::process::Starter;
use duly_agent::runtime::{AgentConfig, AgentError, JoinToken, ServerAddress, run};
use duly_agent::session::Profile;
use fake_server::{FakeServer, PATIENCE, Talk, order};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use wire::link::{BeatSeen, Order, Stop, Stream, Verdict, down, up};

struct Agent {
    stop: CancellationToken,
    running: tokio::task::JoinHandle<Result<(), AgentError>>,
}

impl Agent {
    fn config(data: &Path, seeds: Vec<ServerAddress>) -> AgentConfig {
        let profile = Profile {
            name: "worker".into(),
            pools: vec!["default".into()],
            labels: BTreeMap::from([("zone".into(), "a".into())]),
            slots: 8,
            version: "1.2.3".into(),
            ..Profile::default()
        };
        let mut config = AgentConfig::new(data, seeds, profile);
        config.token = Some(JoinToken::Given("let me in".into()));
        config.shim = Starter::new(env!("CARGO_BIN_EXE_test-shim"), [""; 0]);
        config
    }

    fn start(data: &Path, server: ServerAddress) -> Agent {
        Agent::start_among(data, vec![server])
    }

    fn start_among(data: &Path, servers: Vec<ServerAddress>) -> Agent {
        let stop = CancellationToken::new();
        Agent { running: tokio::spawn(run(Agent::config(data, servers), stop.clone())), stop }
    }

    async fn leave(self) {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.running).await.expect("the agent leaves").unwrap().unwrap();
    }
}

async fn world() -> (TempDir, FakeServer, Agent, Talk) {
    let dir = tempfile::tempdir().unwrap();
    let mut server = FakeServer::start().await;
    let agent = Agent::start(dir.path(), ServerAddress::Fixed(server.url()));
    let talk = server.accept().await;
    (dir, server, agent, talk)
}

/// Waits for something that has no message of its own.
async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("never so: {what}"));
}

fn shell(source: &str) -> serde_json::Value {
    json!({"kind": "script", "lang": "shell", "source": source})
}

fn run_dir(data: &TempDir, attempt: i64) -> PathBuf {
    data.path().join("run").join(attempt.to_string())
}

#[tokio::test]
async fn an_agent_joins_once_and_says_who_it_is() {
    let (dir, mut server, agent, mut talk) = world().await;
    let hello = talk.until(|body| if let up::Body::Hello(hello) = body { Some(hello.clone()) } else { None }).await;
    assert_eq!((hello.name.as_str(), hello.slots, hello.version.as_str()), ("worker", 8, "1.2.3"));
    assert_eq!(talk.agent, "7");
    agent.leave().await;
    let again = Agent::start(dir.path(), ServerAddress::Fixed(server.url()));
    server.accept().await;
    assert_eq!(server.joined().len(), 1);
    again.leave().await;
}

/// Somebody removed it and began anew in the same place: of two agents that say they are the same, one must go.
#[tokio::test]
async fn an_agent_whose_directory_was_replaced_ends() {
    let (dir, _server, agent, _talk) = world().await;
    let aside = dir.path().with_extension("aside");
    std::fs::rename(dir.path(), &aside).unwrap();
    std::fs::create_dir(dir.path()).unwrap();
    let ended = tokio::time::timeout(PATIENCE, agent.running).await.expect("it ends").unwrap();
    std::fs::remove_dir_all(&aside).unwrap();
    assert!(ended.unwrap_err().to_string().contains("was removed or replaced"));
}

#[tokio::test]
async fn a_noop_and_a_script_run_and_are_reported() {
    let (_dir, server, agent, mut talk) = world().await;
    talk.until(|body| matches!(body, up::Body::TermStored(stored) if stored.term == 1).then_some(())).await;
    talk.task(1, json!({"kind": "noop"}));
    talk.order(10, 1);
    let noop = talk.ended(10).await;
    assert_eq!((noop.verdict(), noop.exit_code), (Verdict::Succeeded, Some(0)));

    talk.task(
        2,
        json!({
            "kind": "script", "lang": "shell",
            "source": "echo $DULY_PARAM_WHO $1; echo err >&2; echo '::duly rows=5'; exit 3",
            "args": ["${who}"], "params": {"who": "you"}, "exit": {"warning": [3]},
        }),
    );
    talk.order_as(Order { attempt: 11, version: 2, params: br#"{"who":"me"}"#.to_vec().into(), ..order() });
    let script = talk.ended(11).await;
    assert_eq!((script.verdict(), script.exit_code), (Verdict::Warned, Some(3)));
    assert_eq!(script.outputs.as_deref(), Some(r#"{"rows":"5"}"#));
    assert!(script.started_at.unwrap() <= script.ended_at && script.cpu_us.unwrap() > 0);
    eventually("the log is complete", || server.kept(11).last).await;
    let log = server.kept(11);
    let of = |stream| -> String {
        let frames = log.frames.iter().filter(|frame| frame.stream() == stream);
        frames.map(|frame| String::from_utf8_lossy(&frame.bytes).into_owned()).collect()
    };
    assert_eq!(of(Stream::Stdout).lines().next(), Some("me me"));
    assert_eq!(of(Stream::Stderr), "err\n");
    agent.leave().await;
}

#[tokio::test]
async fn files_go_when_ending_and_output_are_with_the_server() {
    let (dir, server, agent, mut talk) = world().await;
    talk.task(1, shell("echo x"));
    talk.task(2, shell("true"));
    talk.order(1, 1);
    talk.order(2, 2);
    talk.ended(1).await;
    talk.ended(2).await;
    talk.ack(2);
    eventually("the log is complete", || server.kept(1).last).await;
    eventually("nothing is left of the silent one", || !run_dir(&dir, 2).exists()).await;
    assert!(run_dir(&dir, 1).exists() && dir.path().join("taken/1").exists(), "its ending is not acknowledged");
    talk.ack(1);
    eventually("nothing is left", || !run_dir(&dir, 1).exists() && !dir.path().join("taken/1").exists()).await;
    assert_eq!(server.kept(2).frames.len(), 0);
    agent.leave().await;
}

#[tokio::test]
async fn a_cut_stream_loses_no_report_and_no_task() {
    let (dir, mut server, agent, mut talk) = world().await;
    talk.task(1, json!({"kind": "noop"}));
    talk.task(2, shell("while [ ! -e go ]; do sleep 0.02; done; rm go; exit 4"));
    talk.order(1, 1);
    talk.order(2, 2);
    talk.ended(1).await;
    let started = talk.started(2).await;
    drop(talk);
    let mut talk = server.accept().await;
    assert_eq!(talk.ended(1).await.verdict(), Verdict::Succeeded);
    assert_eq!(talk.started(2).await, started);
    std::fs::write(dir.path().join("work/go"), "").unwrap();
    assert_eq!(talk.ended(2).await.exit_code, Some(4));
    agent.leave().await;
}

#[tokio::test]
async fn a_new_agent_takes_up_what_the_old_one_left() {
    let (dir, mut server, agent, mut talk) = world().await;
    talk.task(1, json!({"kind": "noop"}));
    talk.task(2, json!({
        "kind": "script", "lang": "shell", "source": "echo before; while [ ! -e go ]; do sleep 0.02; done; echo after; exit 9",
        "exit": {"final": [9]},
    }));
    talk.order(1, 1);
    talk.order(2, 2);
    talk.ended(1).await;
    talk.started(2).await;
    agent.leave().await;
    drop(talk);

    let agent = Agent::start(dir.path(), ServerAddress::Fixed(server.url()));
    let mut talk = server.accept().await;
    assert_eq!(talk.ended(1).await.verdict(), Verdict::Succeeded, "nobody acknowledged it");
    let held =
        talk.until(|body| if let up::Body::TermStored(stored) = body { Some(stored.held.clone()) } else { None }).await;
    let held: Vec<i64> = held.iter().map(|held| held.attempt).collect();
    assert_eq!(held, [2, 1]);
    std::fs::write(dir.path().join("work/go"), "").unwrap();
    assert_eq!(talk.ended(2).await.verdict(), Verdict::FailedForGood);
    eventually("the log is complete", || server.kept(2).last).await;
    assert_eq!(server.kept(2).text(), "before\nafter\n");
    agent.leave().await;
}

/// Not a test: the agent that the next one kills, in a process of its own.
#[tokio::test]
#[ignore = "is started by a_killed_agent_loses_nothing"]
async fn agent_to_be_killed() {
    let (Some(data), Ok(server)) = (std::env::var_os("TEST_AGENT_DATA"), std::env::var("TEST_AGENT_SERVER")) else {
        return;
    };
    let config = Agent::config(Path::new(&data), vec![ServerAddress::Fixed(server)]);
    run(config, CancellationToken::new()).await.unwrap();
}

struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn a_killed_agent_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = FakeServer::start().await;
    let victim = Command::new(std::env::current_exe().unwrap())
        .args(["agent_to_be_killed", "--exact", "--ignored"])
        .env("TEST_AGENT_DATA", dir.path())
        .env("TEST_AGENT_SERVER", server.url())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let victim = Victim(victim);
    server.term = 4;
    let mut talk = server.accept().await;
    talk.task(1, json!({"kind": "noop"}));
    talk.task(2, shell("while [ ! -e go ]; do sleep 0.02; done; echo done; exit 7"));
    talk.task(3, shell("echo short"));
    for (attempt, version) in [(1, 1), (2, 2), (3, 3)] {
        talk.order_as(Order { attempt, version, term: 4, ..order() });
    }
    talk.ended(1).await;
    talk.ended(3).await;
    talk.started(2).await;
    drop(victim);
    drop(talk);
    // It ends while nobody is there.
    std::fs::write(dir.path().join("work/go"), "").unwrap();
    eventually("the task has ended", || run_dir(&dir, 2).join("result").exists()).await;

    let agent = Agent::start(dir.path(), ServerAddress::Fixed(server.url()));
    let mut talk = server.accept().await;
    assert_eq!(talk.ended(1).await.verdict(), Verdict::Succeeded);
    assert_eq!(talk.ended(2).await.exit_code, Some(7));
    assert_eq!(talk.ended(3).await.exit_code, Some(0));
    // Orders of the owner before, and of the same attempts, start nothing.
    talk.task(2, shell("echo again"));
    talk.order_as(Order { attempt: 4, version: 2, term: 3, ..order() });
    talk.order_as(Order { attempt: 2, version: 2, term: 4, ..order() });
    // What comes after them is done, so they have been looked at.
    talk.task(1, json!({"kind": "noop"}));
    talk.order_as(Order { attempt: 5, version: 1, term: 4, ..order() });
    assert_eq!(talk.ended(5).await.verdict(), Verdict::Succeeded);
    assert!(!run_dir(&dir, 4).exists(), "nothing is left of an order of the owner before");
    eventually("the output is complete", || server.kept(2).last && server.kept(3).last).await;
    assert_eq!((server.kept(2).text(), server.kept(3).text()), ("done\n".into(), "short\n".into()));
    agent.leave().await;
}

#[tokio::test]
async fn a_stop_ends_a_script_and_a_call() {
    let (_dir, _server, agent, mut talk) = world().await;
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    talk.task(1, shell("sleep 1000"));
    talk.task(2, json!({"kind": "http", "url": url}));
    for attempt in [1, 2] {
        talk.order(attempt, attempt);
        talk.started(attempt).await;
        talk.send(down::Body::Stop(Stop { attempt, by: "li".into(), grace_us: 1_000_000, shard: 1 }));
        let ended = talk.ended(attempt).await;
        assert_eq!((ended.verdict(), ended.message.as_deref()), (Verdict::Stopped, Some("stopped by li")));
    }
    agent.leave().await;
}

#[tokio::test]
async fn a_call_is_lost_with_its_agent() {
    let (dir, mut server, agent, mut talk) = world().await;
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    talk.task(1, json!({"kind": "http", "url": format!("http://{}/", silent.local_addr().unwrap())}));
    talk.order(1, 1);
    talk.started(1).await;
    agent.leave().await;
    let agent = Agent::start(dir.path(), ServerAddress::Fixed(server.url()));
    assert_eq!(server.accept().await.ended(1).await.verdict(), Verdict::Lost);
    agent.leave().await;
}

#[tokio::test]
async fn a_leashed_task_runs_for_as_long_as_heartbeats_are_answered() {
    let (_dir, _server, agent, mut talk) = world().await;
    talk.task(1, shell("sleep 1000"));
    let leash = Duration::from_secs(2);
    talk.order_as(Order { attempt: 1, version: 1, leash_us: Some(leash.as_micros() as i64), ..order() });
    let mut answered = 0;
    while answered < 30 {
        let sent_at = talk.next_beat().await;
        talk.send(down::Body::BeatSeen(BeatSeen { sent_at, now: fake_server::now() }));
        answered += 1;
    }
    assert!(!talk.has_ended(1), "thirty beats take longer than the leash");
    let ended = talk.ended(1).await;
    assert_eq!(ended.verdict(), Verdict::Lost);
    let lasted = Duration::from_micros((ended.ended_at - ended.started_at.unwrap()) as u64);
    assert!(lasted > leash, "{lasted:?}");
    agent.leave().await;
}

#[tokio::test]
async fn a_missing_program_is_refused_and_leaves_the_slot_free() {
    let (_dir, _server, agent, mut talk) = world().await;
    talk.task(1, json!({"kind": "command", "argv": ["no-such-program-here"]}));
    for attempt in 1..=20 {
        talk.order(attempt, 1);
        assert_eq!(talk.ended(attempt).await.verdict(), Verdict::Refused);
    }
    agent.leave().await;
}

#[tokio::test]
async fn a_server_that_moved_is_found_by_what_it_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("agent-endpoint");
    let mut first = FakeServer::start().await;
    std::fs::write(&place, format!("{}\n", first.url())).unwrap();
    let agent = Agent::start(&dir.path().join("agent"), ServerAddress::Written(place.clone()));
    drop(first.accept().await);
    let mut second = FakeServer::start().await;
    std::fs::write(&place, format!("{}\n", second.url())).unwrap();
    first.stop();
    second.accept().await;
    agent.leave().await;
}

#[tokio::test]
async fn output_arrives_in_order_and_whole_though_its_stream_is_cut() {
    let (dir, server, agent, mut talk) = world().await;
    server.cut_logs_after(3);
    let lines = 60_000;
    talk.task(1, json!({"kind": "command", "argv": ["seq", lines.to_string()]}));
    talk.task(2, shell("echo small"));
    talk.order(1, 1);
    talk.order(2, 2);
    assert_eq!(talk.ended(1).await.verdict(), Verdict::Succeeded);
    eventually("both logs are complete", || server.kept(1).last && server.kept(2).last).await;
    let expected: String = (1..=lines).map(|line| format!("{line}\n")).collect();
    assert!(server.kept(1).text() == expected, "output was changed on its way");
    assert_eq!(server.kept(2).text(), "small\n");
    talk.ack(1);
    eventually("the files are gone", || !run_dir(&dir, 1).exists()).await;
    agent.leave().await;
}

#[tokio::test]
async fn what_a_running_task_prints_is_seen_while_it_runs() {
    let (dir, server, agent, mut talk) = world().await;
    talk.task(1, shell("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two"));
    talk.order(1, 1);
    eventually("the first line is there", || server.kept(1).text() == "one\n").await;
    std::fs::write(dir.path().join("work/go"), "").unwrap();
    talk.ended(1).await;
    eventually("all is there", || server.kept(1).text() == "one\ntwo\n" && server.kept(1).last).await;
    agent.leave().await;
}
