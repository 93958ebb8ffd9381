//! Whose turn it is when there is not enough for all: tenants take turns by weight, each within its quota. Counts only;
//! never looks at an instance or an agent.
//!
//! Who has least of what is scarce, for its weight, comes first. Among equals a virtual clock decides: each start moves
//! a tenant's pass on by the inverse of its weight, and who had nothing to start does not save up turns meanwhile.

use std::collections::BTreeMap;

use model::{Quotas, Span, TenantId, TenantRecord, Timestamp, Why};

use crate::slices::{Bound, Starts};

/// How far one start moves the pass of a tenant of weight one.
const STRIDE: u64 = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Turns {
    standings: BTreeMap<TenantId, Standing>,
    /// The pass of whoever started last.
    clock: u64,
}

#[derive(Debug, Default)]
struct Standing {
    name: String,
    /// 0: nobody has told us of the tenant; it counts as one.
    weight: u32,
    /// Of what runs at once.
    bound: Bound,
    per_second: Option<u32>,
    /// What was lent of that.
    starts: Option<Starts>,
    closing: bool,
    running: u32,
    pass: u64,
    /// Not before then, if it has a rate.
    next_start: Timestamp,
}

/// Who comes first: the smallest.
pub(crate) type Rank = (u64, u64);

impl Turns {
    pub(crate) fn new(tenants: &[TenantRecord]) -> Turns {
        let mut turns = Turns::default();
        turns.set_all(tenants);
        turns
    }

    /// What is told of all tenants; one that is not named has no quota.
    pub(crate) fn set_all<'t>(&mut self, tenants: impl IntoIterator<Item = &'t TenantRecord>) {
        for standing in self.standings.values_mut() {
            standing.allow(0, Quotas::default(), false);
        }
        for tenant in tenants {
            self.set(tenant);
        }
        self.standings.retain(|_, standing| standing.weight > 0 || standing.running > 0);
    }

    pub(crate) fn set(&mut self, tenant: &TenantRecord) {
        let standing = self.standings.entry(tenant.id).or_default();
        standing.name.clone_from(&tenant.name);
        standing.allow(tenant.weight.max(1), tenant.quotas, tenant.is_closing());
    }

    pub(crate) fn weight(&self, tenant: TenantId) -> u64 {
        self.standings.get(&tenant).map_or(1, |standing| u64::from(standing.weight.max(1)))
    }

    /// Some of its starts may have to wait although there is an agent for them.
    pub(crate) fn is_bound(&self, tenant: TenantId) -> bool {
        self.standings.get(&tenant).is_some_and(|standing| standing.bound.binds())
    }

    /// Why it may not start one more, and when it may if that is only a matter of time.
    pub(crate) fn refusal(&self, tenant: TenantId, lends: bool, now: Timestamp) -> Option<(Why, Option<Timestamp>)> {
        let standing = self.standings.get(&tenant)?;
        let name = || standing.name.clone();
        if standing.closing {
            return Some((Why::TenantClosing { tenant: name() }, None));
        }
        if let Some(max) = standing.bound.full(standing.running, lends) {
            return Some((Why::TenantRunning { tenant: name(), max }, None));
        }
        let lent = standing.starts.map(|starts| starts.per_second());
        let per_second = standing.per_second.or(lent)?;
        // By when another shard lends us one, nobody here knows.
        let at = Some(standing.next_start).filter(|_| !lends);
        (!standing.may_start(lends, now)).then(|| (Why::TenantRate { tenant: name(), per_second }, at))
    }

    pub(crate) fn has_room(&self, tenant: TenantId, lends: bool, now: Timestamp) -> bool {
        let Some(standing) = self.standings.get(&tenant) else { return true };
        !standing.closing && standing.bound.has_room(standing.running, lends) && standing.may_start(lends, now)
    }

    pub(crate) fn is_closing(&self, tenant: TenantId) -> bool {
        self.standings.get(&tenant).is_some_and(|standing| standing.closing)
    }

    /// Starts of a tenant with a rate are that far apart.
    pub(crate) fn start(&mut self, tenant: TenantId, now: Timestamp) {
        let standing = self.standings.entry(tenant).or_default();
        let stride = STRIDE / u64::from(standing.weight.max(1));
        standing.pass = standing.pass.max(self.clock) + stride;
        self.clock = standing.pass - stride;
        if let Some(starts) = &mut standing.starts {
            starts.begin(now);
        }
        if let Some(rate) = standing.per_second {
            let apart = Span(Span::SECOND.0 / i64::from(rate.max(1)));
            standing.next_start = standing.next_start.max(now) + apart;
        }
        standing.running += 1;
    }

    /// It runs already, as a load found it.
    pub(crate) fn occupy(&mut self, tenant: TenantId) {
        self.standings.entry(tenant).or_default().running += 1;
    }

    pub(crate) fn release(&mut self, tenant: TenantId) {
        self.standings.get_mut(&tenant).expect("whoever gives back has started").running -= 1;
    }

    pub(crate) fn running(&self, tenant: TenantId) -> u32 {
        self.standings.get(&tenant).map_or(0, |standing| standing.running)
    }

    pub(crate) fn bound_of(&mut self, tenant: TenantId) -> &mut Bound {
        &mut self.standings.entry(tenant).or_default().bound
    }

    /// Each with what it runs.
    pub(crate) fn bounds(&self) -> impl Iterator<Item = (TenantId, &Bound, u32)> {
        self.standings.iter().map(|(id, standing)| (*id, &standing.bound, standing.running))
    }

    pub(crate) fn set_starts(&mut self, tenant: TenantId, starts: Starts) {
        self.standings.entry(tenant).or_default().starts = Some(starts);
    }

    /// Those whose starts are counted, as far as is known here.
    pub(crate) fn paces(&self) -> impl Iterator<Item = (TenantId, Option<u32>, Option<Starts>)> {
        let all = self.standings.iter().map(|(id, standing)| (*id, standing.per_second, standing.starts));
        all.filter(|(_, per_second, starts)| per_second.is_some() || starts.is_some())
    }

    /// Nothing is lent any more; what was left of starts.
    pub(crate) fn take_slices(&mut self) -> BTreeMap<TenantId, Starts> {
        let mut left = BTreeMap::new();
        for (id, standing) in &mut self.standings {
            standing.bound = Bound::of(standing.bound.limit);
            left.extend(standing.starts.take().map(|starts| (*id, starts)));
        }
        left
    }

    /// Compared with others who have so much of what is scarce.
    pub(crate) fn rank(&self, tenant: TenantId, has: u32) -> Rank {
        let pass = self.standings.get(&tenant).map_or(0, |standing| standing.pass);
        (u64::from(has) * STRIDE / self.weight(tenant), pass.max(self.clock))
    }
}

