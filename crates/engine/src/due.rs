//! Scheduled instances by the instant they may start, each tenant's for itself: who has many due at one instant does not
//! stand before who has one.

use std::collections::{BTreeMap, VecDeque};

use model::{InstanceId, TenantId, Timestamp};

type Line = BTreeMap<Timestamp, VecDeque<InstanceId>>;

#[derive(Debug, Default)]
pub(crate) struct Due {
    lines: BTreeMap<TenantId, Line>,
    /// Whose turn was the last.
    last: TenantId,
}

impl Due {
    pub(crate) fn push(&mut self, tenant: TenantId, at: Timestamp, id: InstanceId) {
        self.lines.entry(tenant).or_default().entry(at).or_default().push_back(id);
    }

    pub(crate) fn remove(&mut self, tenant: TenantId, at: Timestamp, id: InstanceId) {
        let Some(line) = self.lines.get_mut(&tenant) else { return };
        if let Some(bucket) = line.get_mut(&at) {
            bucket.retain(|other| *other != id);
            if bucket.is_empty() {
                line.remove(&at);
            }
        }
        if line.is_empty() {
            self.lines.remove(&tenant);
        }
    }

    pub(crate) fn first(&self) -> Option<Timestamp> {
        self.lines.values().filter_map(|line| line.first_key_value()).map(|(at, _)| *at).min()
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.values().flat_map(BTreeMap::values).map(VecDeque::len).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Timestamp, InstanceId)> + Clone {
        self.lines.values().flatten().flat_map(|(at, ids)| ids.iter().map(move |id| (*at, *id)))
    }

    /// The others that have something due by then, and how many, counted up to `most`.
    pub(crate) fn others(
        &self,
        than: TenantId,
        until: Timestamp,
        most: usize,
    ) -> impl Iterator<Item = (TenantId, usize)> {
        let others = self.lines.iter().filter(move |(tenant, _)| **tenant != than);
        others.filter_map(move |(tenant, line)| {
            let mut count = 0;
            for (_, ids) in line.range(..=until) {
                count += ids.len();
                if count >= most {
                    break;
                }
            }
            (count > 0).then_some((*tenant, count.min(most)))
        })
    }

    /// Up to `room` of those due by then, tenants in turns: as many at a time as their weight says.
    pub(crate) fn take(&mut self, until: Timestamp, room: usize, weight: impl Fn(TenantId) -> u64) -> Vec<InstanceId> {
        let is_due = |line: &Line| line.first_key_value().is_some_and(|(at, _)| *at <= until);
        let due: Vec<TenantId> = self.lines.iter().filter(|(_, line)| is_due(line)).map(|(id, _)| *id).collect();
        let after = due.iter().position(|tenant| *tenant > self.last).unwrap_or(0);
        let mut taken = Vec::new();
        let mut left = due.len();
        for tenant in due.iter().cycle().skip(after) {
            if left == 0 || taken.len() >= room {
                break;
            }
            let line = self.lines.get_mut(tenant).expect("only lines with somebody due are looked at");
            // Whoever is alone need not take turns.
            let turn = if due.len() == 1 { room } else { weight(*tenant) as usize };
            let before = taken.len();
            take_some(line, until, turn.min(room - taken.len()), &mut taken);
            left = if taken.len() > before { due.len() } else { left - 1 };
            self.last = *tenant;
        }
        self.lines.retain(|_, line| !line.is_empty());
        taken
    }
}

fn take_some(line: &mut Line, until: Timestamp, mut room: usize, taken: &mut Vec<InstanceId>) {
    while room > 0
        && let Some(mut first) = line.first_entry().filter(|first| *first.key() <= until)
    {
        let later = first.get().len().saturating_sub(room);
        let ids: VecDeque<_> = if later == 0 { first.remove() } else { first.get_mut().drain(..room).collect() };
        room -= ids.len();
        taken.extend(ids);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(counts: &[(i64, i64, usize)]) -> Due {
        let mut due = Due::default();
        let mut number = 0;
        for (tenant, at, count) in counts {
            for _ in 0..*count {
                number += 1;
                due.push(TenantId(*tenant), Timestamp(*at), InstanceId(tenant * 1_000_000 + number));
            }
        }
        due
    }

    fn tenants(taken: &[InstanceId]) -> String {
        taken.iter().map(|id| char::from(b'`' + (id.0 / 1_000_000) as u8)).collect()
    }

    #[test]
    fn one_among_fifty_thousand_is_taken_in_the_first_turns() {
        let mut due = due(&[(1, 5, 50_000), (2, 5, 1)]);
        let taken = tenants(&due.take(Timestamp(5), 1_000, |_| 1));
        assert_eq!((taken.len(), taken.find('b')), (1_000, Some(1)));
        assert_eq!(due.len(), 49_001);
        assert_eq!(due.first(), Some(Timestamp(5)));
    }

    #[test]
    fn a_backlog_does_not_stand_before_what_falls_due_later() {
        let mut due = due(&[(1, 5, 50_000), (2, 9, 1)]);
        assert!(!tenants(&due.take(Timestamp(8), 1_000, |_| 1)).contains('b'));
        let taken = tenants(&due.take(Timestamp(9), 1_000, |_| 1));
        assert!(taken.find('b').is_some_and(|place| place <= 1), "{taken}");
    }

    #[test]
    fn turns_are_as_long_as_the_weight_says_and_go_on_where_they_stopped() {
        let mut due = due(&[(1, 5, 100), (2, 5, 100)]);
        let weight = |tenant: TenantId| if tenant == TenantId(2) { 2 } else { 1 };
        assert_eq!(tenants(&due.take(Timestamp(5), 7, weight)), "abbabba");
        assert_eq!(tenants(&due.take(Timestamp(5), 4, weight)), "bbab");
    }

    #[test]
    fn one_tenant_is_taken_in_the_order_of_time() {
        let mut due = due(&[(1, 7, 2), (1, 5, 2)]);
        assert_eq!(due.take(Timestamp(9), 9, |_| 1).iter().map(|id| id.0 % 1_000).collect::<Vec<_>>(), [3, 4, 1, 2]);
        assert_eq!((due.len(), due.first()), (0, None));
    }

    #[test]
    fn what_is_due_soon_is_counted_for_the_others() {
        let due = due(&[(1, 5, 9), (2, 5, 3), (2, 50, 3), (3, 50, 1)]);
        let counted: Vec<_> = due.others(TenantId(1), Timestamp(9), 100).collect();
        assert_eq!(counted, [(TenantId(2), 3)]);
        assert_eq!(due.others(TenantId(3), Timestamp(60), 4).collect::<Vec<_>>(), [(TenantId(1), 4), (TenantId(2), 4)]);
    }
}
