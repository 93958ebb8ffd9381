//! The one place where it is decided who may do what. A handler gets a `Caller` of its own endpoint or is not called;
//! there is no other way to be mounted.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use model::rights::{Action, Held, Kind, Permissions, Place, Reach};
use model::{Actor, TenantId};
use store::access::SecretHash;
use wire::routes::Permission;
use wire::{Code, Problem};

use super::endpoint::Endpoint;
use super::forward::PassedOn;
use super::{armour, cookie};
use crate::audit;
use crate::doorman::Principal;
use crate::ops::{Desk, Refused, Sight};
use crate::secret;
use crate::visitor::Way;

/// Names the tenant a request is about.
pub(super) const TENANT: HeaderName = HeaderName::from_static("duly-tenant");

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

    /// Whoever asks for what only somebody may ask for.
    pub(super) fn principal(&self) -> &Principal {
        self.who.as_ref().expect("nobody gets this far but by a public endpoint, which does not ask who it is")
    }

    /// Whose entries of the audit they want to see and may; none for the whole installation's.
    pub(super) fn audited(&self, headers: &HeaderMap) -> Option<TenantId> {
        let all = Held {
            permissions: Permissions::NONE.with(Kind::Audit, Action::See),
            tenant: None,
            place: Place::default(),
        };
        let sees_all = self.who.as_ref().is_some_and(|who| who.rights.include(&all));
        Some(self.sight.tenant).filter(|_| !sees_all || headers.contains_key(TENANT))
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
        let (who, key, sight) = admit::<E>(parts, desk).await?;
        audit::begin(&desk.audit).await?;
        Ok(Caller { who: Some(who), key: Some(key), sight, endpoint: PhantomData })
    }
}

/// Who asks for `E`, and what they may do by it.
async fn admit<E: Endpoint>(parts: &Parts, desk: &Desk) -> Result<(Principal, SecretHash, Sight), Refused> {
    let (who, key) = recognise(parts, desk).await?;
    // Named before anything is refused.
    audit::known_as(&who.name, &who.by.to_string());
    let tenant = tenant(&who, parts, desk)?;
    audit::of_tenant(Some(tenant).filter(|_| !is_of_installation(E::ROUTE.permission)));
    let sight = permit(&who, E::ROUTE.permission, tenant)?;
    Ok((who, key, sight))
}

/// Whether `E` would be done for them now: what was answered before is not told again to whom it would not be.
pub(super) async fn still_may<E: Endpoint>(parts: &Parts, desk: &Desk) -> Result<(), Refused> {
    admit::<E>(parts, desk).await.map(drop)
}

/// What the caller of `E` sees, if they may ask for it.
pub(super) async fn sight_of<E: Endpoint>(parts: &Parts, desk: &Desk) -> Option<Sight> {
    let (who, _) = recognise(parts, desk).await.ok()?;
    permit(&who, E::ROUTE.permission, tenant(&who, parts, desk).ok()?).ok()
}

/// Whether what a request shows counts where it came in: a session only by the cookie of its way, and only from our own
/// pages. Whoever it is passed on to sees another host and another way, and cannot judge that.
pub(super) fn counts_here<E: Endpoint>(parts: &Parts) -> bool {
    E::ROUTE.permission == Permission::Public || is_shown_well(parts)
}

fn is_shown_well(parts: &Parts) -> bool {
    shown(parts).is_some_and(|(_, by_cookie)| !by_cookie || armour::is_our_own(parts))
}

/// For what is not an operation of the API: `/metrics`.
pub(super) async fn may_measure(parts: &Parts, desk: &Desk) -> Result<(), Refused> {
    set_up(desk)?;
    let (who, _) = recognise(parts, desk).await?;
    permit(&who, Permission::May(Kind::System, Action::See), TenantId::DEFAULT).map(|_| ())
}

pub(super) fn set_up(desk: &Desk) -> Result<(), Refused> {
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
    own_password_first(who, permission)?;
    Sight::granted(&who.rights, permission, tenant)
        .ok_or_else(|| Problem::new(Code::NotPermitted, format!("{} lacks {permission} here", who.name)).into())
}

fn is_of_installation(permission: Permission) -> bool {
    matches!(permission, Permission::May(kind, _) if kind.is_of_installation())
}

fn nothing(tenant: TenantId) -> Sight {
    Sight::new(tenant, Reach::Within(Vec::new()))
}

/// Whoever has a password that somebody else knows does nothing before they set another one.
fn own_password_first(who: &Principal, permission: Permission) -> Result<(), Refused> {
    if who.must_change && permission != Permission::SignedIn {
        let detail = "somebody else set this password; set one of your own first";
        return Err(Problem::new(Code::ChangePassword, detail).into());
    }
    Ok(())
}

async fn recognise(parts: &Parts, desk: &Desk) -> Result<(Principal, SecretHash), Refused> {
    let (shown, by_cookie) = shown(parts).ok_or_else(|| not_signed_in("no token was sent"))?;
    let passed_on = parts.extensions.get::<PassedOn>().is_some();
    if by_cookie && !passed_on && !armour::is_our_own(parts) {
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
fn shown(parts: &Parts) -> Option<(String, bool)> {
    let headers = &parts.headers;
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| (token.trim().to_owned(), false));
    }
    let read = |secure| cookie::read(headers, cookie::SESSION, secure).map(|value| (value.to_owned(), true));
    match parts.extensions.get::<Way>() {
        // The server that took the request has seen to it that one of them counts there.
        _ if parts.extensions.get::<PassedOn>().is_some() => read(true).or_else(|| read(false)),
        Some(way) => read(way.secure),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;

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
        let shown_by = |headers: &[(&str, &str)]| {
            let mut parts = parts(Method::GET, headers);
            let peer = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
            parts.extensions.insert(Way { from: peer.into(), secure: false });
            shown(&parts)
        };
        assert_eq!(shown_by(&[("authorization", "Bearer abc")]), Some(("abc".into(), false)));
        assert_eq!(shown_by(&[("authorization", "bearer abc")]), Some(("abc".into(), false)));
        assert_eq!(shown_by(&[("cookie", "a=b; duly_session=xyz")]), Some(("xyz".into(), true)));
        assert_eq!(shown_by(&[("authorization", "Basic abc"), ("cookie", "duly_session=xyz")]), None);
        assert_eq!(shown_by(&[]), None);
    }

    #[test]
    fn only_what_counts_where_it_came_in_is_passed_on() {
        let well = |secure: bool, headers: &[(&str, &str)]| {
            let mut parts = parts(Method::POST, headers);
            let peer = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
            parts.extensions.insert(Way { from: peer.into(), secure });
            is_shown_well(&parts)
        };
        let ours = [("host", "duly"), ("origin", "http://duly"), ("cookie", "duly_session=xyz")];
        assert!(well(false, &ours) && well(false, &[("authorization", "Bearer abc"), ("origin", "http://evil")]));
        assert!(!well(false, &[("host", "duly"), ("origin", "http://evil"), ("cookie", "duly_session=xyz")]));
        assert!(!well(true, &ours), "a neighbour could have set this one");
        assert!(!well(false, &[]));
    }
}
