//! When to say that the store does not take writes: at once, then once a minute with how often it was tried, and when it
//! is over. Never says anything itself.

use std::time::{Duration, Instant};

const SAID_EVERY: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Complaint {
    trouble: Option<Trouble>,
}

struct Trouble {
    since: Instant,
    said_at: Instant,
    tries: u64,
}

impl Complaint {
    /// One more try failed. How many did, if it is time to say so.
    pub(super) fn failed(&mut self, now: Instant) -> Option<u64> {
        let Some(trouble) = &mut self.trouble else {
            self.trouble = Some(Trouble { since: now, said_at: now, tries: 1 });
            return Some(1);
        };
        trouble.tries += 1;
        if now - trouble.said_at < SAID_EVERY {
            return None;
        }
        trouble.said_at = now;
        Some(trouble.tries)
    }

    /// It works again. How long it did not and how many tries failed, if any did.
    pub(super) fn over(&mut self, now: Instant) -> Option<(Duration, u64)> {
        self.trouble.take().map(|trouble| (now - trouble.since, trouble.tries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_told_at_once_then_every_minute_and_when_it_is_over() {
        let (start, mut complaint, mut said) = (Instant::now(), Complaint::default(), Vec::new());
        let at = |tenths: u64| start + Duration::from_millis(tenths * 100);
        for fifth in 0..=650 {
            said.extend(complaint.failed(at(fifth * 2)).map(|tries| (fifth / 5, tries)));
        }
        assert_eq!(said, [(0, 1), (60, 301), (120, 601)]);
        assert_eq!(complaint.over(at(1302)), Some((Duration::from_millis(130_200), 651)));
        assert_eq!(complaint.over(at(1303)), None);
        assert_eq!(complaint.failed(at(1304)), Some(1), "the next trouble is told at once again");
    }
}
