//! What time it is for this server: it never goes back. Between looks at the machine's clock, or in a cluster at the
//! store's, it follows the monotonic one; a jump forward is taken over, a jump back is waited out, and either is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use model::{Span, Timestamp};
use parking_lot::Mutex;

/// Differences below this are the usual slewing and are followed without a word.
const JUMP: Span = Span::millis(500);
/// Between two looks at the store's clock ours counts by one part in so many too slowly: more than the monotonic one may run
/// fast.
const SLOWER_BY: i64 = 2_000;

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
        let now = self.untold(Instant::now()).0;
        Timestamp(self.told.fetch_max(now, Ordering::Relaxed).max(now))
    }

    /// Whether the store's clock counts, and not this machine's.
    pub fn follows_store(&self) -> bool {
        self.follows_store.load(Ordering::Relaxed)
    }

    /// Compares with the machine's clock; called about once a second.
    pub fn look(&self) {
        if !self.follows_store() {
            self.shift(wall() - self.untold(Instant::now()));
        }
    }

    /// The store showed this somewhere between the two instants. From the first call on only the store counts.
    ///
    /// Ours is never ahead of it. Whoever takes a shard over has seen the store's clock after we last decided, so what it
    /// thinks is still to come, we have not sent.
    pub fn follow(&self, store: Timestamp, asked: Instant, answered: Instant) {
        if !self.follows_store.swap(true, Ordering::Relaxed) {
            // Nobody was told anything by the machine's clock yet.
            self.offset.fetch_add((store - self.untold(answered)).0, Ordering::Relaxed);
            self.told.store(0, Ordering::Relaxed);
            return;
        }
        let by = store - self.untold(answered);
        let under_way = (answered - asked).as_micros() as i64;
        // What we have may be the better guess, if this answer was long under way.
        if by.0 > 0 || -by.0 > under_way {
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
        let slower_by = if self.follows_store() { since / SLOWER_BY } else { 0 };
        Timestamp(since - slower_by + self.offset.load(Ordering::Relaxed))
    }

    /// Jumps seen since the last call.
    pub fn take_jumps(&self) -> Vec<Span> {
        std::mem::take(&mut *self.jumps.lock())
    }

    /// When the monotonic clock will show this instant, as far as is known now.
    pub fn instant_of(&self, at: Timestamp) -> Instant {
        let ahead = at - self.now();
        let ahead = ahead.0.clamp(0, 3_600_000_000);
        let slower_by = if self.follows_store() { ahead / (SLOWER_BY - 1) + 1 } else { 0 };
        Instant::now() + std::time::Duration::from_micros((ahead + slower_by) as u64)
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
        clock.follow(clock.now() + Span::secs(60), Instant::now(), Instant::now());
        assert_eq!(clock.take_jumps().len(), 1);
    }

    #[test]
    fn it_is_never_ahead_of_the_store_however_long_an_answer_was_under_way() {
        let clock = Clock::new();
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let store = |ms: i64| Timestamp::from_secs(1_000_000) + Span::millis(ms);
        clock.follow(store(0), at(0), at(400));
        assert_eq!(clock.untold(at(400)), store(0), "it may have been read just before it came");
        clock.follow(store(500), at(500), at(501));
        assert!(clock.untold(at(1_501)) <= store(1_500) && clock.untold(at(1_501)) > store(1_499));
        clock.follow(store(1_600), at(1_600), at(2_500));
        assert!(
            clock.untold(at(2_500)) > store(2_490),
            "a better guess is not given up for one that was long under way"
        );
        assert_eq!(clock.take_jumps(), []);
    }
}
