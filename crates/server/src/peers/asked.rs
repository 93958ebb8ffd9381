//! Where other servers come in: what they ask of a shard that is run here, and requests they pass on.

use std::time::{Duration, Instant};

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use model::{Actor, AgentId, Timestamp};
use wire::lending::{AccountBody, SlicesBody};
use wire::peer::{ACCOUNTS, ASK, AskBody, CLOCK, ClockBody, REFUSED, RefusedBody, SLICES, Said};

use super::words;
use crate::api::PassedOn;
use crate::ops::Desk;
use crate::shard::AskError;

/// What one server says to another at once.
const BODY_MAX: usize = 64 << 20;
const READ_WITHIN: Duration = Duration::from_secs(5);

/// The whole API, for requests that were passed on, and what only servers ask.
pub(crate) fn routes(desk: Desk, api: Router) -> Router {
    let own = Router::new()
        .route(ASK, post(asked))
        .route(REFUSED, post(refused))
        .route(CLOCK, get(clock))
        .route(ACCOUNTS, post(accounts))
        .route(SLICES, post(slices))
        // Only servers come in here, and those with many tenants have much to say.
        .layer(DefaultBodyLimit::max(BODY_MAX));
    own.with_state(desk).fallback_service(api).layer(from_fn(mark))
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

/// Whoever does not lend says so: it is told to whoever does.
async fn accounts(State(desk): State<Desk>, Json(bodies): Json<Vec<AccountBody>>) -> StatusCode {
    let is_lender = desk.lending.hear(bodies.into_iter().map(Into::into));
    if is_lender { StatusCode::NO_CONTENT } else { StatusCode::CONFLICT }
}

async fn slices(State(desk): State<Desk>, Json(bodies): Json<Vec<SlicesBody>>) -> StatusCode {
    for slices in bodies.into_iter().map(model::Slices::from) {
        desk.shards.tell(slices.shard, engine::Input::Lent(slices.into()));
    }
    StatusCode::NO_CONTENT
}

async fn clock(State(desk): State<Desk>) -> Json<ClockBody> {
    Json(ClockBody { now: desk.clock.now().0 })
}
