//! How long an owner may still trust its leases: counted on its own monotonic clock from the moment the renewal was sent,
//! so that nothing between here and the database can make it longer, and ending early, because clocks drift.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a lease is worth, the same on every server of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// From one renewal to the moment somebody else may have it, but for the grace.
    pub lease: Duration,
    /// A holder lets go so much before its lease is over: its clock may run slower than the database's.
    pub margin: Duration,
    /// A successor waits so much longer than the lease.
    pub grace: Duration,
}

impl Terms {
    pub fn of(lease: Duration) -> Terms {
        Terms { lease, margin: lease / 8, grace: lease / 16 }
    }

    /// How often to renew: three may be lost.
    pub fn every(&self) -> Duration {
        self.lease / 4
    }
}

impl Default for Terms {
    fn default() -> Terms {
        Terms::of(Duration::from_secs(4))
    }
}

/// Read by every shard loop before it decides and before it releases; moved by whoever renews.
#[derive(Debug)]
pub struct Tenure {
    base: Instant,
    /// Microseconds after `base`; 0 before the first renewal.
    until: AtomicU64,
}

impl Tenure {
    pub fn new(base: Instant) -> Tenure {
        Tenure { base, until: AtomicU64::new(0) }
    }

    /// A renewal that was sent then has been granted.
    pub fn renewed(&self, sent: Instant, terms: &Terms) {
        let until = (sent + terms.lease).checked_sub(terms.margin).unwrap_or(sent);
        let micros = until.saturating_duration_since(self.base).as_micros() as u64;
        self.until.fetch_max(micros, Ordering::Release);
    }

    pub fn holds(&self, now: Instant) -> bool {
        (now.saturating_duration_since(self.base).as_micros() as u64) < self.until.load(Ordering::Acquire)
    }

    pub fn until(&self) -> Instant {
        self.base + Duration::from_micros(self.until.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_counted_from_when_its_renewal_was_sent_and_ends_early() {
        let (start, terms) = (Instant::now(), Terms::default());
        let at = |ms: u64| start + Duration::from_millis(ms);
        let tenure = Tenure::new(start);
        assert!(!tenure.holds(start), "nothing is held before the first renewal");
        tenure.renewed(at(1_000), &terms);
        assert!(tenure.holds(at(4_499)) && !tenure.holds(at(4_500)));
        tenure.renewed(at(500), &terms);
        assert!(tenure.holds(at(4_499)), "an answer that was overtaken takes nothing back");
        assert!(terms.margin > terms.lease / 100 && terms.every() * 3 < terms.lease - terms.margin);
    }
}
