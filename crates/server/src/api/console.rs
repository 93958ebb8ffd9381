//! The console under `/ui`: files of the bundle that was there when this was built, one page for every address inside, and
//! plain pages that say how to get it where there is no bundle. Knows nobody: what the console shows, it asks the API for.

use std::borrow::Cow;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use rust_embed::RustEmbed;
use wire::{Code, Problem};

use super::{cookie, pages};
use crate::ops::{Desk, Refused};
use crate::visitor::Way;

#[derive(RustEmbed)]
#[folder = "../../console/dist"]
#[allow_missing = true]
struct Bundle;

/// Their names change with what is in them.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const FOR_AN_HOUR: &str = "public, max-age=3600";
/// Where the page has room for what only the server knows.
const ROOM: &str = "<meta name=\"duly\" content=\"\"";

/// What an address below `/ui` stands for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    File,
    /// The console itself knows which.
    Page,
    Nothing,
}

pub(super) async fn page(State(desk): State<Desk>, way: Extension<Way>, headers: HeaderMap) -> Response {
    shown(&desk, "", is_stranger(&headers, way.secure))
}

pub(super) async fn at(
    State(desk): State<Desk>,
    Path(path): Path<String>,
    way: Extension<Way>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    match asked(&path) {
        Asked::File => file(&path).ok_or_else(|| nothing(&path)),
        Asked::Page => Ok(shown(&desk, &path, is_stranger(&headers, way.secure))),
        Asked::Nothing => Err(nothing(&path)),
    }
}

/// Browsers ask for it by that name on every page that names none: those without a console, and bare answers of the API.
pub(super) async fn icon() -> Response {
    file("duly.svg").unwrap_or_else(|| StatusCode::NO_CONTENT.into_response())
}

/// Whether the console was there when this was built.
pub(super) fn is_there() -> bool {
    Bundle::get("index.html").is_some()
}

/// Names of jobs have dots in them, so only what lies where files lie is one.
fn asked(path: &str) -> Asked {
    let path = path.strip_suffix('/').unwrap_or(path);
    let odd = |part: &str| {
        part.is_empty() || part.starts_with("..") || part.chars().any(|c| c.is_control() || matches!(c, '\\' | '\0'))
    };
    let mut parts = path.split('/');
    if path.split('/').any(odd) {
        return Asked::Nothing;
    }
    match (parts.next(), parts.next()) {
        (Some("assets"), _) => Asked::File,
        (Some(name), None) if name.contains('.') => Asked::File,
        _ => Asked::Page,
    }
}

/// Whether this browser is surely not signed in, so that the page need not ask. One that comes from another site keeps its
/// session to itself until it asks from here.
fn is_stranger(headers: &HeaderMap, secure: bool) -> bool {
    let from = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    matches!(from, Some("none" | "same-origin")) && cookie::read(headers, cookie::SESSION, secure).is_none()
}

fn nothing(path: &str) -> Refused {
    let path: String = path.chars().filter(|c| !c.is_control()).take(200).collect();
    Problem::new(Code::NoRoute, format!("there is nothing at /ui/{path}")).into()
}

fn file(path: &str) -> Option<Response> {
    let found = Bundle::get(path)?.data;
    let kept = if path.starts_with("assets/") { FOR_EVER } else { FOR_AN_HOUR };
    let headers = [(header::CONTENT_TYPE, kind(path)?), (header::CACHE_CONTROL, kept)];
    Some((headers, found.into_owned()).into_response())
}

/// What is none of these is not served.
fn kind(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        _ => return None,
    })
}

fn shown(desk: &Desk, path: &str, stranger: bool) -> Response {
    let Some(index) = Bundle::get("index.html") else {
        return pages::without_console(desk, path.trim_end_matches('/') == "setup");
    };
    let nonce = nonce();
    let provider = matches!(desk.oidc, Some(Ok(_)));
    let known = Known { nonce: &nonce, to_set_up: !desk.setup.is_done(), provider, stranger };
    let html = filled(String::from_utf8_lossy(&index.data), &known);
    let mut response = Html(html).into_response();
    let policy = HeaderValue::try_from(policy(&nonce)).expect("base64 fits a header");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// What the page is told before anybody is signed in.
struct Known<'a> {
    nonce: &'a str,
    to_set_up: bool,
    provider: bool,
    stranger: bool,
}

fn filled(index: Cow<'_, str>, known: &Known) -> String {
    let mut words = vec![known.nonce];
    words.extend(known.to_set_up.then_some("to-set-up"));
    words.extend(known.provider.then_some("provider"));
    words.extend(known.stranger.then_some("stranger"));
    index.replacen(ROOM, &format!("<meta name=\"duly\" content=\"{}\"", words.join(" ")), 1)
}

/// As strict as for every other answer, but that the components may put their own styles into this very page.
fn policy(nonce: &str) -> String {
    format!(
        "default-src 'self'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; object-src 'none'; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'"
    )
}

fn nonce() -> String {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    base64::engine::general_purpose::STANDARD_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_page_a_file_or_nothing() {
        for page in ["setup", "jobs", "jobs/", "jobs/etl.daily", "instances/17", "jobs/每日.报表", "a/b/c"] {
            assert_eq!(asked(page), Asked::Page, "{page}");
        }
        for file in ["duly.svg", "assets/index-x.js", "assets/none", "passwd.txt"] {
            assert_eq!(asked(file), Asked::File, "{file}");
        }
        for odd in
            ["../x", "..", "a/../../etc/passwd", "..\\..\\etc", "a//b", "/etc/passwd", "a\r\nset-cookie: b", "a/..%2f"]
        {
            assert_eq!(asked(odd), Asked::Nothing, "{odd:?}");
        }
        assert_eq!(kind("assets/x.map"), None, "what has no kind is not served");
        assert!(file("assets/nobody.js").is_none() && file("passwd.txt").is_none());
    }

    #[test]
    fn a_page_carries_the_nonce_of_its_own_policy() {
        let known = Known { nonce: "abc", to_set_up: true, provider: false, stranger: false };
        let html = filled("<head><meta name=\"duly\" content=\"\" /></head>".into(), &known);
        assert_eq!(html, "<head><meta name=\"duly\" content=\"abc to-set-up\" /></head>");
        assert!(policy("abc").contains("style-src 'self' 'nonce-abc'") && !policy("abc").contains("unsafe"));
        assert!(policy("abc").contains("script-src 'self';"), "no script of a page's own, not even with the nonce");
        assert_ne!(nonce(), nonce());
    }

    #[test]
    fn whoever_comes_without_a_session_is_told_so_unless_it_may_be_hidden() {
        let told = |lines: &[(&'static str, &'static str)]| {
            let headers = lines.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
            is_stranger(&HeaderMap::from_iter(headers), false)
        };
        assert!(told(&[("sec-fetch-site", "none")]) && told(&[("sec-fetch-site", "same-origin")]));
        assert!(!told(&[("sec-fetch-site", "cross-site")]) && !told(&[]));
        assert!(!told(&[("sec-fetch-site", "none"), ("cookie", "duly_session=x")]));
    }

    #[test]
    fn the_page_has_room_for_what_the_server_knows() {
        assert!(include_str!("../../../../console/index.html").contains(ROOM));
    }
}
