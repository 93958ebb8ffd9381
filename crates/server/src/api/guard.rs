//! The one place where it is decided who may do what. A handler gets a `Caller` of its own endpoint or is not called;
//! there is no other way to be mounted.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use model::{Actor, TenantId};
use store::access::SecretHash;
use wire::routes::Permission;
use wire::{Code, Problem};

use super::endpoint::Endpoint;
use crate::doorman::Principal;
use crate::ops::{Desk, Refused};
use crate::secret;

pub(super) const COOKIE: &str = "duly_session";

/// Somebody who may ask for `E`.
pub(super) struct Caller<E> {
    who: Option<Principal>,
    /// What they showed at the door, hashed.
    pub(super) key: Option<SecretHash>,
    endpoint: PhantomData<fn() -> E>,
}

impl<E> Caller<E> {
    pub(super) fn actor(&self) -> Actor {
        self.who.as_ref().map_or_else(|| Actor("anonymous".into()), Principal::actor)
    }

    pub(super) fn tenant(&self) -> TenantId {
        self.who.as_ref().map_or(TenantId::DEFAULT, |who| who.tenant)
    }
}

impl<E: Endpoint> FromRequestParts<Desk> for Caller<E> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Refused> {
        if !E::before_setup() {
            set_up(desk)?;
        }
        if E::ROUTE.permission == Permission::Public {
            return Ok(Caller { who: None, key: None, endpoint: PhantomData });
        }
        let (who, key) = recognise(parts, desk).await?;
        permit(&who, E::ROUTE.permission)?;
        Ok(Caller { who: Some(who), key: Some(key), endpoint: PhantomData })
    }
}

/// Whose request this is, if it shows somebody we know.
pub(super) async fn tenant_of(parts: &Parts, desk: &Desk) -> Option<TenantId> {
    recognise(parts, desk).await.ok().map(|(who, _)| who.tenant)
}

/// For what is not an operation of the API: `/metrics`.
pub(super) async fn may_read(parts: &Parts, desk: &Desk) -> Result<(), Refused> {
    set_up(desk)?;
    let (who, _) = recognise(parts, desk).await?;
    permit(&who, Permission::Read)
}

fn set_up(desk: &Desk) -> Result<(), Refused> {
    if desk.setup.is_done() {
        return Ok(());
    }
    Err(Problem::new(Code::SetupNeeded, "nobody has set this server up yet").into())
}

/// Everybody who is signed in may do everything until there are roles; they are asked about here and nowhere else.
fn permit(_who: &Principal, permission: Permission) -> Result<(), Refused> {
    match permission {
        Permission::Public | Permission::Read | Permission::Operate | Permission::Develop | Permission::Admin => Ok(()),
    }
}

async fn recognise(parts: &Parts, desk: &Desk) -> Result<(Principal, SecretHash), Refused> {
    let (shown, by_cookie) = shown(&parts.headers).ok_or_else(|| not_signed_in("no token was sent"))?;
    if by_cookie && !same_site(parts) {
        return Err(Problem::new(Code::NotPermitted, "a session works only from this server's own pages").into());
    }
    let now = desk.clock.now();
    let who = desk.doorman.recognise(&shown, now).await?;
    let who = who.ok_or_else(|| not_signed_in("the token is not known, has expired or was revoked"))?;
    let hash = secret::hash(&shown);
    desk.used.note(hash, now);
    Ok((who, hash))
}

fn not_signed_in(detail: &str) -> Refused {
    Problem::new(Code::NotSignedIn, detail).into()
}

/// The token or session a request carries, and whether a browser added it by itself.
fn shown(headers: &HeaderMap) -> Option<(String, bool)> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| (token.trim().to_owned(), false));
    }
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| (value.to_owned(), true))
}

/// A page of another site must not act with a browser's session, whatever the browser thinks of SameSite.
fn same_site(parts: &Parts) -> bool {
    if matches!(parts.method, Method::GET | Method::HEAD) {
        return true;
    }
    let text = |name| parts.headers.get(name).and_then(|value: &axum::http::HeaderValue| value.to_str().ok());
    let Some(origin) = text(header::ORIGIN) else { return true };
    let origin_host = origin.split_once("://").map_or(origin, |(_, host)| host);
    text(header::HOST).is_some_and(|host| host.eq_ignore_ascii_case(origin_host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(method: Method, headers: &[(&str, &str)]) -> Parts {
        let mut request = axum::http::Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_token_is_found_in_header_or_cookie() {
        let shown_by = |headers: &[(&str, &str)]| shown(&parts(Method::GET, headers).headers);
        assert_eq!(shown_by(&[("authorization", "Bearer abc")]), Some(("abc".into(), false)));
        assert_eq!(shown_by(&[("authorization", "bearer abc")]), Some(("abc".into(), false)));
        assert_eq!(shown_by(&[("cookie", "a=b; duly_session=xyz")]), Some(("xyz".into(), true)));
        assert_eq!(shown_by(&[("authorization", "Basic abc"), ("cookie", "duly_session=xyz")]), None);
        assert_eq!(shown_by(&[]), None);
    }

    #[test]
    fn a_session_acts_only_from_our_own_pages() {
        let from = |origin: &str| same_site(&parts(Method::POST, &[("host", "duly:7070"), ("origin", origin)]));
        assert!(from("http://duly:7070"));
        assert!(!from("http://evil.example"));
        assert!(!from("null"));
    }
}
