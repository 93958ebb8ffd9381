//! Numbers handed out from blocks the store lent us. A new owner takes a new block, so they grow within a job.

use crate::effect::{Decisions, Effect};

/// How many ids a block holds.
pub const BLOCK: i64 = 1 << 20;
/// Ask for the next block when fewer than this are left: more than one step can use up.
const LOW: i64 = BLOCK / 4;

#[derive(Debug)]
pub(crate) struct Ids {
    next: i64,
    until: i64,
    /// The block after this one, if it came already.
    spare: Option<(i64, i64)>,
    asked: bool,
}

impl Ids {
    pub(crate) fn new(block: std::ops::Range<i64>) -> Self {
        Ids { next: block.start, until: block.end, spare: None, asked: false }
    }

    pub(crate) fn take(&mut self) -> i64 {
        if self.next == self.until {
            (self.next, self.until) = self.spare.take().expect("a block is asked for long before the last one ends");
        }
        self.next += 1;
        self.next - 1
    }

    pub(crate) fn peek(&self) -> i64 {
        self.next
    }

    pub(crate) fn lend(&mut self, from: i64, until: i64) {
        self.spare = Some((from, until));
        self.asked = false;
    }

    pub(crate) fn ask_when_low(&mut self, out: &mut Decisions) {
        if !self.asked && self.spare.is_none() && self.until - self.next < LOW {
            self.asked = true;
            out.effect(Effect::WantIds);
        }
    }

    /// How many can be handed out before another block comes.
    pub(crate) fn left(&self) -> i64 {
        self.until - self.next + self.spare.map_or(0, |(from, until)| until - from)
    }
}