impl Standing {
    fn allow(&mut self, weight: u32, quotas: Quotas, closing: bool) {
        (self.weight, self.closing) = (weight, closing);
        (self.bound.limit, self.per_second) = (quotas.running, quotas.per_second);
    }

    fn may_start(&self, lends: bool, now: Timestamp) -> bool {
        if !lends {
            return self.per_second.is_none() || now >= self.next_start;
        }
        self.starts.map_or(self.per_second.is_none(), |starts| starts.has_room(now))
    }
}

#[cfg(test)]
mod tests {
    use model::Actor;

    use super::*;

    fn turns(weights: &[u32]) -> Turns {
        let record = |(n, weight): (usize, &u32)| TenantRecord {
            weight: *weight,
            ..TenantRecord::new(TenantId(n as i64 + 1), format!("t{n}"), Timestamp(0), Actor("ann".into()))
        };
        Turns::new(&weights.iter().enumerate().map(record).collect::<Vec<_>>())
    }

    /// Who starts, one after the other, when each has something to start and runs of nobody last.
    fn order(turns: &mut Turns, ready: &[i64], starts: usize) -> String {
        let mut told = String::new();
        for _ in 0..starts {
            let first = ready.iter().min_by_key(|id| turns.rank(TenantId(**id), 0)).expect("somebody is ready");
            turns.start(TenantId(*first), Timestamp(0));
            turns.release(TenantId(*first));
            told.push(char::from(b'`' + *first as u8));
        }
        told
    }

    #[test]
    fn equals_alternate_and_weight_counts() {
        assert_eq!(order(&mut turns(&[1, 1]), &[1, 2], 6), "ababab");
        assert_eq!(order(&mut turns(&[3, 1]), &[1, 2], 8), "abaaabaa");
    }

    #[test]
    fn nobody_saves_up_turns_while_idle() {
        let mut turns = turns(&[1, 1]);
        assert_eq!(order(&mut turns, &[1], 50).len(), 50);
        assert_eq!(order(&mut turns, &[1, 2], 5), "babab");
    }

    #[test]
    fn who_has_less_of_what_is_scarce_comes_first() {
        let turns = turns(&[1, 1, 4]);
        assert!(turns.rank(TenantId(2), 3) < turns.rank(TenantId(1), 4));
        assert!(turns.rank(TenantId(3), 15) < turns.rank(TenantId(1), 4));
        assert!(turns.rank(TenantId(3), 17) > turns.rank(TenantId(1), 4));
    }
}
