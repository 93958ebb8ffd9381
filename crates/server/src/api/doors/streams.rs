//! Doors that stay open: events as they are committed, a log as it is written.

use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use model::InstanceId;
use model::rights::{Action, Kind};
use wire::api::{EventKind, EventView, LogEndView, LogFrameView, LogQuery, LogStream};
use wire::{Code, Problem};

use super::super::endpoint::*;
use super::super::guard::Caller;
use super::super::sse::{self, Outlet, ReaderGone};
use super::super::take::{Named, Query};
use super::super::{PassedOn, elsewhere};
use crate::events::Since;
use crate::logs::render::{Look, Renderer};
use crate::logs::{Chunk, Stream};
use crate::ops::event::{Ears, Teller};
use crate::ops::log::{LAST_WORDS, Subject, Watcher};
use crate::ops::{Desk, Refused};

/// How often an executor is asked for more of a log.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Commits taken off the ring at a time.
const COMMITS: usize = 16;

pub(crate) async fn events(
    who: Caller<Events>,
    State(desk): State<Desk>,
    passed_on: Option<Extension<PassedOn>>,
    headers: HeaderMap,
) -> Result<sse::Answer, Refused> {
    let seen = sse::last_seen(&headers)?;
    let ears = Ears {
        instances: who.sight().clone(),
        agents: who.also(Kind::Agent, Action::See),
        installation: who.also(Kind::System, Action::See).is_some(),
    };
    let until = desk.clone().until_unwelcome(who.key, who.principal().clone());
    if let (Some(peers), None) = (desk.peers.clone(), &passed_on) {
        // Each server numbers its own: whoever resumes reads anew what it shows.
        let position = desk.ring.position();
        let (desk, resumed) = (desk.clone(), seen.is_some());
        return Ok(sse::answer(until, move |outlet| async move {
            if resumed {
                outlet.send(None, EventKind::Reset.name(), &reset(&desk, position)).await?;
            }
            let others = elsewhere::relay_events(desk.clone(), peers, headers, outlet.clone());
            tokio::select! {
                told = tell(desk, ears, position, outlet) => told,
                told = others => told,
            }
        }));
    }
    let position = seen.map_or_else(|| desk.ring.position(), |seen| seen.saturating_add(1));
    Ok(sse::answer(until, |outlet| tell(desk, ears, position, outlet)))
}

async fn tell(desk: Desk, ears: Ears, mut position: u64, outlet: Outlet) -> Result<(), ReaderGone> {
    let mut changes = desk.ring.watch();
    let teller = Teller::new(desk.clone(), ears);
    loop {
        match desk.ring.since(position, COMMITS) {
            Since::Reset(next) => {
                outlet.send(Some(next.saturating_sub(1)), EventKind::Reset.name(), &reset(&desk, next)).await?;
                position = next;
            }
            Since::Commits(commits) if commits.is_empty() => {
                if changes.changed().await.is_err() {
                    return Ok(());
                }
            }
            Since::Commits(commits) => {
                for (number, commit) in commits {
                    for event in teller.tell(number, &commit, position).await {
                        outlet.send(Some(event.id), event.kind.name(), &event).await?;
                    }
                    position = position.max(number + commit.changes.len().max(1) as u64);
                }
            }
        }
    }
}

pub(in crate::api) fn reset(desk: &Desk, next: u64) -> EventView {
    EventView {
        id: next.saturating_sub(1),
        at: desk.clock.now().into(),
        kind: EventKind::Reset,
        job: None,
        job_id: None,
        instance: None,
        planned_at: None,
        state: None,
        agent: None,
        message: Some("earlier events are no longer kept; read anew what you show".into()),
    }
}

