//! Every kind of message an agent can send, from an agent of another tenant about attempts that are none of its business,
//! and from one that was removed: nothing changes, and nothing is told. The kinds are read from the protocol itself, so
//! that a new one without a line here fails.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use model::{AgentId, AgentKind, AgentRecord, TenantId, Verdict};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Request, Streaming};
use wire::link::link_client::LinkClient;
use wire::link::{
    Answer, Beat, Down, Ended, Held, Hello, JoinRequest, LogDown, LogFrame, LogUp, Report, Reports, Started,
    TermStored, TermsStored, Up, down, report, up,
};

use crate::world::{PATIENCE, TOKEN, Told, World};

const PROTOCOL: &str = include_str!("../../../wire/proto/link.proto");

/// An agent that says what the test tells it to.
struct Stranger {
    ups: mpsc::Sender<Up>,
    downs: Streaming<Down>,
    frames: mpsc::Sender<LogUp>,
    kept: Streaming<LogDown>,
    id: AgentId,
    secret: String,
}

impl Stranger {
    /// Of this tenant, as if an administrator of it had let it in.
    async fn of(world: &World, tenant: TenantId, name: &str) -> Stranger {
        let app = &world.running.app;
        let (id, secret) = (AgentId(40_000 + tenant.0), format!("secret of {name}"));
        let record = AgentRecord {
            id,
            tenant,
            name: name.into(),
            pools: vec!["default".into()],
            labels: Default::default(),
            slots: 4,
            drained: false,
            joined_at: app.clock.now(),
            seen_at: None,
            serves: model::Serves::Own,
            version: String::new(),
            runs: model::TaskSorts::ALL,
            kind: AgentKind::Agent,
        };
        app.doorman.admit(record, &secret, &app.shards).await.unwrap();
        Stranger::dial(world, id, secret).await.unwrap()
    }

    async fn dial(world: &World, id: AgentId, secret: String) -> Result<Stranger, tonic::Status> {
        let mut link: LinkClient<Channel> = LinkClient::connect(world.running.agent_endpoint.clone()).await.unwrap();
        let (ups, sent) = mpsc::channel(16);
        let policy = json!({"run_as_of_tenants": {"acme": "acme-user", "globex": "globex-user"}}).to_string();
        let hello = Hello { protocol: wire::link::PROTOCOL, slots: 4, policy, ..Hello::default() };
        ups.send(Up { body: Some(up::Body::Hello(hello)) }).await.unwrap();
        let downs = link.session(signed(ReceiverStream::new(sent), id, &secret)).await?.into_inner();
        let (frames, sent) = mpsc::channel(16);
        let kept = link.logs(signed(ReceiverStream::new(sent), id, &secret)).await?.into_inner();
        let mut stranger = Stranger { ups, downs, frames, kept, id, secret };
        stranger.until(|body| matches!(body, down::Body::Greets(_))).await;
        Ok(stranger)
    }

    async fn say(&self, body: up::Body) {
        self.ups.send(Up { body: Some(body) }).await.unwrap();
    }

    /// Waits for a message like this, and answers with all that came before it.
    async fn until(&mut self, wanted: impl Fn(&down::Body) -> bool) -> Vec<down::Body> {
        let mut came = Vec::new();
        loop {
            let next = tokio::time::timeout(PATIENCE, self.downs.message()).await.expect("the server says something");
            let body = next.unwrap().expect("the stream is open").body.expect("a message says something");
            let is_it = wanted(&body);
            came.push(body);
            if is_it {
                return came;
            }
        }
    }

    /// Everything said before this has been read, and what was told to the shard has been heard there.
    async fn settled(&mut self, world: &World) -> Vec<down::Body> {
        self.say(up::Body::Beat(Beat { sent_at: 77, ..Beat::default() })).await;
        let came = self.until(|body| matches!(body, down::Body::BeatSeen(_))).await;
        // A question is answered after what came before it.
        world.get("/jobs/theirs/why").await.good();
        came
    }
}

