//! One agent and several servers, which own different shards, die and come back.

use duly_agent::runtime::ServerAddress;
use serde_json::json;
use wire::link::{Greet, Order, Servers, Verdict, down};

use super::fake_server::{FakeServer, Talk, order};
use super::{Agent, eventually, shell};

async fn two_servers() -> (FakeServer, FakeServer) {
    let (mut first, mut second) = (FakeServer::start().await, FakeServer::start().await);
    (first.number, second.number) = (1, 2);
    (first, second)
}

fn tell_of(talk: &Talk, servers: &[&FakeServer]) {
    let endpoints = servers.iter().map(|server| server.url()).collect();
    talk.send(down::Body::Servers(Servers { endpoints }));
}

#[tokio::test]
async fn servers_that_are_named_are_dialled_and_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let (mut first, mut second) = two_servers().await;
    second.term = 2;
    let seed = ServerAddress::Fixed(first.url());
    let agent = Agent::start(dir.path(), seed.clone());
    let mut talk = first.accept().await;
    talk.task(1, shell("echo out; while [ ! -e go ]; do sleep 0.02; done; exit 5"));
    talk.order(10, 1);
    talk.started(10).await;
    eventually("its output is shipped", || first.kept(10).text() == "out\n").await;
    tell_of(&talk, &[&first, &second]);
    // The second has a higher term of the shard: from now on it is told how things end.
    let mut other = second.accept().await;
    other.started(10).await;
    std::fs::write(dir.path().join("work/go"), "").unwrap();
    assert_eq!(other.ended(10).await.exit_code, Some(5));
    assert!(!talk.has_ended(10));
    eventually("the rest of its output goes there, too", || second.kept_last(10)).await;
    agent.leave().await;
    drop((talk, other));

    first.stop();
    let agent = Agent::start(dir.path(), seed);
    assert_eq!(second.accept().await.ended(10).await.exit_code, Some(5), "the way there was remembered");
    agent.leave().await;
}

#[tokio::test]
async fn a_shard_whose_server_died_is_reported_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let (mut first, mut second) = two_servers().await;
    // The second owns nothing of the first's yet.
    second.term = 0;
    let seeds = [&first, &second].map(|server| ServerAddress::Fixed(server.url())).to_vec();
    let agent = Agent::start_among(dir.path(), seeds);
    let mut talk = first.accept().await;
    let mut other = second.accept().await;
    talk.task(1, json!({"kind": "noop"}));
    talk.order(10, 1);
    talk.ended(10).await;
    first.stop();
    drop(talk);
    other.send(down::Body::Greet(Greet { shard: 1, term: 2 }));
    assert_eq!(other.ended(10).await.verdict(), Verdict::Succeeded);
    other.task(1, json!({"kind": "noop"}));
    other.order_as(Order { attempt: 11, version: 1, term: 2, ..order() });
    other.ended(11).await;
    agent.leave().await;
}

#[tokio::test]
async fn two_ways_to_one_server_are_one_stream_and_the_other_is_spare() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = FakeServer::start().await;
    server.number = 3;
    let by_name = format!("http://localhost:{}", server.address.port());
    let seeds = vec![ServerAddress::Fixed(server.url()), ServerAddress::Fixed(by_name)];
    let agent = Agent::start_among(dir.path(), seeds);
    let mut talks = vec![server.accept().await, server.accept().await];
    // One is hung up; the other goes on beating.
    let mut closed = None;
    eventually("one is closed", || {
        closed = talks.iter_mut().position(Talk::is_closed);
        closed.is_some()
    })
    .await;
    talks.remove(closed.unwrap());
    for _ in 0..5 {
        talks[0].next_beat().await;
    }
    assert!(!server.has_waiting_session(), "the spare way is not dialled while the other works");
    agent.leave().await;
}
