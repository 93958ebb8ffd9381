//! Doors of the installation as a whole.

use std::io;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use model::rights::{Action, Kind};
use tokio::io::AsyncReadExt;
use wire::api::{
    HardenView, HealthView, OverviewView, Page, QuarantineView, ReadyView, StatsQuery, StatsView, UpcomingQuery,
    UpcomingView, VerifyQuery, VerifyView, VersionView,
};
use wire::{Code, Problem};

use super::super::endpoint::*;
use super::super::guard::Caller;
use super::super::take::Query;
use super::Answer;
use crate::ops::{Desk, Refused};

const PIECE: usize = 256 << 10;

pub(crate) async fn verify(
    who: Caller<Verify>,
    State(desk): State<Desk>,
    Query(query): Query<VerifyQuery>,
) -> Answer<VerifyView> {
    let everything = who.also(Kind::System, Action::See).is_some();
    Ok(Json(desk.verify(who.sight(), everything, query).await?))
}

pub(crate) async fn stats(
    who: Caller<Stats>,
    State(desk): State<Desk>,
    Query(query): Query<StatsQuery>,
) -> Answer<StatsView> {
    Ok(Json(desk.stats(who.sight(), query).await?))
}

pub(crate) async fn overview(who: Caller<Overview>, State(desk): State<Desk>) -> Answer<OverviewView> {
    Ok(Json(desk.overview(who.sight()).await?))
}

pub(crate) async fn upcoming(
    who: Caller<Upcoming>,
    State(desk): State<Desk>,
    Query(query): Query<UpcomingQuery>,
) -> Answer<UpcomingView> {
    Ok(Json(desk.upcoming(who.sight(), query).await?))
}

pub(crate) async fn quarantine(_: Caller<Quarantine>, State(desk): State<Desk>) -> Answer<Page<QuarantineView>> {
    Ok(Json(desk.quarantine().await?))
}

pub(crate) async fn harden(_: Caller<Harden>, State(desk): State<Desk>) -> Answer<HardenView> {
    Ok(Json(desk.harden().await?))
}

/// The file is gone from its directory before its first byte is sent; it lives as long as somebody reads it.
pub(crate) async fn backup(_: Caller<Backup>, State(desk): State<Desk>) -> Result<Response, Refused> {
    let path = desk.backup().await?;
    let failed = |error: io::Error| Refused::from(Problem::new(Code::BackupFailed, error.to_string()));
    let file = tokio::fs::File::open(&path).await.map_err(failed)?;
    tokio::fs::remove_file(&path).await.map_err(failed)?;
    let length = file.metadata().await.map_err(failed)?.len();
    let pieces = futures::stream::try_unfold(file, |mut file| async move {
        let mut piece = Vec::with_capacity(PIECE);
        let read = (&mut file).take(PIECE as u64).read_to_end(&mut piece).await?;
        Ok::<_, io::Error>((read > 0).then_some((piece, file)))
    });
    let name = format!("attachment; filename=\"duly-{}.db\"", desk.clock.now().0 / 1_000_000);
    let headers = [
        (header::CONTENT_TYPE, "application/vnd.sqlite3".to_owned()),
        (header::CONTENT_LENGTH, length.to_string()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

pub(crate) async fn health(_: Caller<Health>, State(desk): State<Desk>) -> Answer<HealthView> {
    Ok(Json(desk.health()?))
}

pub(crate) async fn ready(_: Caller<Ready>, State(desk): State<Desk>) -> Answer<ReadyView> {
    Ok(Json(desk.ready()?))
}

pub(crate) async fn version(_: Caller<Version>, State(desk): State<Desk>) -> Json<VersionView> {
    Json(desk.version())
}

pub(crate) async fn document(_: Caller<Document>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], super::super::openapi_json())
}