fn signed<T>(body: T, id: AgentId, secret: &str) -> Request<T> {
    let mut request = Request::new(body);
    request.metadata_mut().insert("duly-agent", id.to_string().parse().unwrap());
    request.metadata_mut().insert("authorization", format!("Bearer {secret}").parse().unwrap());
    request
}

/// The kinds of one message of the protocol, as they are named there.
fn kinds_of(message: &str) -> BTreeSet<String> {
    let (_, rest) = PROTOCOL.split_once(&format!("message {message} {{")).unwrap();
    let (_, rest) = rest.split_once("oneof body {").unwrap();
    let (kinds, _) = rest.split_once('}').unwrap();
    let lines = kinds.lines().map(str::trim).filter(|line| line.contains('=') && !line.starts_with("//"));
    lines.map(|line| line.split_whitespace().nth(1).unwrap().to_string()).collect()
}

/// One of each kind, all about an attempt of somebody else.
fn every_kind(attempt: i64, term: i64) -> Vec<(&'static str, up::Body)> {
    let ended = |verdict: Verdict| Ended {
        verdict: wire::link::Verdict::from(verdict).into(),
        message: Some("said a stranger".into()),
        ..Ended::default()
    };
    let report = |seq, body| Report { attempt, seq, shard: 0, body: Some(body) };
    let reports = vec![
        report(1, report::Body::Started(Started { at: 1 })),
        report(2, report::Body::Ended(ended(Verdict::Succeeded))),
        report(3, report::Body::Ended(ended(Verdict::Refused))),
    ];
    let held = vec![Held { attempt, shard: 0, started_at: Some(1) }];
    let stored = TermStored { shard: 0, term, held: held.clone() };
    vec![
        ("hello", up::Body::Hello(Hello { name: "theirs".into(), slots: 1_000, ..Hello::default() })),
        ("beat", up::Body::Beat(Beat { running: 1_000, ..Beat::default() })),
        ("reports", up::Body::Reports(Reports { items: reports })),
        ("answer", up::Body::Answer(Answer { shard: 0, term, here: held, not_here: vec![attempt] })),
        ("term_stored", up::Body::TermStored(stored.clone())),
        ("terms_stored", up::Body::TermsStored(TermsStored { items: vec![stored] })),
    ]
}

