//! Server-sent events: a number, a name, a JSON body; a comment now and then so that a dead connection is found.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use wire::{Code, Fault};

use crate::ops::Refused;

const HEARTBEAT: Duration = Duration::from_secs(10);
/// Events written ahead of a slow reader; whoever makes them waits then.
const AHEAD: usize = 64;

pub(super) type Answer = Sse<axum::response::sse::KeepAliveStream<ReceiverStream<Result<Event, Infallible>>>>;

/// Where a stream's events are put. Full means: the reader is slow, wait; gone means: stop.
#[derive(Clone)]
pub(super) struct Outlet(mpsc::Sender<Result<Event, Infallible>>);

#[derive(Debug)]
pub(super) struct ReaderGone;

impl Outlet {
    /// With the number a reader may resume after; without one, it resumes after an earlier event.
    pub(super) async fn send(&self, id: Option<u64>, name: &str, body: &impl Serialize) -> Result<(), ReaderGone> {
        let data = serde_json::to_string(body).expect("a view is plain data");
        let event = Event::default().event(name).data(data);
        let event = match id {
            Some(id) => event.id(id.to_string()),
            None => event,
        };
        self.0.send(Ok(event)).await.map_err(|_| ReaderGone)
    }

    /// An event as another server made it.
    pub(super) async fn relay(&self, name: &str, data: &str) -> Result<(), ReaderGone> {
        self.0.send(Ok(Event::default().event(name).data(data))).await.map_err(|_| ReaderGone)
    }

    /// Ends when the reader has gone.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// Runs `make` beside the answer that carries what it sends, until one of them ends, or until it shall end.
pub(super) fn answer<F: Future<Output = Result<(), ReaderGone>> + Send + 'static>(
    until: impl Future<Output = ()> + Send + 'static,
    make: impl FnOnce(Outlet) -> F,
) -> Answer {
    let (events, sent) = mpsc::channel(AHEAD);
    let outlet = Outlet(events);
    let making = make(outlet.clone());
    tokio::spawn(async move {
        tokio::select! {
            _ = making => {}
            () = outlet.closed() => {}
            () = until => {}
        }
        // The answer ends only now, when all that made it is gone.
        drop(outlet);
    });
    Sse::new(ReceiverStream::new(sent)).keep_alive(KeepAlive::new().interval(HEARTBEAT).text("alive"))
}

/// The last event a reader has seen.
pub(super) fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Refused> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    let fault = || Fault::new(Code::BadQuery, "Last-Event-ID", "it is the number of an event").alone().into();
    number.map(Some).ok_or_else(fault)
}
