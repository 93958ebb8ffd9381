//! What is decided and not on disk yet, as far as it matters to an order that needs nothing written: such an order need
//! not wait for the commits of others. Whoever loads the shard instead of us must come to the same conclusion from the
//! disk alone, so nothing about its job may be unwritten, nor its own row.

use engine::{Change, Order};
use model::{InstanceId, JobId, Timestamp};
use rustc_hash::FxHashSet;

#[derive(Default)]
pub(super) struct Unwritten {
    jobs: FxHashSet<JobId>,
    /// Made, and nothing else: whether another instance of the job may start does not depend on them.
    made: FxHashSet<InstanceId>,
}

impl Unwritten {
    pub(super) fn note(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Created(created) => drop(self.made.insert(created.row.id)),
                other => self.jobs.extend(other.job()),
            }
        }
    }

    pub(super) fn concerns(&self, order: &Order) -> bool {
        self.jobs.contains(&order.job) || self.made.contains(&order.instance)
    }
}

/// Whether the order says nothing that is not on disk, where everything up to `horizon` is decided.
pub(super) fn is_free(order: &Order, horizon: Timestamp, unwritten: &[&Unwritten]) -> bool {
    order.as_written && order.planned <= horizon && !unwritten.iter().any(|unwritten| unwritten.concerns(order))
}
