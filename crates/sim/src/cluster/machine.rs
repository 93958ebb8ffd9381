//! The clocks of a server's machine: the monotonic one runs a little fast or slow, the wall clock is wrong by any amount,
//! and what the server goes by follows the store's, as `server::clock` does.

use std::time::{Duration, Instant};

use model::{Span, Timestamp};

/// Between two looks at the store's clock the server's counts by one part in so many too slowly; machines here may run fast
/// by a hundredth.
const SLOWER_BY: i64 = 99;
/// Differences below this are followed without a word.
const JUMP: Span = Span::millis(500);

pub(super) struct Machine {
    /// Stands for the moment it started; only differences to it matter.
    base: Instant,
    started: Timestamp,
    /// How much faster than the world it counts, in millionths.
    drift: i64,
    /// What it thinks the time was when it started.
    offset: Timestamp,
    told: Timestamp,
    follows: bool,
    jumps: Vec<Span>,
}

impl Machine {
    pub(super) fn start(now: Timestamp, drift: i64, shift: Span) -> Machine {
        let base = Instant::now();
        Machine {
            base,
            started: now,
            drift,
            offset: now + shift,
            told: Timestamp(0),
            follows: false,
            jumps: Vec::new(),
        }
    }

    pub(super) fn base(&self) -> Instant {
        self.base
    }

    fn counted(&self, now: Timestamp) -> Span {
        let true_span = now - self.started;
        true_span + Span(true_span.0 / 1_000 * self.drift / 1_000)
    }

    pub(super) fn instant(&self, now: Timestamp) -> Instant {
        self.base + Duration::from_micros(self.counted(now).0.max(0) as u64)
    }

    /// What the server takes the time to be; it never goes back.
    pub(super) fn clock(&mut self, now: Timestamp) -> Timestamp {
        self.told = self.told.max(self.untold(now));
        self.told
    }

    fn untold(&self, now: Timestamp) -> Timestamp {
        let counted = self.counted(now).0;
        self.offset + Span(counted - if self.follows { counted / SLOWER_BY } else { 0 })
    }

    /// When that will be, or a little before; then it is looked at again.
    pub(super) fn when(&self, at: Timestamp, now: Timestamp) -> Timestamp {
        let ahead = at - self.told.max(self.untold(now));
        if ahead.0 <= 0 {
            now
        } else {
            now + Span((ahead.0 as f64 / (1.0 + self.drift as f64 / 1e6)).ceil() as i64 + 1)
        }
    }

    /// The store showed this somewhere between the two. What the server goes by is never ahead of it.
    pub(super) fn follow(&mut self, store: Timestamp, asked: Timestamp, answered: Timestamp) {
        if !std::mem::replace(&mut self.follows, true) {
            self.offset += store - self.untold(answered);
            self.told = Timestamp(0);
            return;
        }
        let by = store - self.untold(answered);
        let under_way = self.counted(answered).0 - self.counted(asked).0;
        if by.0 > 0 || -by.0 > under_way {
            self.jumps.extend(Some(by).filter(|by| by.0.abs() >= JUMP.0));
            self.offset += by;
        }
    }

    pub(super) fn take_jumps(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.jumps)
    }
}
