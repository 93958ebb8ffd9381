//! Numbers handed out from blocks the store lent us. A new owner takes a new block, so they grow within a job.

use model::{JobId, ShardId, job_of_own, shard_of};

use crate::effect::{Decisions, Effect};

/// How many ids the block holds that an owner begins with: many shards change hands often, and what is left of a block
/// then is lost.
pub const FIRST_BLOCK: i64 = 1 << 15;
/// Each further block is four times the one before, up to this.
const BLOCK_MAX: i64 = 1 << 20;
/// New jobs wait for the next block rather than use up what reports may need.
const RESERVE: i64 = FIRST_BLOCK / 4;

#[derive(Debug)]
pub(crate) struct Ids {
    next: i64,
    until: i64,
    /// The block after this one, if it came already.
    spare: Option<(i64, i64)>,
    /// What the newest block held.
    size: i64,
    asked: bool,
}

impl Ids {
    pub(crate) fn new(block: std::ops::Range<i64>) -> Self {
        Ids { next: block.start, until: block.end, spare: None, size: block.end - block.start, asked: false }
    }

    pub(crate) fn take(&mut self) -> i64 {
        if self.next == self.until {
            (self.next, self.until) = self.spare.take().expect("a block is asked for long before the last one ends");
        }
        self.next += 1;
        self.next - 1
    }

    /// The next id that makes a job one of this shard; those before it are skipped. None if they run low.
    pub(crate) fn take_job(&mut self, shard: ShardId, shards: i64) -> Option<JobId> {
        if shard.0 >= shards {
            // A tenant's own: its number is written into the id.
            return if self.left() < RESERVE { None } else { job_of_own(shard, self.take()) };
        }
        loop {
            if shards > 1 && self.left() < RESERVE {
                return None;
            }
            let id = JobId(self.take());
            if shards <= 1 || shard_of(id, shards) == shard {
                return Some(id);
            }
        }
    }

    pub(crate) fn peek(&self) -> i64 {
        self.next
    }

    pub(crate) fn lend(&mut self, from: i64, until: i64) {
        self.spare = Some((from, until));
        self.size = until - from;
        self.asked = false;
    }

    /// Asks once a quarter of a block is gone: what is left is more than is used until the next one comes.
    pub(crate) fn ask_when_low(&mut self, out: &mut Decisions) {
        let low = self.size - self.size / 4;
        if !self.asked && self.spare.is_none() && self.until - self.next < low {
            self.asked = true;
            out.effect(Effect::WantIds { count: (self.size.min(BLOCK_MAX) * 4).clamp(FIRST_BLOCK, BLOCK_MAX) });
        }
    }

    /// How many can be handed out before another block comes.
    pub(crate) fn left(&self) -> i64 {
        self.until - self.next + self.spare.map_or(0, |(from, until)| until - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(ids: &mut Ids) -> Option<i64> {
        let mut out = Decisions::default();
        ids.ask_when_low(&mut out);
        match out.effects.pop() {
            Some(Effect::WantIds { count }) => Some(count),
            _ => None,
        }
    }

    #[test]
    fn blocks_grow_while_they_are_used() {
        let mut ids = Ids::new(1..1 + FIRST_BLOCK);
        let (mut from, mut sizes, mut last) = (1_i64 << 40, Vec::new(), 0);
        for _ in 0..4_000_000 {
            let id = ids.take();
            assert!(id > last, "they grow");
            last = id;
            if let Some(count) = asks(&mut ids) {
                assert!(ids.left() > 16_000, "planning goes on meanwhile");
                ids.lend(from, from + count);
                (from, sizes) = (from + count, [sizes, vec![count]].concat());
            }
        }
        assert_eq!(sizes[..5], [1 << 17, 1 << 19, 1 << 20, 1 << 20, 1 << 20]);
    }

    #[test]
    fn a_new_job_belongs_to_the_shard_that_makes_it() {
        let mut ids = Ids::new(1..1 + FIRST_BLOCK);
        let mut last = 0;
        while let Some(job) = ids.take_job(ShardId(7), 64) {
            assert_eq!(shard_of(job, 64), ShardId(7));
            assert!(job.0 > last);
            last = job.0;
        }
        assert!(ids.left() > RESERVE - 1_000, "reports still find theirs: {}", ids.left());
        assert!(asks(&mut ids).is_some());
        assert_eq!(Ids::new(5..9).take_job(ShardId(0), 1), Some(JobId(5)), "one shard skips nothing");
        let mut ids = Ids::new(1..1 + FIRST_BLOCK);
        let own: Vec<i64> = (0..3).map(|_| ids.take_job(ShardId(70), 64).unwrap().0).collect();
        assert_eq!(own, [own[0], own[0] + 1, own[0] + 2], "a tenant's own shard skips nothing");
        assert!(own.iter().all(|job| shard_of(JobId(*job), 64) == ShardId(70)));
    }
}
