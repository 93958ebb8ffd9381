//! When a job had been planned as often as it may: from then on it plans nothing, and nothing is missing.

use std::time::Instant;

use model::{JobId, JobMode, Span, Timestamp};
use store::read::Interval;
use store::{Reads, StoreError};

use super::Rules;

/// For each interval of the job, the last time it planned, if it had then reached its maximum. Worked out backwards
/// from what is counted now, so that entries dropped long ago are not missed.
pub(super) fn last_times(
    reads: &dyn Reads,
    intervals: &[Interval],
    from: Timestamp,
    rules: &mut Rules<'_>,
    by: Instant,
) -> Result<Vec<Option<Timestamp>>, StoreError> {
    let mut last_times = vec![None; intervals.len()];
    if limited(intervals.to_vec(), rules)?.is_empty() {
        return Ok(last_times);
    }
    let job = intervals[0].job;
    let limited = limited(reads.intervals(Some(job), from, Timestamp::MAX, by)?, rules)?;
    // Of a job that is gone nobody knows how far it had counted.
    let mut fired = reads.job(job, by)?.map_or(u64::MAX, |record| record.fired);
    if limited.iter().all(|(_, max)| fired < *max) {
        return Ok(last_times);
    }
    for (interval, max) in limited.iter().rev() {
        let begin = from.max(interval.since + Span(1));
        let counted = count(reads, job, begin, interval.until, by)?;
        let same = |known: &Interval| known.since == interval.since && known.version == interval.version;
        if let Some(n) = intervals.iter().position(same).filter(|_| fired >= *max) {
            last_times[n] = Some(counted.last.unwrap_or(Timestamp::MIN));
        }
        if fired != u64::MAX {
            fired = fired.saturating_sub(counted.times);
        }
    }
    Ok(last_times)
}

fn limited(intervals: Vec<Interval>, rules: &mut Rules<'_>) -> Result<Vec<(Interval, u64)>, StoreError> {
    let mut limited = Vec::new();
    for interval in intervals.into_iter().filter(|interval| interval.mode == JobMode::Enabled) {
        if let Some(max) = rules.get(interval.rule)?.trigger.count_max {
            limited.push((interval, max));
        }
    }
    Ok(limited)
}

#[derive(Default)]
struct Counted {
    times: u64,
    last: Option<Timestamp>,
}

/// What the trigger made of `[from, until]`, a day at a time.
fn count(
    reads: &dyn Reads,
    job: JobId,
    from: Timestamp,
    until: Option<Timestamp>,
    by: Instant,
) -> Result<Counted, StoreError> {
    let mut counted = Counted::default();
    let to = match until {
        Some(until) => until + Span(1),
        // What is planned ahead is counted too, however far the shard has come that is furthest.
        None => reads.horizons(by)?.into_iter().map(|(_, horizon)| horizon).max().unwrap_or(Timestamp(0)) + Span::DAY,
    };
    for gap in reads.gaps(Some(job), from, to, by)? {
        counted.times += gap.count;
        counted.last = counted.last.max(Some(gap.last));
    }
    let mut begin = from;
    while begin < to {
        let end = Timestamp((begin.day() + 1).saturating_mul(Span::DAY.0)).min(to);
        for entry in reads.ledger(job, begin, end, by)?.iter().filter(|entry| entry.by_trigger) {
            counted.times += 1;
            counted.last = counted.last.max(Some(entry.planned));
        }
        begin = end;
    }
    Ok(counted)
}
