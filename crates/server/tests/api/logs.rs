//! Output, read at once and while it is written.

use model::Verdict;
use serde_json::json;

use crate::link::Shipper;
use crate::streams::Reader;
use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_is_followed_until_its_attempt_ends() {
    let world = World::new().await;
    world.apply("job: a\nsh: date\n").await.good();
    let mut shipper = Shipper::join(&world).await;
    let agent = world.agent_numbered(shipper.agent, "shipper").await;
    let id = world.trigger("a").await;
    let attempt = world.until_state(id, "dispatched").await["attempt"].as_i64().unwrap();
    let path = format!("/instances/{id}/log");
    shipper.print(attempt, &[b"one\n", b"\xff\x1b[31m\n"], false).await;
    assert_eq!(world.get(&path).await.text.as_bytes()[..4], *b"one\n");

    let mut reader = Reader::open(&world, &format!("{path}?follow=true"), None).await;
    let first = reader.next().await.unwrap();
    assert_eq!((first.name.as_str(), &first.body["text"], first.id), ("frame", &json!("one\n"), Some(0)));
    assert_eq!(reader.next().await.unwrap().body["bytes"], "/xtbMzFtCg==");
    shipper.print(attempt, &[b"two\n"], true).await;
    assert_eq!(reader.next().await.unwrap().body["text"], "two\n");
    world.report(agent, id, Verdict::Succeeded).await;
    let end = reader.next().await.unwrap();
    assert_eq!((end.name.as_str(), &end.body["state"]), ("end", &json!("succeeded")));
    assert_eq!(reader.next().await, None);

    let mut resumed = Reader::open(&world, &format!("{path}?follow=true"), Some(1)).await;
    assert_eq!(resumed.next().await.unwrap().body["text"], "two\n");
    assert_eq!(resumed.next().await.unwrap().name, "end");
    let other = world.get(&format!("{path}?attempt=4711")).await.refusal();
    assert!(other.starts_with("404 E0405"), "{other}");
    world.stop().await;
}
