//! What time it is at the server, as two bounds: it is at least the earliest and at most the latest.
//! Orders are judged by the latest, so a slow link can make one late but never start one that is too late.

use model::{Span, Timestamp};

/// A measurement is dropped after this long, because two clocks drift apart.
const TRUST: Span = Span::MINUTE;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerClock(Option<Offset>);

/// Server's clock minus ours.
#[derive(Clone, Copy, Debug)]
struct Offset {
    least: Span,
    most: Span,
    taken_at: Timestamp,
}

impl ServerClock {
    /// The server read `server` off its clock after we sent at `sent` and before its answer came at `received`.
    pub(crate) fn sample(&mut self, sent: Timestamp, received: Timestamp, server: Timestamp) {
        let fresh = Offset { least: server - received, most: server - sent, taken_at: received };
        self.0 = Some(match self.0 {
            Some(old) if old.agrees_with(fresh) && received - old.taken_at < TRUST => {
                Offset { least: old.least.max(fresh.least), most: old.most.min(fresh.most), ..old }
            }
            // The server's clock was set, or it is another server: only the newest is true.
            _ => fresh,
        });
    }

    pub(crate) fn earliest(&self, steady: Timestamp) -> Option<Timestamp> {
        self.0.map(|offset| steady + offset.least)
    }

    pub(crate) fn latest(&self, steady: Timestamp) -> Option<Timestamp> {
        self.0.map(|offset| steady + offset.most)
    }
}

impl Offset {
    fn agrees_with(self, other: Offset) -> bool {
        self.least <= other.most && other.least <= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(samples: &[(i64, i64, i64)], at: i64) -> (i64, i64) {
        let mut clock = ServerClock::default();
        for &(sent, received, server) in samples {
            clock.sample(Timestamp(sent), Timestamp(received), Timestamp(server));
        }
        (clock.earliest(Timestamp(at)).unwrap().0, clock.latest(Timestamp(at)).unwrap().0)
    }

    #[test]
    fn a_quick_round_trip_narrows_what_a_slow_one_left_open() {
        assert_eq!(bounds(&[(0, 500, 1_300)], 500), (1_300, 1_800));
        assert_eq!(bounds(&[(0, 500, 1_300), (600, 610, 1_605)], 610), (1_605, 1_615));
        assert_eq!(bounds(&[(600, 610, 1_605), (700, 1_700, 2_000)], 1_700), (2_695, 2_705), "slow ones do no harm");
    }

    #[test]
    fn a_clock_that_was_set_is_believed_at_once() {
        assert_eq!(bounds(&[(0, 10, 1_000), (20, 30, 9_000)], 30), (9_000, 9_010));
        assert_eq!(bounds(&[(0, 10, 9_000), (20, 30, 1_000)], 30), (1_000, 1_010));
    }

    #[test]
    fn old_measurements_are_dropped() {
        let late = Span::MINUTE.0;
        assert_eq!(bounds(&[(0, 2, 1), (late, late + 900, late + 450)], late + 900), (late + 450, late + 1_350));
    }
}
