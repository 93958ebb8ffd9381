//! How far behind the newest ids a shard's low-water mark may follow: most instances have ended by then and need not be
//! listed as open long.

use std::collections::VecDeque;

use model::{Span, Timestamp};

/// The mark follows the newest ids at this distance.
const BEHIND: Span = Span::MINUTE;

/// When the ids of a shard had come how far.
#[derive(Default)]
pub(crate) struct Marks(VecDeque<(Timestamp, i64)>);

impl Marks {
    /// What was planned before this was made long enough ago.
    pub(crate) fn long_ago(now: Timestamp) -> Timestamp {
        now - BEHIND
    }

    /// For an owner that has not followed the ids itself: where those begin that were not made long ago.
    pub(crate) fn known(now: Timestamp, recent: i64) -> Marks {
        Marks(VecDeque::from([(Marks::long_ago(now), recent)]))
    }

    /// Notes where the ids are now, and says where they were long enough ago.
    pub(crate) fn follow(&mut self, now: Timestamp, next_id: i64) -> Option<i64> {
        let marks = &mut self.0;
        if marks.back().is_none_or(|(at, _)| now - *at >= Span::SECOND) {
            marks.push_back((now, next_id));
        }
        let old = |mark: Option<&(Timestamp, i64)>| mark.is_some_and(|(at, _)| now - *at >= BEHIND);
        while old(marks.get(1)) {
            marks.pop_front();
        }
        // It stays, for the steps that are still to come.
        marks.front().filter(|mark| old(Some(mark))).map(|(_, id)| *id)
    }
}
