//! Which agent gets it.

use std::collections::BTreeMap;

use crate::world::{check, run};
use expect_test::expect;

#[test]
fn first_last_and_the_one_that_is_named() {
    check(
        "agent x slots 1; agent y slots 1; agent z slots 1; job a manual, allow, route first; job b manual, allow, route last
         job c manual, route to y; trigger a; trigger b; trigger c; trigger a; why a#2; ok b#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:00 b#1 -> z
            00:00:00 c#1 by hand
            00:00:00 c#1 -> y
            00:00:00 a#2 by hand
            00:00:00 why a#2: all 3 slots of the 3 eligible agents of pool default are in use
            00:00:00 b#1 succeeded
            00:00:00 a#2 -> z
        "#]],
    );
}

#[test]
fn round_goes_round_also_among_what_is_made_ahead() {
    check(
        "agent x; agent y; agent z; hide for; job a every 300ms, allow, route round; until 00:00:02",
        expect![[r#"
            00:00:00.300 a#1 -> x
            00:00:00.600 a#2 -> y
            00:00:00.900 a#3 -> z
            00:00:01.200 a#4 -> x
            00:00:01.500 a#5 -> y
            00:00:01.800 a#6 -> z
        "#]],
    );
}

#[test]
fn least_recent_goes_round_and_passes_over_who_is_gone() {
    check(
        "agent x; agent y; agent z; hide by; job a manual, allow, route recent
         trigger a; trigger a; trigger a; trigger a; gone y; trigger a; trigger a; back y; trigger a",
        expect![[r#"
            00:00:00 a#1 -> x
            00:00:00 a#2 -> y
            00:00:00 a#3 -> z
            00:00:00 a#4 -> x
            00:00:00 a#5 -> z
            00:00:00 a#6 -> x
            00:00:00 a#7 -> y
        "#]],
    );
}

#[test]
fn a_hash_keeps_its_agent_and_returns_to_it() {
    check(
        "agent x; agent y; agent z; hide by; job a manual, allow, route hash
         trigger a; trigger a; gone x; trigger a; trigger a; back x; trigger a",
        expect![[r#"
            00:00:00 a#1 -> x
            00:00:00 a#2 -> x
            00:00:00 a#3 -> y
            00:00:00 a#4 -> y
            00:00:00 a#5 -> x
        "#]],
    );
}

#[test]
fn least_frequent_is_even_over_what_is_made_ahead() {
    let world = run("agent x; agent y; agent z; hide for; job a every 20ms, allow, route frequent; until 00:00:02");
    let mut shares = BTreeMap::new();
    for order in world.out.values() {
        *shares.entry(order.agent.0).or_insert(0) += 1;
    }
    assert_eq!(shares.len(), 3);
    assert!(shares.values().all(|share: &i32| (share - 33).abs() <= 3), "{shares:?}");
}

#[test]
fn least_loaded_spreads_what_is_due_at_one_instant() {
    let world = run("agent x; agent y; hide for; job a every 100ms, allow; job b every 100ms, allow; until 00:00:01");
    let mut shares = BTreeMap::new();
    for order in world.out.values() {
        *shares.entry(order.agent.0).or_insert(0) += 1;
    }
    assert_eq!(shares, BTreeMap::from([(1, 10), (2, 10)]));
}

#[test]
fn random_leaves_nobody_out() {
    let world = run("agent x; agent y; agent z; hide for; job a every 20ms, allow, route random; until 00:00:02");
    let mut shares = BTreeMap::new();
    for order in world.out.values() {
        *shares.entry(order.agent.0).or_insert(0) += 1;
    }
    assert_eq!(shares.len(), 3);
    assert!(shares.values().all(|share| *share > 15), "{shares:?}");
}

#[test]
fn a_broadcast_has_a_shard_on_every_agent() {
    check(
        "agent x; agent y; agent z; gone z; job a manual, route broadcast
         trigger a; why a#1; ok a#2; back z; ok a#3",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#2 shard of a#1
            00:00:00 a#3 shard of a#1
            00:00:00 a#2 -> x (0/2)
            00:00:00 a#3 -> y (1/2)
            00:00:00 why a#1: 2 of 2 shards are still open
            00:00:00 a#2 succeeded
            00:00:00 a#3 succeeded
            00:00:00 a#1 succeeded
        "#]],
    );
}

#[test]
fn one_shard_is_tried_again_where_it_was_also_over_a_crash() {
    check(
        "agent x; agent y; job a manual, route broadcast, retry 1 x 5s
         trigger a; ok a#2; fail a#3; crash; until 00:00:05; fail a#3",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#2 shard of a#1
            00:00:00 a#3 shard of a#1
            00:00:00 a#2 -> x (0/2)
            00:00:00 a#3 -> y (1/2)
            00:00:00 a#2 succeeded
            00:00:00 a#3 Failed, again at 00:00:05
            00:00:05 a#3 -> y (1/2)
            00:00:05 a#3 dead (Exit)
            00:00:05 a#1 failed (Exit)
        "#]],
    );
}

#[test]
fn shards_that_failed_before_a_crash_are_not_forgotten() {
    check(
        "agent x; agent y; job a every 1m, route broadcast; until 00:01; fail a#2; crash; ok a#3",
        expect![[r#"
            00:00:58.500 a#1 for 00:01:00
            00:01:00 a#2 shard of a#1
            00:01:00 a#3 shard of a#1
            00:01:00 a#2 -> x (0/2)
            00:01:00 a#3 -> y (1/2)
            00:01:00 a#2 failed (Exit)
            00:01:00.001 a#3 succeeded
            00:01:00.001 a#1 failed (Exit)
        "#]],
    );
}

#[test]
fn the_stop_of_a_broadcast_stops_all_of_it() {
    check(
        "agent x slots 1; agent y; job b manual, route to x; trigger b; job a manual, route broadcast; trigger a; stop a#1; stopped a#3",
        expect![[r#"
        00:00:00 b#1 by hand
        00:00:00 b#1 -> x
        00:00:00 a#1 by hand
        00:00:00 a#2 shard of a#1
        00:00:00 a#3 shard of a#1
        00:00:00 a#3 -> y (1/2)
        00:00:00 a#1 stopping for ann
        00:00:00 a#2 stopped by ann
        00:00:00 a#3 stopping for ann
        00:00:00 stop a#3
        00:00:00 a#3 stopped by ann
        00:00:00 a#1 stopped by ann
    "#]],
    );
}

#[test]
fn a_shard_runs_again_by_itself_and_the_whole_does_not() {
    check(
        "agent x; agent y; job a manual, route broadcast; trigger a; ok a#2; fail a#3
         rerun a#1; rerun a#3; trigger a; why a#4; ok a#3",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#2 shard of a#1
            00:00:00 a#3 shard of a#1
            00:00:00 a#2 -> x (0/2)
            00:00:00 a#3 -> y (1/2)
            00:00:00 a#2 succeeded
            00:00:00 a#3 failed (Exit)
            00:00:00 a#1 failed (Exit)
            00:00:00 rerun a#1: refused, instance a#1 was spread over agents; its shards can be run again one by one
            00:00:00 a#3 open again
            00:00:00 a#3 -> y (1/2)
            00:00:00 a#4 by hand
            00:00:00 why a#4: waits for instance a#3 of the same job to end
            00:00:00 a#3 succeeded
            00:00:00 a#5 shard of a#4
            00:00:00 a#6 shard of a#4
            00:00:00 a#5 -> x (0/2)
            00:00:00 a#6 -> y (1/2)
        "#]],
    );
}

#[test]
fn a_broadcast_waits_for_an_agent_and_keeps_the_version_it_was_made_with() {
    check(
        "job a manual, route broadcast, retry 1 x 5s; trigger a; why a#1; job a manual, route broadcast; agent x; fail a#2",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 why a#1: no agent has joined pool default
        00:00:00 a#2 shard of a#1
        00:00:00 a#2 -> x (0/1)
        00:00:00 a#2 Failed, again at 00:00:05
    "#]],
    );
}
