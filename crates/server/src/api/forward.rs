//! Any server takes any request: what is about one job or instance, or about what all share, is passed on whole to the
//! server that owns it, which recognises the caller by what the request carries. Passed on once; repeated only where
//! nobody was asked, or asking twice does no harm.

use std::time::{Duration, Instant};

use axum::body::{Bytes, to_bytes};
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use model::{InstanceId, ShardId};
use wire::{Code, Problem};

use super::endpoint::{At, Endpoint};
use super::guard;
use crate::ops::{Desk, Refused};
use crate::peers::{PeerError, Peers};

/// How long a request waits for somebody to own what it is about.
const OWNED_WITHIN: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Came from another server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedOn;

pub(super) async fn forward<E: Endpoint>(desk: Desk, request: Request, next: Next) -> Response {
    let Some(peers) = desk.peers.clone() else { return next.run(request).await };
    if E::AT == At::Log {
        return super::elsewhere::log(desk, &peers, request, next).await;
    }
    let (mut parts, body) = request.into_parts();
    let passed_on = parts.extensions.get::<PassedOn>().is_some();
    let shard = match subject::<E>(&mut parts, &desk).await {
        Some(shard) => shard,
        // Whatever is wrong with it is said here.
        None => return next.run(Request::from_parts(parts, body)).await,
    };
    if desk.shards.handle(shard).is_some() {
        return next.run(Request::from_parts(parts, body)).await;
    }
    if passed_on {
        return not_here();
    }
    if !guard::counts_here::<E>(&parts) {
        // Refused here: the owner would have to take our word for it.
        return next.run(Request::from_parts(parts, body)).await;
    }
    let body = match to_bytes(body, E::BODY_MAX).await {
        Ok(body) => body,
        Err(_) => {
            let detail = format!("the body is larger than {} bytes", E::BODY_MAX);
            return Refused::from(Problem::new(Code::TooLarge, detail)).into_response();
        }
    };
    if E::ROUTE.operation == wire::routes::JOB_TRIGGER.operation && !parts.headers.contains_key(KEY) {
        // So that an answer that is lost on the way can be asked for again.
        let key = HeaderValue::try_from(crate::secret::make("passed-on")).expect("a secret is plain text");
        parts.headers.insert(KEY, key);
    }
    match pass_on::<E>(&desk, &peers, shard, &parts, &body).await {
        Some(response) => response,
        // Nobody could be asked, or it has come to us meanwhile. What is only read can be read here.
        None if desk.shards.handle(shard).is_some() || parts.method == Method::GET => {
            next.run(Request::from_parts(parts, body.into())).await
        }
        None => {
            let detail = "no server owns what this is about at the moment; try again";
            Refused::from(Problem::new(Code::NotOwner, detail)).into_response()
        }
    }
}

const KEY: &str = "idempotency-key";

async fn pass_on<E: Endpoint>(
    desk: &Desk,
    peers: &Peers,
    shard: ShardId,
    parts: &axum::http::request::Parts,
    body: &Bytes,
) -> Option<Response> {
    let give_up = Instant::now() + OWNED_WITHIN;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    loop {
        if desk.shards.handle(shard).is_some() {
            return None;
        }
        if let Some(why) = peers.unserved(shard) {
            // What is only read can be read here, and says it where it matters.
            let refused = || Refused::from(Problem::new(Code::Unserved, why)).into_response();
            return (parts.method != Method::GET).then(refused);
        }
        if let Some(owner) = peers.owner(shard) {
            let sent = peers.pass_on(&owner, parts.method.clone(), path, parts.headers.clone(), body.clone());
            match sent.await {
                Ok(response) if response.status() == StatusCode::MISDIRECTED_REQUEST => {}
                Ok(response) => return Some(response),
                Err(PeerError::Unreached { .. }) => {}
                Err(PeerError::Unanswered { .. }) if E::HARMLESS_TWICE => {}
                Err(error @ PeerError::Unanswered { .. }) => {
                    let detail = format!("{error}; whether it was done is not known");
                    return Some(Refused::from(Problem::new(Code::StoreBusy, detail)).into_response());
                }
            }
        }
        if Instant::now() >= give_up {
            return None;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// The shard a request is about.
async fn subject<E: Endpoint>(parts: &mut axum::http::request::Parts, desk: &Desk) -> Option<ShardId> {
    if E::AT == At::First {
        return Some(ShardId(0));
    }
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let (_, named) = params.iter().next()?;
    let named = named.to_owned();
    match E::AT {
        At::Instance => desk.shards.of_instance(InstanceId(named.parse().ok()?)).await.ok(),
        At::Job => {
            let sight = guard::sight_of::<E>(parts, desk).await?;
            let job = desk.job(&sight, &named).await.ok()?;
            Some(desk.shards.of_job(job.id))
        }
        At::Anywhere | At::First | At::Log => None,
    }
}

pub(super) fn not_here() -> Response {
    StatusCode::MISDIRECTED_REQUEST.into_response()
}
