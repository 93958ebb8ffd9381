//! What a task is told in confidence reaches it and nothing else: no file, no argument, no output.

use std::fs;
use std::path::Path;
use std::time::Duration;

use duly_agent::process::{Ending, adopt};
use duly_agent::shim::{Reason, Secrets, Stream};

use crate::world::*;

const SECRET: &str = "hunter22-correct-horse";

fn told() -> Secrets {
    let mut secrets = Secrets::default();
    secrets.env = vec![("PASSWORD".into(), SECRET.into())];
    secrets.words = vec![SECRET.into()];
    secrets
}

/// Whether any file below holds the text.
fn holds(dir: &Path, text: &str) -> bool {
    fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => holds(&path, text),
            false => fs::read(&path).unwrap().windows(text.len()).any(|part| part == text.as_bytes()),
        }
    })
}

#[test]
fn a_secret_reaches_the_task_and_is_read_nowhere_else() {
    let agent = Agent::new();
    let script = r#"
        [ ${#PASSWORD} = 22 ] || exit 9
        printf "is hunter22-corr"; sleep 0.05; echo "ect-horse."
        echo "$PASSWORD" >&2
        echo "::duly key=$PASSWORD"
        echo "::duly-message got $PASSWORD"
        tr '\0' ' ' < /proc/$PPID/cmdline; tr '\0' ' ' < /proc/$PPID/environ
        echo; echo up
        read wait < go
    "#;
    let mut order = sh(1, script);
    order.cwd = agent.data.path().to_owned();
    nix::unistd::mkfifo(&agent.data.path().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let dir = agent.dir(1);
    agent.watcher.watch(starter().start_with(&dir, &order, &told()).unwrap()).unwrap();
    wait_until("the task is up", || printed_line(&dir, "up"));
    assert!(!holds(&agent.run_dir(), SECRET), "while it runs");
    fs::write(agent.data.path().join("go"), "on\n").unwrap();
    let result = agent.result();
    assert_eq!(result.exit, Some(duly_agent::shim::Exit::Code(0)));
    assert_eq!(result.outputs, [("key".to_owned(), b"***".to_vec())]);
    assert_eq!(result.message.as_deref(), Some(&b"got ***"[..]));
    let printed = String::from_utf8(agent.printed(1, Stream::Stdout)).unwrap();
    assert!(printed.starts_with("is ***.\n::duly key=***\n"), "{printed}");
    assert_eq!(agent.printed(1, Stream::Stderr), b"***\n");
    assert!(!holds(&agent.run_dir(), SECRET), "when it has ended");
}

#[test]
fn the_beginning_of_a_secret_is_held_for_a_moment_only() {
    let agent = Agent::new();
    let mut order = sh(2, "printf 'hu'; read wait < go; echo nt");
    order.cwd = agent.data.path().to_owned();
    nix::unistd::mkfifo(&agent.data.path().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let dir = agent.dir(2);
    agent.watcher.watch(starter().start_with(&dir, &order, &told()).unwrap()).unwrap();
    wait_until("it is shown although nothing follows", || printed_line(&dir, "hu"));
    fs::write(agent.data.path().join("go"), "on\n").unwrap();
    agent.result();
    assert_eq!(agent.printed(2, Stream::Stdout), b"hunt\n");
}

/// As an agent that died between the order and the shim, or whose shim got half of what it was to be told.
#[test]
fn a_task_never_starts_without_its_secrets() {
    let agent = Agent::new();
    let mut order = sh(3, "echo started");
    order.secrets = Some(told().encode().len() as u64);
    let dir = agent.start(&order);
    assert_eq!(agent.end(), (3, Ending::NeverStarted));
    assert!(frames(&dir).is_empty());
}

#[test]
fn an_agent_that_comes_back_finds_the_task_and_no_secret() {
    let agent = Agent::new();
    let order = sh(4, "echo $PASSWORD; sleep 1000");
    let dir = agent.dir(4);
    drop(starter().start_with(&dir, &order, &told()).unwrap());
    wait_until("it prints", || printed_line(&dir, "***"));
    let found = adopt(&agent.run_dir()).unwrap();
    assert_eq!(found.len(), 1);
    duly_agent::process::stop(&dir, "li", Duration::ZERO).unwrap();
    let duly_agent::process::State::Running(owned) = found.into_iter().next().unwrap().state else { panic!("it runs") };
    agent.watcher.watch(owned).unwrap();
    assert_eq!(agent.result().reason, Reason::Stopped { by: "li".into() });
    assert!(!holds(&agent.run_dir(), SECRET));
}
