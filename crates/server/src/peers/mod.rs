//! The other servers: who they are, and the way to each. Both sides show certificates of the cluster's own authority.
//! Nothing here decides; a request is passed on once, to whoever owns what it is about.

mod asked;
mod port;
mod words;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::Response;
use cluster::{Served, Terms, served};
use engine::{Command, Reply};
use model::{Actor, ServerId, ShardId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::leases::ServerRow;
use wire::peer::{ASK, AskBody, PASSED_ON, Said};

use crate::authority::{Authority, Kind};
use crate::shard::AskError;
use crate::steward::{self, Pictures};

pub(crate) use asked::routes;
pub(crate) use port::Port;

const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// As long as a shard takes at most to answer, and a little.
const ANSWER_WITHIN: Duration = Duration::from_secs(25);

#[derive(Clone)]
pub struct Peers(Arc<Inner>);

struct Inner {
    me: ServerId,
    pictures: Pictures,
    terms: Terms,
    client: reqwest::Client,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PeerError {
    /// It was not reached: nothing was asked.
    #[error("server {name} cannot be reached: {why}")]
    Unreached { name: String, why: String },
    /// It was asked and its answer was lost.
    #[error("server {name} did not answer: {why}")]
    Unanswered { name: String, why: String },
}

impl Peers {
    pub(crate) fn new(
        me: ServerId,
        pictures: Pictures,
        terms: Terms,
        authority: &Authority,
    ) -> Result<Peers, store::StoreError> {
        let failed = |what: String| store::StoreError::Failed(format!("cannot call other servers: {what}"));
        let (certificate, key) = authority.certificate(&["localhost".into()], Kind::Peer)?;
        let tls = port::client_tls(authority.ca_pem(), &certificate, &key).map_err(failed)?;
        let client = reqwest::Client::builder()
            .use_preconfigured_tls(tls)
            .connect_timeout(CONNECT_WITHIN)
            .no_proxy()
            .tcp_nodelay(true)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        Ok(Peers(Arc::new(Inner { me, pictures, terms, client })))
    }

    /// The server that owns a shard, unless that is us or nobody.
    pub(crate) fn owner(&self, shard: ShardId) -> Option<ServerRow> {
        let picture = self.0.pictures.borrow().clone()?;
        steward::owner(&picture, shard).filter(|server| server.id != self.0.me).cloned()
    }

    /// Whom a shard waits for that none of the living servers may own, in words.
    pub(crate) fn unserved(&self, shard: ShardId) -> Option<String> {
        let picture = self.0.pictures.borrow().clone()?;
        let reserved = picture.reserved(shard)?;
        (served(&picture, reserved, &self.0.terms) == Served::No).then(|| steward::unserved(reserved))
    }

    /// Everybody else who is alive.
    pub(crate) fn others(&self) -> Vec<ServerRow> {
        let Some(picture) = self.0.pictures.borrow().clone() else { return Vec::new() };
        let living = steward::living(&picture, &self.0.terms);
        living.into_iter().filter(|server| server.id != self.0.me).collect()
    }

    /// `Gone` means that nobody was told: it may be asked again.
    pub(crate) async fn ask(&self, shard: ShardId, by: &Actor, command: &Command) -> Result<Reply, AskError> {
        let owner = self.owner(shard).ok_or(AskError::Gone)?;
        let what = words::what(command).ok_or(AskError::Refused(engine::Refusal::NotOwner))?;
        let body = AskBody { shard: shard.0, by: by.0.clone(), what };
        let body = Bytes::from(serde_json::to_vec(&body).expect("plain data"));
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        let response = match self.pass_on(&owner, Method::POST, ASK, headers, body).await {
            Ok(response) => response,
            Err(PeerError::Unreached { .. }) => return Err(AskError::Gone),
            Err(error @ PeerError::Unanswered { .. }) => return Err(AskError::Stalled(error.to_string())),
        };
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), 64 << 20).await;
        let said = body.ok().and_then(|body| serde_json::from_slice::<Said>(&body).ok());
        match said {
            Some(said) if status == StatusCode::OK => words::reply(said),
            _ => Err(AskError::Stalled(format!("server {} answered {status}", owner.name))),
        }
    }

    /// Sends a request as it is and gives its answer as it comes.
    pub(crate) async fn pass_on(
        &self,
        to: &ServerRow,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, PeerError> {
        let answer = self.call(to, method, path, headers, body, Some(ANSWER_WITHIN)).await?;
        let mut response = Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            if !HOP_BY_HOP.contains(name) {
                response = response.header(name, value);
            }
        }
        Ok(response.body(Body::from_stream(answer.bytes_stream())).expect("an answer is an answer"))
    }

    /// A small thing that only servers ask one another.
    pub(crate) async fn get<T: DeserializeOwned>(&self, of: &ServerRow, path: &str) -> Result<T, PeerError> {
        let unanswered = |error: reqwest::Error| PeerError::Unanswered { name: of.name.clone(), why: chain(&error) };
        let answer = self.call(of, Method::GET, path, HeaderMap::new(), Bytes::new(), Some(ANSWER_WITHIN)).await?;
        answer.error_for_status().map_err(unanswered)?.json().await.map_err(unanswered)
    }

    /// The same, told: what it answered to that.
    pub(crate) async fn post(
        &self,
        to: &ServerRow,
        path: &str,
        body: &impl Serialize,
        within: Duration,
    ) -> Result<StatusCode, PeerError> {
        let body = Bytes::from(serde_json::to_vec(body).expect("plain data"));
        let json = HeaderMap::from_iter([(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"))]);
        Ok(self.call(to, Method::POST, path, json, body, Some(within)).await?.status())
    }

    /// An answer that has no end: events, a log that is written.
    pub(crate) async fn listen(
        &self,
        to: &ServerRow,
        path: &str,
        headers: HeaderMap,
    ) -> Result<reqwest::Response, PeerError> {
        self.call(to, Method::GET, path, headers, Bytes::new(), None).await
    }

    async fn call(
        &self,
        to: &ServerRow,
        method: Method,
        path: &str,
        mut headers: HeaderMap,
        body: Bytes,
        within: Option<Duration>,
    ) -> Result<reqwest::Response, PeerError> {
        for name in &HOP_BY_HOP {
            headers.remove(name);
        }
        headers.insert(PASSED_ON, self.0.me.0.into());
        let url = format!("https://{}{path}", to.peer);
        let mut request = self.0.client.request(method, url).headers(headers).body(body);
        if let Some(within) = within {
            request = request.timeout(within);
        }
        request.send().await.map_err(|error| {
            let (name, why) = (to.name.clone(), chain(&error));
            if error.is_connect() { PeerError::Unreached { name, why } } else { PeerError::Unanswered { name, why } }
        })
    }
}

/// What belongs to one connection only, or is said anew.
const HOP_BY_HOP: [HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH, header::HOST, header::ACCEPT_ENCODING];

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
