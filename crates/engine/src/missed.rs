//! Planned times nobody could keep, because no server was there: counted, and then skipped, merged into one instance
//! or made up for one by one, as the job's misfire rule says.

use std::collections::VecDeque;

use model::{Cause, JobId, MisfireRule, Span, Timestamp};

use crate::change::{Change, Fate, Gap};
use crate::effect::Decisions;
use crate::make::Making;
use crate::shard::Shard;

/// `misfire: all` makes up for at most this many of the latest missed times.
pub const FIRE_ALL_MAX: usize = 1_000;

/// Missed times of one job: never all of them, there may be millions.
#[derive(Debug, Default)]
pub(crate) struct Missed {
    pub first: Timestamp,
    pub last: Timestamp,
    pub count: u64,
    /// The latest, as many as anyone makes up for and one more.
    latest: VecDeque<Timestamp>,
}

impl Missed {
    pub(crate) fn add(&mut self, planned: Timestamp) {
        if self.count == 0 {
            self.first = planned;
        }
        self.last = planned;
        self.count += 1;
        if self.latest.len() > FIRE_ALL_MAX {
            self.latest.pop_front();
        }
        self.latest.push_back(planned);
    }

    /// Adds `first` and what follows it at an even beat, up to `until`.
    pub(crate) fn extend(&mut self, first: Timestamp, every: Span, until: Timestamp) {
        let more = (until - first).0 / every.0 + 1;
        let skipped = (more - 1 - FIRE_ALL_MAX as i64).max(0);
        if skipped > 0 {
            self.add(first);
            self.count += skipped as u64 - 1;
        }
        (skipped..more).for_each(|n| self.add(first + every.saturating_mul(n)));
    }

    /// The entry for all but the latest `kept`: first, last, how many.
    fn all_but(&self, kept: usize) -> Option<(Timestamp, Timestamp, u64)> {
        let count = self.count.checked_sub(kept as u64).filter(|count| *count > 0)?;
        Some((self.first, self.latest[self.latest.len() - kept - 1], count))
    }
}

impl Shard {
    /// True if an instance came of it.
    pub(crate) fn misfire(&mut self, id: JobId, missed: Missed, now: Timestamp, out: &mut Decisions) -> bool {
        match self.jobs[&id].rule.rule.trigger.misfire.rule {
            MisfireRule::Skip => {
                let late = now - missed.last;
                let why = format!("its time passed {late} before any server could act on it");
                self.gap(id, (missed.first, missed.last, missed.count), Fate::Missed, why, out);
                false
            }
            MisfireRule::Once => {
                let cause = Cause::Misfire { missed: missed.count };
                let instance = self.create(id, Making::planned(missed.last, cause), now, out);
                if let Some(earlier) = missed.all_but(1) {
                    self.gap(id, earlier, Fate::Merged(instance), format!("made up for by instance {instance}"), out);
                }
                true
            }
            MisfireRule::All => {
                let kept = missed.count.min(FIRE_ALL_MAX as u64) as usize;
                if let Some(dropped) = missed.all_but(kept) {
                    let why = format!("more than {FIRE_ALL_MAX} times were missed at once");
                    self.gap(id, dropped, Fate::Missed, why, out);
                }
                for planned in missed.latest.range(missed.latest.len() - kept..) {
                    self.create(id, Making::planned(*planned, Cause::Misfire { missed: 1 }), now, out);
                }
                true
            }
        }
    }

    pub(crate) fn gap(
        &mut self,
        id: JobId,
        (first, last, count): (Timestamp, Timestamp, u64),
        fate: Fate,
        why: String,
        out: &mut Decisions,
    ) {
        let tenant = self.jobs[&id].tenant;
        out.change(Change::Gap(Gap { job: id, tenant, first, last, count, fate, why }));
    }
}
