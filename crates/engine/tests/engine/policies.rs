//! Agents that may not run everything: who is given what, what a refusal leads to, and what is said about it.

use crate::world::check;
use expect_test::expect;

#[test]
fn work_goes_to_agents_that_may_run_it() {
    check(
        "agent x may http+command; agent y; job a manual, runs sh, route first; job b manual, runs http, route first
         trigger a; trigger b; ok a#1; ok b#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> y
            00:00:00 b#1 by hand
            00:00:00 b#1 -> x
            00:00:00 a#1 succeeded
            00:00:00 b#1 succeeded
        "#]],
    );
}

#[test]
fn one_that_nobody_may_run_waits_and_says_why() {
    check(
        "agent x may http; agent y may command; job a manual, runs sh; trigger a; why a#1; agent z; ok a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 why a#1: no agent may run sh: policy of x, y
            00:00:00 a#1 -> z
            00:00:00 a#1 succeeded
        "#]],
    );
}

#[test]
fn whoever_waits_for_another_sort_holds_nobody_up() {
    check(
        "agent x may http slots 1; job a manual, runs sh; job b manual, runs http; trigger a; trigger b; ok b#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 b#1 by hand
            00:00:00 b#1 -> x
            00:00:00 b#1 succeeded
        "#]],
    );
}

#[test]
fn what_one_agent_refuses_another_is_given_and_no_retry_is_used_for_it() {
    check(
        "agent x; agent y; job a manual, route first, retry 1 x 5s; trigger a; refused a#1; fail a#1; until 00:00:05; ok a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 Refused, again at once
            00:00:00 a#1 -> y
            00:00:00 a#1 Failed, again at 00:00:05
            00:00:05 a#1 -> y
            00:00:05 a#1 succeeded
        "#]],
    );
}

#[test]
fn what_all_refuse_ends_as_refused_and_is_not_tried_again() {
    check(
        "agent x; agent y; job a manual, route first, retry 3 x 5s; job b manual, route to x
         trigger a; refused a#1; refused a#1; trigger b; refused b#1; until 00:01",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 Refused, again at once
            00:00:00 a#1 -> y
            00:00:00 a#1 dead (Refused)
            00:00:00 b#1 by hand
            00:00:00 b#1 -> x
            00:00:00 b#1 failed (Refused)
        "#]],
    );
}

#[test]
fn a_removed_agent_is_not_believed_and_gets_nothing() {
    check(
        "agent x; agent y; job a manual, route first, lost_after 1m; trigger a; start a#1; revoked x; ok a#1; why a#1
         trigger a; until 00:01; ok a#2",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 why a#1: whether it runs is not known: its agent was removed; it is held until that is known or it counts as lost; runs on agent 1; next 00:01:00
            00:00:00 a#2 by hand
            00:01:00 a#1 failed (Lost)
            00:01:00 a#2 -> y
            00:01:00 a#2 succeeded
        "#]],
    );
}
