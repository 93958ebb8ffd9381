//! Where executors come in: `/api/*` beside our own API, under the root and under the names admins are usually found by.
//! Whatever happens the answer is HTTP 200 with a code in its body, because some executors die of anything else.

use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::{Command, Reply, Scope};
use model::rights::{Held, Place, Rights};
use model::{Actor, AttemptId, Outcome, Report, ReportKind, Timestamp, Verdict};
use wire::peer::CALLER;
use wire::xxl::{BadBody, Call, Callback, Dialect, callbacks, code, refusal, registration, success};

use super::presence::NotIn;
use super::tokens::Shut;
use crate::api::PassedOn;
use crate::ops::{Desk, Sight};
use crate::shard::FIRST;
use crate::visitor::{Origin, Way};

/// The usual context path.
const CONTEXT: &str = "/xxl-job-admin";
const BODY_MAX: usize = 16 << 20;
/// An executor waits no longer for an answer.
const DESK_WITHIN: Duration = Duration::from_secs(2);
const CALLER_NAME: HeaderName = HeaderName::from_static(CALLER);
/// As much of a result's text as is kept.
const MESSAGE_MAX: usize = 15_000;

/// Takes what is for executors; everything else goes on.
pub(crate) async fn take(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    match call_of(request.uri().path(), desk.config.xxl_prefix.as_deref()) {
        Some(call) => {
            let body = serve(&desk, &call, request).await.unwrap_or_else(|why| refusal(&why));
            let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json;charset=UTF-8"))];
            (kind, Body::from(body)).into_response()
        }
        None => next.run(request).await,
    }
}

/// The name of the call, if the path is one of theirs. Slashes may be doubled, and one may be at the end.
fn call_of(path: &str, prefix: Option<&str>) -> Option<String> {
    let parts: Vec<&str> = pieces(path).collect();
    [Some(""), Some(CONTEXT), prefix].into_iter().flatten().find_map(|context| {
        let mut rest = parts.as_slice();
        for piece in pieces(context) {
            rest = rest.split_first().filter(|(first, _)| **first == piece)?.1;
        }
        match rest {
            ["api", call @ ..] if call.first() != Some(&"v1") => Some(call.join("/")),
            _ => None,
        }
    })
}

fn pieces(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|piece| !piece.is_empty())
}

async fn serve(desk: &Desk, call: &str, request: Request) -> Result<String, String> {
    if request.method() != Method::POST {
        return Err("invalid request, HttpMethod not support.".into());
    }
    if call.is_empty() {
        return Err("invalid request, uri-mapping empty.".into());
    }
    let executors = &desk.executors;
    let shown = token(request.headers()).map(str::to_owned);
    let passed_on = request.extensions().get::<PassedOn>().is_some();
    let from = match passed_on {
        true => request.headers().get(CALLER).and_then(|from| from.to_str().ok()?.parse().ok()),
        false => request.extensions().get::<Way>().map(|way| way.from),
    };
    let scope = executors.tokens().open(shown.as_deref());
    if scope.is_err() {
        desk.audit.executor_refused(call, wire::Code::NotSignedIn, None, from);
    }
    let scope = scope.map_err(|shut| match shut {
        Shut::Wrong => "The access token is wrong.".to_string(),
        Shut::Off => "XXL-JOB is not switched on here: start the server with --xxl-token-file, or make a token with \
                      `duly xxl-token create`."
            .into(),
    })?;
    let known = Call::parse(call);
    if let Some(call) = known {
        Sight::granted(&rights_of(&scope), call.permission(), scope.tenant).ok_or("this is not permitted.")?;
    }
    let (path, mut headers) = (request.uri().path().to_owned(), request.headers().clone());
    let dialect = if request.headers().contains_key("xxl-job-appname") { Dialect::Trigger } else { Dialect::Run };
    let body =
        to_bytes(request.into_body(), BODY_MAX).await.map_err(|error| format!("the body cannot be read: {error}"))?;
    let bad = |error: BadBody| match error {
        BadBody::NotJson(_) if body.iter().all(u8::is_ascii_whitespace) => "invalid request, requestBody empty.".into(),
        other => other.to_string(),
    };
    let at_desk = desk.peers.is_none() || desk.shards.handle(FIRST).is_some();
    let registers = matches!(known, Some(Call::Registry | Call::RegistryRemove));
    if registers && !at_desk && !passed_on {
        // Whoever keeps the register has not seen them.
        headers.remove(CALLER);
        headers.extend(from.and_then(|from| Some((CALLER_NAME, HeaderValue::try_from(from.to_string()).ok()?))));
        return desk.registered_elsewhere(&path, headers, body).await;
    }
    let not_in = |why: NotIn| {
        if let NotIn::Refused { code, .. } = &why {
            desk.audit.executor_refused(call, *code, Some(scope.tenant), from);
        }
        why.to_string()
    };
    match known {
        Some(Call::Registry) => {
            let heard = executors.heard(&scope, registration(&body).map_err(bad)?, dialect, shown);
            heard.await.map_err(not_in)?;
        }
        Some(Call::RegistryRemove) => executors.left(&scope, &registration(&body).map_err(bad)?).map_err(not_in)?,
        Some(Call::Callback) => settle(desk, scope, callbacks(&body).map_err(bad)?, from).await?,
        None => return Err(format!("invalid request, uri-mapping({call}) not found.")),
    }
    if registers && at_desk {
        desk.tell_others(&path, &headers, &body);
    }
    Ok(success())
}

