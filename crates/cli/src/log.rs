//! `duly log` and `duly events`: what is pushed, printed as it comes.

use clap::Args;
use client::LogPiece;
use wire::Code;
use wire::api::{EventView, LogEndView, LogStream};

use crate::Session;
use crate::failure::{Done, Failure, UNREACHABLE};
use crate::out::{Out, absolute, complain, emit};

#[derive(Args)]
pub struct LogArgs {
    /// An instance.
    id: i64,
    /// One of its attempts; the newest if absent.
    #[arg(long)]
    attempt: Option<i64>,
    /// Go on until it has ended.
    #[arg(short, long)]
    follow: bool,
}

#[derive(Args)]
pub struct EventsArgs {
    /// Begin after the event with this number.
    #[arg(long)]
    after: Option<u64>,
    /// Of this job only.
    #[arg(long)]
    job: Option<String>,
}

impl Session<'_> {
    /// Bytes go out as the task wrote them; followed with `--json`, each piece of output is an object of its own.
    pub(crate) async fn log(&self, args: LogArgs) -> Done {
        if args.follow {
            let end = self.tail(args.id, args.attempt).await?;
            if let Some(end) = end {
                self.out.note(&format!("instance {} is {}", args.id, end.state));
            }
            return Ok(());
        }
        let mut response = self.client.log(args.id, args.attempt).await?;
        loop {
            let chunk = response.chunk().await;
            let cut = |error| Failure::new(Code::Unreachable, format!("the log broke off: {error}"), UNREACHABLE);
            match chunk.map_err(cut)? {
                Some(bytes) => emit(&bytes),
                None => return Ok(()),
            }
        }
    }

    pub(crate) async fn tail(&self, id: i64, attempt: Option<i64>) -> Result<Option<LogEndView>, Failure> {
        let mut tail = self.client.follow_log(id, attempt);
        let mut end = None;
        while let Some(piece) = tail.next().await? {
            match piece {
                LogPiece::End(view) => end = Some(view),
                LogPiece::Frame(frame) if self.out.json => {
                    emit(serde_json::to_string(&frame).expect("a frame is plain data").as_bytes());
                    emit(b"\n");
                }
                LogPiece::Frame(frame) => match frame.stream {
                    LogStream::Stdout | LogStream::Stderr => emit(&frame.output()),
                    LogStream::Marker => complain(&format!("[{}]\n", String::from_utf8_lossy(&frame.output()))),
                },
            }
        }
        Ok(end)
    }

    pub(crate) async fn events(&self, args: EventsArgs) -> Done {
        let mut events = self.client.events(args.after);
        loop {
            let event = events.next().await?;
            if args.job.is_some() && args.job != event.job {
                continue;
            }
            let raw = serde_json::to_string(&event).expect("an event is plain data");
            self.out.answer(&raw, || told(&event, self.out));
        }
    }
}

fn told(event: &EventView, out: &Out) -> String {
    let mut words = vec![absolute(event.at), event.kind.name().replace('_', " ")];
    words.extend(event.job.clone());
    words.extend(event.instance.map(|id| format!("instance {id}")));
    words.extend(event.state.map(|state| out.paint(crate::table::state_tone(state), &state.to_string())));
    words.extend(event.agent.as_ref().map(|agent| format!("agent {agent}")));
    words.extend(event.message.clone());
    format!("{}\n", words.join("  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let event: EventView = serde_json::from_str(
            r#"{"id":5,"at":"2026-11-15T10:00:00Z","kind":"instance_ended","job":"tick","instance":7,"state":"failed","agent":"box-1","message":"exit 3"}"#,
        )
        .unwrap();
        let line = told(&event, &Out::plain("2026-11-15T10:00:00Z"));
        assert_eq!(line, "2026-11-15 10:00:00Z  instance ended  tick  instance 7  failed  agent box-1  exit 3\n");
    }
}
