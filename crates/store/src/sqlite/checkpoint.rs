//! Moves the write-ahead log into the database file from a thread of its own, so that no commit waits for it. Woken by
//! the size of the log; it never runs while there is little to move.

use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::Gate;

pub(super) struct Checkpointer {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Pages the log held when it was found worth moving; 0 if it is not.
    pages: u64,
    /// Pages it held when it was moved last.
    moved: u64,
    stop: bool,
}

/// Told by the writer after each commit.
#[derive(Clone)]
pub(super) struct Told {
    signal: Arc<Signal>,
    pages_min: u64,
}

impl Told {
    pub(super) fn committed(&self, pages: u64) {
        // The log begins anew after it was moved whole, so a small one needs no look.
        if pages < self.pages_min {
            return;
        }
        let mut state = self.signal.state.lock();
        if pages < state.moved {
            state.moved = 0;
        }
        if pages >= state.moved + self.pages_min {
            state.moved = pages;
            state.pages = pages;
            self.signal.changed.notify_one();
        }
    }
}

impl Checkpointer {
    pub(super) fn start(conn: Connection, gate: Gate, pages_min: u64) -> std::io::Result<(Checkpointer, Told)> {
        let signal = Arc::new(Signal::default());
        let told = Told { signal: signal.clone(), pages_min };
        let mine = signal.clone();
        let thread = std::thread::Builder::new()
            .name("duly-checkpoint".into())
            .spawn(move || run(&conn, &gate, &mine, pages_min))?;
        Ok((Checkpointer { signal, thread: Some(thread) }, told))
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.signal.state.lock().stop = true;
        self.signal.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It has nothing to hand back; a panic in it was reported where it happened.
            let _ = thread.join();
        }
    }
}

fn run(conn: &Connection, gate: &Gate, signal: &Signal, pages_min: u64) {
    loop {
        let pages = {
            let mut state = signal.state.lock();
            while state.pages == 0 && !state.stop {
                signal.changed.wait(&mut state);
            }
            if state.stop {
                return;
            }
            std::mem::take(&mut state.pages)
        };
        passive(conn);
        // A writer that never rests appends while we copy, and the log could only grow. What is left is little by
        // now: hold the writer for that, so that its next commit begins the log anew.
        if pages > 4 * pages_min {
            let _turn = gate.lock();
            passive(conn);
        }
    }
}

/// A checkpoint that fails is tried again at the next commit; the log keeps everything until then.
fn passive(conn: &Connection) {
    let _ = conn.query_row("pragma wal_checkpoint(passive)", [], |_| Ok(()));
}
