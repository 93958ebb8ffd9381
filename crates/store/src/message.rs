//! How a message between shards is kept: small JSON that says its version, so that servers of two versions can talk
//! while one replaces the other. What is unknown is left for whoever knows it.

use engine::{Ends, Message, TicketId};
use model::{InstanceId, JobId, ResourceKind, State};
use serde_json::{Value, json};

use crate::code::Code;

const VERSION: i64 = 1;

pub(crate) fn encode(message: &Message) -> String {
    let (what, said) = match message {
        Message::Follow { job, follower, ends } => {
            ("follow", json!({ "job": job.0, "follower": follower.0, "ends": ends.0 }))
        }
        Message::Unfollow { job, follower } => ("unfollow", json!({ "job": job.0, "follower": follower.0 })),
        Message::Ended { job, instance, state, of } => {
            ("ended", json!({ "job": job.0, "instance": instance.0, "state": state.code(), "of": of.code() }))
        }
        Message::Granted { instance, ticket, kind, name } => {
            ("granted", json!({ "instance": instance.0, "ticket": ticket.0, "kind": kind.code(), "name": name }))
        }
        Message::Nothing => ("nothing", json!({})),
    };
    json!({ "v": VERSION, what: said }).to_string()
}

pub(crate) fn decode(text: &str) -> Option<Message> {
    let whole: Value = serde_json::from_str(text).ok()?;
    if whole["v"].as_i64()? != VERSION {
        return None;
    }
    let (what, said) = whole.as_object()?.iter().find(|(key, _)| *key != "v")?;
    let number = |key: &str| said[key].as_i64();
    let job = || number("job").map(JobId);
    Some(match what.as_str() {
        "follow" => {
            let ends = Ends(u8::try_from(number("ends")?).ok()?);
            Message::Follow { job: job()?, follower: JobId(number("follower")?), ends }
        }
        "unfollow" => Message::Unfollow { job: job()?, follower: JobId(number("follower")?) },
        "ended" => Message::Ended {
            job: job()?,
            instance: InstanceId(number("instance")?),
            state: State::decode(number("state")?)?,
            of: Code::decode(number("of")?)?,
        },
        "granted" => Message::Granted {
            instance: InstanceId(number("instance")?),
            ticket: TicketId(number("ticket")?),
            kind: ResourceKind::decode(number("kind")?)?,
            name: said["name"].as_str()?.to_string(),
        },
        "nothing" => Message::Nothing,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use engine::EndOf;

    use super::*;

    #[test]
    fn what_is_told_is_what_is_heard() {
        let (job, follower, instance) = (JobId(1 << 60), JobId(2), InstanceId(3));
        let granted = |name: &str| {
            let (ticket, kind) = (TicketId(4), ResourceKind::Counted);
            Message::Granted { instance, ticket, kind, name: name.into() }
        };
        for message in [
            Message::Follow { job, follower, ends: Ends(0b10_0001) },
            Message::Unfollow { job, follower },
            Message::Ended { job, instance, state: State::Dead, of: EndOf::Both },
            granted("v"),
            granted("a \"quoted\" name"),
            Message::Nothing,
        ] {
            assert_eq!(decode(&encode(&message)), Some(message));
        }
    }

    #[test]
    fn words_of_a_later_version_are_left_alone() {
        for text in [r#"{"v":2,"nothing":{}}"#, r#"{"v":1,"sing":{}}"#, r#"{"v":1,"ended":{"job":1}}"#, "", "7"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
