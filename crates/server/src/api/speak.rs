//! How the door answers: every refusal as a problem document, every answer with its request id, every request counted.

use std::any::Any;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use wire::peer::{CALLER, RECORDED};
use wire::{Code, Problem};

use super::PassedOn;
use crate::ops::{Desk, Refused};
use crate::visitor::Way;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

impl IntoResponse for Refused {
    /// The body is written by `speak`, which knows what was asked for.
    fn into_response(self) -> Response {
        let mut response =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response();
        if let Some(seconds) = self.retry_after() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self);
        response
    }
}

pub(super) async fn speak(State(_desk): State<Desk>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = request_id(&request);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    request.headers_mut().insert(REQUEST_ID, id.clone());
    name_caller(&mut request);
    let mut response = next.run(request).await;
    if let Some(refused) = response.extensions_mut().remove::<Refused>() {
        if refused.0.status >= 500 {
            tracing::warn!(%method, path, id = ?id, problem = %refused.0, "a request failed");
        }
        response = problem(response, refused, &path);
    }
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    crate::metrics::request(&method, matched.as_deref(), response.status(), begun.elapsed());
    response
}

fn problem(response: Response, refused: Refused, path: &str) -> Response {
    let (mut parts, _) = response.into_parts();
    let problem = Problem { instance: Some(path.to_owned()), ..*refused.0 };
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(Problem::MEDIA_TYPE));
    parts.headers.remove(header::CONTENT_LENGTH);
    if parts.status == StatusCode::UNAUTHORIZED {
        parts.headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"duly\""));
    }
    let body = serde_json::to_vec(&problem).expect("a problem is plain data");
    Response::from_parts(parts, Body::from(body))
}

/// Only a server that passes a request on may say where it came from.
fn name_caller(request: &mut Request) {
    if request.extensions().get::<PassedOn>().is_some() {
        return;
    }
    let from = request.extensions().get::<Way>().map(|way| way.from.to_string());
    let headers = request.headers_mut();
    headers.remove(CALLER);
    headers.remove(RECORDED);
    if let Some(from) = from.and_then(|from| HeaderValue::try_from(from).ok()) {
        headers.insert(CALLER, from);
    }
}

/// A caller's own id is kept if it is one; it reaches the log.
fn request_id(request: &Request) -> HeaderValue {
    let plain = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        (1..=64).contains(&bytes.len()) && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
    };
    let given = request.headers().get(REQUEST_ID).filter(plain).cloned();
    given.unwrap_or_else(|| {
        let mut bytes = [0u8; 8];
        getrandom::fill(&mut bytes).expect("the system has randomness");
        let text = format!("{:016x}", u64::from_ne_bytes(bytes));
        HeaderValue::from_str(&text).expect("hexadecimal fits a header")
    })
}

/// Gives an answer up that does not begin in time. What changes something is done to its end all the same, and also when
/// its caller has gone: half a change is worse than an unread answer.
pub(super) async fn within(patience: Duration, request: Request, next: Next) -> Response {
    let only_reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let answer = next.run(request);
    let answered = if only_reads {
        tokio::time::timeout(patience, answer).await
    } else {
        let done = tokio::time::timeout(patience, tokio::spawn(answer)).await;
        let failed =
            |failed: tokio::task::JoinError| failed.try_into_panic().unwrap_or_else(|gone| Box::new(gone.to_string()));
        done.map(|done| done.unwrap_or_else(|error| panicked(failed(error))))
    };
    answered.unwrap_or_else(|_| {
        let detail = format!("no answer within {} s", patience.as_secs());
        Refused::from(Problem::new(Code::TookTooLong, detail)).into_response()
    })
}

pub(super) async fn no_route(uri: Uri) -> Refused {
    let path: String = uri.path().chars().take(200).collect();
    Problem::new(Code::NoRoute, format!("there is nothing at {path}")).into()
}

pub(super) async fn wrong_method(method: Method, uri: Uri) -> Refused {
    let path: String = uri.path().chars().take(200).collect();
    Problem::new(Code::WrongMethod, format!("{path} does not take {method}")).into()
}

/// One request that breaks us breaks nothing else.
pub(super) fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("without a message"), "a handler panicked");
    Refused::from(Problem::new(Code::Internal, "answering this request failed; the server's log says more"))
        .into_response()
}
