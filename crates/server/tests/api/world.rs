//! A server in this process, and the ways to ask it. Waits for facts: what is committed, never for time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::{Command, Input};
use model::{Actor, AgentId, AgentRecord, AttemptId, Outcome, Report, ReportKind, TenantId, Timestamp, Usage, Verdict};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use server::shard::ShardHandle;
use server::{Running, ServerConfig};
use sha2::{Digest, Sha256};
use store::access::{Access, Token};
use store::people::{Account, AccountKind, PeopleChange};
use store::sqlite::{Options, SqliteStore};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) const TOKEN: &str = "duly_test-token";
/// A fact that has not come by then will not come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) running: Running,
    pub(crate) http: reqwest::Client,
}

/// What the server said.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Told {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The view of a success.
    pub(crate) fn good(self) -> Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// The essence of a refusal: `404 E0301 there is no job "x"`.
    pub(crate) fn refusal(&self) -> String {
        let problem = self.json();
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(problem["status"], self.status);
        let mut told =
            format!("{} {} {}", self.status, problem["code"].as_str().unwrap(), problem["detail"].as_str().unwrap());
        for fault in problem["errors"].as_array().into_iter().flatten() {
            let text = |key: &str| fault[key].as_str().unwrap_or_default().to_owned();
            told.push_str(&format!("\n  {} {}: {}", text("code"), text("path"), text("message")));
        }
        told
    }
}

impl World {
    /// A server that is set up, with one token.
    pub(crate) async fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), &Options::default()).unwrap();
        let mut access = store.access().unwrap();
        access.change(&PeopleChange::Administrator(ann())).unwrap();
        access.put_token(&token(TOKEN)).unwrap();
        access.put_setting("setup.done", Some("yes")).unwrap();
        drop((access, store));
        World::start(dir).await
    }

    /// A server on a directory as it is.
    pub(crate) async fn start(dir: TempDir) -> World {
        let config = config(dir.path());
        World::with(dir, config).await
    }

    pub(crate) async fn with(dir: TempDir, config: ServerConfig) -> World {
        let running = server::start(config, CancellationToken::new()).await.unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        World { dir, running, http: reqwest::Client::new() }
    }

    pub(crate) async fn stop(self) -> TempDir {
        self.running.app.stop.cancel();
        self.running.wait().await.unwrap();
        self.dir
    }

    pub(crate) async fn restart(self) -> World {
        World::start(self.stop().await).await
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let path =
            if path.starts_with("/api") || !path.starts_with('/') { path.to_owned() } else { format!("/api/v1{path}") };
        self.http.request(method, format!("{}{path}", self.running.url))
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Told {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Told { status, headers, text: response.text().await.unwrap() }
    }

    pub(crate) async fn get(&self, path: &str) -> Told {
        self.send(self.request(Method::GET, path).bearer_auth(TOKEN)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Told {
        self.send(self.request(Method::POST, path).bearer_auth(TOKEN).json(&body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Told {
        self.send(self.request(Method::PUT, path).bearer_auth(TOKEN).json(&body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Told {
        self.send(self.request(Method::DELETE, path).bearer_auth(TOKEN)).await
    }

    pub(crate) async fn post_keyed(&self, path: &str, key: &str, body: Value) -> Told {
        let request = self.request(Method::POST, path).bearer_auth(TOKEN).header("idempotency-key", key);
        self.send(request.json(&body)).await
    }

    /// Applies jobs written as a file.
    pub(crate) async fn apply(&self, yaml: &str) -> Told {
        self.post("/jobs/apply", json!({"files": [{"name": "jobs.yaml", "text": yaml}]})).await
    }

    pub(crate) async fn trigger(&self, job: &str) -> i64 {
        self.post(&format!("/jobs/{job}/trigger"), json!({})).await.good()["id"].as_i64().unwrap()
    }

    /// Asks again after every commit until the answer is there.
    pub(crate) async fn until<T>(&self, mut fact: impl AsyncFnMut(&World) -> Option<T>) -> T {
        let mut commits = self.running.app.ring.watch();
        let look = async {
            loop {
                if let Some(found) = fact(self).await {
                    return found;
                }
                commits.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, look).await.expect("the fact never came")
    }

    pub(crate) async fn until_state(&self, instance: i64, state: &str) -> Value {
        let path = format!("/instances/{instance}");
        self.until(async |world: &World| {
            let view = world.get(&path).await.good();
            (view["state"] == state).then_some(view)
        })
        .await
    }

    /// An agent that exists for the scheduler only: what it runs ends when the test says so.
    pub(crate) async fn agent(&self, name: &str) -> AgentId {
        self.agent_numbered(AgentId(900), name).await
    }

    pub(crate) async fn agent_numbered(&self, id: AgentId, name: &str) -> AgentId {
        let agent = agent_record(id, name, self.running.app.clock.now());
        let shards = &self.running.app.shards;
        shards.ask(Actor::system(), Command::PutAgent { agent: Box::new(agent.clone()) }).await.unwrap();
        self.shard().tell(Input::AgentUp { agent: Arc::new(agent), held: Vec::new(), up_since: Timestamp::MIN });
        id
    }

    /// The agent says how an instance's attempt ended.
    pub(crate) async fn report(&self, agent: AgentId, instance: i64, verdict: Verdict) {
        let view = self.until_state(instance, "dispatched").await;
        let now = self.running.app.clock.now();
        let code = if verdict == Verdict::Succeeded { 0 } else { 3 };
        let outcome = Outcome {
            verdict,
            exit_code: Some(code),
            message: Some("said the task".into()),
            outputs: Some("{\"rows\":7}".into()),
            started_at: Some(now),
            ended_at: now,
            usage: Usage::default(),
        };
        let attempt = AttemptId(view["attempt"].as_i64().unwrap());
        let report = Report { attempt, seq: 1, kind: ReportKind::Ended(Box::new(outcome)) };
        self.shard().tell(Input::Report { agent, report });
    }

    pub(crate) fn shard(&self) -> ShardHandle {
        self.running.app.shards.running().pop().expect("it runs").1
    }
}

pub(crate) fn agent_record(id: AgentId, name: &str, joined_at: Timestamp) -> AgentRecord {
    AgentRecord {
        id,
        tenant: TenantId::DEFAULT,
        name: name.into(),
        pools: vec!["default".into()],
        labels: Default::default(),
        slots: 100,
        drained: false,
        joined_at,
        seen_at: None,
        version: "test".into(),
        serves: model::Serves::Own,
        runs: model::TaskSorts::ALL,
        kind: model::AgentKind::Agent,
    }
}

/// May do everything, and has no password.
fn ann() -> Account {
    Account {
        name: "ann".into(),
        kind: AccountKind::Person,
        password: None,
        must_change: false,
        subject: None,
        disabled_at: None,
        created_at: Timestamp(0),
        created_by: "ann".into(),
    }
}

pub(crate) fn token(text: &str) -> Token {
    Token {
        id: 0,
        name: "test".into(),
        hash: Sha256::digest(text.as_bytes()).into(),
        user: "ann".into(),
        scope: None,
        tenant: None,
        created_at: Timestamp(0),
        expires_at: None,
        revoked_at: None,
    }
}

pub(crate) fn config(data: &Path) -> ServerConfig {
    ServerConfig { listen: ([127, 0, 0, 1], 0).into(), ..ServerConfig::new(data.to_owned()) }
}

pub(crate) fn names(page: &Value, key: &str) -> Vec<String> {
    let text = |item: &Value| item[key].as_str().map_or_else(|| item[key].to_string(), str::to_owned);
    page["items"].as_array().unwrap().iter().map(text).collect()
}
