//! Calls to a server of a few lines, which answers from a table and remembers what it was sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;
use wire::fill::Uses;
use wire::link::{Order, SecretValue};
use wire::task::TaskBody;

use super::*;
use crate::process::read_log;
use crate::session::Task;

struct Site {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

/// Answers each path with what the table says, and everything else with 404.
fn site(table: &'static [(&'static str, &'static str)]) -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let site = Site { address: listener.local_addr().unwrap(), heard: Arc::default() };
    let heard = site.heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, table, &heard);
        }
    });
    site
}

fn answer(mut stream: TcpStream, table: &[(&str, &str)], heard: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    heard.lock().unwrap().push(format!("{head}{}", String::from_utf8_lossy(&body)));
    let found = table.iter().find(|(known, _)| *known == path);
    let _ = stream.write_all(found.map_or("HTTP/1.1 404 Not Found\r\n\r\n", |(_, answer)| answer).as_bytes());
}

impl Site {
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

struct Run {
    outcome: Outcome,
    log: String,
}

async fn call(task: serde_json::Value, timeout: Option<Span>) -> Run {
    let timeout_us = timeout.map(|span| span.0);
    ordered(task, Order { attempt: 70, instance: 9, timeout_us, ..Order::default() }).await
}

/// A call that names the secret `key`.
async fn call_in_confidence(task: serde_json::Value) -> Run {
    let secrets = [("key".to_owned(), SecretValue { text: "hunter22".into() })].into();
    ordered(task, Order { attempt: 70, instance: 9, secrets, ..Order::default() }).await
}

async fn ordered(task: serde_json::Value, order: Order) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let mut body: TaskBody = serde_json::from_value(task).unwrap();
    body.uses = Uses::of(&body);
    let task = Arc::new(Task { job: 1, job_name: "job".into(), body, tenant: String::new(), pool: String::new() });
    let start = StartOrder { order, task, leash_until: None, until: Timestamp(0) };
    let (_reins, held) = reins(None);
    let attempt = dir.path().join("70");
    let outcome = Caller::new(Egress::open(), OwnPlaces::default()).run(&start, &attempt, held).await;
    let frames = read_log(&attempt, 0, usize::MAX).unwrap().frames;
    Run { outcome, log: frames.iter().map(|frame| String::from_utf8_lossy(&frame.bytes).into_owned()).collect() }
}

