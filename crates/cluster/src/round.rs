//! What one server does about its shards after it has looked at the rows: take what is its to take, give what another
//! should have, drop what another has. Pure: the rows, who we are and what we run, in; a list, out.

use std::collections::BTreeMap;

use model::{ServerId, ShardId, Span, Term, Timestamp};
use store::leases::{LeaseRow, Picture, Reserved, ServerRow};

use crate::spread::{Keep, Member, spread};
use crate::tenure::Terms;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    pub take: Vec<ShardId>,
    /// To whom; to nobody if we may not have it and none of those who may is there.
    pub give: Vec<(ShardId, Option<ServerId>)>,
    /// The row says that these are another's, or that somebody raised the term since.
    pub drop: Vec<ShardId>,
    /// Something of ours to take becomes free so much later.
    pub look_in: Option<Span>,
}

/// `running` is what runs here, each under its term.
pub fn decide(picture: &Picture, me: ServerId, running: &BTreeMap<ShardId, Term>, terms: &Terms) -> Round {
    let (now, grace) = (picture.now, Span::from(terms.grace));
    let members: Vec<Member<ServerId>> = picture
        .servers
        .iter()
        .filter(|server| is_living(server, now, grace))
        .map(|server| Member { id: server.id, weight: server.weight, draining: server.draining })
        .collect();
    let is_member = |id: ServerId| members.iter().any(|member| member.id == id);
    let mut rows: BTreeMap<ShardId, Option<&LeaseRow>> = (0..picture.shards).map(|n| (ShardId(n), None)).collect();
    rows.extend(picture.leases.iter().map(|row| (row.shard, Some(row))));
    let holder = |row: &Option<&LeaseRow>| row.and_then(|row| row.server);
    let owners: Vec<Option<ServerId>> = rows.values().map(|row| holder(row).filter(|id| is_member(*id))).collect();
    let mut round = Round::default();
    let keeps = keeps(picture, &rows.keys().copied().collect::<Vec<_>>());
    for ((shard, row), wanted) in rows.iter().zip(spread(&owners, &members, &keeps)) {
        let shard = *shard;
        let (term, held) = (running.get(&shard), holder(row));
        // A take-over that was long under way raises the term of what is ours. Agents may have heard of it, and then they
        // hear us no more; we would learn it with our next commit, whenever that is.
        let overtaken = term.is_some_and(|term| row.is_some_and(|row| row.term > *term));
        if term.is_some() && (held != Some(me) || overtaken) {
            round.drop.push(shard);
            continue;
        }
        let runs = term.is_some();
        match (held, wanted) {
            (Some(holder), next) if holder == me && next != Some(me) => round.give.push((shard, next)),
            (Some(holder), _) if holder == me && !runs => round.take.push(shard),
            (Some(holder), Some(next)) if holder != me && next == me => {
                // Another's: ours once its lease and the grace are over, and no sooner.
                let free_at = row.map_or(now, |row| row.until + grace);
                if free_at < now {
                    round.take.push(shard);
                } else if !is_member(holder) {
                    let wait = free_at - now + Span(1);
                    round.look_in = Some(round.look_in.map_or(wait, |sooner| sooner.min(wait)));
                }
            }
            (None, Some(next)) if next == me => round.take.push(shard),
            _ => {}
        }
    }
    // Whoever holds a lease that is about to end is looked at when it has.
    let ends = picture.servers.iter().filter(|server| server.id != me && is_living(server, now, grace));
    let next_end = ends.map(|server| server.until + grace - now + Span(1)).min();
    round.look_in = round.look_in.into_iter().chain(next_end).min();
    round
}

/// What only some may own. Servers are told by their names: one that takes another's place has its name and not its number.
fn keeps(picture: &Picture, shards: &[ShardId]) -> Vec<Keep<ServerId>> {
    let keep = |reserved: &Reserved| Keep {
        shards: reserved.shards.iter().filter_map(|shard| shards.binary_search(shard).ok()).collect(),
        servers: picture.servers.iter().filter(|server| reserved.lets(server)).map(|server| server.id).collect(),
    };
    picture.reserved.iter().map(keep).collect()
}

/// The living servers that may have these, also those that take nothing now.
pub fn may_have<'p>(picture: &'p Picture, reserved: &Reserved, terms: &Terms) -> Vec<&'p ServerRow> {
    let living = picture.servers.iter().filter(|server| is_living(server, picture.now, Span::from(terms.grace)));
    living.filter(|server| reserved.lets(server)).collect()
}

