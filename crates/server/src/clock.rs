//! What time it is for this server: it never goes back. Between looks at the machine's clock it follows the monotonic
//! one; a jump forward is taken over, a jump back is waited out, and either is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use model::{Span, Timestamp};
use parking_lot::Mutex;

/// Differences below this are the usual slewing and are followed without a word.
const JUMP: Span = Span::millis(500);

#[derive(Clone)]
pub struct Clock {
    started: Instant,
    /// Wall clock minus monotonic, in microseconds.
    offset: Arc<AtomicI64>,
    /// The latest instant anybody was told.
    told: Arc<AtomicI64>,
    jumps: Arc<Mutex<Vec<Span>>>,
}

impl Clock {
    pub fn new() -> Clock {
        let started = Instant::now();
        let clock = Clock {
            started,
            offset: Arc::new(AtomicI64::new(wall().0)),
            told: Arc::new(AtomicI64::new(0)),
            jumps: Arc::default(),
        };
        clock.look();
        clock
    }

    pub fn now(&self) -> Timestamp {
        let now = self.started.elapsed().as_micros() as i64 + self.offset.load(Ordering::Relaxed);
        Timestamp(self.told.fetch_max(now, Ordering::Relaxed).max(now))
    }

    /// Compares with the machine's clock; called about once a second.
    pub fn look(&self) {
        let before = Timestamp(self.started.elapsed().as_micros() as i64 + self.offset.load(Ordering::Relaxed));
        let by = wall() - before;
        if by.0.abs() >= JUMP.0 {
            self.jumps.lock().push(by);
        }
        self.offset.fetch_add(by.0, Ordering::Relaxed);
    }

    /// Jumps seen since the last call.
    pub fn take_jumps(&self) -> Vec<Span> {
        std::mem::take(&mut *self.jumps.lock())
    }

    /// When the monotonic clock will show this instant, as far as is known now.
    pub fn instant_of(&self, at: Timestamp) -> Instant {
        let ahead = at - self.now();
        Instant::now() + std::time::Duration::from_micros(ahead.0.clamp(0, 3_600_000_000) as u64)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::new()
    }
}

fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_micros() as i64)
}
