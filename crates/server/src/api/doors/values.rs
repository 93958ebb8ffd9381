//! Doors of variables and secrets.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use model::rights::{Action, Kind};
use wire::api::{EffectiveView, Page, RotatedView, SecretBody, SecretView, VariableBody, VariableQuery, VariableView};

use super::super::endpoint::*;
use super::super::guard::Caller;
use super::super::take::{Body, Named, Query};
use super::{Answer, Nothing};
use crate::ops::Desk;
use crate::ops::variables::Spot;

type Name = Named<String>;

pub(crate) async fn variables(who: Caller<VariableList>, State(desk): State<Desk>) -> Answer<Page<VariableView>> {
    Ok(Json(desk.list_variables(who.sight()).await?))
}

pub(crate) async fn put_variable(
    who: Caller<VariablePut>,
    State(desk): State<Desk>,
    Named(name): Name,
    Body(body): Body<VariableBody>,
) -> Answer<VariableView> {
    let everywhere = who.also(Kind::System, Action::Edit).is_some();
    let spot = Spot::of(who.sight(), everywhere, body.folder.clone(), body.platform)?;
    Ok(Json(desk.put_variable(spot, name, body, who.actor()).await?))
}

pub(crate) async fn delete_variable(
    who: Caller<VariableDelete>,
    State(desk): State<Desk>,
    Named(name): Name,
    Query(query): Query<VariableQuery>,
) -> Nothing {
    let everywhere = who.also(Kind::System, Action::Edit).is_some();
    let spot = Spot::of(who.sight(), everywhere, query.folder, query.platform)?;
    desk.delete_variable(spot, name).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn effective(
    who: Caller<VariableEffective>,
    State(desk): State<Desk>,
    Named(name): Name,
) -> Answer<Page<EffectiveView>> {
    Ok(Json(desk.effective_variables(who.sight(), &name).await?))
}

pub(crate) async fn secrets(who: Caller<SecretList>, State(desk): State<Desk>) -> Answer<Page<SecretView>> {
    Ok(Json(desk.list_secrets(who.sight(), who.also(Kind::Job, Action::See)).await?))
}

pub(crate) async fn put_secret(
    who: Caller<SecretPut>,
    State(desk): State<Desk>,
    Named(name): Name,
    Body(body): Body<SecretBody>,
) -> Answer<SecretView> {
    let seen_jobs = who.also(Kind::Job, Action::See);
    Ok(Json(desk.put_secret(who.sight(), seen_jobs, name, body, who.actor()).await?))
}

pub(crate) async fn delete_secret(who: Caller<SecretDelete>, State(desk): State<Desk>, Named(name): Name) -> Nothing {
    desk.delete_secret(who.sight(), name).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn rotate(_: Caller<SecretRotate>, State(desk): State<Desk>) -> Answer<RotatedView> {
    Ok(Json(desk.rotate_secret_key().await?))
}
