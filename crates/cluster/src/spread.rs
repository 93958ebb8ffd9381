//! Who should own which shard. Every server computes the same from the same rows, so that only the next in line tries,
//! and nobody votes. Shares follow weights; what need not move stays.
//!
//! What is kept for some is spread among these, each keep by itself, so that all of them work for it. What anyone may
//! own fills up: whoever has much of what is kept has less of it.

use std::cmp::Reverse;

/// A living server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<Id> {
    pub id: Id,
    /// Its share compared with the others'; 0 takes nothing.
    pub weight: u32,
    /// It is about to leave: it takes nothing, and gives away what it has.
    pub draining: bool,
}

/// Shards that only these may own, be they there or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep<Id> {
    /// Where they are among the owners.
    pub shards: Vec<usize>,
    pub servers: Vec<Id>,
}

/// The owner each shard should have, by the owners they have now. With nobody to take something, it stays where it may
/// be; what may be nowhere is nobody's.
pub fn spread<Id: Copy + Ord>(owners: &[Option<Id>], members: &[Member<Id>], keeps: &[Keep<Id>]) -> Vec<Option<Id>> {
    let mut takers: Vec<Member<Id>> = members.iter().filter(|m| !m.draining && m.weight > 0).copied().collect();
    takers.sort_by_key(|member| member.id);
    let mut wanted = vec![None; owners.len()];
    let mut has_of_kept = vec![0; takers.len()];
    for keep in keeps {
        let mut shards = keep.shards.clone();
        shards.retain(|at| *at < owners.len());
        let may: Vec<Member<Id>> = takers.iter().filter(|taker| keep.servers.contains(&taker.id)).copied().collect();
        if may.is_empty() {
            let stays = |id: &Id| keep.servers.contains(id) && members.iter().any(|member| member.id == *id);
            shards.iter().for_each(|at| wanted[*at] = owners[*at].filter(stays));
            continue;
        }
        share(owners, &shards, &may, &quotas(owners, &shards, &may), &mut wanted);
        for (has, taker) in has_of_kept.iter_mut().zip(&takers) {
            *has += shards.iter().filter(|at| wanted[**at] == Some(taker.id)).count();
        }
    }
    let is_kept = |at: &usize| keeps.iter().any(|keep| keep.shards.contains(at));
    let open: Vec<usize> = (0..owners.len()).filter(|at| !is_kept(at)).collect();
    if takers.is_empty() {
        let living = |id: &Id| members.iter().any(|member| member.id == *id);
        open.iter().for_each(|at| wanted[*at] = owners[*at].filter(living));
    } else {
        share(owners, &open, &takers, &filled_up(owners, &open, &takers, &has_of_kept), &mut wanted);
    }
    wanted
}

/// Gives these shards to the takers, so many to each. What it has within that stays with it.
fn share<Id: Copy + Ord>(
    owners: &[Option<Id>],
    shards: &[usize],
    takers: &[Member<Id>],
    quotas: &[usize],
    wanted: &mut [Option<Id>],
) {
    let mut counts = vec![0usize; takers.len()];
    let mut free = Vec::new();
    for shard in shards {
        let has = owners[*shard].and_then(|id| takers.iter().position(|taker| taker.id == id));
        match has.filter(|at| counts[*at] < quotas[*at]) {
            Some(at) => {
                counts[at] += 1;
                wanted[*shard] = Some(takers[at].id);
            }
            None => free.push(*shard),
        }
    }
    for shard in free {
        // Whoever lacks most: one that joins is filled evenly, and two that share the rest take turns.
        let neediest = (0..takers.len()).max_by_key(|at| (quotas[*at] - counts[*at], Reverse(*at)));
        let at = neediest.expect("there is a taker");
        counts[at] += 1;
        wanted[shard] = Some(takers[at].id);
    }
}

/// How many of these shards each taker gets: its share rounded down, and one more for those with the largest remainders;
/// of equals, for who has more now.
fn quotas<Id: Copy + Ord>(owners: &[Option<Id>], shards: &[usize], takers: &[Member<Id>]) -> Vec<usize> {
    let has = |taker: &Member<Id>| shards.iter().filter(|at| owners[**at] == Some(taker.id)).count();
    let weights: Vec<(u32, usize)> = takers.iter().map(|taker| (taker.weight, has(taker))).collect();
    by_weight(shards.len(), &weights)
}

