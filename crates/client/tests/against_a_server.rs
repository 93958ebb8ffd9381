//! The client against a server made of a script: what it sends, what it repeats, how it goes on after a break.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use duly_client::{Client, Error, LogPiece, Settings};
use wire::api::{InstanceQuery, TokenBody, TriggerBody};

/// One connection is answered with each text in turn; an empty text hangs up without answering.
struct Script {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

fn script(answers: Vec<String>) -> Script {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = seen.clone();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let request = read_request(&mut stream);
            keep.lock().unwrap().push(request);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    Script { url, seen }
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    while reader.read_line(&mut text).unwrap() > 2 {}
    let length = text.lines().find_map(|l| l.to_lowercase().strip_prefix("content-length: ").map(String::from));
    let mut body = vec![0; length.map_or(0, |n| n.trim().parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    text + &String::from_utf8(body).unwrap()
}

fn answer(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn json(body: &str) -> String {
    answer("200 OK", "application/json", body)
}

fn connect(script: &Script) -> Client {
    Client::new(Settings::new(&script.url, Some("secret".into()))).unwrap()
}

fn header(request: &str, name: &str) -> String {
    let find = |line: &str| line.to_lowercase().strip_prefix(&format!("{name}: ")).map(String::from);
    request.lines().find_map(find).unwrap_or_default()
}

const INSTANCE: &str = r#"{"id":7,"job":"a","job_id":1,"version":1,"planned_at":"2026-11-15T10:20:30.000000Z",
    "state":"ready","cause":{"kind":"manual","by":"me"},"attempt":9,"attempt_no":1,"agent":null,
    "created_at":"2026-11-15T10:20:30.000000Z","ordered_at":null,"started_at":null,"ended_at":null,"exit_code":null,
    "usage":{"cpu_us":null,"peak_kb":null,"log_bytes":null},"a_key_of_tomorrow":1}"#;

#[tokio::test]
async fn a_filter_travels_as_a_query_and_a_page_comes_back() {
    let server = script(vec![json(&format!(r#"{{"items":[{INSTANCE}],"next":"abc"}}"#))]);
    let query = InstanceQuery {
        job: Some("夜 间".into()),
        state: Some("failed,dead".into()),
        limit: Some(2),
        from: Some("2026-11-15T10:20:30Z".parse().unwrap()),
        ..InstanceQuery::default()
    };
    let page = connect(&server).instances(&query).await.unwrap();
    assert_eq!((page.items[0].id, page.next.as_deref()), (7, Some("abc")));
    assert!(page.raw.contains("a_key_of_tomorrow"));
    let request = server.seen.lock().unwrap()[0].clone();
    assert!(request.starts_with("GET /api/v1/instances?from=2026-11-15T10%3A20%3A30.000000Z&job=%E5%A4%9C+%E9%97%B4&limit=2&state=failed%2Cdead HTTP/1.1"), "{request}");
    assert_eq!(header(&request, "authorization"), "bearer secret");
}

#[tokio::test]
async fn a_trigger_whose_answer_was_lost_is_sent_again_under_the_same_key() {
    let server = script(vec![String::new(), json(INSTANCE)]);
    let instance = connect(&server).trigger("a", &TriggerBody::default(), None).await.unwrap();
    assert_eq!(instance.id, 7);
    let seen = server.seen.lock().unwrap();
    let keys: Vec<String> = seen.iter().map(|request| header(request, "idempotency-key")).collect();
    assert_eq!(keys.len(), 2);
    assert!(!keys[0].is_empty() && keys[0] == keys[1], "{keys:?}");
}

#[tokio::test]
async fn a_deletion_whose_answer_was_lost_is_not_sent_again() {
    // The second answer is there for a client that wrongly tries again.
    let server = script(vec![String::new(), json("{}")]);
    let error = connect(&server).delete_job("a", &Default::default()).await.unwrap_err();
    assert_eq!(error.code(), "E0801");
    assert_eq!(server.seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_secret_is_not_made_twice() {
    // The second answer is there for a client that wrongly tries again.
    let server = script(vec![String::new(), json("{}")]);
    let body = TokenBody { name: "ci".into(), expires_in: None, scope: vec![], only_here: false };
    let error = connect(&server).create_token(&body).await.unwrap_err();
    assert_eq!(error.code(), "E0801");
    let seen = server.seen.lock().unwrap();
    assert_eq!((seen.len(), header(&seen[0], "idempotency-key").as_str()), (1, ""));
}

#[tokio::test]
async fn a_problem_keeps_its_code_and_advice() {
    let problem = r#"{"type":"urn:duly:error:E0301","title":"there is no such job","status":404,"detail":"there is no job x","code":"E0301","help":"look"}"#;
    let server = script(vec![answer("404 Not Found", "application/problem+json", problem)]);
    let error = connect(&server).job("x").await.unwrap_err();
    assert_eq!((error.code(), error.help(), error.to_string().as_str()), ("E0301", Some("look"), "there is no job x"));
}

#[tokio::test]
async fn a_stranger_is_recognised() {
    let server = script(vec![json("<html>"), answer("502 Bad Gateway", "text/html", "oops")]);
    let client = connect(&server);
    assert!(matches!(client.job("x").await, Err(Error::Strange { .. })));
    assert!(matches!(client.job("x").await, Err(Error::Strange { .. })));
    let nobody = Client::new(Settings::new("http://127.0.0.1:1", None)).unwrap();
    assert!(matches!(nobody.job("x").await, Err(Error::Unreachable { .. })));
    assert!(Client::new(Settings::new("ftp://x", None)).is_err());
    assert!(Client::new(Settings::new("http://x", Some("a\nb".into()))).is_err());
}

#[tokio::test]
async fn a_followed_log_goes_on_after_a_break_where_it_was() {
    let frame = |n: u32| {
        format!(
            "id: {n}\nevent: frame\ndata: {{\"at\":\"2026-11-15T10:20:30.000000Z\",\"stream\":\"stdout\",\"text\":\"line {n}\\n\"}}\n\n"
        )
    };
    let sse = |body: String| answer("200 OK", "text/event-stream", &body);
    let server = script(vec![
        sse(frame(0) + &frame(1) + "id: 2\nevent: fra"),
        sse(frame(2) + "event: end\ndata: {\"state\":\"succeeded\"}\n\n"),
    ]);
    let mut tail = connect(&server).follow_log(7, None);
    let mut seen = String::new();
    while let Some(piece) = tail.next().await.unwrap() {
        match piece {
            LogPiece::Frame(frame) => seen += &frame.text.unwrap(),
            LogPiece::End(end) => seen += &end.state.to_string(),
        }
    }
    assert_eq!(seen, "line 0\nline 1\nline 2\nsucceeded");
    let requests = server.seen.lock().unwrap();
    assert!(requests[0].starts_with("GET /api/v1/instances/7/log?follow=true "), "{}", requests[0]);
    assert_eq!(header(&requests[1], "last-event-id"), "1");
}
