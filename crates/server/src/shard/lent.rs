//! Which shard an id belongs to: every range of ids is lent to one shard, for good. Remembers what it has been told and
//! asks nobody itself.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use model::ShardId;
use parking_lot::RwLock;

/// Ranges remembered; a server that has seen more forgets the oldest.
const RANGES_MAX: usize = 100_000;

#[derive(Clone, Default)]
pub(crate) struct Lent(Arc<RwLock<BTreeMap<i64, (i64, ShardId)>>>);

impl Lent {
    pub(crate) fn note(&self, ids: Range<i64>, shard: ShardId) {
        let mut ranges = self.0.write();
        ranges.insert(ids.start, (ids.end, shard));
        if ranges.len() > RANGES_MAX {
            ranges.pop_first();
        }
    }

    pub(crate) fn to(&self, id: i64) -> Option<ShardId> {
        let ranges = self.0.read();
        let (_, (end, shard)) = ranges.range(..=id).next_back()?;
        (id < *end).then_some(*shard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_belongs_to_the_range_it_lies_in() {
        let lent = Lent::default();
        lent.note(10..20, ShardId(1));
        lent.note(40..50, ShardId(2));
        let found: Vec<Option<i64>> = [9, 10, 19, 20, 45, 50].map(|id| lent.to(id).map(|shard| shard.0)).into();
        assert_eq!(found, [None, Some(1), Some(1), None, Some(2), None]);
    }
}
