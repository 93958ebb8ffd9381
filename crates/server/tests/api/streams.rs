//! Events as they are pushed.

use reqwest::Method;
use serde_json::Value;

use crate::world::{PATIENCE, TOKEN, World};

/// One event of a stream: its number, its name, its body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<u64>,
    pub(crate) name: String,
    pub(crate) body: Value,
}

pub(crate) struct Reader {
    response: reqwest::Response,
    text: String,
}

impl Reader {
    pub(crate) async fn open(world: &World, path: &str, after: Option<u64>) -> Reader {
        Reader::open_as(world, TOKEN, path, after).await
    }

    pub(crate) async fn open_as(world: &World, who: &str, path: &str, after: Option<u64>) -> Reader {
        let mut request = world.request(Method::GET, path).bearer_auth(who);
        if let Some(after) = after {
            request = request.header("last-event-id", after.to_string());
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Reader { response, text: String::new() }
    }

    /// None: the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                let Some(data) = field("data: ") else { continue };
                let id = field("id: ").map(|id| id.parse().unwrap());
                let body = serde_json::from_str(&data).unwrap();
                return Some(Event { id, name: field("event: ").unwrap_or_default(), body });
            }
            let more = tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("nothing came").unwrap()?;
            self.text.push_str(std::str::from_utf8(&more).unwrap());
        }
    }

    pub(crate) async fn until(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await.expect("the stream ended");
            if event.name == name {
                return event;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_pushed_and_resumed_without_repeat() {
    let world = World::new().await;
    let mut reader = Reader::open(&world, "/events", None).await;
    world.apply("job: a\nnoop: true\noverlap: allow\n").await.good();
    let changed = reader.until("job_changed").await;
    assert_eq!((&changed.body["job"], &changed.body["message"]), (&"a".into(), &"by ann".into()));
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(world.trigger("a").await);
    }
    let first = reader.until("instance_created").await;
    assert_eq!((&first.body["instance"], &first.body["job"]), (&ids[0].into(), &"a".into()));
    drop(reader);

    let mut resumed = Reader::open(&world, "/events", first.id).await;
    let second = resumed.until("instance_created").await;
    let third = resumed.until("instance_created").await;
    assert_eq!([&second.body["instance"], &third.body["instance"]], [&Value::from(ids[1]), &Value::from(ids[2])]);
    assert!(first.id < second.id && second.id < third.id);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_of_an_instance_names_its_job() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\n").await.good();
    let mut reader = Reader::open(&world, "/events", None).await;
    let id = world.trigger("a").await;
    // It waits for an agent, which is told once it has lasted a second.
    let changed = reader.until("instance_changed").await;
    world.post(&format!("/instances/{id}/stop"), serde_json::json!({})).await.good();
    let ended = reader.until("instance_ended").await;
    for event in [changed, ended] {
        assert_eq!((&event.body["instance"], &event.body["job"]), (&id.into(), &"a".into()), "{event:?}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_away_too_long_is_told_to_begin_anew() {
    let world = World::new().await;
    let mut reader = Reader::open(&world, "/events", Some(7)).await;
    let reset = reader.next().await.unwrap();
    assert_eq!(reset.name, "reset");
    world.apply("job: a\nnoop: true\n").await.good();
    assert_eq!(reader.until("job_changed").await.body["job"], "a");
    // A stopping server ends its streams, so that nobody hangs on it.
    world.running.app.stop.cancel();
    while reader.next().await.is_some() {}
    world.stop().await;
}
