//! Forgets what is older than it has to be kept, as the SQLite store does.

use engine::change::ClaimName;
use model::{Span, TenantId, Timestamp};

use super::state::State;
use crate::{Retention, TenantRetention};

impl State {
    /// Everything at once: a map has no need for small steps.
    pub(super) fn retain(&mut self, keep: &Retention) -> bool {
        self.forget_instances(keep.before_day, None);
        let line = Timestamp(keep.before_day.saturating_mul(Span::DAY.0));
        for (id, ()) in collect(self.gaps.iter(), |(_, gap)| gap.last < line, |_| ()) {
            self.gaps.delete(&id);
        }
        for (id, ()) in collect(self.notes.iter(), |record| record.note.at < line, |_| ()) {
            self.notes.delete(&id);
        }
        for (id, ()) in collect(self.orphans.iter(), |orphan| orphan.at < line, |_| ()) {
            self.orphans.delete(&id);
        }
        // A day that was kept for something open keeps what its ledger refers to.
        let oldest = self.instances.values().map(|kept| kept.instance.planned.day()).min();
        let kept_day = oldest.unwrap_or(keep.before_day).min(keep.before_day);
        let margin = Timestamp(kept_day.saturating_mul(Span::DAY.0)) - crate::HISTORY_MARGIN;
        for (id, ()) in collect(self.intervals.iter(), |i| i.until.is_some_and(|until| until < margin), |_| ()) {
            self.intervals.delete(&id);
        }
        let keys: Vec<_> = self
            .claims
            .iter()
            .filter(|(name, (_, at))| matches!(name, ClaimName::Key { .. }) && *at < keep.keys_before)
            .map(|(name, _)| name.clone())
            .collect();
        for name in keys {
            self.claims.delete(&name);
        }
        self.seal(0);
        false
    }

    pub(super) fn retain_of(&mut self, keep: &TenantRetention) {
        self.forget_instances(keep.before_day, Some(keep.tenant));
        self.seal(0);
    }

    /// Of this tenant, or of all.
    fn forget_instances(&mut self, before_day: i64, tenant: Option<TenantId>) {
        let open_days: std::collections::BTreeSet<i64> =
            self.open.keys().map(|(_, id)| self.instances[id].instance.planned.day()).collect();
        let old = |at: Timestamp| at.day() < before_day && !open_days.contains(&at.day());
        for (id, entry) in collect(
            self.instances.iter(),
            |kept| old(kept.instance.planned) && tenant.is_none_or(|tenant| kept.instance.tenant == tenant),
            |kept| (kept.instance.job, kept.instance.planned, kept.instance.part.number),
        ) {
            self.instances.delete(&id);
            self.ledger.delete(&entry);
            let attempts = self.attempts.range((id, 0, i64::MIN)..=(id, u32::MAX, i64::MAX));
            for key in attempts.map(|(key, _)| *key).collect::<Vec<_>>() {
                self.attempts.delete(&key);
            }
        }
        for (id, ()) in collect(self.later.iter(), |of| !self.instances.contains_key(of), |_| ()) {
            self.later.delete(&id);
        }
    }
}

fn collect<'t, K: Clone + 't, V: 't, T>(
    rows: impl Iterator<Item = (&'t K, &'t V)>,
    old: impl Fn(&V) -> bool,
    take: impl Fn(&V) -> T,
) -> Vec<(K, T)> {
    rows.filter(|(_, row)| old(row)).map(|(key, row)| (key.clone(), take(row))).collect()
}
