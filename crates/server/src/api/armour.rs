//! What every answer tells a browser: load nothing but ours, be framed by nobody, guess no types, tell nobody where
//! somebody was. And whose request a browser sends: a page of another site must not act with somebody's session.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::ops::Desk;
use crate::visitor::{self, Way};

const POLICY: &str =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// No page of ours needs any of these.
const PERMISSIONS: &str = "accelerometer=(), camera=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), \
                           payment=(), usb=()";
/// A year, once a browser has been here over TLS.
const TLS_ONLY: &str = "max-age=31536000";

/// Where the request comes from, for everybody who asks about it later.
pub(super) async fn see_the_way(State(desk): State<Desk>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| *peer);
    // What another server passed on has no address of its own here; nothing that needs one is passed on.
    let peer = peer.unwrap_or_else(|| ([0, 0, 0, 0], 0).into());
    let mut way = visitor::way(peer, request.headers(), &desk.config.trusted_proxies);
    way.secure |= desk.config.public_url.as_deref().is_some_and(|url| url.starts_with("https://"));
    request.extensions_mut().insert(way);
    next.run(request).await
}

pub(super) async fn armour(request: Request, next: Next) -> Response {
    let secure = request.extensions().get::<Way>().is_some_and(|way| way.secure);
    let mut response = next.run(request).await;
    put_on(response.headers_mut(), secure);
    response
}

fn put_on(headers: &mut HeaderMap, secure: bool) {
    let mut put = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::X_FRAME_OPTIONS, "DENY");
    put(header::REFERRER_POLICY, "no-referrer");
    put(HeaderName::from_static("permissions-policy"), PERMISSIONS);
    put(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    put(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    put(header::CACHE_CONTROL, "no-store");
    if secure {
        put(header::STRICT_TRANSPORT_SECURITY, TLS_ONLY);
    }
}

/// Whether a request that a browser signed with a cookie comes from a page of ours. Browsers say where a request comes
/// from, and scripts cannot change what they say; one that says nothing is too old to know, and SameSite must do.
pub(super) fn is_our_own(parts: &Parts) -> bool {
    if matches!(parts.method, Method::GET | Method::HEAD) {
        return true;
    }
    let text = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text(HeaderName::from_static("sec-fetch-site"))
        && !matches!(site, "same-origin" | "none")
    {
        return false;
    }
    let Some(origin) = text(header::ORIGIN) else { return true };
    let origin_host = origin.split_once("://").map_or(origin, |(_, host)| host);
    text(header::HOST).is_some_and(|host| host.eq_ignore_ascii_case(origin_host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_acts_only_from_our_own_pages() {
        let sent = |method: Method, headers: &[(&str, &str)]| {
            let mut request = axum::http::Request::builder().method(method).uri("/").header("host", "duly:7070");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            is_our_own(&request.body(()).unwrap().into_parts().0)
        };
        let post = |headers: &[(&str, &str)]| sent(Method::POST, headers);
        assert!(post(&[("origin", "http://duly:7070"), ("sec-fetch-site", "same-origin")]));
        assert!(post(&[("origin", "http://duly:7070")]) && post(&[]));
        for origin in ["http://evil.example", "null", "http://duly:7071", "http://duly:7070.evil.example"] {
            assert!(!post(&[("origin", origin)]), "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            assert!(!post(&[("sec-fetch-site", site)]), "{site}");
            assert!(!sent(Method::DELETE, &[("origin", "http://duly:7070"), ("sec-fetch-site", site)]));
        }
        assert!(sent(Method::GET, &[("sec-fetch-site", "cross-site")]), "reading changes nothing");
    }

    #[test]
    fn every_answer_is_armoured_and_tls_is_kept_once_it_is_there() {
        let told = |secure| {
            let mut headers = HeaderMap::new();
            put_on(&mut headers, secure);
            headers
        };
        let plain = told(false);
        for name in ["content-security-policy", "x-frame-options", "referrer-policy", "permissions-policy"] {
            assert!(plain.contains_key(name), "{name}");
        }
        assert!(!POLICY.contains("unsafe") && POLICY.contains("frame-ancestors 'none'"));
        assert!(!plain.contains_key("strict-transport-security"));
        assert!(told(true).contains_key("strict-transport-security"));
    }
}
