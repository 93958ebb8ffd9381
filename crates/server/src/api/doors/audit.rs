//! Doors of the audit.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use wire::api::{AuditQuery, AuditVerifyQuery, AuditVerifyView, AuditView, Page};

use super::super::endpoint::*;
use super::super::guard::Caller;
use super::super::take::{Named, Query};
use super::Answer;
use crate::ops::{Desk, Refused};

pub(crate) async fn list(
    who: Caller<AuditList>,
    State(desk): State<Desk>,
    headers: HeaderMap,
    Query(query): Query<AuditQuery>,
) -> Answer<Page<AuditView>> {
    Ok(Json(desk.list_audit(who.audited(&headers), query).await?))
}

pub(crate) async fn show(
    who: Caller<AuditShow>,
    State(desk): State<Desk>,
    headers: HeaderMap,
    Named(seq): Named<i64>,
) -> Answer<AuditView> {
    Ok(Json(desk.show_audit(who.audited(&headers), seq).await?))
}

pub(crate) async fn verify(
    _: Caller<AuditVerify>,
    State(desk): State<Desk>,
    Query(query): Query<AuditVerifyQuery>,
) -> Answer<AuditVerifyView> {
    Ok(Json(desk.verify_audit(query).await?))
}

pub(crate) async fn export(
    who: Caller<AuditExport>,
    State(desk): State<Desk>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let lines = crate::audit::export(&desk.audit, who.audited(&headers)).await?;
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}