/// What anybody can see of the run, without what changes by itself.
async fn seen(world: &World, instance: i64) -> Value {
    let mut view = world.get(&format!("/instances/{instance}")).await.good();
    let attempts = world.get(&format!("/instances/{instance}/attempts")).await.good();
    let log = world.get(&format!("/instances/{instance}/log")).await.text;
    let orphans = world.running.app.reads.orphans(std::time::Instant::now() + Duration::from_secs(5)).unwrap();
    view["more"] = json!({"attempts": attempts, "log": log, "orphans": orphans.len()});
    view
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_another_tenant_changes_and_learns_nothing() {
    let world = World::new().await;
    let theirs = world.agent("theirs").await;
    world.apply("job: theirs\nsh: echo secret").await.good();
    let instance = world.trigger("theirs").await;
    let view = world.until_state(instance, "dispatched").await;
    let attempt = view["attempt"].as_i64().unwrap();
    let mut stranger = Stranger::of(&world, TenantId(2), "stranger").await;
    let term = world.shard().progress.term.load(std::sync::atomic::Ordering::Relaxed);
    stranger.settled(&world).await;
    let before = seen(&world, instance).await;

    let all = every_kind(attempt, term);
    let covered: BTreeSet<String> = all.iter().map(|(kind, _)| kind.to_string()).collect();
    assert_eq!(covered, kinds_of("Up"), "every kind of message has its line");
    for (kind, body) in all {
        stranger.say(body).await;
        let came = stranger.settled(&world).await;
        let leaked = came.iter().find(|body| match body {
            down::Body::Task(_) | down::Body::Orders(_) | down::Body::Query(_) => true,
            // Told to end what it says it has, and that what it said is not wanted again.
            down::Body::Stop(stop) => stop.attempt != attempt,
            down::Body::Acks(_)
            | down::Body::BeatSeen(_)
            | down::Body::Welcome(_)
            | down::Body::Greet(_)
            | down::Body::Greets(_)
            | down::Body::Servers(_)
            | down::Body::Released(_)
            | down::Body::ForgetTasks(_)
            | down::Body::Goodbye(_) => false,
        });
        assert_eq!(leaked, None, "{kind} is answered with what is not the stranger's");
        assert_eq!(seen(&world, instance).await, before, "{kind} from a stranger changed something");
    }

    // Output is a stream of its own.
    let frame = LogFrame { bytes: b"from a stranger".to_vec().into(), ..LogFrame::default() };
    stranger.frames.send(LogUp { attempt, first: 0, frames: vec![frame], last: true }).await.unwrap();
    let kept = tokio::time::timeout(PATIENCE, stranger.kept.message()).await.unwrap().unwrap().unwrap();
    assert_eq!((kept.attempt, kept.kept), (attempt, 1), "it is told to forget it, as if it were kept");
    assert_eq!(seen(&world, instance).await, before, "output from a stranger is kept");

    // Those it belongs to go on as if nothing had happened.
    world.report(theirs, instance, Verdict::Succeeded).await;
    world.until_state(instance, "succeeded").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_agent_is_cut_off_at_once_and_not_believed() {
    let world = World::new().await;
    let mut agent = Stranger::of(&world, TenantId::DEFAULT, "doomed").await;
    let term = world.shard().progress.term.load(std::sync::atomic::Ordering::Relaxed);
    agent.say(up::Body::TermsStored(TermsStored { items: vec![TermStored { shard: 0, term, held: vec![] }] })).await;
    world.apply("job: theirs\nsh: echo secret\nlost_after: 1h").await.good();
    let instance = world.trigger("theirs").await;
    agent.until(|body| matches!(body, down::Body::Orders(_))).await;
    let attempt = world.until_state(instance, "dispatched").await["attempt"].as_i64().unwrap();

    assert_eq!(world.post(&format!("/agents/{}/revoke", agent.id), json!({})).await.status, 204);
    let recorded = world.get("/audit?operation=agent_revoke").await.good()["items"][0]["entry"].clone();
    assert_eq!((&recorded["outcome"], &recorded["before"]["name"]), (&json!("done"), &json!("doomed")), "{recorded}");
    // Both streams end, and say why.
    let ended = async {
        loop {
            match agent.downs.message().await {
                Ok(Some(_)) => {}
                other => return other,
            }
        }
    };
    let ended = tokio::time::timeout(PATIENCE, ended).await.expect("the working stream ends");
    assert_eq!(ended.unwrap_err().code(), Code::Unauthenticated);
    let kept = tokio::time::timeout(PATIENCE, agent.kept.message()).await.expect("the log stream ends");
    assert_eq!(kept.unwrap_err().code(), Code::Unauthenticated);

    // What was under way is not believed, wherever it had got to.
    let shard = world.shard();
    let (_, body) = every_kind(attempt, term).remove(2);
    let up::Body::Reports(reports) = body else { unreachable!("the third kind are reports") };
    for item in reports.items {
        let report = Option::<model::Report>::from(item).unwrap();
        shard.tell(engine::Input::Report { agent: agent.id, report });
    }
    let why = world.get(&format!("/instances/{instance}/why")).await.good();
    assert!(why["reasons"][0]["text"].as_str().unwrap().contains("its agent was removed"), "{why}");
    assert_eq!(world.get(&format!("/instances/{instance}")).await.good()["state"], "dispatched");

    // It does not come back, and nothing is given to it.
    let Err(refused) = Stranger::dial(&world, agent.id, agent.secret.clone()).await else { panic!("it was let in") };
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert_eq!(world.get(&format!("/agents/{}", agent.id)).await.status, 404);
    let next = world.trigger("theirs").await;
    world.until_state(next, "ready").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_only_shares_an_agent_does_nothing_to_it_and_learns_of_nobody_else() {
    let world = World::new().await;
    let agent = Stranger::of(&world, TenantId::DEFAULT, "common").await;
    world.post("/tenants", json!({"name": "acme"})).await.good();
    world.put(&format!("/agents/{}/sharing", agent.id), json!({"everyone": true})).await.good();
    let from = async |tenant: &str, method: Method, what: &str| {
        let request = world.request(method, &format!("/agents/{}{what}", agent.id)).bearer_auth(TOKEN);
        world.send(request.header("duly-tenant", tenant)).await
    };
    let users = |told: Told| names(&told.good()["policy"]["run_as_of_tenants"]);
    assert_eq!(users(from("acme", Method::GET, "").await), ["acme"]);
    assert_eq!(users(from("default", Method::GET, "").await), ["acme", "globex"]);
    for (method, what) in [(Method::POST, "/revoke"), (Method::POST, "/drain"), (Method::DELETE, "")] {
        let refused = from("acme", method, what).await;
        assert!(refused.refusal().starts_with("404 E0501"), "{what}: {refused:?}");
    }
    assert_eq!(from("default", Method::POST, "/revoke").await.status, 204);
    world.stop().await;
}

fn names(map: &Value) -> Vec<String> {
    map.as_object().expect("a map").keys().cloned().collect()
}

/// What an agent says of itself when it joins is held to what a join token may say of it, and costs nobody the token.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_joins_under_odd_words_is_refused_and_may_mend_them() {
    let world = World::new().await;
    let token = world.post("/join-tokens", json!({})).await.good()["token"].as_str().unwrap().to_owned();
    let mut link: LinkClient<Channel> = LinkClient::connect(world.running.agent_endpoint.clone()).await.unwrap();
    let fine = JoinRequest { token, name: "fine".into(), slots: 1, ..JoinRequest::default() };
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let odd = [
        JoinRequest { name: String::new(), ..fine.clone() },
        JoinRequest { name: "x".repeat(129), ..fine.clone() },
        JoinRequest { name: "two\nlines".into(), ..fine.clone() },
        JoinRequest { version: "x".repeat(1000), ..fine.clone() },
        JoinRequest { pools: vec!["no such/pool".into()], ..fine.clone() },
        JoinRequest { pools: (0..65).map(|n| format!("pool-{n}")).collect(), ..fine.clone() },
        JoinRequest { labels: [pair("", "empty")].into(), ..fine.clone() },
        JoinRequest { labels: [pair("long", &"x".repeat(257))].into(), ..fine.clone() },
        JoinRequest { labels: (0..65).map(|n| pair(&format!("label-{n}"), "x")).collect(), ..fine.clone() },
    ];
    for request in odd {
        let refused = link.join(request.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{request:?}: {refused}");
    }
    link.join(fine).await.unwrap();
    world.stop().await;
}

/// One token, many who show it at the same moment.
#[tokio::test(flavor = "multi_thread")]
async fn a_join_token_lets_one_agent_in_also_when_many_show_it_at_once() {
    let world = Arc::new(World::new().await);
    let token = world.post("/join-tokens", json!({})).await.good()["token"].as_str().unwrap().to_owned();
    let link: LinkClient<Channel> = LinkClient::connect(world.running.agent_endpoint.clone()).await.unwrap();
    let tries = (0..16).map(|n| {
        let (mut link, token) = (link.clone(), token.clone());
        tokio::spawn(async move {
            let join = JoinRequest { token, name: format!("racer-{n}"), slots: 1, ..JoinRequest::default() };
            link.join(join).await.is_ok()
        })
    });
    let mut let_in = 0;
    for one in tries.collect::<Vec<_>>() {
        let_in += usize::from(one.await.unwrap());
    }
    assert_eq!(let_in, 1);
    assert_eq!(world.get("/agents").await.good()["items"].as_array().unwrap().len(), 1);
    let refused = world.post("/join-tokens", json!({"expires_in": "25h"})).await;
    assert!(refused.refusal().starts_with("422 "), "{refused:?}");
}
