//! What is pushed: events and log frames, as server-sent events.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::StateWord;
use crate::time::Time;

/// One thing that happened and is committed. Its number is the event's `id`: send the last one seen as
/// `Last-Event-ID` to go on from there. A `reset` says that events are missing: read anew what you show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    pub id: u64,
    pub at: Time,
    pub kind: EventKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// In words, where there is more to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    InstanceCreated,
    InstanceChanged,
    InstanceEnded,
    TimesMissed,
    JobChanged,
    JobRemoved,
    JobHeld,
    AgentOnline,
    AgentSilent,
    AgentChanged,
    NotStartedInTime,
    NotFinishedInTime,
    ClockJumped,
    /// Events before this one are gone from the ring.
    Reset,
}

impl EventKind {
    /// The name of the server-sent event.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::InstanceCreated => "instance_created",
            EventKind::InstanceChanged => "instance_changed",
            EventKind::InstanceEnded => "instance_ended",
            EventKind::TimesMissed => "times_missed",
            EventKind::JobChanged => "job_changed",
            EventKind::JobRemoved => "job_removed",
            EventKind::JobHeld => "job_held",
            EventKind::AgentOnline => "agent_online",
            EventKind::AgentSilent => "agent_silent",
            EventKind::AgentChanged => "agent_changed",
            EventKind::NotStartedInTime => "not_started_in_time",
            EventKind::NotFinishedInTime => "not_finished_in_time",
            EventKind::ClockJumped => "clock_jumped",
            EventKind::Reset => "reset",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// An attempt of the instance; the newest if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i64>,
    /// Answer with server-sent events (`frame`, then one `end`) until the attempt has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<bool>,
}

/// A piece of output in its order: the `frame` event of a followed log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogFrameView {
    pub at: Time,
    pub stream: LogStream,
    /// The output, if it is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The output in base64, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogStream {
    Stdout,
    Stderr,
    /// A line of ours: output was dropped.
    Marker,
}

/// The `end` event of a followed log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogEndView {
    pub state: StateWord,
}

impl LogFrameView {
    pub fn new(at: Time, stream: LogStream, output: &[u8]) -> LogFrameView {
        match std::str::from_utf8(output) {
            Ok(text) => LogFrameView { at, stream, text: Some(text.into()), bytes: None },
            Err(_) => LogFrameView { at, stream, text: None, bytes: Some(STANDARD.encode(output)) },
        }
    }

    pub fn output(&self) -> Vec<u8> {
        match (&self.text, &self.bytes) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(bytes)) => STANDARD.decode(bytes).unwrap_or_default(),
            (None, None) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_survives_whatever_its_encoding() {
        for output in [&b"plain\n"[..], "夜间\x1b[31m".as_bytes(), b"\xff\xfe\x00bin"] {
            let frame = LogFrameView::new(Time(0), LogStream::Stdout, output);
            let json = serde_json::to_string(&frame).unwrap();
            assert_eq!(serde_json::from_str::<LogFrameView>(&json).unwrap().output(), output);
        }
    }

    #[test]
    fn an_event_is_named_as_it_is_written() {
        let json = serde_json::to_value(EventKind::NotStartedInTime).unwrap();
        assert_eq!(json, EventKind::NotStartedInTime.name());
    }
}
