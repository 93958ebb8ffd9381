//! What people want to be told when something takes too long, and what happens at a timeout nobody kept.

use crate::world::check;
use expect_test::expect;

#[test]
fn late_starts_and_late_ends_are_told() {
    check(
        "job a every 1m, not_started_by 10s, not_finished_by 30s; until 00:01:15; agent x; until 00:01:40; ok a#1; pause a; until 00:10",
        expect![[r#"
            00:00:58.500 a#1 for 00:01:00
            00:01:10 a#1 not started in time
            00:01:15 a#1 -> x
            00:01:30 a#1 not finished in time
            00:01:40 a#1 succeeded
        "#]],
    );
}

#[test]
fn in_time_nothing_is_told() {
    check(
        "agent x runs 5s; job a every 1m, not_started_by 10s, not_finished_by 30s; until 00:01:50; pause a; until 00:10",
        expect![[r#"
            00:00:58.500 a#1 for 00:01:00
            00:01:00 a#1 -> x
            00:01:05 a#1 succeeded
        "#]],
    );
}

#[test]
fn a_rerun_is_not_late_for_a_time_long_gone() {
    check(
        "agent x runs 5s; job a once 00:01, not_started_by 10s, not_finished_by 30s; until 00:10; gone x; rerun a#1; until 00:20",
        expect![[r#"
            00:00:58.500 a#1 for 00:01:00
            00:01:00 a#1 -> x
            00:01:05 a#1 succeeded
            00:10:00 a#1 open again
        "#]],
    );
}

#[test]
fn an_agent_that_lets_a_timeout_pass_is_pressed() {
    check(
        "agent x; job a manual, timeout 10s, retry 1 x 5s; trigger a; start a#1; until 00:00:26; until 00:01:25; stopped a#1
         until 00:01:31; ok a#1; until 00:10",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:25 stop a#1
            00:01:25 stop a#1
            00:01:25 a#1 Stopped, again at 00:01:30
            00:01:30 a#1 -> x
            00:01:31 a#1 succeeded
        "#]],
    );
}
