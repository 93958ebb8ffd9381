//! Doors to the identity provider and back. Not below `/api/v1`: browsers go through them, programs do not. Anybody may:
//! who has not signed in yet is nobody.

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde::Deserialize;
use wire::{Code, Problem};

use super::super::cookie::{self, From};
use crate::ops::provider::AWAY;
use crate::ops::sessions::{SESSION_LIFE, Visitor};
use crate::ops::{Desk, Refused};
use crate::visitor::{self, Way};

#[derive(Deserialize)]
pub(crate) struct StartQuery {
    back: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct CallbackQuery {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
}

pub(crate) async fn start(
    State(desk): State<Desk>,
    Query(query): Query<StartQuery>,
    request: Request,
) -> Result<Response, Refused> {
    super::super::guard::set_up(&desk)?;
    let secure = way(&request).secure;
    let leaving = desk.leave_for_provider(query.back.as_deref()).await?;
    let url = HeaderValue::try_from(leaving.url)
        .map_err(|_| Problem::new(Code::ProviderFailed, "the provider's address cannot be gone to"))?;
    // They come back from another site, so it must be sent then.
    let kept = cookie::write(cookie::AWAY, &leaving.browser, seconds(AWAY), From::Anywhere, secure);
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, url), (header::SET_COOKIE, kept)]).into_response())
}

pub(crate) async fn callback(
    State(desk): State<Desk>,
    Query(query): Query<CallbackQuery>,
    request: Request,
) -> Result<Response, Refused> {
    super::super::guard::set_up(&desk)?;
    let seen = way(&request);
    let headers = request.headers();
    let (Some(code), Some(state)) = (query.code, query.state) else {
        let said: String = query.error.unwrap_or_else(|| "nothing".into()).chars().take(100).collect();
        return Err(Problem::new(Code::ProviderRefused, format!("the provider sent no code but said: {said}")).into());
    };
    let browser = cookie::read(headers, cookie::AWAY, seen.secure);
    let from = visitor(&seen, headers);
    let back = desk.back_from_provider(code, &state, browser, from).await;
    desk.audit.came_back(back.as_ref().map(|(session, _)| session.user.as_str()), Some(seen.from)).await;
    let (session, back) = back?;
    let session = cookie::write(cookie::SESSION, &session.token, seconds(SESSION_LIFE), From::OurPages, seen.secure);
    let mut answer = onward(&back).into_response();
    answer.headers_mut().append(header::SET_COOKIE, session);
    answer.headers_mut().append(header::SET_COOKIE, cookie::write(cookie::AWAY, "", 0, From::Anywhere, seen.secure));
    Ok(answer)
}

/// A redirect would still count as coming from the provider, and the new cookie would not be sent: our own page goes on.
fn onward(back: &str) -> Html<String> {
    let back = back.replace('&', "&amp;");
    Html(format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=\"0;url={back}\">\
         <title>Duly</title><p>You are signed in. <a href=\"{back}\">Go on</a>.</p>"
    ))
}

fn way(request: &Request) -> Way {
    *request.extensions().get::<Way>().expect("every request is asked its way before anything else")
}

pub(super) fn visitor(seen: &Way, headers: &HeaderMap) -> Visitor {
    let before = cookie::read(headers, cookie::SESSION, seen.secure).map(crate::secret::hash);
    Visitor { address: seen.from.address, program: visitor::program(headers), before }
}

pub(super) fn seconds(span: model::Span) -> i64 {
    span.0 / model::Span::SECOND.0
}
