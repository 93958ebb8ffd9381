//! The thread that writes: takes what the agents' streams brought meanwhile and puts it down in one write. It alone
//! waits when the disk is slow; the streams wait for it, and their agents for them.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use super::append::Incoming;
use super::shelf::Shelf;

/// Batches that may wait; each is bounded by its sender.
const QUEUE: usize = 32;

pub(super) struct Batch {
    pub(super) incoming: Vec<Incoming>,
    pub(super) done: oneshot::Sender<Outcome>,
}

/// For each message, up to which number its attempt is kept.
pub(super) type Outcome = Result<Vec<u64>, Status>;

pub(super) fn spawn(shelf: Arc<Shelf>) -> io::Result<(mpsc::Sender<Batch>, JoinHandle<()>)> {
    let (batches, queue) = mpsc::channel(QUEUE);
    let thread = thread::Builder::new().name("log-write".into()).spawn(move || run(&shelf, queue))?;
    Ok((batches, thread))
}

fn run(shelf: &Shelf, mut queue: mpsc::Receiver<Batch>) {
    while let Some(first) = queue.blocking_recv() {
        let mut incoming = first.incoming;
        let mut waiting = vec![(first.done, incoming.len())];
        while waiting.len() < QUEUE
            && let Ok(batch) = queue.try_recv()
        {
            waiting.push((batch.done, batch.incoming.len()));
            incoming.extend(batch.incoming);
        }
        let outcome = shelf.append(&incoming).map_err(|error| {
            tracing::error!(%error, "cannot keep log frames; their agents will send them again");
            Status::unavailable(format!("cannot keep log frames: {error}"))
        });
        answer(waiting, outcome);
    }
}

fn answer(waiting: Vec<(oneshot::Sender<Outcome>, usize)>, outcome: Outcome) {
    let mut numbers = outcome.map(Vec::into_iter);
    for (done, count) in waiting {
        let part = match &mut numbers {
            Ok(numbers) => Ok(numbers.by_ref().take(count).collect()),
            Err(status) => Err(status.clone()),
        };
        // The stream may be gone; what was written stays.
        let _ = done.send(part);
    }
}
