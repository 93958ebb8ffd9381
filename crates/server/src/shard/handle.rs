//! The way to a shard that runs here: ask, tell, stop. Whoever waits for an answer hears when there will be none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use engine::input::Held;
use engine::{Command, Input, Refusal, Reply};
use model::{Actor, AgentRecord, Batch, Term, Timestamp};
use store::read::Letter;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::lane::Written;

const ANSWER_WITHIN: Duration = Duration::from_secs(20);

pub(super) enum Message {
    Ask {
        by: Actor,
        command: Command,
        answer: oneshot::Sender<Result<Reply, Refusal>>,
    },
    Tell(Input),
    TellMany(Vec<Input>),
    /// What an agent holds, as it said over the stream of this number when it had stored that term.
    Holds {
        term: Term,
        agent: Arc<AgentRecord>,
        serial: u64,
        held: Vec<Held>,
        up_since: Timestamp,
    },
    /// What other shards have told this one, read while it was owned under that term.
    Heard {
        term: Term,
        letters: Vec<Letter>,
    },
    Written(Written),
    /// The shard's own mark: whatever came before it has been taken.
    HeardUntil(Timestamp),
    Stop(oneshot::Sender<()>),
}

/// The way to a shard for everyone else in the process.
#[derive(Clone)]
pub struct ShardHandle {
    pub(super) messages: Sender<Message>,
    /// Its thread has ended. What it had not taken from the channel by then stays there, unanswered.
    pub(super) over: CancellationToken,
    pub progress: Arc<Progress>,
}

/// Signs of life: liveness is progress of the loop, not of the process.
#[derive(Default)]
pub struct Progress {
    pub turned_at: parking_lot::Mutex<Option<Instant>>,
    pub census: parking_lot::Mutex<engine::Census>,
    pub term: std::sync::atomic::AtomicI64,
    pub trouble: parking_lot::Mutex<Option<String>>,
    /// The newest commit on disk, and up to when everything is decided.
    pub latest: parking_lot::Mutex<Option<(Batch, Timestamp)>>,
}

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("the shard has stopped")]
    Gone,
    #[error("the store does not take writes now: {0}")]
    Stalled(String),
    /// Nobody was told, and nobody is there who could be.
    #[error("{0}")]
    Unserved(String),
}

impl ShardHandle {
    /// Asks for something and waits until it is on disk.
    pub async fn ask(&self, by: Actor, command: Command) -> Result<Reply, AskError> {
        let (answer, answered) = oneshot::channel();
        self.messages.send(Message::Ask { by, command, answer }).map_err(|_| AskError::Gone)?;
        let answered = async {
            tokio::select! {
                biased;
                answered = answered => answered.ok(),
                () = self.over.cancelled() => None,
            }
        };
        match tokio::time::timeout(ANSWER_WITHIN, answered).await {
            Ok(Some(reply)) => Ok(reply?),
            Ok(None) => Err(AskError::Gone),
            Err(_) => {
                let trouble = self.progress.trouble.lock().clone();
                Err(AskError::Stalled(trouble.unwrap_or_else(|| "no answer within 20 s".into())))
            }
        }
    }

    pub fn tell(&self, input: Input) {
        let _ = self.messages.send(Message::Tell(input));
    }

    /// Makes it look around. Whoever has messages to take does so anyway, so that this never waits.
    pub(super) fn nudge(&self) {
        let _ = self.messages.try_send(Message::Tell(Input::Tick));
    }

    /// An agent has stored this term and said what it holds, over the stream of this number.
    pub fn holds(&self, term: Term, agent: Arc<AgentRecord>, serial: u64, held: Vec<Held>, up_since: Timestamp) {
        let _ = self.messages.send(Message::Holds { term, agent, serial, held, up_since });
    }

    /// Other shards told this one these; read from the outbox while `Progress::term` was this. Said again until they are
    /// taken.
    pub fn heard(&self, term: Term, letters: Vec<Letter>) {
        let _ = self.messages.send(Message::Heard { term, letters });
    }

    pub fn tell_many(&self, inputs: Vec<Input>) {
        let _ = self.messages.send(Message::TellMany(inputs));
    }

    /// Takes no more work, writes what is decided, and returns; at once if it has ended by itself.
    pub async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self.messages.send(Message::Stop(done)).is_ok() {
            tokio::select! {
                _ = stopped => {}
                () = self.over.cancelled() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running_shard() -> (ShardHandle, crossbeam_channel::Receiver<Message>) {
        let (messages, received) = crossbeam_channel::bounded(8);
        let handle = ShardHandle { messages, over: CancellationToken::new(), progress: Arc::default() };
        (handle, received)
    }

    /// Its lease ran out between the message and the next look: nothing takes it any more, and its channel is still full.
    async fn ends_meanwhile(handle: &ShardHandle, received: crossbeam_channel::Receiver<Message>) {
        while received.is_empty() {
            tokio::task::yield_now().await;
        }
        drop(received);
        handle.over.cancel();
    }

    #[tokio::test]
    async fn whoever_stops_a_shard_that_ends_by_itself_does_not_wait_for_ever() {
        let (handle, received) = running_shard();
        tokio::join!(handle.stop(), ends_meanwhile(&handle, received));
    }

    #[tokio::test]
    async fn whoever_asks_a_shard_that_ends_by_itself_hears_that_it_is_gone() {
        let (handle, received) = running_shard();
        let command = Command::Followers { job: model::JobId(1) };
        let (answer, ()) = tokio::join!(handle.ask(Actor::system(), command), ends_meanwhile(&handle, received));
        assert!(matches!(answer, Err(AskError::Gone)), "{answer:?}");
    }
}
