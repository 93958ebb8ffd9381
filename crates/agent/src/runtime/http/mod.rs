//! Runs HTTP calls inside the agent. What comes back is kept as the attempt's output. Follows a redirect only where
//! the first address would have been allowed, and does not outlive the agent.

mod judge;
#[cfg(test)]
mod tests;
mod way;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use model::egress::Egress;
use model::{Outcome, Span, Timestamp, Usage, Verdict};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response, StatusCode, Url};
use serde_json::{Map, Value};
use tokio::sync::{oneshot, watch};
use wire::fill::{Piece, pieces};
use wire::task::{HttpCall, TaskKind};

use way::{NoWay, Ways};

pub(super) use way::is_here;

use super::chain::chain;
use super::clock;
use super::own_places::OwnPlaces;
use crate::runners;
use crate::session::StartOrder;
use crate::shim::{FRAME_MAX, LOG, Log, Masks, Stream};

/// So much of an answer is kept and searched.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Headers whose names speak of these are not told to another host than the one they were meant for.
const PRIVATE_WORDS: [&str; 9] =
    ["auth", "cookie", "token", "key", "secret", "password", "session", "sign", "credential"];

/// By which a call is ended from outside.
pub(crate) struct Reins {
    stop: oneshot::Sender<String>,
    leash: watch::Sender<Option<Timestamp>>,
}

pub(crate) struct Held {
    stop: oneshot::Receiver<String>,
    leash: watch::Receiver<Option<Timestamp>>,
}

pub(crate) fn reins(leash_until: Option<Timestamp>) -> (Reins, Held) {
    let (stop, stopped) = oneshot::channel();
    let (leash, leashed) = watch::channel(leash_until);
    (Reins { stop, leash }, Held { stop: stopped, leash: leashed })
}

impl Reins {
    pub(crate) fn stop(self, by: &str) {
        let _ = self.stop.send(by.to_owned());
    }

    pub(crate) fn move_leash(&self, until: Timestamp) {
        let _ = self.leash.send(Some(until));
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stop.is_closed()
    }
}

pub(crate) struct Caller {
    ways: Ways,
}

/// Why a call ended without an answer that could be judged.
struct Failed(Verdict, String);

struct Answer {
    status: StatusCode,
    body: Vec<u8>,
    truncated: bool,
}

impl Caller {
    pub(crate) fn new(policy: Egress, own: OwnPlaces) -> Caller {
        Caller { ways: Ways::new(policy, own) }
    }

    pub(crate) async fn run(&self, start: &StartOrder, dir: &Path, held: Held) -> Outcome {
        let started_at = clock::wall();
        let mut log = match open_log(start, dir) {
            Ok(log) => Pad { log, masks: runners::masks(start) },
            Err(error) => {
                return Outcome::of(
                    Verdict::Failed,
                    format!("cannot keep the output of the call: {error}"),
                    started_at,
                );
            }
        };
        let mut outcome = match self.limited(start, &mut log, held).await {
            Ok(outcome) => outcome,
            Err(Failed(verdict, why)) => Outcome::of(verdict, why, clock::wall()),
        };
        outcome.message = outcome.message.map(|message| log.cleaned(message));
        let Pad { mut log, .. } = log;
        log.finish(clock::wall().0);
        outcome.started_at = Some(started_at);
        outcome.ended_at = clock::wall();
        outcome.usage = Usage { log_bytes: i64::try_from(log.kept).ok(), ..Usage::default() };
        outcome
    }

    /// Until it is answered, its time is up, it is stopped, or its leash runs out.
    async fn limited(&self, start: &StartOrder, log: &mut Pad, held: Held) -> Result<Outcome, Failed> {
        let timeout = async {
            match start.order.timeout_us {
                Some(us) => tokio::time::sleep(Span(us).into()).await,
                None => std::future::pending().await,
            }
        };
        let Held { stop, leash } = held;
        tokio::select! {
            judged = self.call(start, log) => judged,
            () = timeout => Err(Failed(Verdict::TimedOut, "ended because its time was up".into())),
            Ok(by) = stop => Err(Failed(Verdict::Stopped, format!("stopped by {by}"))),
            () = leash_over(leash) => {
                Err(Failed(Verdict::Lost, "ended because no server answered the agent for as long as the job allows".into()))
            }
        }
    }

