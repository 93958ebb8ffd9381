//! The fence a task is given: a number that only grows within a job, in the order its runs are sent. Whatever a task writes
//! to can refuse a smaller one than it has seen.
//!
//! Usually it is the attempt's own number. But an attempt is numbered when it is planned, a second or two ahead, and a
//! retry, or a run by hand, may be numbered after it and sent before it: then the later one gets a fresh number. Every
//! owner begins with numbers above all that were given before, so nothing needs to be written down for that.

use model::{InstanceId, Overlap};

use crate::shard::Shard;

impl Shard {
    pub(crate) fn next_fence(&mut self, id: InstanceId) -> i64 {
        let open = &self.open[&id];
        let (job, attempt, rule) = (open.job, open.attempt.0, &open.rule.rule);
        // Runs side by side have no order to keep.
        if rule.exclusive.is_none() && matches!(rule.overlap, Overlap::Allow { .. }) {
            return attempt;
        }
        let live = self.jobs.get_mut(&job).and_then(|job| job.live.as_mut());
        let highest = live.as_ref().map_or(0, |live| live.fence).max(self.inherited);
        let fence = if attempt > highest { attempt } else { self.ids.take() };
        if let Some(live) = live {
            live.fence = fence;
        }
        fence
    }
}
