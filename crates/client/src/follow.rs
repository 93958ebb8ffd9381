//! Streams that go on: the log of a running attempt, and events. A broken connection is taken up again from the last
//! thing seen, so the reader notices nothing but a pause.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::Response;
use serde::de::DeserializeOwned;
use wire::api::{EventView, LogEndView, LogFrameView, LogQuery};
use wire::routes::{self, Route};

use crate::sse::{Event, Parser};
use crate::{Client, Error};

/// Reconnects in a row before we say that the server is gone.
const RECONNECTS_MAX: u32 = 10;
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);

/// What a followed log brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPiece {
    Frame(LogFrameView),
    End(LogEndView),
}

pub struct LogTail {
    stream: Stream,
    ended: bool,
}

pub struct Events {
    stream: Stream,
}

impl Client {
    /// The output of an instance's attempt as it comes, from its beginning.
    pub fn follow_log(&self, instance: i64, attempt: Option<i64>) -> LogTail {
        let query = LogQuery { attempt, follow: Some(true) };
        let query = serde_json::to_value(query).expect("a query is plain data");
        LogTail { stream: Stream::new(self, routes::LOG, vec![instance.to_string()], query, None), ended: false }
    }

    /// Events from now on, or after the one with this number.
    pub fn events(&self, after: Option<u64>) -> Events {
        let last = after.map(|id| id.to_string());
        Events { stream: Stream::new(self, routes::EVENTS, Vec::new(), serde_json::json!({}), last) }
    }
}

impl LogTail {
    /// None once the attempt has ended and all of its output was seen.
    pub async fn next(&mut self) -> Result<Option<LogPiece>, Error> {
        while !self.ended {
            let event = self.stream.next().await?;
            match event.name.as_str() {
                "frame" => return Ok(Some(LogPiece::Frame(self.stream.read(&event)?))),
                "end" => {
                    self.ended = true;
                    return Ok(Some(LogPiece::End(self.stream.read(&event)?)));
                }
                // A newer server may send more kinds than we know.
                _ => {}
            }
        }
        Ok(None)
    }
}

impl Events {
    pub async fn next(&mut self) -> Result<EventView, Error> {
        let event = self.stream.next().await?;
        self.stream.read(&event)
    }
}

struct Stream {
    client: Client,
    route: Route,
    values: Vec<String>,
    query: serde_json::Value,
    last_id: Option<String>,
    connection: Option<(Response, Parser)>,
    waiting: VecDeque<Event>,
    failures: u32,
}

impl Stream {
    fn new(
        client: &Client,
        route: Route,
        values: Vec<String>,
        query: serde_json::Value,
        last_id: Option<String>,
    ) -> Self {
        let client = client.clone();
        Stream { client, route, values, query, last_id, connection: None, waiting: VecDeque::new(), failures: 0 }
    }

    async fn next(&mut self) -> Result<Event, Error> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.failures = 0;
                self.last_id = event.id.clone().or(self.last_id.take());
                return Ok(event);
            }
            match &mut self.connection {
                None => self.connect().await?,
                Some((response, parser)) => {
                    let mut events = Vec::new();
                    // The end of the body, a broken connection and nonsense all mean: begin again where we were.
                    let alive = match response.chunk().await {
                        Ok(Some(bytes)) => parser.feed(&bytes, &mut events).is_ok(),
                        Ok(None) | Err(_) => false,
                    };
                    self.waiting.extend(events);
                    if !alive {
                        self.connection = None;
                        self.failures += 1;
                    }
                }
            }
        }
    }

    async fn connect(&mut self) -> Result<(), Error> {
        if self.failures > RECONNECTS_MAX {
            let what = "the stream ended again and again without saying anything".into();
            return Err(Error::Strange { url: self.client.base.clone(), what });
        }
        if self.failures > 0 {
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
        let values: Vec<&str> = self.values.iter().map(String::as_str).collect();
        let mut call = self.client.call(self.route, &values).query(&self.query).unbounded();
        call = call.header("accept", "text/event-stream".into());
        if let Some(id) = &self.last_id {
            call = call.header("last-event-id", id.clone());
        }
        let response = match call.send().await {
            Ok(response) => response,
            // Once we were connected, a server that restarts is worth waiting for.
            Err(Error::Unreachable { .. }) if self.failures > 0 => {
                self.failures += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.connection = Some((response, Parser::default()));
        Ok(())
    }

    fn read<T: DeserializeOwned>(&self, event: &Event) -> Result<T, Error> {
        serde_json::from_str(&event.data)
            .map_err(|error| Error::Strange { url: self.client.base.clone(), what: error.to_string() })
    }
}
