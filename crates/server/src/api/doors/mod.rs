//! Handlers: what came in, one operation, a view out.

pub(super) mod access;
pub(super) mod agents;
pub(super) mod audit;
pub(super) mod cluster;
pub(super) mod instances;
pub(super) mod jobs;
pub(super) mod oidc;
pub(super) mod people;
pub(super) mod streams;
pub(super) mod system;
pub(super) mod tenants;
pub(super) mod values;

use axum::Json;
use axum::http::StatusCode;

use crate::ops::Refused;

type Answer<T> = Result<Json<T>, Refused>;
type Created<T> = Result<(StatusCode, Json<T>), Refused>;
type Nothing = Result<StatusCode, Refused>;

fn created<T>(view: T) -> (StatusCode, Json<T>) {
    (StatusCode::CREATED, Json(view))
}
