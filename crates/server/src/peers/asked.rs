//! Where other servers come in: what they ask of a shard that is run here, and requests they pass on.

use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use model::{Actor, AgentId, Timestamp};
use wire::peer::{ASK, AskBody, CLOCK, ClockBody, REFUSED, RefusedBody, Said};

use super::words;
use crate::api::PassedOn;
use crate::ops::Desk;
use crate::shard::AskError;

const READ_WITHIN: Duration = Duration::from_secs(5);

/// The whole API, for requests that were passed on, and what only servers ask.
pub(crate) fn routes(desk: Desk, api: Router) -> Router {
    let own =
        Router::new().route(ASK, post(asked)).route(REFUSED, post(refused)).route(CLOCK, get(clock)).with_state(desk);
    own.fallback_service(api).layer(from_fn(mark))
}

/// Whoever comes in here is a server: what it passes on goes no further.
async fn mark(mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(PassedOn);
    next.run(request).await
}

async fn asked(State(desk): State<Desk>, Json(body): Json<AskBody>) -> Json<Said> {
    let shard = body.shard();
    let reads = std::sync::Arc::clone(&desk.reads);
    let read = tokio::task::spawn_blocking(move || words::command(body.what, &*reads, Instant::now() + READ_WITHIN));
    let answer = match read.await {
        Ok(Ok(command)) => desk.shards.ask_here(shard, Actor(body.by), command).await,
        Ok(Err(error)) => Err(AskError::Stalled(error.to_string())),
        Err(_) => Err(AskError::Gone),
    };
    Json(words::said(answer))
}

async fn refused(State(desk): State<Desk>, Json(body): Json<RefusedBody>) {
    desk.executors.hear_refused(AgentId(body.agent), Timestamp(body.at));
}

async fn clock(State(desk): State<Desk>) -> Json<ClockBody> {
    Json(ClockBody { now: desk.clock.now().0 })
}
