//! What time it is for this server: it never goes back. Between looks at the machine's clock, or in a cluster at the
//! store's, it follows the monotonic one; a jump forward is taken over, a jump back is waited out, and either is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
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
    /// The store's clock is what counts: servers whose own differ must agree on what is due.
    follows_store: Arc<AtomicBool>,
}

impl Clock {
    pub fn new() -> Clock {
        let started = Instant::now();
        let clock = Clock {
            started,
            offset: Arc::new(AtomicI64::new(wall().0)),
            told: Arc::new(AtomicI64::new(0)),
            jumps: Arc::default(),
            follows_store: Arc::default(),
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
        if !self.follows_store.load(Ordering::Relaxed) {
            self.shift(wall() - self.untold(Instant::now()));
        }
    }

    /// The store showed this somewhere between the two instants. From the first call on only the store counts.
    pub fn follow(&self, store: Timestamp, asked: Instant, answered: Instant) {
        let half = (answered - asked) / 2;
        let by = store - self.untold(asked + half);
        if !self.follows_store.swap(true, Ordering::Relaxed) {
            // Nobody was told anything by the machine's clock yet.
            self.offset.fetch_add(by.0, Ordering::Relaxed);
            self.told.store(0, Ordering::Relaxed);
        } else if by.0.abs() > half.as_micros() as i64 {
            // Within half of the way there and back nobody can tell.
            self.shift(by);
        }
    }

    fn shift(&self, by: Span) {
        if by.0.abs() >= JUMP.0 {
            self.jumps.lock().push(by);
        }
        self.offset.fetch_add(by.0, Ordering::Relaxed);
    }

    fn untold(&self, at: Instant) -> Timestamp {
        let since = at.saturating_duration_since(self.started).as_micros() as i64;
        Timestamp(since + self.offset.load(Ordering::Relaxed))
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn once_it_follows_the_store_the_machines_clock_counts_no_more() {
        let clock = Clock::new();
        let (asked, ahead) = (Instant::now(), Span::secs(30));
        let store = wall() + ahead;
        clock.follow(store, asked, asked);
        clock.look();
        assert!((clock.now() - store).0 < Span::secs(10).0 && clock.now() >= store);
        assert_eq!(clock.take_jumps(), [], "beginning to follow is no jump");
        let (early, late) = (Instant::now(), Instant::now() + Duration::from_secs(2));
        clock.follow(clock.now() + Span::millis(900), early, late);
        assert_eq!(clock.take_jumps(), [], "nobody can tell within half of the way");
        clock.follow(clock.now() + Span::secs(60), Instant::now(), Instant::now());
        assert_eq!(clock.take_jumps().len(), 1);
    }
}