/// What the bearer of a token holds: the right to serve, in its tenant.
fn rights_of(scope: &Scope) -> Rights {
    let place = Place::default();
    Rights::new(vec![Held { permissions: Call::permissions(), tenant: Some(scope.tenant), place }])
}

/// Executors tell one server of several. Whoever owns the first shard keeps the register, and tells the others, so that
/// each can call them and show them the right token.
impl Desk {
    async fn registered_elsewhere(&self, path: &str, headers: HeaderMap, body: Bytes) -> Result<String, String> {
        let peers = self.peers.as_ref().ok_or("there is no other server")?;
        let give_up = Instant::now() + DESK_WITHIN;
        loop {
            let owner = peers.owner(FIRST);
            if let Some(owner) = owner {
                let answer = peers.pass_on(&owner, Method::POST, path, headers.clone(), body.clone()).await;
                match answer {
                    Ok(answer) => {
                        let body = to_bytes(answer.into_body(), BODY_MAX).await.map_err(|error| error.to_string())?;
                        return String::from_utf8(body.to_vec()).map_err(|error| error.to_string());
                    }
                    Err(error) => tracing::debug!(%error, "a registration could not be passed on"),
                }
            }
            if Instant::now() > give_up {
                return Err("the register is changing hands; try again".into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn tell_others(&self, path: &str, headers: &HeaderMap, body: &Bytes) {
        let Some(peers) = self.peers.clone() else { return };
        for other in peers.others() {
            let (peers, path) = (peers.clone(), path.to_owned());
            let (headers, body) = (headers.clone(), body.clone());
            tokio::spawn(async move {
                if let Err(error) = peers.pass_on(&other, Method::POST, &path, headers, body).await {
                    tracing::debug!(%error, "a registration was not heard by all; the next one will be");
                }
            });
        }
    }
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).filter(|token| !token.is_empty());
    named("xxl-job-access-token").or_else(|| named("xxl-rpc-access-token"))
}

/// Answered when it is on disk, and no sooner: an executor forgets what was acknowledged.
async fn settle(desk: &Desk, scope: Scope, callbacks: Vec<Callback>, from: Option<Origin>) -> Result<(), String> {
    if callbacks.is_empty() {
        return Ok(());
    }
    let (now, tenant) = (desk.clock.now(), scope.tenant);
    desk.executors.told(&scope, &callbacks.iter().map(|callback| AttemptId(callback.log_id)).collect::<Vec<_>>());
    let reports = callbacks.into_iter().map(|callback| report(callback, now)).collect();
    let asked = desk.shards.ask(Actor::system(), Command::Callback { scope, reports }).await;
    match asked.map_err(|error| error.to_string())? {
        Reply::CalledBack { foreign, .. } if foreign > 0 => {
            tracing::warn!(foreign, "somebody called back runs that are not its own; nothing came of it");
            desk.audit.executor_refused("callback", wire::Code::NotPermitted, Some(tenant), from);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn report(callback: Callback, now: Timestamp) -> Report {
    let verdict = match callback.code {
        code::SUCCESS => Verdict::Succeeded,
        code::TIMEOUT => Verdict::TimedOut,
        _ => Verdict::Failed,
    };
    let mut outcome = Outcome::of(verdict, clipped(callback.message), now);
    outcome.exit_code = i32::try_from(callback.code).ok();
    outcome.message = outcome.message.filter(|message| !message.is_empty());
    let kind = ReportKind::Ended(Box::new(outcome));
    Report { attempt: AttemptId(callback.log_id), seq: u32::MAX, kind }
}

fn clipped(text: String) -> String {
    match text.char_indices().nth(MESSAGE_MAX) {
        Some((at, _)) => format!("{}… (cut at {MESSAGE_MAX} characters)", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executors_find_the_door_under_every_name_it_has() {
        let call = |path: &str| call_of(path, Some("/jobs/admin/"));
        for path in [
            "/api/registry",
            "//api/registry",
            "/api/registry/",
            "/xxl-job-admin/api/registry",
            "/xxl-job-admin//api//registry",
            "/jobs/admin/api/registry",
        ] {
            assert_eq!(call(path).as_deref(), Some("registry"), "{path}");
        }
        assert_eq!(call("/api/").as_deref(), Some(""));
        for path in ["/api/v1/jobs", "/", "/ui", "/jobs/api/registry", "/xxl-job-admin", "/apis/registry"] {
            assert_eq!(call(path), None, "{path}");
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let cut = clipped("长".repeat(20_000));
        assert!(cut.starts_with("长长") && cut.ends_with("(cut at 15000 characters)"));
        assert_eq!(clipped("short".into()), "short");
    }
}
