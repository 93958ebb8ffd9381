//! Tenants beside each other: who goes first when there is not enough for all, and what a quota holds back.

mod world;

use expect_test::expect;
use world::check;

#[test]
fn a_flood_does_not_stand_before_another_tenant() {
    check(
        "hide by_hand; tenant a; tenant b; agent x slots 1 for everyone
         job a/flood manual, allow; job b/one manual, allow
         trigger a/flood; trigger a/flood; trigger a/flood; trigger a/flood; trigger b/one; trigger b/one
         ok a/flood#1; ok b/one#1; ok a/flood#2; ok b/one#2; ok a/flood#3",
        expect![[r#"
            00:00:00 a/flood#1 -> x
            00:00:00 a/flood#1 succeeded
            00:00:00 b/one#1 -> x
            00:00:00 b/one#1 succeeded
            00:00:00 a/flood#2 -> x
            00:00:00 a/flood#2 succeeded
            00:00:00 b/one#2 -> x
            00:00:00 b/one#2 succeeded
            00:00:00 a/flood#3 -> x
            00:00:00 a/flood#3 succeeded
            00:00:00 a/flood#4 -> x
        "#]],
    );
}

#[test]
fn weight_says_whose_turn_it_is() {
    check(
        "hide by_hand succeeded; tenant a weight 3; tenant b; agent x slots 4 for everyone
         job a/x manual, allow; job b/x manual, allow
         trigger a/x; trigger a/x; trigger a/x; trigger a/x; trigger a/x; trigger a/x; trigger b/x; trigger b/x; trigger b/x
         ok a/x#1; ok a/x#2; ok a/x#3; ok b/x#1",
        expect![[r#"
            00:00:00 a/x#1 -> x
            00:00:00 a/x#2 -> x
            00:00:00 a/x#3 -> x
            00:00:00 a/x#4 -> x
            00:00:00 b/x#1 -> x
            00:00:00 a/x#5 -> x
            00:00:00 a/x#6 -> x
            00:00:00 b/x#2 -> x
        "#]],
    );
}

#[test]
fn who_is_due_among_many_of_another_tenant_starts_with_the_first() {
    check(
        "hide for_00; tenant a; tenant b; agent x slots 4 for everyone
         job a/1 once 00:00:05; job a/2 once 00:00:05; job a/3 once 00:00:05; job a/4 once 00:00:05; job a/5 once 00:00:05
         job b/1 once 00:00:05; until 00:00:05",
        expect![[r#"
            00:00:05 a/1#1 -> x
            00:00:05 b/1#1 -> x
            00:00:05 a/2#1 -> x
            00:00:05 a/3#1 -> x
        "#]],
    );
}

#[test]
fn a_slot_is_kept_for_what_another_tenant_has_due_in_a_moment() {
    check(
        "hide for_00 by_hand; tenant a; tenant b; agent x slots 2 for everyone
         job a/x manual, allow; job b/x every 5s
         trigger a/x; until 00:00:04.95; trigger a/x; why a/x#2; until 00:00:05; ok a/x#1; ok b/x#1",
        expect![[r#"
            00:00:00 a/x#1 -> x
            00:00:04.950 why a/x#2: the free slots of pool default are kept for other tenants' runs that are about to be due
            00:00:05 b/x#1 -> x
            00:00:05 a/x#1 succeeded
            00:00:05 a/x#2 -> x
            00:00:05 b/x#1 succeeded
        "#]],
    );
}

#[test]
fn what_was_kept_for_nothing_is_free_again() {
    check(
        "hide for_00 by_hand; tenant a; tenant b; agent x slots 2 for everyone
         job a/x manual, allow; job b/x every 5s
         trigger a/x; until 00:00:04.95; trigger a/x; pause b/x; until 00:00:06",
        expect![[r#"
            00:00:00 a/x#1 -> x
            00:00:04.950 b/x#1 withdrawn
            00:00:05.100 a/x#2 -> x
        "#]],
    );
}

#[test]
fn a_tenant_runs_no_more_at_once_than_its_quota() {
    check(
        "hide by_hand; tenant b running 1; agent x for everyone; job b/x manual, allow; job y manual, allow
         trigger b/x; trigger b/x; trigger y; why b/x#2; ok b/x#1; tenant b running 2; trigger b/x",
        expect![[r#"
            00:00:00 b/x#1 -> x
            00:00:00 y#1 -> x
            00:00:00 why b/x#2: tenant b may run 1 at once and does
            00:00:00 b/x#1 succeeded
            00:00:00 b/x#2 -> x
            00:00:00 b/x#3 -> x
        "#]],
    );
}

#[test]
fn a_tenant_starts_no_faster_than_its_rate_and_evenly() {
    check(
        "hide by_hand; tenant b rate 4; agent x for everyone; job b/x manual, allow
         trigger b/x; trigger b/x; trigger b/x; why b/x#2; until 00:00:01; trigger b/x; trigger b/x; until 00:00:02",
        expect![[r#"
            00:00:00 b/x#1 -> x
            00:00:00 why b/x#2: tenant b may start 4 in a second, evenly, and has
            00:00:00.250 b/x#2 -> x
            00:00:00.500 b/x#3 -> x
            00:00:01 b/x#4 -> x
            00:00:01.250 b/x#5 -> x
        "#]],
    );
}

#[test]
fn nothing_of_a_closing_tenant_starts() {
    check(
        "hide by_hand; tenant b; agent x for everyone; job b/x manual, allow; trigger b/x; tenant b closing yes
         trigger b/x; why b/x#2; ok b/x#1; until 00:01",
        expect![[r#"
            00:00:00 b/x#1 -> x
            00:00:00 why b/x#2: tenant b is being deleted; nothing of it starts
            00:00:00 b/x#1 succeeded
        "#]],
    );
}

#[test]
fn an_agent_takes_only_what_it_is_there_for() {
    check(
        "hide by_hand; tenant a; tenant b; agent x for b; job a/x manual; job b/x manual
         trigger a/x; trigger b/x; why a/x#1; agent y for everyone",
        expect![[r#"
            00:00:00 b/x#1 -> x
            00:00:00 why a/x#1: no agent has joined pool default
            00:00:00 a/x#1 -> y
        "#]],
    );
}

#[test]
fn names_of_tenants_are_unique_and_the_first_stays() {
    check(
        "tenant a; tenant b; tenant b named a; tenant b named c; tenant default closing yes",
        expect![[r#"
        00:00:00 tenant b named a: refused, another tenant is named a
        00:00:00 tenant default closing yes: refused, the tenant every installation has cannot be closed
    "#]],
    );
}
