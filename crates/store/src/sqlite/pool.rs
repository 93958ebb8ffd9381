//! A few read-only connections, lent out one read at a time. Each read sees one snapshot and is interrupted at its
//! deadline; none can hold the writer up.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use rusqlite::{Connection, OpenFlags};

use super::{Options, SqliteStore};
use crate::StoreError;

/// Between two looks at the clock; some microseconds of work.
const OPS_BETWEEN_LOOKS: std::ffi::c_int = 2_000;

pub struct SqliteReads {
    idle: Mutex<Vec<Reader>>,
    returned: Condvar,
    since: Instant,
}

struct Reader {
    conn: Connection,
    /// In microseconds after `since`.
    deadline: Arc<AtomicU64>,
}

impl SqliteStore {
    /// Connections for reading beside this writer. They outlive it.
    pub fn reads(&self) -> Result<SqliteReads, StoreError> {
        SqliteReads::open(&self.path, &self.options)
    }
}

impl SqliteReads {
    pub(super) fn open(path: &Path, options: &Options) -> Result<SqliteReads, StoreError> {
        let since = Instant::now();
        let readers = (0..options.readers.max(1)).map(|_| Reader::open(path, options, since));
        Ok(SqliteReads {
            idle: Mutex::new(readers.collect::<Result<_, StoreError>>()?),
            returned: Condvar::new(),
            since,
        })
    }

    /// Runs `read` in one snapshot, until the deadline.
    pub(super) fn with<T>(
        &self,
        by: Instant,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let lent = self.lend(by)?;
        let reader = lent.reader.as_ref().expect("a lent reader is there until it is given back");
        reader.deadline.store(micros(self.since, by), Ordering::Relaxed);
        reader.conn.prepare_cached("begin")?.execute([])?;
        let answer = read(&reader.conn);
        reader.deadline.store(u64::MAX, Ordering::Relaxed);
        if !reader.conn.is_autocommit() {
            reader.conn.prepare_cached("rollback")?.execute([])?;
        }
        answer
    }

    fn lend(&self, by: Instant) -> Result<Lent<'_>, StoreError> {
        let mut idle = self.idle.lock();
        loop {
            if let Some(reader) = idle.pop() {
                return Ok(Lent { pool: self, reader: Some(reader) });
            }
            if self.returned.wait_until(&mut idle, by).timed_out() && idle.is_empty() {
                return Err(StoreError::Busy("the read took too long: all connections are in use".into()));
            }
        }
    }
}

impl Reader {
    fn open(path: &Path, options: &Options, since: Instant) -> Result<Reader, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(options.busy_timeout)?;
        conn.pragma_update(None, "query_only", true)?;
        conn.pragma_update(None, "cache_size", -i64::from(options.reader_cache_mb) * 1024)?;
        conn.pragma_update(None, "temp_store", "memory")?;
        conn.set_prepared_statement_cache_capacity(128);
        let deadline = Arc::new(AtomicU64::new(u64::MAX));
        let mine = deadline.clone();
        conn.progress_handler(
            OPS_BETWEEN_LOOKS,
            Some(move || micros(since, Instant::now()) > mine.load(Ordering::Relaxed)),
        )?;
        Ok(Reader { conn, deadline })
    }
}

fn micros(since: Instant, at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(since).as_micros()).unwrap_or(u64::MAX)
}

/// Gives its reader back, also when the read panics.
struct Lent<'p> {
    pool: &'p SqliteReads,
    reader: Option<Reader>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.deadline.store(u64::MAX, Ordering::Relaxed);
            if !reader.conn.is_autocommit() {
                // Left open by a panic; a reader that cannot end its snapshot would keep the log from being moved.
                let _ = reader.conn.execute_batch("rollback");
            }
            self.pool.idle.lock().push(reader);
            self.pool.returned.notify_one();
        }
    }
}
