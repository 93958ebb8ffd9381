//! A POST sent again under the same `Idempotency-Key` is answered with the first answer and done once. Kept in memory
//! for a while; what must survive a restart (triggering a job) is kept by the store instead.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use wire::{Code, Problem};

use super::endpoint::Endpoint;
use super::{guard, take};
use crate::ops::{Desk, Refused};

const REMEMBER: Duration = Duration::from_secs(600);
const ANSWERS_MAX: u64 = 10_000;
const ANSWER_MAX: usize = 64 << 10;

/// Answers by who asked what under which key.
pub(crate) struct Repeats {
    slots: moka::sync::Cache<[u8; 32], Arc<Mutex<Option<Told>>>>,
}

struct Told {
    request: [u8; 32],
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Repeats {
    pub(crate) fn new() -> Repeats {
        let slots = moka::sync::Cache::builder().max_capacity(ANSWERS_MAX).time_to_live(REMEMBER).build();
        Repeats { slots }
    }
}

/// For endpoints that remember nothing, a key is only looked at.
pub(super) async fn answer_once<E: Endpoint>(desk: Desk, request: Request, next: Next) -> Response {
    match take::key(request.headers()) {
        Ok(Some(key)) if E::REMEMBERED => {
            with_key::<E>(&desk, &key, request, next).await.unwrap_or_else(IntoResponse::into_response)
        }
        Ok(_) => next.run(request).await,
        Err(refused) => refused.into_response(),
    }
}

async fn with_key<E: Endpoint>(desk: &Desk, key: &str, request: Request, next: Next) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let too_large =
        |_| Refused::from(Problem::new(Code::TooLarge, format!("the body is larger than {} bytes", E::BODY_MAX)));
    let body = to_bytes(body, E::BODY_MAX).await.map_err(too_large)?;
    // One person's key must not show another person's answer, nor that of another tenant.
    let shown = [header::AUTHORIZATION, header::COOKIE, guard::TENANT].map(|name| parts.headers.get(name));
    let shown = shown.map(|value| value.map_or(&b""[..], HeaderValue::as_bytes)).into_iter();
    let name = digest(shown.chain([parts.method.as_str().as_bytes(), parts.uri.path().as_bytes(), key.as_bytes()]));
    let asked = digest([parts.uri.query().unwrap_or_default().as_bytes(), &body]);

    let slot = desk.repeats.slots.get_with(name, Arc::default);
    // A repeat that overtakes the first request waits for its answer.
    let mut slot = slot.lock().await;
    if let Some(told) = &*slot {
        guard::still_may::<E>(&parts, desk).await?;
        if told.request != asked {
            let detail = "this Idempotency-Key came with another body or other parameters a moment ago";
            return Err(Problem::new(Code::KeyReused, detail).into());
        }
        return Ok(told.again());
    }
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    if !response.status().is_success() {
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let failed = |_| Refused::from(Problem::new(Code::Internal, "the answer could not be read"));
    let body = to_bytes(body, usize::MAX).await.map_err(failed)?;
    if body.len() <= ANSWER_MAX {
        let headers = parts.headers.clone();
        *slot = Some(Told { request: asked, status: parts.status, headers, body: body.clone() });
    }
    Ok(Response::from_parts(parts, Body::from(body)))
}

impl Told {
    fn again(&self) -> Response {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
        response
    }
}

fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
