//! The one place where it is decided who may do what. A handler gets a `Caller` of its own endpoint or is not called;
//! there is no other way to be mounted.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use model::rights::{Action, Kind, Reach};
use model::{Actor, TenantId};
use store::access::SecretHash;
use wire::routes::Permission;
use wire::{Code, Problem};

use super::endpoint::Endpoint;
use crate::doorman::Principal;
use crate::ops::{Desk, Refused, Sight};
use crate::secret;

pub(super) const COOKIE: &str = "duly_session";
/// Names the tenant a request is about.
pub(super) const TENANT: &str = "duly-tenant";

/// Somebody who may ask for `E`.
pub(super) struct Caller<E> {
    who: Option<Principal>,
    /// What they showed at the door, hashed.
    pub(super) key: Option<SecretHash>,
    sight: Sight,
    endpoint: PhantomData<fn() -> E>,
}

impl<E> Caller<E> {
    pub(super) fn actor(&self) -> Actor {
        self.who.as_ref().map_or_else(|| Actor("anonymous".into()), Principal::actor)
    }

    /// What the permission of this endpoint reaches.
    pub(super) fn sight(&self) -> &Sight {
        &self.sight
    }

    /// For what lies in no folder: the permission is for the whole tenant or it is none.
    pub(super) fn tenant(&self) -> TenantId {
        self.sight.tenant
    }

    /// What another permission reaches, where an operation does more than its route says.
    pub(super) fn also(&self, kind: Kind, action: Action) -> Option<Sight> {
        Sight::granted(&self.who.as_ref()?.rights, Permission::May(kind, action), self.sight.tenant)
    }
}

impl<E: Endpoint> FromRequestParts<Desk> for Caller<E> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Refused> {
        if !E::before_setup() {
            set_up(desk)?;
        }
        if E::ROUTE.permission == Permission::Public {
            return Ok(Caller { who: None, key: None, sight: nothing(TenantId::DEFAULT), endpoint: PhantomData });
        }
        let (who, key) = recognise(parts, desk).await?;
        let sight = permit(&who, E::ROUTE.permission, tenant(&who, parts, desk)?)?;
        Ok(Caller { who: Some(who), key: Some(key), sight, endpoint: PhantomData })
    }
}

/// What the caller of `E` sees, if they may ask for it.
pub(super) async fn sight_of<E: Endpoint>(parts: &Parts, desk: &Desk) -> Option<Sight> {
    let (who, _) = recognise(parts, desk).await.ok()?;
    permit(&who, E::ROUTE.permission, tenant(&who, parts, desk).ok()?).ok()
}

/// For what is not an operation of the API: `/metrics`.
pub(super) async fn may_measure(parts: &Parts, desk: &Desk) -> Result<(), Refused> {
    set_up(desk)?;
    let (who, _) = recognise(parts, desk).await?;
    permit(&who, Permission::May(Kind::System, Action::See), TenantId::DEFAULT).map(|_| ())
}

fn set_up(desk: &Desk) -> Result<(), Refused> {
    if desk.setup.is_done() {
        return Ok(());
    }
    Err(Problem::new(Code::SetupNeeded, "nobody has set this server up yet").into())
}

/// The tenant a request names, or the caller's own. One that is not there and one that is not theirs are the same to
/// them.
fn tenant(who: &Principal, parts: &Parts, desk: &Desk) -> Result<TenantId, Refused> {
    let Some(named) = parts.headers.get(TENANT) else { return Ok(who.tenant) };
    let found = named.to_str().ok().and_then(|name| desk.tenants.by_name(name));
    found.filter(|tenant| who.rights.enter(*tenant)).ok_or_else(|| {
        let detail = format!("{} has no rights in a tenant of that name, or there is none", who.name);
        Problem::new(Code::NotPermitted, detail).into()
    })
}

/// How far a permission goes, for this person in this tenant.
fn permit(who: &Principal, permission: Permission, tenant: TenantId) -> Result<Sight, Refused> {
    Sight::granted(&who.rights, permission, tenant)
        .ok_or_else(|| Problem::new(Code::NotPermitted, format!("{} lacks {permission} here", who.name)).into())
}

fn nothing(tenant: TenantId) -> Sight {
    Sight::new(tenant, Reach::Within(Vec::new()))
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
