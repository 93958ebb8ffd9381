//! Mutexes and counted resources, as one who waits for them sees it.

use crate::world::{check, run};
use expect_test::expect;

#[test]
fn a_mutex_is_held_from_the_order_to_the_end() {
    check(
        "agent x; job a manual, mutex db; job b manual, mutex db
         trigger a; trigger b; why b#1; wait 5s; ok a#1; wait 5s; ok b#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:00 why b#1: waits for its turn to hold the mutex db
            00:00:05 a#1 succeeded
            00:00:05 b#1 -> x
            00:00:10 b#1 succeeded
        "#]],
    );
}

#[test]
fn one_that_waits_may_be_stopped_and_gives_up_its_place() {
    check(
        "agent x; job a manual, mutex db; job b manual, mutex db; job c manual, mutex db
         trigger a; trigger b; trigger c; stop b#1; wait 1s; stop a#1; stopped a#1; ok c#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:00 c#1 by hand
            00:00:00 b#1 stopped by ann
            00:00:01 a#1 stopping for ann
            00:00:01 stop a#1
            00:00:01 a#1 stopped by ann
            00:00:01 c#1 -> x
            00:00:01 c#1 succeeded
        "#]],
    );
}

#[test]
fn a_large_request_is_not_overtaken() {
    check(
        "agent x; resource cpu 3; job a manual, allow, needs 2 cpu; job b manual, needs 3 cpu; job c manual, needs 1 cpu
         trigger a; trigger b; trigger c; why b#1; why c#1; ok a#1; ok b#1; ok c#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:00 c#1 by hand
            00:00:00 why b#1: waits for its turn to have 3 of the resource cpu
            00:00:00 why c#1: waits for its turn to have 1 of the resource cpu
            00:00:00 a#1 succeeded
            00:00:00 b#1 -> x
            00:00:00 b#1 succeeded
            00:00:00 c#1 -> x
            00:00:00 c#1 succeeded
        "#]],
    );
}

#[test]
fn what_no_agent_could_run_holds_nothing() {
    check(
        "agent x; job far manual, pool nowhere, mutex db; job near manual, mutex db
         trigger far; trigger near; why far#1; ok near#1",
        expect![[r#"
            00:00:00 far#1 by hand
            00:00:00 near#1 by hand
            00:00:00 near#1 -> x
            00:00:00 why far#1: no agent has joined pool nowhere
            00:00:00 near#1 succeeded
        "#]],
    );
}

#[test]
fn others_have_their_turn_between_retries() {
    check(
        "agent x; job a manual, mutex db, retry 1 x 10s; job b manual, mutex db
         trigger a; trigger b; fail a#1; wait 10s; why a#1; ok b#1; ok a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:00 a#1 Failed, again at 00:00:10
            00:00:00 b#1 -> x
            00:00:10 why a#1: waits for its turn to hold the mutex db
            00:00:10 b#1 succeeded
            00:00:10 a#1 -> x
            00:00:10 a#1 succeeded
        "#]],
    );
}

#[test]
fn what_is_not_known_to_have_ended_is_still_held() {
    check(
        "agent x; agent y; job a manual, mutex db, route to x, lost_after 1m; job b manual, mutex db, route to y
         trigger a; gone x; trigger b; wait 50s; why b#1; wait 20s; ok b#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:50 why b#1: waits for its turn to hold the mutex db
            00:01:00 a#1 failed (Lost)
            00:01:00 b#1 -> y
            00:01:10 b#1 succeeded
        "#]],
    );
}

#[test]
fn a_crash_keeps_who_holds_and_who_waits() {
    check(
        "agent x; job a manual, mutex db; job b manual, mutex db; job c manual, mutex db
         trigger a; start a#1; trigger b; trigger c; wait 2s; crash; wait 1s; why b#1; ok a#1; crash; wait 1s; ok b#1; wait 1s; ok c#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:00 c#1 by hand
            00:00:03.001 why b#1: waits for its turn to hold the mutex db
            00:00:03.001 a#1 succeeded
            00:00:03.001 b#1 -> x
            00:00:04.002 b#1 succeeded
            00:00:04.002 c#1 -> x
            00:00:05.002 c#1 succeeded
        "#]],
    );
}

#[test]
fn a_broadcast_holds_for_all_its_shares() {
    check(
        "agent x runs 5s; agent y runs 9s; job a manual, mutex db, route broadcast; job b manual, mutex db
         trigger a; wait 1s; trigger b; wait 20s",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#2 shard of a#1
            00:00:00 a#3 shard of a#1
            00:00:00 a#2 -> x (0/2)
            00:00:00 a#3 -> y (1/2)
            00:00:01 b#1 by hand
            00:00:05 a#2 succeeded
            00:00:09 a#3 succeeded
            00:00:09 a#1 succeeded
            00:00:09 b#1 -> x
            00:00:14 b#1 succeeded
        "#]],
    );
}

#[test]
fn a_deleted_job_gives_back_what_it_waits_for() {
    check(
        "agent x; job a manual, mutex db; job b manual, mutex db, mutex tape; job c manual, mutex tape
         trigger a; trigger b; trigger c; delete b; ok c#1; ok a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:00 c#1 by hand
            00:00:00 b#1 stopped by ann: its job was deleted
            00:00:00 c#1 -> x
            00:00:00 c#1 succeeded
            00:00:00 a#1 succeeded
        "#]],
    );
}

#[test]
fn a_resource_that_grows_lets_more_through() {
    let world = run(
        "agent x; job a manual, allow, needs 2 cpu; trigger a; trigger a; resource cpu 3; resource cpu 4; ok a#1; ok a#2",
    );
    expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#2 by hand
        00:00:00 a#1 -> x
        00:00:00 a#2 -> x
        00:00:00 a#1 succeeded
        00:00:00 a#2 succeeded
    "#]]
    .assert_eq(&world.story());
    assert!(world.store.commons.borrow().tickets.is_empty());
}