pub fn is_living(server: &ServerRow, now: Timestamp, grace: Span) -> bool {
    server.until + grace >= now
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Batch;

    const ME: ServerId = ServerId(1);
    const OTHER: ServerId = ServerId(2);

    fn server(id: ServerId, until_ms: i64) -> ServerRow {
        ServerRow {
            id,
            name: format!("s{}", id.0),
            api: String::new(),
            agents: String::new(),
            peer: String::new(),
            version: String::new(),
            weight: 1,
            draining: false,
            started_at: Timestamp(0),
            until: Timestamp(until_ms * 1_000),
        }
    }

    fn lease(shard: i64, server: Option<ServerId>, until_ms: i64) -> LeaseRow {
        let until = Timestamp(until_ms * 1_000);
        LeaseRow { shard: ShardId(shard), server, until, term: Term(1), batch: Batch(0), horizon: Timestamp(0) }
    }

    fn look(now_ms: i64, servers: Vec<ServerRow>, leases: Vec<LeaseRow>, running: &[i64]) -> Round {
        let picture = Picture { now: Timestamp(now_ms * 1_000), shards: 4, servers, leases, ..Picture::default() };
        decide(&picture, ME, &running.iter().map(|n| (ShardId(*n), Term(1))).collect(), &Terms::default())
    }

    fn shards(of: &[i64]) -> Vec<ShardId> {
        of.iter().map(|n| ShardId(*n)).collect()
    }

    #[test]
    fn alone_it_takes_everything_that_is_free_and_what_was_its_own() {
        let round = look(0, vec![server(ME, 4_000)], vec![lease(0, Some(ME), 4_000)], &[]);
        assert_eq!(round.take, shards(&[0, 1, 2, 3]));
    }

    #[test]
    fn what_a_dead_server_held_is_taken_when_lease_and_grace_are_over_and_no_sooner() {
        let held = || (0..4).map(|n| lease(n, Some(OTHER), 4_000)).collect::<Vec<_>>();
        let at = |ms: i64| look(ms, vec![server(ME, ms + 4_000), server(OTHER, 4_000)], held(), &[]);
        assert_eq!(at(4_200).take, shards(&[]), "its grace is not over");
        assert_eq!(at(4_200).look_in, Some(Span(50_001)));
        assert_eq!(at(4_251).take, shards(&[0, 1, 2, 3]));
    }

    #[test]
    fn a_newcomer_is_given_its_share_by_those_who_have_it() {
        let mine: Vec<_> = (0..4).map(|n| lease(n, Some(ME), 4_000)).collect();
        let round = look(0, vec![server(ME, 4_000), server(OTHER, 4_000)], mine.clone(), &[0, 1, 2, 3]);
        assert_eq!(round.give, [(ShardId(2), Some(OTHER)), (ShardId(3), Some(OTHER))]);
        assert_eq!(round.take, shards(&[]));
        let picture = Picture {
            now: Timestamp(0),
            shards: 4,
            servers: vec![server(ME, 4_000), server(OTHER, 4_000)],
            leases: mine,
            ..Picture::default()
        };
        let theirs = decide(&picture, OTHER, &BTreeMap::new(), &Terms::default());
        assert_eq!(theirs.take, shards(&[]), "it waits to be given");
    }

    #[test]
    fn what_the_row_says_is_anothers_is_dropped() {
        let rows = vec![lease(0, Some(OTHER), 4_000), lease(1, Some(ME), 4_000)];
        let round = look(0, vec![server(ME, 4_000), server(OTHER, 4_000)], rows, &[0, 1]);
        assert_eq!(round.drop, shards(&[0]));
    }
    #[test]
    fn what_runs_under_a_term_that_somebody_raised_is_dropped_and_taken_anew() {
        let raised = LeaseRow { term: Term(2), ..lease(0, Some(ME), 4_000) };
        let servers = || vec![server(ME, 4_000)];
        assert_eq!(look(0, servers(), vec![raised.clone()], &[0]).drop, shards(&[0]));
        assert_eq!(look(0, servers(), vec![raised], &[]).take[0], ShardId(0));
    }

    /// Four shards of all, and two of a tenant that `s2` alone may schedule.
    fn look_reserved(servers: Vec<ServerRow>, leases: Vec<LeaseRow>, running: &[i64]) -> Round {
        let leases = [(0..4).map(|n| lease(n, Some(ME), 4_000)).collect(), leases].concat();
        let shards = vec![ShardId(4), ShardId(5)];
        let reserved = vec![Reserved { tenant: "acme".into(), servers: vec!["s2".into(), "gone".into()], shards }];
        let picture = Picture { shards: 4, servers, leases, reserved, ..Picture::default() };
        let running = [&[0, 1, 2, 3], running].concat();
        decide(&picture, ME, &running.iter().map(|n| (ShardId(*n), Term(1))).collect(), &Terms::default())
    }

    #[test]
    fn what_is_kept_for_another_is_not_taken_though_it_is_free() {
        let free = || vec![lease(4, None, 0), lease(5, None, 0)];
        assert_eq!(look_reserved(vec![server(ME, 4_000)], free(), &[]).take, shards(&[]));
        let allowed = ServerRow { name: "s2".into(), ..server(ME, 4_000) };
        assert_eq!(look_reserved(vec![allowed], free(), &[]).take, shards(&[4, 5]), "by its name, whatever its number");
        let late = vec![lease(4, Some(OTHER), -9_000), lease(5, Some(OTHER), -9_000)];
        assert_eq!(look_reserved(vec![server(ME, 4_000), server(OTHER, -9_000)], late, &[]).take, shards(&[]));
    }

    #[test]
    fn what_we_may_not_have_any_more_is_given_away_if_need_be_to_nobody() {
        let mine = || vec![lease(4, Some(ME), 4_000), lease(5, Some(ME), 4_000)];
        let alone = look_reserved(vec![server(ME, 4_000)], mine(), &[4, 5]);
        assert_eq!(alone.give, [(ShardId(4), None), (ShardId(5), None)]);
        // It has two that only it may have, and gets one more for an even sum.
        let both = look_reserved(vec![server(ME, 4_000), server(OTHER, 4_000)], mine(), &[4, 5]);
        assert_eq!(both.give, [3, 4, 5].map(|n| (ShardId(n), Some(OTHER))));
    }
}
