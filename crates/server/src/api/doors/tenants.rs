//! Doors of tenants.

use axum::Json;
use axum::body::Body as Stream;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use wire::api::{Page, TenantBody, TenantChangeBody, TenantDeleteQuery, TenantDeletionView, TenantView};

use super::super::endpoint::*;
use super::super::guard::Caller;
use super::super::take::{Body, Named, Query};
use super::{Answer, Created, created};
use crate::ops::{Desk, Refused};

type Name = Named<String>;

pub(crate) async fn list(_: Caller<TenantList>, State(desk): State<Desk>) -> Answer<Page<TenantView>> {
    Ok(Json(desk.list_tenants()))
}

pub(crate) async fn create(
    who: Caller<TenantCreate>,
    State(desk): State<Desk>,
    Body(body): Body<TenantBody>,
) -> Created<TenantView> {
    Ok(created(desk.create_tenant(body, who.actor()).await?))
}

pub(crate) async fn show(_: Caller<TenantShow>, State(desk): State<Desk>, Named(name): Name) -> Answer<TenantView> {
    Ok(Json(desk.show_tenant(&name).await?))
}

pub(crate) async fn set(
    who: Caller<TenantSet>,
    State(desk): State<Desk>,
    Named(name): Name,
    Body(body): Body<TenantChangeBody>,
) -> Answer<TenantView> {
    Ok(Json(desk.change_tenant(&name, body, who.actor()).await?))
}

pub(crate) async fn export(
    who: Caller<TenantExport>,
    State(desk): State<Desk>,
    Named(name): Name,
) -> Result<Response, Refused> {
    let lines = desk.export_tenant(&name, who.actor())?;
    // Whoever packs it looks once more after its end.
    let lines = lines.map(Ok::<_, std::convert::Infallible>).fuse();
    Ok(([(header::CONTENT_TYPE, "application/jsonl")], Stream::from_stream(lines)).into_response())
}

pub(crate) async fn delete(
    who: Caller<TenantDelete>,
    State(desk): State<Desk>,
    Named(name): Name,
    Query(query): Query<TenantDeleteQuery>,
) -> Answer<TenantDeletionView> {
    Ok(Json(desk.delete_tenant(&name, query, who.actor()).await?))
}
