//! What requests carry, read strictly: unknown keys are refused, and every fault says where it is.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use wire::{Code, Fault, Problem};

use crate::ops::{Desk, Refused};

/// A JSON body.
pub(super) struct Body<T>(pub(super) T);

/// A JSON body that may be left out.
pub(super) struct OptionalBody<T>(pub(super) T);

/// The part of the address behind the question mark.
pub(super) struct Query<T>(pub(super) T);

/// The name or number in the address.
pub(super) struct Named<T>(pub(super) T);

/// The request's `Idempotency-Key`, if it has one.
pub(super) struct Key(pub(super) Option<String>);

impl<T: DeserializeOwned> FromRequest<Desk> for Body<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Refused> {
        let (headers, bytes) = receive(request, desk).await?;
        read(&headers, &bytes).map(Body)
    }
}

impl<T: DeserializeOwned + Default> FromRequest<Desk> for OptionalBody<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Refused> {
        let (headers, bytes) = receive(request, desk).await?;
        if bytes.is_empty() { Ok(OptionalBody(T::default())) } else { read(&headers, &bytes).map(OptionalBody) }
    }
}

async fn receive(request: Request, desk: &Desk) -> Result<(HeaderMap, Bytes), Refused> {
    let headers = request.headers().clone();
    let bytes = Bytes::from_request(request, desk).await.map_err(unreadable)?;
    Ok((headers, bytes))
}

fn unreadable(rejection: BytesRejection) -> Refused {
    let code = match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
        _ => Code::BadBody,
    };
    Problem::new(code, rejection.body_text()).into()
}

fn read<T: DeserializeOwned>(headers: &HeaderMap, bytes: &[u8]) -> Result<T, Refused> {
    if !is_json(headers) {
        return Err(Problem::new(Code::WrongMediaType, "the content type of the body is not application/json").into());
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let code = if error.is_data() { Code::WrongBody } else { Code::BadBody };
        let mut fault = Fault::new(code, "", error.to_string());
        (fault.line, fault.column) = (u32::try_from(error.line()).ok(), u32::try_from(error.column()).ok());
        fault.alone().into()
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

impl<T: DeserializeOwned> FromRequestParts<Desk> for Query<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &Desk) -> Result<Self, Refused> {
        let read = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        read.map(|query| Query(query.0)).map_err(|rejection| {
            let told = rejection.body_text();
            let told = told.strip_prefix("Failed to deserialize query string: ").unwrap_or(&told).to_owned();
            let (path, message) = told.split_once(": ").unwrap_or(("", &told));
            Fault::new(Code::BadQuery, path, message).alone().into()
        })
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<Desk> for Named<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Refused> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, desk).await;
        path.map(|path| Named(path.0)).map_err(|rejection| {
            let told = rejection.body_text();
            let told = told.strip_prefix("Invalid URL: ").unwrap_or(&told);
            Fault::new(Code::BadQuery, "path", told).alone().into()
        })
    }
}

impl FromRequestParts<Desk> for Key {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &Desk) -> Result<Self, Refused> {
        key(&parts.headers).map(Key)
    }
}

/// A key is kept for a day by the store, so it has a bound.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Refused> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let plain = |text: &&str| (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    match value.to_str().ok().filter(plain) {
        Some(text) => Ok(Some(text.to_owned())),
        None => Err(Fault::new(Code::BadQuery, "Idempotency-Key", "it has 1 to 255 plain characters").alone().into()),
    }
}
