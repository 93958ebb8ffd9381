//! Doors of set-up, sessions and tokens.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use wire::api::{
    Page, SessionBody, SessionInfoView, SetupBody, SetupView, TokenBody, TokenCreatedView, TokenView, XxlTokenBody,
    XxlTokenCreatedView, XxlTokenView,
};

use super::super::cookie::{self, From};
use super::super::endpoint::*;
use super::super::guard::Caller;
use super::super::take::{Body, Named};
use super::oidc::{seconds, visitor};
use super::{Answer, Created, Nothing, created};
use crate::ops::sessions::SESSION_LIFE;
use crate::ops::{Desk, Refused};
use crate::visitor::Way;

pub(crate) async fn setup(
    _: Caller<Setup>,
    State(desk): State<Desk>,
    Body(body): Body<SetupBody>,
) -> Created<SetupView> {
    Ok(created(desk.set_up(body).await?))
}

pub(crate) async fn open_session(
    _: Caller<SessionOpen>,
    State(desk): State<Desk>,
    Extension(way): Extension<Way>,
    headers: HeaderMap,
    Body(body): Body<SessionBody>,
) -> Result<impl IntoResponse, Refused> {
    let view = desk.open_session(body, visitor(&way, &headers)).await?;
    let kept = cookie::write(cookie::SESSION, &view.token, seconds(SESSION_LIFE), From::OurPages, way.secure);
    Ok(([(header::SET_COOKIE, kept)], created(view)))
}

pub(crate) async fn close_session(
    who: Caller<SessionClose>,
    State(desk): State<Desk>,
    Extension(way): Extension<Way>,
) -> Result<impl IntoResponse, Refused> {
    if let Some(key) = who.key {
        desk.close_session(key).await?;
    }
    let gone = cookie::write(cookie::SESSION, "", 0, From::OurPages, way.secure);
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, gone)]))
}

pub(crate) async fn sessions(who: Caller<SessionList>, State(desk): State<Desk>) -> Answer<Page<SessionInfoView>> {
    let who = who.principal();
    Ok(Json(desk.list_sessions(&who.name, who).await?))
}

pub(crate) async fn end_session(
    who: Caller<SessionEnd>,
    State(desk): State<Desk>,
    Named(id): Named<String>,
) -> Nothing {
    let who = who.principal();
    who.whole()?;
    desk.end_session(&who.name, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn tokens(who: Caller<TokenList>, State(desk): State<Desk>) -> Answer<Page<TokenView>> {
    Ok(Json(desk.list_tokens(&who.principal().name).await?))
}

pub(crate) async fn create_token(
    who: Caller<TokenCreate>,
    State(desk): State<Desk>,
    Body(body): Body<TokenBody>,
) -> Created<TokenCreatedView> {
    let by = who.principal();
    Ok(created(desk.create_token(&by.name, who.tenant(), body, by).await?))
}

pub(crate) async fn revoke_token(who: Caller<TokenRevoke>, State(desk): State<Desk>, Named(id): Named<i64>) -> Nothing {
    let who = who.principal();
    desk.revoke_token(&who.name, id, who).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn xxl_tokens(who: Caller<XxlTokenList>, State(desk): State<Desk>) -> Answer<Page<XxlTokenView>> {
    Ok(Json(desk.list_xxl_tokens(who.tenant()).await?))
}

pub(crate) async fn create_xxl_token(
    who: Caller<XxlTokenCreate>,
    State(desk): State<Desk>,
    Body(body): Body<XxlTokenBody>,
) -> Created<XxlTokenCreatedView> {
    Ok(created(desk.create_xxl_token(who.tenant(), body, who.actor()).await?))
}

pub(crate) async fn revoke_xxl_token(
    who: Caller<XxlTokenRevoke>,
    State(desk): State<Desk>,
    Named(id): Named<i64>,
) -> Nothing {
    desk.revoke_xxl_token(who.tenant(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}
