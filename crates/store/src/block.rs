//! Which planned times the instances of one block of ids have at most: finds the newest rows of a day, and the day of an
//! id, without a further index on the instances.

use model::Timestamp;

/// Ids per block: small enough to scan at once, large enough that a busy store widens few of them.
pub(crate) const BLOCK_BITS: u32 = 12;
/// Planned times of a block are kept rounded outwards, so that not every commit widens one.
const GRAIN: i64 = 1_000_000;

pub(crate) fn block_of(id: i64) -> i64 {
    id >> BLOCK_BITS
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub no: i64,
    pub from: i64,
    pub until: i64,
}

impl Block {
    /// The block of an id, wide enough for its planned time; none if what is known of it is wide enough.
    pub(crate) fn widened(known: Option<Block>, id: i64, planned: Timestamp) -> Option<Block> {
        let (no, at) = (block_of(id), planned.0);
        let same = known.filter(|block| block.no == no);
        if same.is_some_and(|block| block.from <= at && at <= block.until) {
            return None;
        }
        let mut from = at.div_euclid(GRAIN).saturating_mul(GRAIN);
        let mut until = from.saturating_add(GRAIN);
        if let Some(block) = same {
            from = from.min(block.from);
            until = until.max(block.until);
        }
        Some(Block { no, from, until })
    }
}