/// The same of what anyone may own, so that the sum is even: one that has more than its share of the whole already gets
/// nothing, and the others share what is left.
fn filled_up<Id: Copy + Ord>(
    owners: &[Option<Id>],
    open: &[usize],
    takers: &[Member<Id>],
    has_of_kept: &[usize],
) -> Vec<usize> {
    let owned = |taker: &Member<Id>| open.iter().filter(|at| owners[**at] == Some(taker.id)).count();
    let mut left: Vec<usize> = (0..takers.len()).collect();
    loop {
        let weight = |at: &usize| (takers[*at].weight, has_of_kept[*at] + owned(&takers[*at]));
        let weights: Vec<(u32, usize)> = left.iter().map(weight).collect();
        let all = open.len() + left.iter().map(|at| has_of_kept[*at]).sum::<usize>();
        let shares = by_weight(all, &weights);
        let (within, beyond): (Vec<_>, Vec<_>) =
            left.iter().copied().zip(shares).partition(|(at, share)| has_of_kept[*at] <= *share);
        if beyond.is_empty() {
            let mut quotas = vec![0; takers.len()];
            within.into_iter().for_each(|(at, share)| quotas[at] = share - has_of_kept[at]);
            return quotas;
        }
        left = within.into_iter().map(|(at, _)| at).collect();
    }
}