impl Run {
    fn says(&self) -> (Verdict, Option<i32>, &str) {
        (self.outcome.verdict, self.outcome.exit_code, self.outcome.message.as_deref().unwrap_or_default())
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

#[tokio::test]
async fn the_answer_is_the_output() {
    let site = site(&[("/x", OK)]);
    let run = call(json!({"kind": "http", "url": site.url("/x"), "expect_body": "ell"}), None).await;
    assert_eq!(run.says(), (Verdict::Succeeded, Some(200), ""));
    assert_eq!(run.log, format!("GET {} answered 200 OK\nhello", site.url("/x")));
    assert_eq!(run.outcome.usage.log_bytes, Some(run.log.len() as i64));
}

#[tokio::test]
async fn what_is_not_expected_is_a_failure_that_says_why() {
    let site = site(&[("/x", OK), ("/teapot", "HTTP/1.1 418 I'm a teapot\r\n\r\n")]);
    let check = async |path: &str, more: serde_json::Value| {
        let mut task = json!({"kind": "http", "url": site.url(path)});
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let run = call(task, None).await;
        let (verdict, code, why) = run.says();
        format!("{verdict:?} {code:?} {why}")
    };
    assert_eq!(check("/missing", json!({})).await, "Failed Some(404) answered 404 Not Found");
    assert_eq!(check("/missing", json!({"expect_status": ["400-403", "404"]})).await, "Succeeded Some(404) ");
    assert_eq!(check("/x", json!({"expect_status": ["418"]})).await, "Failed Some(200) answered 200 OK");
    assert_eq!(
        check("/x", json!({"expect_body": "bye"})).await,
        "Failed Some(200) the answer does not contain \"bye\""
    );
    assert_eq!(
        check("/x", json!({"expect_status": ["2xx"]})).await,
        "Refused None \"2xx\" is no status and no range like 200-299"
    );
}

#[tokio::test]
async fn a_call_carries_its_parameters_and_a_key_for_the_called() {
    let site = site(&[("/x", OK)]);
    let task = json!({"kind": "http", "method": "post", "url": site.url("/x"),
                      "headers": {"X-Mine": "1"}, "params": {"day": "monday"}});
    call(task, None).await;
    let heard = site.heard().remove(0).to_ascii_lowercase();
    for part in ["post /x", "x-mine: 1", "idempotency-key: 9", "duly-attempt-id: 70", "application/json"] {
        assert!(heard.contains(part), "{part} is not in {heard}");
    }
    assert!(heard.ends_with(r#"{"day":"monday"}"#), "{heard}");
}

#[tokio::test]
async fn redirects_are_followed_as_far_as_the_job_says() {
    let site = site(&[
        ("/a", "HTTP/1.1 302 Found\r\nlocation: /b\r\n\r\n"),
        ("/b", "HTTP/1.1 307 Temporary Redirect\r\nlocation: /c\r\n\r\n"),
        ("/c", OK),
    ]);
    let task = |redirects: u8| json!({"kind": "http", "method": "POST", "body": "x", "url": site.url("/a"), "redirects": redirects});
    assert_eq!(call(task(2), None).await.says(), (Verdict::Succeeded, Some(200), ""));
    assert!(site.heard().iter().zip(["POST /a", "GET /b", "GET /c"]).all(|(heard, line)| heard.starts_with(line)));
    assert_eq!(call(task(1), None).await.says(), (Verdict::Failed, None, "redirected more than 1 times"));
    assert_eq!(call(task(0), None).await.says(), (Verdict::Failed, Some(302), "answered 302 Found"));
}

#[tokio::test]
async fn no_redirect_leads_to_the_keys_of_the_machine_or_to_its_files() {
    let site = site(&[
        ("/meta", "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest/meta-data\r\n\r\n"),
        ("/file", "HTTP/1.1 302 Found\r\nlocation: file:///etc/passwd\r\n\r\n"),
    ]);
    for (path, why) in [
        ("/meta", "E0981: 169.254.169.254:80 is not called: cloud machines get their own keys there"),
        ("/file", "only http and https can be called, not file"),
    ] {
        let run = call(json!({"kind": "http", "url": site.url(path), "redirects": 5}), None).await;
        assert_eq!(run.says(), (Verdict::Refused, None, why));
    }
}

#[tokio::test]
async fn another_host_is_not_told_the_first_ones_secrets() {
    let other = site(&[("/x", OK)]);
    let moved = format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {}\r\n\r\n", other.url("/x"));
    let moved: &'static str = Box::leak(moved.into_boxed_str());
    let table: &'static [(&str, &str)] = Box::leak(Box::new([("/a", moved)]));
    let first = site(table);
    let headers = json!({"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "X-Other": "kept"});
    let task = json!({"kind": "http", "url": first.url("/a"), "redirects": 1, "headers": headers});
    assert_eq!(call(task, None).await.outcome.verdict, Verdict::Succeeded);
    assert!(first.heard()[0].contains("s3cret"));
    assert!(!other.heard()[0].contains("s3cret") && other.heard()[0].contains("kept"));
}

#[tokio::test]
async fn a_silent_server_is_given_up_when_time_is_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let run = call(json!({"kind": "http", "url": url}), Some(Span::millis(50))).await;
    assert_eq!(run.says(), (Verdict::TimedOut, None, "ended because its time was up"));
}

#[tokio::test]
async fn a_leash_that_is_not_moved_ends_the_call() {
    let (reins, held) = reins(Some(clock::steady() + Span::HOUR));
    let over = tokio::spawn(leash_over(held.leash));
    assert!(!over.is_finished());
    reins.move_leash(clock::steady());
    over.await.unwrap();
}

#[tokio::test]
async fn a_long_answer_is_cut_and_the_cut_is_said() {
    let answer = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(BODY_BYTES_MAX + 10));
    let answer: &'static str = Box::leak(answer.into_boxed_str());
    let table: &'static [(&str, &str)] = Box::leak(Box::new([("/x", answer)]));
    let run = call(json!({"kind": "http", "url": site(table).url("/x")}), None).await;
    assert_eq!(run.outcome.verdict, Verdict::Succeeded);
    assert!(run.log.ends_with("xthe rest of the answer is not kept\n"));
    assert_eq!(run.log.matches('x').count(), BODY_BYTES_MAX + 1, "the one more is in the address");
}

#[tokio::test]
async fn a_name_that_cannot_be_found_is_a_failure_that_may_pass() {
    let run = call(json!({"kind": "http", "url": "http://no-such-host.invalid/"}), None).await;
    assert_eq!((run.outcome.verdict, run.outcome.exit_code), (Verdict::Failed, None));
}

#[tokio::test]
async fn a_secret_reaches_the_called_and_is_not_read_in_the_log() {
    let site = site(&[("/hook", "HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\nyou sent hunter22")]);
    let task = json!({"kind": "http", "url": site.url("/hook"), "method": "POST", "body": "{\"k\":\"${secret.key}\"}",
        "headers": {"x-key": "Bearer ${secret.key}"}, "expect_body": "hunter22"});
    let run = call_in_confidence(task).await;
    assert_eq!(run.outcome.verdict, Verdict::Succeeded, "{:?}", run.outcome.message);
    let heard = site.heard().concat();
    assert!(heard.contains("x-key: Bearer hunter22") && heard.contains(r#"{"k":"hunter22"}"#), "{heard}");
    assert!(run.log.contains("you sent ***") && !run.log.contains("hunter22"), "{}", run.log);
}

#[tokio::test]
async fn a_secret_does_not_follow_a_redirect_to_another_host() {
    let elsewhere = site(&[("/", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")]);
    let moved = format!("HTTP/1.1 307 Moved\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", elsewhere.url("/"));
    let moved: &'static str = moved.leak();
    let site = site(Vec::leak(vec![("/", moved)]));
    let header = json!({"kind": "http", "url": site.url("/"), "redirects": 1, "headers": {"x-key": "${secret.key}"}});
    assert_eq!(call_in_confidence(header).await.outcome.verdict, Verdict::Succeeded);
    let body = json!({"kind": "http", "url": site.url("/"), "redirects": 1, "method": "POST", "body": "${secret.key}"});
    let refused = call_in_confidence(body).await.outcome;
    assert_eq!(refused.verdict, Verdict::Refused, "{refused:?}");
    assert_eq!(elsewhere.heard().len(), 1);
    assert!(!elsewhere.heard().concat().contains("hunter22"));
    assert!(site.heard().concat().contains("hunter22"));
}

/// How a name is answered, address after address; each look-up takes the next answer.
fn lookup(answers: &'static [&'static [&'static str]]) -> way::Lookup {
    let next = std::sync::atomic::AtomicUsize::new(0);
    Arc::new(move |_: &str, port: u16| {
        let n = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed).min(answers.len() - 1);
        let found = answers[n].iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), port)).collect();
        Box::pin(std::future::ready(Ok(found)))
    })
}

async fn call_named(
    url: String,
    private: Option<bool>,
    answers: &'static [&'static [&'static str]],
) -> (Verdict, String) {
    let dir = tempfile::tempdir().unwrap();
    let body = serde_json::from_value(json!({"kind": "http", "url": url})).unwrap();
    let order = Order { attempt: 70, private_networks: private, ..Order::default() };
    let start = StartOrder {
        order,
        task: Arc::new(Task { job: 1, job_name: "job".into(), body, tenant: String::new(), pool: String::new() }),
        leash_until: None,
        until: Timestamp(0),
    };
    let ways = Ways::new(Egress::open(), OwnPlaces::default()).with_lookup(lookup(answers));
    let (_reins, held) = reins(None);
    let outcome = Caller { ways }.run(&start, &dir.path().join("70"), held).await;
    (outcome.verdict, outcome.message.unwrap_or_default())
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_only_what_was_judged_is_called() {
    let site = site(&[("/", OK)]);
    let url = || format!("http://two-faced.test:{}/", site.address.port());
    // The second answer must never be asked for.
    let (verdict, why) = call_named(url(), None, &[&["127.0.0.1"], &["169.254.169.254"]]).await;
    assert_eq!((verdict, why.as_str()), (Verdict::Succeeded, ""));
    let (verdict, _) = call_named(url(), None, &[&["169.254.169.254", "127.0.0.1"]]).await;
    assert_eq!(verdict, Verdict::Succeeded, "of two addresses the harmless one is called");
    let (verdict, why) = call_named(url(), None, &[&["169.254.169.254", "fd00:ec2::254"], &["127.0.0.1"]]).await;
    assert_eq!(verdict, Verdict::Refused);
    assert!(why.starts_with("E0981: 169.254.169.254:"), "{why}");
}

#[tokio::test]
async fn a_tenant_kept_out_of_private_networks_does_not_get_there_by_a_name() {
    let (verdict, why) = call_named("http://inside.test/".into(), Some(false), &[&["10.0.0.1"]]).await;
    assert_eq!(verdict, Verdict::Refused);
    assert_eq!(why, "E0982: 10.0.0.1:80 is not called: it is in a private network, which is not allowed here");
}