    async fn call(&self, start: &StartOrder, log: &mut Pad) -> Result<Outcome, Failed> {
        let TaskKind::Http(written) = &start.task.body.kind else {
            return Err(Failed(Verdict::Refused, "the task is no HTTP call".into()));
        };
        let filled = runners::Filled::of(start).map_err(|error| Failed(Verdict::Refused, chain(&error)))?;
        let call = filled.call.as_deref().expect("an HTTP task is a call");
        let expected = judge::Statuses::parse(&call.expect_status).map_err(refused)?;
        let request = Prepared::new(call, &filled.params, start)?.confiding(written);
        // A server that does not say leaves it to us.
        let private = start.order.private_networks.unwrap_or(true);
        let answer = self.follow(request, call.redirects, private, log).await?;
        log.keep(&answer.body);
        if answer.truncated {
            log.note("the rest of the answer is not kept");
        }
        Ok(judge::judge(&answer, &expected, call.expect_body.as_deref(), clock::wall()))
    }

    async fn follow(
        &self,
        mut request: Prepared,
        redirects: u8,
        private: bool,
        log: &mut Pad,
    ) -> Result<Answer, Failed> {
        let mut left = redirects;
        loop {
            let response = self.send(&request, private).await?;
            let status = response.status();
            log.note(&format!("{} {} answered {status}", request.method, request.url));
            let Some(location) = location(&response, &request.url).filter(|_| redirects > 0) else {
                return read(response).await;
            };
            if left == 0 {
                return Err(Failed(Verdict::Failed, format!("redirected more than {redirects} times")));
            }
            left -= 1;
            request.redirect(status, location)?;
        }
    }

    async fn send(&self, request: &Prepared, private: bool) -> Result<Response, Failed> {
        let client = self.ways.to(&request.url, private).await.map_err(|no_way| {
            // What is not allowed stays so; a name may be found the next time.
            let verdict = match no_way {
                NoWay::Scheme(_) | NoWay::NoHost | NoWay::Forbidden { .. } => Verdict::Refused,
                NoWay::Unfound { .. } | NoWay::Trust(_) => Verdict::Failed,
            };
            Failed(verdict, no_way.to_string())
        })?;
        let mut builder = client.request(request.method.clone(), request.url.clone());
        builder = builder.headers(request.headers.clone());
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        builder.send().await.map_err(|error| Failed(Verdict::Failed, format!("cannot call: {}", chain(&error))))
    }
}

struct Prepared {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<String>,
    /// Headers that hold secrets; as little to be told to another host as those that always do.
    secret_headers: Vec<HeaderName>,
    secret_body: bool,
}

impl Prepared {
    fn new(call: &HttpCall, params: &Map<String, Value>, start: &StartOrder) -> Result<Prepared, Failed> {
        let method = Method::from_bytes(call.method.to_ascii_uppercase().as_bytes());
        let method = method.map_err(|_| refused(format!("{:?} is no HTTP method", call.method)))?;
        let url: Url = call.url.parse().map_err(|error| refused(format!("cannot call {:?}: {error}", call.url)))?;
        let mut headers = headers(&call.headers)?;
        let instance = HeaderValue::from(start.order.instance);
        headers.entry("idempotency-key").or_insert(instance);
        headers.insert("duly-attempt-id", HeaderValue::from(start.order.attempt));
        // Parameters that have no other way to the called become the body.
        let body = call.body.clone().or_else(|| {
            let carries = method != Method::GET && method != Method::HEAD && !params.is_empty();
            carries.then(|| Value::Object(params.clone()).to_string())
        });
        if call.body.is_none() && body.is_some() {
            headers.entry("content-type").or_insert(HeaderValue::from_static("application/json"));
        }
        Ok(Prepared { method, url, headers, body, secret_headers: Vec::new(), secret_body: false })
    }