/// So many, divided by weight; of equals, whoever has more now gets the one that is left.
fn by_weight(shards: usize, takers: &[(u32, usize)]) -> Vec<usize> {
    let total: u128 = takers.iter().map(|(weight, _)| u128::from(*weight)).sum();
    let exact = |at: usize| shards as u128 * u128::from(takers[at].0);
    let mut quotas: Vec<usize> = (0..takers.len()).map(|at| (exact(at) / total) as usize).collect();
    let mut order: Vec<usize> = (0..takers.len()).collect();
    order.sort_by_key(|at| (Reverse(exact(*at) % total), Reverse(takers[*at].1), *at));
    let left = shards - quotas.iter().sum::<usize>();
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
        let begun = spread(&[None; SHARDS], &three, &[]);
        assert_eq!([1, 2, 3].map(|id| count(&begun, id)), [22, 21, 21]);
        assert_eq!(spread(&begun, &three, &[]), begun, "what is spread stays");
        let four = [member(1), member(2), member(3), member(4)];
        let joined = spread(&begun, &four, &[]);
        assert_eq!([1, 2, 3, 4].map(|id| count(&joined, id)), [16, 16, 16, 16]);
        assert_eq!(moved(&begun, &joined), 16);
        let left = spread(&joined, &four[1..], &[]);
        assert_eq!([2, 3, 4].map(|id| count(&left, id)), [22, 21, 21]);
        assert_eq!(moved(&joined, &left), 16);
    }

    #[test]
    fn shares_follow_weights() {
        let members = [member(1), Member { weight: 3, ..member(2) }, Member { weight: 0, ..member(3) }];
        let owners = spread(&[None; SHARDS], &members, &[]);
        assert_eq!([1, 2, 3].map(|id| count(&owners, id)), [16, 48, 0]);
    }

    #[test]
    fn one_that_drains_gives_everything_away_unless_it_is_alone() {
        let begun = spread(&[None; SHARDS], &[member(1), member(2)], &[]);
        let drained = Member { draining: true, ..member(1) };
        assert_eq!(count(&spread(&begun, &[drained, member(2)], &[]), 2), SHARDS);
        assert_eq!(spread(&begun, &[drained], &[]), begun.iter().map(|o| o.filter(|id| *id == 1)).collect::<Vec<_>>());
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
            let next = spread(&owners, &members, &[]);
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

    fn kept(shards: std::ops::Range<usize>, servers: &[i64]) -> Keep<i64> {
        Keep { shards: shards.collect(), servers: servers.to_vec() }
    }

    #[test]
    fn what_is_kept_for_some_is_spread_among_them_and_the_rest_fills_up() {
        let three = [member(1), member(2), member(3)];
        let keeps = [kept(64..72, &[1, 2])];
        let begun = spread(&[None; 72], &three, &keeps);
        assert_eq!([1, 2, 3].map(|id| count(&begun, id)), [24, 24, 24]);
        assert_eq!([1, 2, 3].map(|id| count(&begun[64..], id)), [4, 4, 0]);
        assert_eq!(spread(&begun, &three, &keeps), begun, "what is spread stays");
        // One of the two dies: the other has all of it, and gives away others' to make up for it.
        let left = spread(&begun, &three[1..], &keeps);
        assert_eq!([2, 3].map(|id| (count(&left[64..], id), count(&left, id))), [(8, 36), (0, 36)]);
        // Both are gone: it waits, and the rest does not.
        let gone = spread(&begun, &three[2..], &keeps);
        assert_eq!((count(&gone, 3), &gone[64..]), (64, &[None; 8][..]));
        // One is there again.
        let back = spread(&gone, &three[1..], &keeps);
        assert_eq!((count(&back[64..], 2), count(&back, 2)), (8, 36));
    }

    #[test]
    fn more_than_its_share_is_kept_for_one_and_it_has_nothing_else() {
        let owners = spread(&[None; 16], &[member(1), member(2), member(3)], &[kept(4..16, &[1])]);
        assert_eq!([1, 2, 3].map(|id| count(&owners, id)), [12, 2, 2]);
    }

    #[test]
    fn one_that_drains_keeps_what_no_other_may_have() {
        let drained = Member { draining: true, ..member(1) };
        let keeps = [kept(4..8, &[1, 2])];
        let begun = [vec![Some(1); 4], vec![Some(1); 4]].concat();
        let to_another = spread(&begun, &[drained, member(2), member(3)], &keeps);
        assert_eq!((count(&to_another, 1), count(&to_another[4..], 2)), (0, 4));
        let to_nobody = spread(&begun, &[drained, member(3)], &keeps);
        assert_eq!((count(&to_nobody[..4], 3), count(&to_nobody[4..], 1)), (4, 4));
        // It was never theirs to have: not even one that drains keeps it.
        let foreign = spread(&begun, &[drained, member(3)], &[kept(4..8, &[2])]);
        assert_eq!(foreign[4..], [None; 4]);
    }

    #[test]
    fn whatever_is_kept_for_whom_only_they_have_it_and_no_more_moves_than_must() {
        let mut seed = 11u64;
        let mut roll = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        const EACH: usize = 8;
        let mut owners = vec![None; SHARDS + 4 * EACH];
        let mut named: Vec<Vec<i64>> = vec![vec![]; 4];
        for _ in 0..3_000 {
            let mut members = Vec::new();
            for id in 1..=1 + roll(6) as i64 {
                if roll(4) > 0 {
                    members.push(Member { id, weight: roll(4) as u32, draining: roll(8) == 0 });
                }
            }
            for servers in &mut named {
                if roll(4) == 0 {
                    *servers = (1..=6).filter(|_| roll(3) == 0).collect();
                }
            }
            let groups = named.iter().enumerate().filter(|(_, servers)| !servers.is_empty());
            let keeps: Vec<_> =
                groups.map(|(n, names)| kept(SHARDS + n * EACH..SHARDS + (n + 1) * EACH, names)).collect();
            let next = spread(&owners, &members, &keeps);
            assert_eq!(spread(&next, &members, &keeps), next, "what is spread stays: {members:?} {keeps:?}");
            judge(&owners, &next, &members, &keeps);
            owners = next;
        }
    }

    fn judge(owners: &[Option<i64>], next: &[Option<i64>], members: &[Member<i64>], keeps: &[Keep<i64>]) {
        let takers: Vec<_> = members.iter().filter(|m| !m.draining && m.weight > 0).collect();
        let among =
            |of: &[Option<i64>], shards: &[usize], id: i64| shards.iter().filter(|n| of[**n] == Some(id)).count();
        let stayed = |shards: &[usize], id: i64| {
            shards.iter().filter(|n| owners[**n] == Some(id) && next[**n] == Some(id)).count()
        };
        for keep in keeps {
            let may: Vec<_> = takers.iter().filter(|taker| keep.servers.contains(&taker.id)).collect();
            for shard in &keep.shards {
                match next[*shard] {
                    Some(owner) => assert!(keep.servers.contains(&owner), "{owner} is none of {keep:?}"),
                    None => assert!(may.is_empty(), "somebody could have it: {members:?} {keep:?}"),
                }
            }
            let total: u32 = may.iter().map(|m| m.weight).sum();
            for taker in may {
                let share = keep.shards.len() as f64 * f64::from(taker.weight) / f64::from(total);
                let (had, has) = (among(owners, &keep.shards, taker.id), among(next, &keep.shards, taker.id));
                assert!((has as f64 - share).abs() < 1.0, "{members:?} {keep:?}");
                assert_eq!(stayed(&keep.shards, taker.id), had.min(has), "{members:?} {keep:?}");
            }
        }
        let is_kept = |at: &usize| keeps.iter().any(|keep| keep.shards.contains(at));
        let open: Vec<usize> = (0..owners.len()).filter(|at| !is_kept(at)).collect();
        for one in &takers {
            let (had, has) = (among(owners, &open, one.id), among(next, &open, one.id));
            assert_eq!(stayed(&open, one.id), had.min(has), "{members:?} {keeps:?}");
            assert!(open.iter().all(|shard| next[*shard].is_some()));
            for other in takers.iter().filter(|_| has > 0) {
                // Of what anyone may have, none could be moved to make it more even.
                let (mine, theirs) = (count(next, one.id) as u32, count(next, other.id) as u32);
                assert!((mine - 1) * other.weight < (theirs + 1) * one.weight, "{members:?} {keeps:?}");
            }
        }
    }
}
