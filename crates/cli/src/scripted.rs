//! Whole commands against a server made of a script: what they send, and how they end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use clap::Parser;
use expect_test::expect;

use crate::ClientLine;
use crate::failure::Failure;
use crate::out::Out;

struct Server {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

/// Each request gets the first answer whose beginning of a request line fits: `(request, status, body)`.
fn serve(answers: &'static [(&str, u16, &str)]) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = seen.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(&mut stream);
            let mut head = String::new();
            while reader.read_line(&mut head).unwrap() > 2 {}
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(String::from));
            let mut body = vec![0; length.map_or(0, |n| n.trim().parse().unwrap())];
            reader.read_exact(&mut body).unwrap();
            let request = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
            let (status, answer) = answers
                .iter()
                .find(|(fits, ..)| request.starts_with(fits))
                .map_or((500, "{}"), |(_, status, body)| (*status, *body));
            keep.lock().unwrap().push(format!("{request} {}", String::from_utf8(body).unwrap()).trim_end().to_owned());
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", answer.len());
            let _ = stream.write_all((head + answer).as_bytes());
        }
    });
    Server { url, seen }
}

impl Server {
    /// Runs `duly …`; answers with its exit code and what it said went wrong.
    async fn run(&self, line: &[&str]) -> (u8, String) {
        run_at(&self.url, line).await
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn run_at(url: &str, line: &[&str]) -> (u8, String) {
    let all = ["duly", "--url", url, "--token", "t"].into_iter().chain(line.iter().copied());
    let parsed = ClientLine::try_parse_from(all).unwrap_or_else(|error| panic!("{error}"));
    let out = Out::plain("2026-11-15T10:00:00Z");
    match crate::dispatch(parsed._command, parsed._options, &out).await {
        Ok(()) => (0, String::new()),
        Err(failure) => (failure.exit, said(&failure, &out)),
    }
}

fn said(failure: &Failure, out: &Out) -> String {
    failure.render(out)
}

const PLAN: &str = r#"{"applied":false,"items":[{"job":"a","action":"create","fields":[{"path":"noop","new":true}]}]}"#;
const FAILED_INSTANCE: &str = r#"{"id":7,"job":"a","job_id":1,"version":1,"planned_at":"2026-11-15T10:00:00Z","state":"failed",
    "cause":{"kind":"manual","by":"me"},"attempt":9,"attempt_no":1,"agent":null,"created_at":"2026-11-15T10:00:00Z",
    "ordered_at":null,"started_at":null,"ended_at":"2026-11-15T10:00:00Z","exit_code":3,
    "usage":{"cpu_us":null,"peak_kb":null,"log_bytes":null}}"#;

fn job_file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[tokio::test]
async fn the_exit_code_tells_what_kind_of_failure_it_was() {
    let server = serve(&[
        (
            "GET /api/v1/jobs/gone",
            404,
            r#"{"type":"t","title":"t","status":404,"detail":"there is no job gone","code":"E0301","help":"look"}"#,
        ),
        (
            "POST /api/v1/jobs/secret/pause",
            403,
            r#"{"type":"t","title":"t","status":403,"detail":"needs operate","code":"E0602"}"#,
        ),
        (
            "POST /api/v1/instances/7/stop",
            409,
            r#"{"type":"t","title":"t","status":409,"detail":"it has ended","code":"E0402"}"#,
        ),
        (
            "GET /api/v1/verify",
            200,
            r#"{"ok":false,"from":"2026-11-15T09:00:00Z","to":"2026-11-15T10:00:00Z","jobs":1,"times":1,"fired":0,"skipped":0,"merged":0,"missed":0,"lateness":{"starts":0,"p50":"0s","p99":"0s","longest":"0s","late":0,"jobs":[]},"findings":[{"kind":"lost","message":"x"}],"truncated":false,"tzdata":"x"}"#,
        ),
        ("POST /api/v1/jobs/a/trigger", 200, FAILED_INSTANCE),
        ("GET /api/v1/instances/7", 200, FAILED_INSTANCE),
    ]);
    let (code, words) = server.run(&["job", "show", "gone"]).await;
    assert_eq!((code, words.as_str()), (3, "error[E0301]: there is no job gone\n  help: look\n"));
    assert_eq!(server.run(&["job", "pause", "secret"]).await.0, 4);
    assert_eq!(server.run(&["instance", "stop", "7"]).await.0, 1);
    assert_eq!(server.run(&["verify", "--from", "1h"]).await.0, 6);
    assert_eq!(server.run(&["job", "trigger", "a", "--wait"]).await.0, 7);
    assert_eq!(server.run(&["job", "trigger", "a"]).await.0, 0);
    let (code, words) = run_at("http://127.0.0.1:1", &["job", "list"]).await;
    assert_eq!(code, 5);
    assert!(words.starts_with("error[E0801]: cannot reach http://127.0.0.1:1\n"), "{words}");
}

#[tokio::test]
async fn nothing_is_applied_unless_somebody_said_yes() {
    let file = job_file("job: a\nnoop: true\n");
    let path = file.path().to_str().unwrap();
    let server = serve(&[("POST /api/v1/jobs/apply", 200, PLAN)]);
    let (code, words) = server.run(&["job", "apply", "-f", path]).await;
    assert_eq!(code, 2);
    expect![[r#"
        error[E0803]: there is no terminal to ask at, and --yes was not given
          help: Look at the plan, then repeat with --yes.
    "#]]
    .assert_eq(&words);
    let dry = r#"POST /api/v1/jobs/apply {"jobs":[{"job":"a","noop":true}],"dry_run":true}"#;
    assert_eq!(server.seen(), [dry]);

    assert_eq!(server.run(&["job", "apply", "-f", path, "--dry-run"]).await.0, 0);
    assert_eq!(server.seen(), [dry, dry]);

    assert_eq!(server.run(&["job", "apply", "-f", path, "--yes"]).await.0, 0);
    let real = r#"POST /api/v1/jobs/apply {"jobs":[{"job":"a","noop":true}]}"#;
    assert_eq!(server.seen(), [dry, dry, dry, real]);
}

#[tokio::test]
async fn deleting_needs_a_yes_too() {
    let server = serve(&[("DELETE /api/v1/jobs/a", 204, "")]);
    assert_eq!(server.run(&["job", "delete", "a"]).await.0, 2);
    assert_eq!(server.seen(), Vec::<String>::new());
    assert_eq!(server.run(&["job", "delete", "a", "--yes"]).await.0, 0);
}

#[tokio::test]
async fn a_fault_the_server_finds_is_shown_in_the_file() {
    let file = job_file("job: a\nnoop: true\n---\njob: b\ncron: \"0 0 25 * * ?\"\nnoop: true\n");
    let server = serve(&[(
        "POST /api/v1/jobs/apply",
        422,
        r#"{"type":"t","title":"t","status":422,"detail":"one thing is wrong","code":"E0203","errors":[
            {"code":"E0206","path":"jobs[1].cron","message":"hour field, position 4: 25 is above 23"}]}"#,
    )]);
    let path = file.path().to_str().unwrap();
    let (code, words) = server.run(&["job", "apply", "-f", path, "--yes"]).await;
    assert_eq!(code, 1);
    expect![[r#"
        error[E0206]: hour field, position 4: 25 is above 23
          at FILE: jobs[1].cron line 5, column 7
            4 | job: b
            5 | cron: "0 0 25 * * ?"
              |       ^
    "#]]
    .assert_eq(&words.replace(path, "FILE"));
}

#[tokio::test]
async fn of_a_faulty_file_the_server_is_only_asked_what_else_is_wrong() {
    let file = job_file("job: a\nretry: { times: 3, delay: 1x }\nnoop: true\n");
    let server = serve(&[]);
    let (code, words) = server.run(&["job", "apply", "-f", file.path().to_str().unwrap(), "--yes"]).await;
    let seen = server.seen();
    assert_eq!((code, seen.len()), (2, 1));
    assert!(seen[0].starts_with("POST /api/v1/jobs/apply ") && seen[0].ends_with(r#""dry_run":true}"#), "{seen:?}");
    assert!(words.starts_with("error[E0208]: \"1x\" is not a duration\n"), "{words}");
}

#[tokio::test]
async fn why_takes_a_number_or_a_name() {
    let server = serve(&[("GET /api/v1/", 200, r#"{"job":"a","reasons":[],"next":null}"#)]);
    server.run(&["why", "7"]).await;
    server.run(&["why", "nightly"]).await;
    assert_eq!(server.seen(), ["GET /api/v1/instances/7/why", "GET /api/v1/jobs/nightly/why"]);
}

#[tokio::test]
async fn an_expression_is_previewed_in_its_dialect() {
    let server = serve(&[("", 200, r#"{"zone":"UTC","fires":[]}"#)]);
    server.run(&["next", "*/5 * * * *", "-n", "2"]).await;
    server.run(&["next", "0 0 * * * ?", "--zone", "Asia/Shanghai"]).await;
    server.run(&["next", "nightly"]).await;
    server.run(&["preview", "--every", "30s"]).await;
    expect![[r#"
        POST /api/v1/preview {"cron":{"expr":"*/5 * * * *","dialect":"unix"},"n":2}
        POST /api/v1/preview {"cron":{"expr":"0 0 * * * ?","zone":"Asia/Shanghai"},"n":5}
        GET /api/v1/jobs/nightly/next?n=5
        POST /api/v1/preview {"every":"30s","n":5}
    "#]]
    .assert_eq(&(server.seen().join("\n") + "\n"));
}
