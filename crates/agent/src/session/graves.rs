//! Remembers attempts that have ended, until no order of them can still be under way. Neighbouring ids share a word,
//! because at a hundred thousand runs a second a plain set would be the largest thing in the agent.

use model::{Span, Timestamp};
use rustc_hash::FxHashMap;

/// After the last instant at which an attempt may start: the clock of another server may be behind by this.
const MARGIN: Span = Span::MINUTE;
/// No order stays under way longer, whatever it says.
const LONGEST: Span = Span::DAY;

#[derive(Debug, Default)]
pub(crate) struct Graves {
    rows: FxHashMap<i64, Row>,
    swept_at: Option<Timestamp>,
}

/// Sixty-four neighbours, kept as long as the last of them must be.
#[derive(Debug)]
struct Row {
    mask: u64,
    until: Timestamp,
}

impl Graves {
    /// How long an attempt must be remembered that may start until `start_by`.
    pub(crate) fn until(start_by: Timestamp, server_now: Timestamp) -> Timestamp {
        start_by.min(server_now + LONGEST) + MARGIN
    }

    pub(crate) fn insert(&mut self, attempt: i64, until: Timestamp) {
        let row = self.rows.entry(attempt >> 6).or_insert(Row { mask: 0, until });
        row.mask |= 1 << (attempt & 63);
        row.until = row.until.max(until);
    }

    pub(crate) fn contains(&self, attempt: i64) -> bool {
        self.rows.get(&(attempt >> 6)).is_some_and(|row| row.mask & (1 << (attempt & 63)) != 0)
    }

    /// Forgets what is past. Cheap enough to be called often: it looks only once a second.
    pub(crate) fn sweep(&mut self, server_now: Timestamp) {
        if self.swept_at.is_some_and(|at| (Span::ZERO..Span::SECOND).contains(&(server_now - at))) {
            return;
        }
        self.swept_at = Some(server_now);
        self.rows.retain(|_, row| row.until >= server_now);
    }

    #[cfg(test)]
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_remembered_by_itself_until_its_time() {
        let mut graves = Graves::default();
        for id in [0, 63, 64, 1_000_000, -1] {
            graves.insert(id, Timestamp::from_secs(10));
        }
        graves.insert(63, Timestamp::from_secs(20));
        assert!([0, 63, 64, 1_000_000, -1].iter().all(|id| graves.contains(*id)));
        assert!(![1, 62, 65, 999_999, -2].iter().any(|id| graves.contains(*id)));
        graves.sweep(Timestamp::from_secs(11));
        assert!(graves.contains(63) && !graves.contains(64) && !graves.contains(-1));
        graves.sweep(Timestamp::from_secs(21));
        assert_eq!(graves.rows(), 0);
    }

    #[test]
    fn neighbours_are_cheap() {
        let mut graves = Graves::default();
        (0..6_400).for_each(|id| graves.insert(id, Timestamp::MAX));
        assert_eq!(graves.rows(), 100);
    }

    #[test]
    fn an_order_without_end_is_not_remembered_without_end() {
        let now = Timestamp::from_secs(1_000);
        assert_eq!(Graves::until(Timestamp::MAX, now), now + Span::DAY + Span::MINUTE);
        assert_eq!(Graves::until(now + Span::SECOND, now), now + Span::SECOND + Span::MINUTE);
    }
}
