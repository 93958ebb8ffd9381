//! One layer around every endpoint: whatever changes something is in the audit before it is answered, and so is whoever was
//! refused. A route that nobody thought about is recorded with the values of its address; what else may be told, its
//! operation says by `audit`. Bodies are never looked at.

use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use store::audit::DONE;
use wire::audit::{AuditEntry, REASON_HEADER, REASON_MAX};
use wire::peer::{CALLER, RECORDED};
use wire::routes::Permission;
use wire::{Code, Problem};

use super::PassedOn;
use super::endpoint::{Endpoint, Kept};
use super::speak::REQUEST_ID;
use crate::audit::{Finished, Note};
use crate::ops::{Desk, Refused};
use crate::visitor::Origin;

pub(super) async fn record<E: Endpoint>(desk: Desk, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    // A part of what another server records as a whole.
    if parts.extensions.get::<PassedOn>().is_some() && parts.headers.contains_key(RECORDED) {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let entry = match arrived::<E>(&desk, &mut parts).await {
        Ok(entry) => entry,
        Err(refused) => return refused.into_response(),
    };
    if E::CHANGES
        && let Err(refused) = desk.audit.check()
    {
        return refused.into_response();
    }
    let from = entry.from.as_deref().and_then(|from| from.parse::<Origin>().ok()).map(|from| from.address);
    // Whoever need not be known must not make us write before they are looked at.
    let announced = E::CHANGES && E::KEPT == Kept::Surely && E::ROUTE.permission != Permission::Public;
    let note = Note::new(entry, announced);
    let response = note.around(next.run(Request::from_parts(parts, body))).await;
    match ended::<E>(&response) {
        None => {}
        Some(outcome) => {
            let Finished { entries, ticket, changed } = note.finish(&outcome);
            let told = changed || entries.first().is_none_or(|first| desk.audit.admits(&first.entry, from));
            let entries = if told { entries } else { Vec::new() };
            match (E::KEPT, &ticket) {
                (Kept::Soon, None) => desk.audit.record_soon(entries),
                _ if changed || ticket.is_some() => desk.audit.record(entries, ticket).await,
                _ => desk.audit.record_soon(entries),
            }
        }
    }
    response
}

/// For what is not an operation of the API: somebody looked who may not.
pub(super) fn refused_look(desk: &Desk, operation: &str, headers: &HeaderMap, refused: &Refused) {
    if matches!(refused.0.status, 401 | 403) {
        let from = headers.get(CALLER).and_then(|from| from.to_str().ok()).map(String::from);
        let address = from.as_deref().and_then(|from| from.parse::<Origin>().ok()).map(|from| from.address);
        let entry = AuditEntry { from, ..AuditEntry::new(desk.clock.now().into(), operation, &refused.0.code) };
        desk.audit.refused(entry, address);
    }
}

/// How it ended, if that is worth an entry.
fn ended<E: Endpoint>(response: &Response) -> Option<String> {
    let status = response.status();
    if !E::CHANGES {
        let shut = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        return shut.then(|| outcome(response));
    }
    // The first answer once more: nothing was done this time.
    (!response.headers().contains_key("idempotency-replayed")).then(|| outcome(response))
}

fn outcome(response: &Response) -> String {
    match response.extensions().get::<Refused>() {
        Some(refused) => refused.0.code.clone(),
        None if response.status().is_client_error() || response.status().is_server_error() => {
            response.status().as_u16().to_string()
        }
        None => DONE.into(),
    }
}

async fn arrived<E: Endpoint>(desk: &Desk, parts: &mut Parts) -> Result<AuditEntry, Refused> {
    let text =
        |headers: &HeaderMap, name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(String::from);
    let mut entry = AuditEntry::new(desk.clock.now().into(), E::ROUTE.operation, "begun");
    if let Ok(params) = RawPathParams::from_request_parts(parts, &()).await {
        let clipped = |value: &str| value.chars().take(200).collect::<String>();
        entry.about = params.iter().map(|(name, value)| (name.to_string(), clipped(value))).collect();
    }
    entry.from = text(&parts.headers, CALLER);
    entry.request = text(&parts.headers, REQUEST_ID.as_str());
    if E::CHANGES {
        entry.reason = reason(&parts.headers)?;
    }
    Ok(entry)
}

/// Why somebody asks for a change. What is not plain ASCII may come as it is, or escaped as `UTF-8''…`, since browsers
/// send nothing else.
fn reason(headers: &HeaderMap) -> Result<Option<String>, Refused> {
    let Some(value) = headers.get(REASON_HEADER) else { return Ok(None) };
    let bad = |why: &str| Refused::from(Problem::new(Code::BadReason, format!("the reason {why}")));
    let text = match value.as_bytes().strip_prefix(b"UTF-8''") {
        Some(escaped) => String::from_utf8(unescaped(escaped)),
        None => String::from_utf8(value.as_bytes().to_vec()),
    };
    let text = text.map_err(|_| bad("is not UTF-8"))?;
    match text.trim() {
        "" => Ok(None),
        text if text.chars().count() > REASON_MAX => Err(bad(&format!("has more than {REASON_MAX} characters"))),
        text if text.chars().any(char::is_control) => Err(bad("has control characters")),
        text => Ok(Some(text.to_string())),
    }
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| (*byte as char).to_digit(16));
    let (mut bytes, mut at) = (Vec::with_capacity(text.len()), 0);
    while at < text.len() {
        match (text[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high << 4 | low) as u8);
                at += 3;
            }
            (byte, ..) => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn told(value: &[u8]) -> Result<Option<String>, String> {
        let mut headers = HeaderMap::new();
        headers.insert(REASON_HEADER, HeaderValue::from_bytes(value).unwrap());
        reason(&headers).map_err(|refused| refused.0.code.clone())
    }

    #[test]
    fn a_reason_may_be_in_any_script() {
        assert_eq!(told(b"month end"), Ok(Some("month end".into())));
        assert_eq!(told("月末".as_bytes()), Ok(Some("月末".into())));
        assert_eq!(told(b"UTF-8''%E6%9C%88%E6%9C%AB 100%"), Ok(Some("月末 100%".into())));
        assert_eq!(told(b"  "), Ok(None));
        assert_eq!(told(b"UTF-8''a%0Ab"), Err("E0942".into()), "no line is made up in a list");
        assert_eq!(told(b"\xff"), Err("E0942".into()));
        assert_eq!(told("x".repeat(REASON_MAX + 1).as_bytes()), Err("E0942".into()));
    }
}
