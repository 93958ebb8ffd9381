//! Which times a trigger names in a window: cron by trying every second, the rest by plain arithmetic.

use std::collections::BTreeMap;

use engine::cron::{Zone, brute};
use model::{CronDialect, DstRule, Rule, Span, Timestamp, When};
use store::StoreError;

/// Remembers what it computed for a day: many jobs share an expression.
#[derive(Default)]
pub(super) struct Calendar {
    days: BTreeMap<(Key, i64, i64), Vec<i64>>,
    times: usize,
}

/// Times remembered before some are forgotten.
const REMEMBERED_MAX: usize = 4_000_000;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    expr: String,
    is_quartz: bool,
    zone: String,
    dst: String,
}

impl Calendar {
    /// Planned times in `[from, to)`, in order. `since` is when the job began to be as it is: rates count from it.
    /// None: the trigger names no times, they come from what happens.
    pub(super) fn times(
        &mut self,
        rule: &Rule,
        since: Timestamp,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Option<Vec<Timestamp>>, StoreError> {
        let trigger = &rule.trigger;
        let from = from.max(trigger.start.unwrap_or(Timestamp::MIN));
        let to = to.min(trigger.end.unwrap_or(Timestamp::MAX));
        let times = match &trigger.when {
            When::Manual | When::Delay { .. } => return Ok(None),
            When::Once { at } => {
                if (from..to).contains(at) {
                    vec![*at]
                } else {
                    Vec::new()
                }
            }
            When::Rate { every } => beats(trigger.start.unwrap_or(since), *every, from, to),
            When::Cron { expr, dialect, zone, dst } => self.cron(expr, *dialect, zone, *dst, from, to)?,
        };
        Ok(Some(times))
    }

    fn cron(
        &mut self,
        expr: &str,
        dialect: CronDialect,
        zone: &str,
        dst: DstRule,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Timestamp>, StoreError> {
        if from >= to {
            return Ok(Vec::new());
        }
        let key = Key {
            expr: expr.into(),
            is_quartz: dialect == CronDialect::Quartz,
            zone: zone.into(),
            dst: format!("{dst:?}"),
        };
        // Whole days are computed, so that windows that differ by a moment share them.
        let (first, last) = (from.day(), (to - Span(1)).day());
        let (begin, end) = (first.saturating_mul(Span::DAY.0), (last + 1).saturating_mul(Span::DAY.0));
        let slot = (key, begin, end);
        if !self.days.contains_key(&slot) {
            let unknown = |what: String| StoreError::Corrupt(format!("a kept trigger cannot be read: {what}"));
            let zone = Zone::named(zone).map_err(|error| unknown(error.to_string()))?;
            let fires = brute::fires(dialect, expr, &zone, dst, begin, end);
            let fires = fires.map_err(|error| unknown(error.to_string()))?;
            if self.times + fires.len() > REMEMBERED_MAX {
                self.forget();
            }
            self.times += fires.len();
            self.days.insert(slot.clone(), fires);
        }
        let fires = &self.days[&slot];
        let from_at = fires.partition_point(|fire| *fire < from.0);
        let to_at = fires.partition_point(|fire| *fire < to.0);
        Ok(fires[from_at..to_at].iter().map(|fire| Timestamp(*fire)).collect())
    }

    pub(super) fn forget(&mut self) {
        self.days.clear();
        self.times = 0;
    }
}

/// `anchor`, `anchor + every`, `anchor + 2·every` and so on, as far as they lie in `[from, to)`.
fn beats(anchor: Timestamp, every: Span, from: Timestamp, to: Timestamp) -> Vec<Timestamp> {
    let mut times = Vec::new();
    if every.0 <= 0 || from >= to {
        return times;
    }
    let behind = from.0.saturating_sub(anchor.0).max(0);
    let mut beat = anchor.0.saturating_add(behind.div_euclid(every.0).saturating_mul(every.0));
    while beat < to.0 {
        if beat >= from.0 {
            times.push(Timestamp(beat));
        }
        beat = beat.saturating_add(every.0);
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_are_counted_from_their_anchor() {
        let told = |anchor, every, from, to| -> Vec<i64> {
            beats(Timestamp(anchor), Span(every), Timestamp(from), Timestamp(to)).iter().map(|beat| beat.0).collect()
        };
        assert_eq!(told(103, 10, 100, 130), [103, 113, 123]);
        assert_eq!(told(103, 10, 113, 123), [113]);
        assert_eq!(told(103, 10, 1_000, 1_010), [1_003]);
        assert_eq!(told(103, 10, 50, 103), Vec::<i64>::new());
    }
}
