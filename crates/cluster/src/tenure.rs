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
///
/// Once it has run out, others may own what was owned under it, and a renewal that is granted later says nothing about
/// that: it begins another stretch. Whatever was begun in an earlier one stays over.
#[derive(Debug)]
pub struct Tenure {
    base: Instant,
    /// Microseconds after `base`; 0 before the first renewal.
    until: AtomicU64,
    stretch: AtomicU64,
}

/// Renewals that followed each other without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch(u64);

impl Tenure {
    pub fn new(base: Instant) -> Tenure {
        Tenure { base, until: AtomicU64::new(0), stretch: AtomicU64::new(0) }
    }

    /// A renewal that was sent then has been granted, as is known now. Only ever called by one thread.
    pub fn renewed(&self, sent: Instant, now: Instant, terms: &Terms) {
        if self.has_run_out(now) {
            self.stretch.fetch_add(1, Ordering::Release);
        }
        let until = (sent + terms.lease).checked_sub(terms.margin).unwrap_or(sent);
        let micros = until.saturating_duration_since(self.base).as_micros() as u64;
        self.until.fetch_max(micros, Ordering::Release);
    }

    /// It is given up, not run out: nothing that was begun under it goes on.
    pub fn end(&self) {
        self.stretch.fetch_add(1, Ordering::Release);
    }

    /// What is begun now is begun in this one.
    pub fn stretch(&self) -> Stretch {
        Stretch(self.stretch.load(Ordering::Acquire))
    }

    /// Whether what was begun in that stretch may go on. Whoever sees a newer deadline sees that it is of a newer stretch.
    pub fn holds(&self, begun: Stretch, now: Instant) -> bool {
        !self.has_run_out(now) && self.stretch() == begun
    }

    pub fn has_run_out(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.base).as_micros() as u64 >= self.until.load(Ordering::Acquire)
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
        assert!(!tenure.holds(tenure.stretch(), start), "nothing is held before the first renewal");
        tenure.renewed(at(1_000), at(1_100), &terms);
        let stretch = tenure.stretch();
        assert!(tenure.holds(stretch, at(4_499)) && !tenure.holds(stretch, at(4_500)));
        tenure.renewed(at(500), at(1_200), &terms);
        assert!(tenure.holds(stretch, at(4_499)), "an answer that was overtaken takes nothing back");
        assert!(terms.margin > terms.lease / 100 && terms.every() * 3 < terms.lease - terms.margin);
    }
    #[test]
    fn what_was_begun_before_a_gap_stays_over_however_often_it_is_renewed_after() {
        let (start, terms) = (Instant::now(), Terms::default());
        let at = |ms: u64| start + Duration::from_millis(ms);
        let tenure = Tenure::new(start);
        tenure.renewed(at(0), at(1), &terms);
        let before = tenure.stretch();
        tenure.renewed(at(3_000), at(3_499), &terms);
        assert!(tenure.holds(before, at(6_000)), "there was no gap");
        tenure.renewed(at(6_600), at(6_700), &terms);
        assert!(!tenure.holds(before, at(6_800)), "another may have had it for 200 ms");
        assert!(tenure.holds(tenure.stretch(), at(6_800)));
    }
}
