//! When a job becomes due, as its owner wrote it. The engine compiles it; nothing here computes a time.

use crate::{JobId, Span, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub when: When,
    /// Jobs whose ends start it, beside its own times.
    pub follows: Vec<Follow>,
    /// No planned time before this.
    pub start: Option<Timestamp>,
    /// No planned time at or after this.
    pub end: Option<Timestamp>,
    pub count_max: Option<u64>,
    /// A start may be later than planned by up to this much; how much is fixed by job and planned time.
    pub jitter: Span,
    pub misfire: Misfire,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Only when somebody asks, or what it follows ends.
    Manual,
    Cron {
        expr: String,
        dialect: CronDialect,
        /// IANA name.
        zone: String,
        dst: DstRule,
    },
    /// Every so often, counted from `start` or from when the job was made.
    Rate {
        every: Span,
    },
    /// So long after the previous instance ended.
    Delay {
        delay: Span,
    },
    Once {
        at: Timestamp,
    },
}

/// A job whose ends start this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follow {
    pub job: JobId,
    pub on: On,
    /// Of a broadcast, after each shard instead of after all.
    pub each: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CronDialect {
    Quartz,
    Unix,
}

/// What happens to local times that a change of clocks skips or repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DstRule {
    Policy {
        gap: Gap,
        fold: Fold,
    },
    /// Exactly what Quartz 2.3 does.
    Quartz,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    Skip,
    AtGapEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    First,
    Second,
    Both,
}

impl Default for DstRule {
    /// Nobody wants a nightly job to vanish, or to run twice.
    fn default() -> Self {
        DstRule::Policy { gap: Gap::AtGapEnd, fold: Fold::First }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Success,
    Failure,
    End,
}

/// What becomes of planned times that could not be kept, because no server was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misfire {
    pub rule: MisfireRule,
    /// Late by at most this much still counts as on time.
    pub grace: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MisfireRule {
    /// Missed is missed, and recorded so.
    Skip,
    /// One instance for all that was missed.
    Once,
    /// One instance each, up to a bound.
    All,
}

impl Default for Misfire {
    fn default() -> Self {
        Misfire { rule: MisfireRule::Once, grace: Span::secs(60) }
    }
}
