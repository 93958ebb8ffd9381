//! Doors of set-up, sessions and tokens.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use wire::api::{
    Page, SessionBody, SetupBody, SetupView, TokenBody, TokenCreatedView, TokenView, XxlTokenBody, XxlTokenCreatedView,
    XxlTokenView,
};

use super::super::endpoint::*;
use super::super::guard::{COOKIE, Caller};
use super::super::take::{Body, Named};
use super::{Answer, Created, Nothing, created};
use crate::ops::{Desk, Refused};

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
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Body(body): Body<SessionBody>,
) -> Result<impl IntoResponse, Refused> {
    let view = desk.open_session(body, from.ip()).await?;
    let cookie = cookie(&view.token, 12 * 3_600, &headers);
    Ok(([(header::SET_COOKIE, cookie)], created(view)))
}

pub(crate) async fn close_session(
    who: Caller<SessionClose>,
    State(desk): State<Desk>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Refused> {
    if let Some(key) = who.key {
        desk.close_session(key).await?;
    }
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie("", 0, &headers))]))
}

/// Scripts cannot read it and other sites cannot send it; over TLS it stays there.
fn cookie(value: &str, seconds: u32, headers: &HeaderMap) -> String {
    let secure = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    let secure = if secure { "; Secure" } else { "" };
    format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

pub(crate) async fn tokens(who: Caller<TokenList>, State(desk): State<Desk>) -> Answer<Page<TokenView>> {
    Ok(Json(desk.list_tokens(&who.actor().0).await?))
}

pub(crate) async fn create_token(
    who: Caller<TokenCreate>,
    State(desk): State<Desk>,
    Body(body): Body<TokenBody>,
) -> Created<TokenCreatedView> {
    Ok(created(desk.create_token(body, who.actor()).await?))
}

pub(crate) async fn revoke_token(who: Caller<TokenRevoke>, State(desk): State<Desk>, Named(id): Named<i64>) -> Nothing {
    desk.revoke_token(id, &who.actor().0).await?;
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
