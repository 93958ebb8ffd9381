//! Takes log frames from an agent's stream to the writing thread and answers what is kept. An agent may write only
//! attempts it was given; what is refused is answered too, or it would come for ever.

use std::sync::Arc;

use futures::{FutureExt, Stream, StreamExt};
use model::{AgentId, AttemptId};
use tokio::sync::{mpsc, oneshot};
use tonic::Status;
use wire::link::{LogDown, LogUp};

use super::append::Incoming;
use super::frame::Frame;
use super::record::FRAME_MAX;
use super::write::{Batch, Outcome};
use super::{Leave, LogStore};

/// Messages and bytes of one agent that may go into one write.
const BATCH_MESSAGES: usize = 64;
const BATCH_BYTES: usize = 256 << 10;

type Kept = mpsc::Sender<Result<LogDown, Status>>;

impl LogStore {
    /// Keeps what comes until the stream ends. What was acknowledged outlives a crash of this process; a power cut may
    /// take the last second.
    pub async fn receive<S>(self: Arc<Self>, agent: AgentId, mut stream: S, kept: Kept)
    where
        S: Stream<Item = Result<LogUp, Status>> + Send + Unpin,
    {
        loop {
            let (messages, is_over) = gather(&mut stream).await;
            if let Err(status) = self.keep(agent, messages, &kept).await {
                // The agent dials again and sends what was not acknowledged.
                let _ = kept.send(Err(status)).await;
                return;
            }
            if is_over || kept.is_closed() {
                return;
            }
        }
    }

    async fn keep(&self, agent: AgentId, messages: Vec<LogUp>, kept: &Kept) -> Result<(), Status> {
        let mut acks = Acks::default();
        let mut batch = Vec::with_capacity(messages.len());
        for message in messages {
            let attempt = AttemptId(message.attempt);
            let upto = checked_end(&message)?;
            let bytes = message.frames.iter().map(|frame| frame.bytes.len() as u64).sum();
            let mut frames: Vec<Frame> = Vec::new();
            match (self.shelf.options.allowed)(agent, attempt, bytes) {
                Leave::Keep => frames.extend(message.frames.into_iter().map(Frame::from)),
                Leave::Blank(line) => {
                    metrics::counter!("duly_log_bytes_left_out_total").increment(bytes);
                    frames.extend(message.frames.into_iter().map(|frame| Frame::from(frame).blank()));
                    if let (Some(first), Some(line)) = (frames.first_mut(), line) {
                        *first = Frame::marker(first.at, line);
                    }
                }
                Leave::Refused => {
                    tracing::warn!(%agent, %attempt, "refused log frames of an attempt this agent was not given");
                    metrics::counter!("duly_log_frames_refused_total").increment(message.frames.len() as u64);
                    acks.note(attempt, upto);
                    continue;
                }
            }
            batch.push(Incoming { attempt, first: message.first, frames, last: message.last });
        }
        if !batch.is_empty() {
            let attempts: Vec<AttemptId> = batch.iter().map(|message| message.attempt).collect();
            let numbers = self.write(batch).await?;
            attempts.into_iter().zip(numbers).for_each(|(attempt, upto)| acks.note(attempt, upto));
        }
        for (attempt, upto) in acks.0 {
            // A closed channel is noticed by the caller.
            let _ = kept.send(Ok(LogDown { attempt: attempt.0, kept: upto })).await;
        }
        Ok(())
    }

    async fn write(&self, incoming: Vec<Incoming>) -> Outcome {
        let gone = || Status::unavailable("the log store is closed");
        let (done, outcome) = oneshot::channel();
        self.batches().send(Batch { incoming, done }).await.map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?
    }
}

/// The latest number of each attempt, in the order they first came.
#[derive(Default)]
struct Acks(Vec<(AttemptId, u64)>);

impl Acks {
    fn note(&mut self, attempt: AttemptId, upto: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == attempt) {
            Some((_, number)) => *number = upto,
            None => self.0.push((attempt, upto)),
        }
    }
}

/// One message, and those that are there already; true when the stream is over.
async fn gather(stream: &mut (impl Stream<Item = Result<LogUp, Status>> + Unpin)) -> (Vec<LogUp>, bool) {
    let mut messages = Vec::new();
    let mut bytes = 0;
    let mut next = stream.next().await;
    loop {
        // An agent that lost its line comes back with the same frames: its end is no error of ours.
        let Some(Ok(message)) = next else { return (messages, true) };
        bytes += message.frames.iter().map(|frame| frame.bytes.len()).sum::<usize>();
        messages.push(message);
        if messages.len() >= BATCH_MESSAGES || bytes >= BATCH_BYTES {
            return (messages, false);
        }
        match stream.next().now_or_never() {
            None => return (messages, false),
            Some(ready) => next = ready,
        }
    }
}

/// The number after the message's last frame.
fn checked_end(message: &LogUp) -> Result<u64, Status> {
    if message.frames.iter().any(|frame| frame.bytes.len() > FRAME_MAX) {
        return Err(Status::invalid_argument("a log frame is too long"));
    }
    message.first.checked_add(message.frames.len() as u64).ok_or_else(|| Status::invalid_argument("no such log frame"))
}
