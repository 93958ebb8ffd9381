//! Moves the write-ahead log into the file beside the writer, as any store that cares for its tail does.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use crossbeam_channel::{Sender, bounded};
use rusqlite::Connection;
use rusqlite::hooks::Wal;

/// The log is moved from this many pages on: 16 MB, as in the product.
const PAGES_MIN: i32 = 2_048;

pub(super) struct LogMover {
    /// Pages in the log after the last commit.
    pages: Arc<AtomicI32>,
    asked_at: i32,
    work: Sender<()>,
}

impl LogMover {
    pub(super) fn start(writer: &mut Connection, own: Connection) -> anyhow::Result<LogMover> {
        let pages = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&pages);
        writer.wal_hook(Some(move |_: &mut Wal, now: std::ffi::c_int| {
            seen.store(now, Ordering::Relaxed);
            Ok(())
        }))?;
        let (work, asked) = bounded(1);
        std::thread::Builder::new().name("floor-log".into()).spawn(move || {
            while asked.recv().is_ok() {
                let _ = passive(&own);
            }
        })?;
        Ok(LogMover { pages, asked_at: 0, work })
    }

    pub(super) fn committed(&mut self, writer: &Connection) -> rusqlite::Result<()> {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.asked_at {
            self.asked_at = 0;
        }
        if pages >= self.asked_at + PAGES_MIN {
            self.asked_at = pages;
            let _ = self.work.try_send(());
        }
        // A writer that never rests would let the log grow for ever: what is left it moves itself.
        if pages > 4 * PAGES_MIN { passive(writer) } else { Ok(()) }
    }
}

fn passive(conn: &Connection) -> rusqlite::Result<()> {
    conn.query_row("pragma wal_checkpoint(passive)", [], |_| Ok(()))
}
