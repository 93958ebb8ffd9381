//! A few connections for reading, lent out one read at a time. Each read sees one snapshot and is ended at its deadline,
//! by the server, or by us if the server is silent.

use std::time::{Duration, Instant};

use futures::future::join;
use parking_lot::{Condvar, Mutex};

use super::PgStore;
use super::address::Door;
use super::conn::Conn;
use super::error::Fault;
use super::lane::Lane;
use crate::StoreError;

const READER: &str = "
    set search_path = duly;
    set client_min_messages = warning;
    set jit = off;
    set random_page_cost = 1.1;
    set default_transaction_read_only = on;
    set idle_in_transaction_session_timeout = '10s'";

/// The server's own word that time is up is on its way.
const GRACE: Duration = Duration::from_millis(500);

pub struct PgReads {
    idle: Mutex<Vec<Lane>>,
    returned: Condvar,
}

impl PgStore {
    /// Connections for reading beside this writer. They outlive it.
    pub fn reads(&self) -> Result<PgReads, StoreError> {
        PgReads::open(self.lane.door(), self.options.readers)
    }
}

impl PgReads {
    fn open(door: &Door, readers: usize) -> Result<PgReads, StoreError> {
        let lanes = (0..readers.max(1)).map(|_| Lane::new(door.clone(), READER));
        Ok(PgReads { idle: Mutex::new(lanes.collect::<Result<_, StoreError>>()?), returned: Condvar::new() })
    }

    /// Runs `read` in one snapshot, until the deadline.
    pub(super) fn with<T>(&self, by: Instant, read: impl AsyncFn(&Conn) -> Result<T, Fault>) -> Result<T, StoreError> {
        let mut lent = self.lend(by)?;
        let lane = lent.lane.as_mut().expect("a lent lane is there until it is given back");
        let left = by.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(took_too_long());
        }
        let begin = format!(
            "begin isolation level repeatable read read only; set local statement_timeout = {}",
            left.as_millis().clamp(1, i32::MAX as u128)
        );
        let done = lane.again(left + GRACE, async |conn: &Conn| {
            let (begun, answer) = join(conn.batch(&begin), read(conn)).await;
            begun?;
            conn.batch("rollback").await?;
            answer
        });
        match done {
            Err(Fault::Lost(_)) if Instant::now() >= by => Err(took_too_long()),
            done => Ok(done?),
        }
    }

    fn lend(&self, by: Instant) -> Result<Lent<'_>, StoreError> {
        let mut idle = self.idle.lock();
        loop {
            if let Some(lane) = idle.pop() {
                return Ok(Lent { pool: self, lane: Some(lane) });
            }
            if self.returned.wait_until(&mut idle, by).timed_out() && idle.is_empty() {
                return Err(StoreError::Busy("the read took too long: all connections are in use".into()));
            }
        }
    }
}

fn took_too_long() -> StoreError {
    StoreError::Busy("the read took too long and was ended; narrow it down or allow it more time".into())
}

/// Gives its lane back, also when the read panics; what such a read left open is gone with its connection.
struct Lent<'p> {
    pool: &'p PgReads,
    lane: Option<Lane>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(mut lane) = self.lane.take() {
            if std::thread::panicking() {
                lane.hang_up();
            }
            self.pool.idle.lock().push(lane);
            self.pool.returned.notify_one();
        }
    }
}
