//! What a caller is told who asks for something that cannot be.

use expect_test::expect;
use reqwest::Method;
use serde_json::json;

use crate::world::{TOKEN, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_mistake_gets_a_problem_document() {
    let world = World::new().await;
    let mut told = Vec::new();
    for path in [
        "/nowhere",
        "/jobs/none",
        "/instances/x",
        "/instances/4711",
        "/jobs?limit=0",
        "/jobs?limit=many",
        "/jobs?colour=red",
        "/jobs?cursor=x",
        "/instances?state=happy",
        "/instances?from=yesterday",
        "/instances?job=none",
        "/agents/4711",
        "/jobs/%FF",
        "/jobs/..%2F..%2Fetc%2Fpasswd",
    ] {
        told.push(format!("GET {path}\n{}", world.get(path).await.refusal()));
    }
    expect![[r#"
        GET /nowhere
        404 E0104 there is nothing at /api/v1/nowhere
        GET /jobs/none
        404 E0301 there is no job "none""#]]
    .assert_eq(&told[..2].join("\n"));
    expect![[r#"
        GET /instances/x
        400 E0103 path: Cannot parse `x` to a `i64`
          E0103 path: Cannot parse `x` to a `i64`
        GET /instances/4711
        404 E0401 there is no instance 4711
        GET /jobs?limit=0
        400 E0103 limit: 0 is outside 1 to 500
          E0103 limit: 0 is outside 1 to 500
        GET /jobs?limit=many
        400 E0103 limit: invalid digit found in string
          E0103 limit: invalid digit found in string
        GET /jobs?colour=red
        400 E0103 colour: unknown field `colour`, expected one of `folder`, `name`, `label`, `mode`, `limit`, `cursor`
          E0103 colour: unknown field `colour`, expected one of `folder`, `name`, `label`, `mode`, `limit`, `cursor`
        GET /jobs?cursor=x
        400 E0108 cursor: this cursor does not belong to this list
          E0108 cursor: this cursor does not belong to this list
        GET /instances?state=happy
        400 E0103 state: "happy" is not a state
          E0103 state: "happy" is not a state
        GET /instances?from=yesterday
        400 E0103 from: "yesterday" is not an instant; write it like 2026-11-15T10:20:30Z or 2026-11-15T18:20:30+08:00
          E0103 from: "yesterday" is not an instant; write it like 2026-11-15T10:20:30Z or 2026-11-15T18:20:30+08:00
        GET /instances?job=none
        404 E0301 there is no job "none"
        GET /agents/4711
        404 E0501 there is no agent 4711
        GET /jobs/%FF
        400 E0103 path: Invalid UTF-8 in `name`
          E0103 path: Invalid UTF-8 in `name`
        GET /jobs/..%2F..%2Fetc%2Fpasswd
        404 E0301 there is no job "../../etc/passwd""#]]
    .assert_eq(&told[2..].join("\n"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_are_read_strictly() {
    let world = World::new().await;
    let post = |text: &'static str, kind: &'static str| {
        world.request(Method::POST, "/jobs/apply").bearer_auth(TOKEN).header("content-type", kind).body(text)
    };
    let mut told = Vec::new();
    for (text, kind) in [
        ("{", "application/json"),
        ("{}", "text/plain"),
        ("{\"job\": []}", "application/json"),
        ("{\"jobs\": [{\"job\": \"a\", \"nop\": true}]}", "application/json"),
        ("{\"jobs\": 7}", "application/json; charset=utf-8"),
    ] {
        told.push(format!("{text}\n{}", world.send(post(text, kind)).await.refusal()));
    }
    expect![[r#"
        {
        400 E0101 EOF while parsing an object at line 1 column 1
          E0101 : EOF while parsing an object at line 1 column 1
        {}
        415 E0107 the content type of the body is not application/json
        {"job": []}
        422 E0102 unknown field `job`, expected one of `jobs`, `files`, `dry_run`, `prune`, `prune_folder` at line 1 column 6
          E0102 : unknown field `job`, expected one of `jobs`, `files`, `dry_run`, `prune`, `prune_folder` at line 1 column 6
        {"jobs": [{"job": "a", "nop": true}]}
        422 E0102 unknown field `nop`, expected one of `job`, `folder`, `description`, `owner`, `labels`, `mode`, `cron`, `every`, `delay`, `once`, `after`, `manual`, `noop`, `sh`, `python`, `node`, `php`, `powershell`, `command`, `http`, `executor`, `params`, `env`, `env_pass`, `cwd`, `run_as`, `variables`, `secrets`, `log`, `exit`, `pool`, `overlap`, `exclusive`, `retry`, `timeout`, `stop_grace`, `priority`, `limits`, `mutex`, `resources`, `not_started_by`, `not_finished_by`, `lost_after`, `dead_letter` at line 1 column 28
          E0102 : unknown field `nop`, expected one of `job`, `folder`, `description`, `owner`, `labels`, `mode`, `cron`, `every`, `delay`, `once`, `after`, `manual`, `noop`, `sh`, `python`, `node`, `php`, `powershell`, `command`, `http`, `executor`, `params`, `env`, `env_pass`, `cwd`, `run_as`, `variables`, `secrets`, `log`, `exit`, `pool`, `overlap`, `exclusive`, `retry`, `timeout`, `stop_grace`, `priority`, `limits`, `mutex`, `resources`, `not_started_by`, `not_finished_by`, `lost_after`, `dead_letter` at line 1 column 28
        {"jobs": 7}
        422 E0102 invalid type: integer `7`, expected a sequence at line 1 column 10
          E0102 : invalid type: integer `7`, expected a sequence at line 1 column 10"#]].assert_eq(&told.join("\n"));

    let large = vec![b' '; (4 << 20) + 1];
    let large = world
        .request(Method::POST, "/preview")
        .bearer_auth(TOKEN)
        .header("content-type", "application/json")
        .body(large);
    assert!(world.send(large).await.refusal().starts_with("413 E0106"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_method_is_told_the_right_ones() {
    let world = World::new().await;
    let told = world.delete("/jobs").await;
    expect!["405 E0105 /api/v1/jobs does not take DELETE"].assert_eq(&told.refusal());
    assert_eq!(told.headers["allow"], "GET,HEAD");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_carries_its_request_id() {
    let world = World::new().await;
    let mine = world.request(Method::GET, "/nowhere").header("x-request-id", "build-7");
    let told = world.send(mine).await;
    assert_eq!(told.headers["x-request-id"], "build-7");
    assert_eq!(told.json()["instance"], "/api/v1/nowhere");
    let odd = world.request(Method::GET, "/version").header("x-request-id", "a b\"c");
    assert_ne!(world.send(odd).await.headers["x-request-id"], "a b\"c");
    for (path, key) in [("/jobs/none/trigger", "k".repeat(300)), ("/join-tokens", "a b".into())] {
        let odd = world.post_keyed(path, &key, json!({})).await;
        assert!(odd.refusal().starts_with("400 E0103"), "{odd:?}");
    }
    world.stop().await;
}
