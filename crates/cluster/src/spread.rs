//! Who should own which shard. Every server computes the same from the same rows, so that only the next in line tries,
//! and nobody votes. Shares follow weights; what need not move stays.

/// A living server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<Id> {
    pub id: Id,
    /// Its share compared with the others'; 0 takes nothing.
    pub weight: u32,
    /// It is about to leave: it takes nothing, and gives away what it has.
    pub draining: bool,
}

/// The owner each shard should have, by the owners they have now. With nobody to take anything, all stays as it is.
pub fn spread<Id: Copy + Ord>(owners: &[Option<Id>], members: &[Member<Id>]) -> Vec<Option<Id>> {
    let mut takers: Vec<Member<Id>> = members.iter().filter(|m| !m.draining && m.weight > 0).copied().collect();
    takers.sort_by_key(|member| member.id);
    if takers.is_empty() {
        let living = |owner: &Option<Id>| owner.filter(|id| members.iter().any(|member| member.id == *id));
        return owners.iter().map(living).collect();
    }
    let quotas = quotas(owners, &takers);
    let mut counts = vec![0usize; takers.len()];
    let mut wanted: Vec<Option<Id>> = owners
        .iter()
        .map(|owner| {
            let at = owner.and_then(|id| takers.iter().position(|taker| taker.id == id))?;
            let stays = counts[at] < quotas[at];
            counts[at] += usize::from(stays);
            stays.then_some(takers[at].id)
        })
        .collect();
    for free in wanted.iter_mut().filter(|owner| owner.is_none()) {
        // Whoever lacks most: one that joins is filled evenly, and two that share the rest take turns.
        let neediest = (0..takers.len()).max_by_key(|at| (quotas[*at] - counts[*at], std::cmp::Reverse(*at)));
        let at = neediest.expect("there is a taker");
        counts[at] += 1;
        *free = Some(takers[at].id);
    }
    wanted
}

/// How many shards each taker gets: its share rounded down, and one more for those with the largest remainders; of
/// equals, for who has more now.
fn quotas<Id: Copy + Ord>(owners: &[Option<Id>], takers: &[Member<Id>]) -> Vec<usize> {
    let total: u128 = takers.iter().map(|taker| u128::from(taker.weight)).sum();
    let shards = owners.len() as u128;
    let exact = |taker: &Member<Id>| shards * u128::from(taker.weight);
    let mut quotas: Vec<usize> = takers.iter().map(|taker| (exact(taker) / total) as usize).collect();
    let has = |at: usize| owners.iter().filter(|owner| **owner == Some(takers[at].id)).count();
    let mut order: Vec<usize> = (0..takers.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(exact(&takers[*at]) % total), std::cmp::Reverse(has(*at)), *at));
    let left = owners.len() - quotas.iter().sum::<usize>();
    for at in order.into_iter().take(left) {
        quotas[at] += 1;
    }
    quotas
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARDS: usize = 64;

    fn member(id: i64) -> Member<i64> {
        Member { id, weight: 1, draining: false }
    }

    fn count(owners: &[Option<i64>], id: i64) -> usize {
        owners.iter().filter(|owner| **owner == Some(id)).count()
    }

    fn moved(before: &[Option<i64>], after: &[Option<i64>]) -> usize {
        before.iter().zip(after).filter(|(before, after)| before != after).count()
    }

    #[test]
    fn one_joins_and_one_leaves_and_only_their_share_moves() {
        let three = [member(1), member(2), member(3)];
        let begun = spread(&[None; SHARDS], &three);
        assert_eq!([1, 2, 3].map(|id| count(&begun, id)), [22, 21, 21]);
        assert_eq!(spread(&begun, &three), begun, "what is spread stays");
        let four = [member(1), member(2), member(3), member(4)];
        let joined = spread(&begun, &four);
        assert_eq!([1, 2, 3, 4].map(|id| count(&joined, id)), [16, 16, 16, 16]);
        assert_eq!(moved(&begun, &joined), 16);
        let left = spread(&joined, &four[1..]);
        assert_eq!([2, 3, 4].map(|id| count(&left, id)), [22, 21, 21]);
        assert_eq!(moved(&joined, &left), 16);
    }

    #[test]
    fn shares_follow_weights() {
        let members = [member(1), Member { weight: 3, ..member(2) }, Member { weight: 0, ..member(3) }];
        let owners = spread(&[None; SHARDS], &members);
        assert_eq!([1, 2, 3].map(|id| count(&owners, id)), [16, 48, 0]);
    }

    #[test]
    fn one_that_drains_gives_everything_away_unless_it_is_alone() {
        let begun = spread(&[None; SHARDS], &[member(1), member(2)]);
        let drained = Member { draining: true, ..member(1) };
        assert_eq!(count(&spread(&begun, &[drained, member(2)]), 2), SHARDS);
        assert_eq!(spread(&begun, &[drained]), begun.iter().map(|o| o.filter(|id| *id == 1)).collect::<Vec<_>>());
    }

    #[test]
    fn any_change_of_members_moves_no_more_than_it_must() {
        // A small generator is enough: every history is repeated exactly.
        let mut seed = 7u64;
        let mut roll = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        let mut owners = vec![None; SHARDS];
        for _ in 0..2_000 {
            let mut members = Vec::new();
            for id in 1..=1 + roll(6) as i64 {
                if roll(4) > 0 {
                    members.push(Member { id, weight: roll(4) as u32, draining: roll(8) == 0 });
                }
            }
            let next = spread(&owners, &members);
            let takes = |id: i64| members.iter().any(|m| m.id == id && !m.draining && m.weight > 0);
            if members.iter().any(|m| takes(m.id)) {
                assert!(next.iter().all(|owner| owner.is_some_and(takes)), "{members:?}");
                let total: u32 = members.iter().filter(|m| takes(m.id)).map(|m| m.weight).sum();
                for member in members.iter().filter(|m| takes(m.id)) {
                    let share = SHARDS as f64 * f64::from(member.weight) / f64::from(total);
                    assert!((count(&next, member.id) as f64 - share).abs() < 1.0, "{members:?}");
                    let (had, has) = (count(&owners, member.id), count(&next, member.id));
                    let kept = owners.iter().zip(&next).filter(|(a, b)| a == b && **a == Some(member.id)).count();
                    assert_eq!(kept, had.min(has), "whoever has too few gives nothing away: {members:?}");
                }
            }
            owners = next;
        }
    }
}
