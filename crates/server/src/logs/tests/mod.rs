//! The store as an agent and a reader see it, over real files.

mod damage;
mod follow;
mod keep;
mod many;
mod retain;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use futures::stream;
use model::{AgentId, AttemptId};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tonic::Status;
use wire::link::{self, LogDown, LogFrame, LogUp};

use super::{Chunk, Frame, Leave, LogOptions, LogStore, Stream, SyncPolicy};

const AGENT: AgentId = AgentId(7);
/// Full after every write.
const TINY: u64 = 1;
const USUAL: u64 = 64 << 20;

struct World {
    dir: TempDir,
    segment_bytes: u64,
    store: Option<Arc<LogStore>>,
}

impl World {
    fn new(segment_bytes: u64) -> World {
        let mut world = World { dir: tempfile::tempdir().unwrap(), segment_bytes, store: None };
        world.start();
        world
    }

    fn start(&mut self) {
        let options =
            LogOptions { segment_bytes: self.segment_bytes, sync: SyncPolicy::Never, ..LogOptions::default() };
        self.store = Some(LogStore::open(self.dir.path(), options).unwrap());
    }

    /// Everything is on its place in the files once this returns.
    fn stop(&mut self) {
        let store = self.store.take().expect("started");
        assert_eq!(Arc::strong_count(&store), 1, "somebody still uses the store");
    }

    fn restart(&mut self) {
        self.stop();
        self.start();
    }

    fn store(&self) -> &Arc<LogStore> {
        self.store.as_ref().expect("started")
    }

    /// Sends on one stream; answers with the last acknowledgement of each attempt, `attempt:kept`.
    async fn send(&self, messages: impl IntoIterator<Item = LogUp>) -> String {
        let mut acks: Vec<LogDown> = Vec::new();
        for ack in send(self.store(), messages).await {
            let ack = ack.expect("kept");
            acks.retain(|known| known.attempt != ack.attempt);
            acks.push(ack);
        }
        acks.iter().map(|ack| format!("{}:{}", ack.attempt, ack.kept)).collect::<Vec<_>>().join(" ")
    }

    fn chunk(&self, attempt: i64, from: u64, bytes: usize) -> Chunk {
        self.store().read(AttemptId(attempt), from, bytes).unwrap()
    }

    fn log(&self, attempt: i64) -> String {
        self.log_from(attempt, 0)
    }

    fn log_from(&self, attempt: i64, from: u64) -> String {
        let chunk = self.chunk(attempt, from, usize::MAX);
        assert_eq!(chunk.missing, chunk.frames.iter().any(|frame| frame.stream == Stream::Marker));
        show(&chunk.frames) + if chunk.ended { " end" } else { "" }
    }

    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
        files.sort();
        files
    }
}

async fn send(store: &Arc<LogStore>, messages: impl IntoIterator<Item = LogUp>) -> Vec<Result<LogDown, Status>> {
    let (kept, mut acks) = mpsc::channel(1);
    let messages: Vec<_> = messages.into_iter().map(Ok).collect();
    let receiving = Arc::clone(store).receive(AGENT, stream::iter(messages), kept);
    let mut seen = Vec::new();
    let watching = async {
        while let Some(ack) = acks.recv().await {
            seen.push(ack);
        }
    };
    tokio::join!(receiving, watching);
    seen
}

/// `up(4, 0, "out:a err:b")`: frames 0 and 1 of attempt 4; `end` says that none follows.
fn up(attempt: i64, first: u64, text: &str) -> LogUp {
    let mut message = LogUp { attempt, first, frames: Vec::new(), last: false };
    for word in text.split_whitespace() {
        match word.split_once(':') {
            Some(("out", text)) => message.frames.push(frame(link::Stream::Stdout, text.as_bytes())),
            Some(("err", text)) => message.frames.push(frame(link::Stream::Stderr, text.as_bytes())),
            _ => message.last = word == "end",
        }
    }
    message
}

fn frame(stream: link::Stream, bytes: &[u8]) -> LogFrame {
    LogFrame { stream: stream.into(), at: 1_000_000, bytes: bytes.to_vec().into() }
}

fn show(frames: &[Frame]) -> String {
    let show = |frame: &Frame| {
        let text = String::from_utf8_lossy(&frame.bytes);
        match frame.stream {
            Stream::Stdout => format!("out:{text}"),
            Stream::Stderr => format!("err:{text}"),
            Stream::Marker => text.into_owned(),
        }
    };
    frames.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// As the store says it.
fn lost(count: u64) -> String {
    format!("[{count} log frames were lost before they came to the server]")
}

fn gone(count: u64) -> String {
    format!("[{count} log frames are no longer here, or cannot be read]")
}
