//! Doors of instances.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use model::InstanceId;
use wire::api::{AttemptView, InstanceQuery, InstanceView, Page, ReplayBody, ReplayView, ResolveBody, WhyView};

use super::super::endpoint::*;
use super::super::guard::Caller;
use super::super::take::{Body, Named, Query};
use super::Answer;
use crate::ops::Desk;

type Id = Named<i64>;

pub(crate) async fn list(
    who: Caller<InstanceList>,
    State(desk): State<Desk>,
    Query(query): Query<InstanceQuery>,
) -> Answer<Page<InstanceView>> {
    Ok(Json(desk.list_instances(who.sight(), query).await?))
}

pub(crate) async fn show(who: Caller<InstanceShow>, State(desk): State<Desk>, Named(id): Id) -> Answer<InstanceView> {
    Ok(Json(desk.show_instance(who.sight(), InstanceId(id)).await?))
}

pub(crate) async fn stop(who: Caller<InstanceStop>, State(desk): State<Desk>, Named(id): Id) -> Answer<InstanceView> {
    Ok(Json(desk.stop(who.sight(), InstanceId(id), who.actor()).await?))
}

pub(crate) async fn rerun(who: Caller<InstanceRerun>, State(desk): State<Desk>, Named(id): Id) -> Answer<InstanceView> {
    Ok(Json(desk.rerun(who.sight(), InstanceId(id), who.actor()).await?))
}

pub(crate) async fn resolve(
    who: Caller<InstanceResolve>,
    State(desk): State<Desk>,
    Named(id): Id,
    Body(body): Body<ResolveBody>,
) -> Answer<InstanceView> {
    Ok(Json(desk.resolve(who.sight(), InstanceId(id), body, who.actor()).await?))
}

pub(crate) async fn replay(
    who: Caller<InstanceReplay>,
    State(desk): State<Desk>,
    headers: HeaderMap,
    Body(body): Body<ReplayBody>,
) -> Answer<ReplayView> {
    Ok(Json(desk.replay(who.sight(), body, who.actor(), &headers).await?))
}

pub(crate) async fn attempts(
    who: Caller<AttemptList>,
    State(desk): State<Desk>,
    Named(id): Id,
) -> Answer<Page<AttemptView>> {
    Ok(Json(desk.attempts(who.sight(), InstanceId(id)).await?))
}

pub(crate) async fn why(who: Caller<InstanceWhy>, State(desk): State<Desk>, Named(id): Id) -> Answer<WhyView> {
    Ok(Json(desk.why_instance(who.sight(), InstanceId(id)).await?))
}
