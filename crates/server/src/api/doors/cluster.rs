//! Doors of the cluster.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use model::ServerId;
use wire::api::{ClusterView, WeightBody};

use super::super::endpoint::*;
use super::super::guard::Caller;
use super::super::take::{Body, Named};
use super::{Answer, Nothing};
use crate::ops::Desk;

type Id = Named<i64>;

pub(crate) async fn show(_: Caller<ClusterShow>, State(desk): State<Desk>) -> Answer<ClusterView> {
    Ok(Json(desk.cluster().await?))
}

pub(crate) async fn drain(_: Caller<ServerDrain>, State(desk): State<Desk>, Named(id): Id) -> Answer<ClusterView> {
    Ok(Json(desk.drain_server(ServerId(id), true).await?))
}

pub(crate) async fn undrain(_: Caller<ServerUndrain>, State(desk): State<Desk>, Named(id): Id) -> Answer<ClusterView> {
    Ok(Json(desk.drain_server(ServerId(id), false).await?))
}

pub(crate) async fn weigh(
    _: Caller<ServerWeight>,
    State(desk): State<Desk>,
    Named(id): Id,
    Body(body): Body<WeightBody>,
) -> Answer<ClusterView> {
    Ok(Json(desk.weigh_server(ServerId(id), body.weight).await?))
}

pub(crate) async fn forget(_: Caller<ServerForget>, State(desk): State<Desk>, Named(id): Id) -> Nothing {
    desk.forget_server(ServerId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