    /// Remembers where the call, as it was written, names secrets.
    fn confiding(mut self, written: &HttpCall) -> Prepared {
        let names = |text: &str| matches!(pieces(text), Ok(pieces) if pieces.iter().any(|piece| matches!(piece, Piece::Secret(_))));
        let headers = written.headers.iter().filter(|(_, text)| names(text));
        self.secret_headers = headers.filter_map(|(name, _)| HeaderName::from_bytes(name.as_bytes()).ok()).collect();
        for name in &self.secret_headers {
            self.headers.get_mut(name).into_iter().for_each(|value| value.set_sensitive(true));
        }
        self.secret_body = written.body.as_deref().is_some_and(names);
        self
    }

    fn redirect(&mut self, status: StatusCode, to: Url) -> Result<(), Failed> {
        let becomes_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = None;
            self.headers.remove("content-type");
        }
        if to.origin() != self.url.origin() {
            let ours = |name: &str| name == "idempotency-key";
            let private = |name: &str| PRIVATE_WORDS.iter().any(|word| name.contains(word)) && !ours(name);
            let names: Vec<HeaderName> = self.headers.keys().filter(|name| private(name.as_str())).cloned().collect();
            names.iter().for_each(|name| drop(self.headers.remove(name)));
            self.secret_headers.drain(..).for_each(|name| drop(self.headers.remove(name)));
            if self.secret_body && self.body.is_some() {
                return Err(refused("it was redirected to another host, which must not be told its secrets"));
            }
        }
        self.url = to;
        Ok(())
    }
}

fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, Failed> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let pair = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
        let (name, value) = pair.ok_or_else(|| refused(format!("{name:?} is no header that can be sent")))?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn location(response: &Response, from: &Url) -> Option<Url> {
    let redirects = [301, 302, 303, 307, 308].contains(&response.status().as_u16());
    let to = response.headers().get(LOCATION).filter(|_| redirects)?;
    from.join(to.to_str().ok()?).ok()
}

async fn read(mut response: Response) -> Result<Answer, Failed> {
    let status = response.status();
    let mut body = Vec::new();
    let broken = |error| Failed(Verdict::Failed, format!("cannot read the answer: {}", chain(&error)));
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        let room = BODY_BYTES_MAX - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok(Answer { status, body, truncated: true });
        }
    }
    Ok(Answer { status, body, truncated: false })
}

async fn leash_over(mut leash: watch::Receiver<Option<Timestamp>>) {
    loop {
        let until = *leash.borrow_and_update();
        let Some(until) = until else { return std::future::pending().await };
        tokio::select! {
            () = tokio::time::sleep(clock::until(until)) => return,
            moved = leash.changed() => {
                if moved.is_err() {
                    return tokio::time::sleep(clock::until(until)).await;
                }
            }
        }
    }
}

fn open_log(start: &StartOrder, dir: &Path) -> std::io::Result<Log> {
    std::fs::create_dir(dir)?;
    let file = std::fs::File::create_new(dir.join(LOG))?;
    let caps = start.task.body.log;
    Ok(Log::new(file, caps.max_bytes, caps.max_lines))
}

/// The log of a call, without what it was told in confidence.
struct Pad {
    log: Log,
    masks: Option<Arc<Masks>>,
}

impl Pad {
    fn keep(&mut self, body: &[u8]) {
        self.append(Stream::Stdout, body);
    }

    fn note(&mut self, text: &str) {
        self.append(Stream::Stderr, format!("{text}\n").as_bytes());
    }

    fn append(&mut self, stream: Stream, bytes: &[u8]) {
        let bytes = self.masks.as_ref().map_or(Cow::Borrowed(bytes), |masks| Cow::Owned(masks.hide(bytes)));
        for chunk in bytes.chunks(FRAME_MAX) {
            self.log.append(stream, clock::wall().0, chunk);
        }
    }

    fn cleaned(&self, text: String) -> String {
        match &self.masks {
            Some(masks) => String::from_utf8_lossy(&masks.hide(text.as_bytes())).into_owned(),
            None => text,
        }
    }
}

fn refused(why: impl Into<String>) -> Failed {
    Failed(Verdict::Refused, why.into())
}