pub(crate) async fn log(
    who: Caller<Log>,
    State(desk): State<Desk>,
    Named(id): Named<i64>,
    Query(query): Query<LogQuery>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let subject = desk.log_subject(who.sight(), InstanceId(id), query.attempt).await?;
    if query.follow == Some(true) {
        let from = sse::last_seen(&headers)?.map_or(0, |seen| seen.saturating_add(1));
        let until = desk.clone().until_unwelcome(who.key, who.principal().clone());
        return Ok(sse::answer(until, |outlet| follow(desk, subject, from, outlet)).into_response());
    }
    let first = desk.log_chunk(subject, 0).await?;
    if desk.log_is_gone(subject, &first).await? {
        let detail = format!("the output of attempt {} is not kept any more", subject.attempt);
        return Err(Problem::new(Code::NoLog, detail).into());
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], Body::from_stream(text(desk, subject, first)))
        .into_response())
}

/// All that is there now, as the task wrote it.
fn text(
    desk: Desk,
    subject: Subject,
    first: Chunk,
) -> impl futures::Stream<Item = Result<Vec<u8>, std::io::Error>> + Send {
    let state = (desk, Renderer::new(Look::Plain), Some(first));
    futures::stream::try_unfold(state, move |(desk, mut renderer, chunk)| async move {
        let Some(chunk) = chunk.filter(|chunk| !chunk.frames.is_empty()) else { return Ok(None) };
        let mut piece = Vec::new();
        chunk.frames.iter().for_each(|frame| renderer.push(frame, &mut piece));
        let next = desk.log_chunk(subject, chunk.next).await;
        let next = next.map_err(|refused| std::io::Error::other(refused.0.detail.clone()))?;
        Ok(Some((piece, (desk, renderer, Some(next)))))
    })
}

/// Until the attempt has ended and all it printed was sent.
async fn follow(desk: Desk, subject: Subject, mut from: u64, outlet: Outlet) -> Result<(), ReaderGone> {
    let mut tail = desk.logs.watch(subject.attempt);
    let mut watcher = Watcher::new(desk.clone(), subject);
    let mut over = desk.log_over(subject).await.map_err(|_| ReaderGone)?;
    let mut last_words = std::pin::pin!(tokio::time::sleep(LAST_WORDS));
    let mut waited = false;
    loop {
        let chunk = desk.log_chunk(subject, from).await.map_err(|_| ReaderGone)?;
        if !chunk.frames.is_empty() {
            send_frames(&outlet, &chunk).await?;
            from = chunk.next;
            continue;
        }
        if let Some(over) = over
            && (chunk.ended || waited || !over.printed)
        {
            return outlet.send(None, "end", &LogEndView { state: over.state.into() }).await;
        }
        tokio::select! {
            more = tail.changed() => if !more { return Ok(()) },
            // Nobody tells when an executor has written more, nor when a server elsewhere has written down the end.
            () = tokio::time::sleep(LOOK_EVERY), if subject.rolled.is_some() || desk.peers.is_some() => {
                if over.is_none() {
                    over = desk.log_over(subject).await.map_err(|_| ReaderGone)?;
                    last_words.as_mut().reset(tokio::time::Instant::now() + LAST_WORDS);
                }
            }
            () = watcher.changed(), if over.is_none() => {
                over = desk.log_over(subject).await.map_err(|_| ReaderGone)?;
                last_words.as_mut().reset(tokio::time::Instant::now() + LAST_WORDS);
            }
            () = &mut last_words, if over.is_some() => waited = true,
        }
    }
}

/// A reader resumes by frame number. Where a marker stands for an unknown many, only the end of the chunk has one: a
/// resume before it repeats a little rather than losing any.
async fn send_frames(outlet: &Outlet, chunk: &Chunk) -> Result<(), ReaderGone> {
    for (left, frame) in chunk.frames.iter().enumerate().map(|(n, frame)| (chunk.frames.len() - n, frame)) {
        let stream = match frame.stream {
            Stream::Stdout => LogStream::Stdout,
            Stream::Stderr => LogStream::Stderr,
            Stream::Marker => LogStream::Marker,
        };
        let number = (left == 1 || !chunk.missing).then(|| chunk.next.saturating_sub(left as u64));
        outlet.send(number, "frame", &LogFrameView::new(frame.at.into(), stream, &frame.bytes)).await?;
    }
    Ok(())
}
