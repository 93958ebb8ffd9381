//! What lies at other servers: output that agents sent to whoever owned their shard then, and events of what others
//! decide.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{FromRequestParts, Query, RawPathParams, Request};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use model::{InstanceId, ServerId};
use store::leases::ServerRow;
use wire::api::{EventKind, LogQuery};
use wire::routes;

use super::doors::streams::reset;
use super::endpoint::Log;
use super::forward::{PassedOn, not_here};
use super::guard;
use super::sse::{Outlet, ReaderGone};
use crate::ops::Desk;
use crate::peers::Peers;

/// Between two looks at who is there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Whoever has the output answers: this server, the owner of an instance that runs, then all others.
pub(super) async fn log(desk: Desk, peers: &Peers, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let passed_on = parts.extensions.get::<PassedOn>().is_some();
    let Some(found) = look(&mut parts, &desk).await else {
        return next.run(Request::from_parts(parts, body)).await;
    };
    let is_owner = desk.shards.handle(found.shard).is_some();
    if found.is_here || (found.is_open && is_owner) {
        return next.run(Request::from_parts(parts, body)).await;
    }
    if passed_on {
        return not_here();
    }
    let owner = peers.owner(found.shard);
    let others = peers.others().into_iter().filter(|other| Some(other.id) != owner.as_ref().map(|owner| owner.id));
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    for server in owner.clone().into_iter().chain(others) {
        let answer = peers.listen(&server, &path, parts.headers.clone()).await;
        if let Ok(answer) = answer
            && answer.status() != StatusCode::MISDIRECTED_REQUEST
        {
            let mut response = Response::builder().status(answer.status());
            if let Some(kind) = answer.headers().get(axum::http::header::CONTENT_TYPE) {
                response = response.header(axum::http::header::CONTENT_TYPE, kind);
            }
            let body = axum::body::Body::from_stream(answer.bytes_stream());
            return response.body(body).expect("an answer is an answer");
        }
    }
    next.run(Request::from_parts(parts, body)).await
}

struct Found {
    shard: model::ShardId,
    is_open: bool,
    /// Some of it, or all of nothing.
    is_here: bool,
}

/// None: something is wrong with the request, which the handler says.
async fn look(parts: &mut axum::http::request::Parts, desk: &Desk) -> Option<Found> {
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let id: InstanceId = params.iter().next()?.1.parse().ok().map(InstanceId)?;
    let Query(query) = Query::<LogQuery>::try_from_uri(&parts.uri).ok()?;
    let sight = guard::sight_of::<Log>(parts, desk).await?;
    let subject = desk.log_subject(&sight, id, query.attempt).await.ok()?;
    let instance = desk.instance(&sight, id).await.ok()?;
    let chunk = desk.log_chunk(subject, 0).await.ok()?;
    // Executors keep their own, and whoever is asked asks them.
    let is_here = subject.rolled.is_some() || !chunk.frames.is_empty() || chunk.ended;
    Some(Found { shard: desk.shards.of_job(instance.job), is_open: instance.state.is_open(), is_here })
}

/// Tells what all other servers tell, for as long as the reader stays. Whoever could not be heard for a while may have
/// told something meanwhile: the reader reads anew.
pub(super) async fn relay_events(
    desk: Desk,
    peers: Peers,
    headers: HeaderMap,
    outlet: Outlet,
) -> Result<(), ReaderGone> {
    let mut heard: BTreeMap<ServerId, bool> = BTreeMap::new();
    let mut streams = FuturesUnordered::new();
    loop {
        for server in peers.others() {
            let again = heard.contains_key(&server.id);
            if heard.insert(server.id, true) != Some(true) {
                if again {
                    outlet.send(None, EventKind::Reset.name(), &reset(&desk, desk.ring.position())).await?;
                }
                let (peers, headers, outlet) = (peers.clone(), headers.clone(), outlet.clone());
                streams.push(async move {
                    let told = relay(&peers, &server, headers, &outlet).await;
                    (server.id, told)
                });
            }
        }
        tokio::select! {
            Some((server, told)) = streams.next() => {
                told?;
                heard.insert(server, false);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

async fn relay(peers: &Peers, server: &ServerRow, mut headers: HeaderMap, outlet: &Outlet) -> Result<(), ReaderGone> {
    headers.remove("last-event-id");
    let path = routes::EVENTS.at(&[]);
    let Ok(answer) = peers.listen(server, &path, headers).await else { return Ok(()) };
    let mut bytes = answer.bytes_stream();
    let mut lines = Lines::default();
    while let Some(Ok(piece)) = bytes.next().await {
        for (name, data) in lines.push(&piece) {
            outlet.relay(&name, &data).await?;
        }
    }
    Ok(())
}

/// Server-sent events out of the pieces they come in.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
    name: String,
    data: String,
}

impl Lines {
    fn push(&mut self, piece: &[u8]) -> Vec<(String, String)> {
        let mut events = Vec::new();
        self.rest.extend_from_slice(piece);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() && !self.data.is_empty() {
                events.push((std::mem::take(&mut self.name), std::mem::take(&mut self.data)));
            } else if let Some(name) = line.strip_prefix("event:") {
                self.name = name.trim().to_owned();
            } else if let Some(data) = line.strip_prefix("data:") {
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            }
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_however_they_are_cut() {
        let text = b"event: ended\nid: 7\ndata: {\"a\":1}\n\n: alive\n\nevent: made\ndata: {}\n\n";
        for cut in 0..text.len() {
            let mut lines = Lines::default();
            let mut events = lines.push(&text[..cut]);
            events.extend(lines.push(&text[cut..]));
            assert_eq!(events, [("ended".into(), "{\"a\":1}".into()), ("made".into(), "{}".into())], "cut at {cut}");
        }
    }
}
