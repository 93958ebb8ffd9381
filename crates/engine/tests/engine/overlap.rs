//! What happens when a planned time comes while earlier instances of the job are open, whatever agent they are on.

use crate::world::check;
use expect_test::expect;

#[test]
fn allow_runs_so_many_side_by_side_and_the_rest_wait() {
    check(
        "agent x; agent y; job a manual, allow 2, route round
         trigger a; trigger a; trigger a; why a#3; ok a#2; ok a#1; ok a#3",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#2 by hand
            00:00:00 a#2 -> y
            00:00:00 a#3 by hand
            00:00:00 why a#3: waits for instance a#1 of the same job to end
            00:00:00 a#2 succeeded
            00:00:00 a#3 -> x
            00:00:00 a#1 succeeded
            00:00:00 a#3 succeeded
        "#]],
    );
}

#[test]
fn queue_runs_one_after_the_other_in_order() {
    check(
        "agent x; agent y; job a manual, route round; trigger a; trigger a; trigger a; ok a#1; fail a#2; ok a#3",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#2 by hand
        00:00:00 a#3 by hand
        00:00:00 a#1 succeeded
        00:00:00 a#2 -> y
        00:00:00 a#2 failed (Exit)
        00:00:00 a#3 -> x
        00:00:00 a#3 succeeded
    "#]],
    );
}

#[test]
fn a_full_queue_takes_no_more() {
    check(
        "agent x; job a manual, queue 1; trigger a; trigger a; trigger a; ok a#1; trigger a",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#2 by hand
        00:00:00 a#3 by hand
        00:00:00 a#3 skipped (Overlap): skipped because 1 instances of the same job were waiting already
        00:00:00 a#1 succeeded
        00:00:00 a#2 -> x
        00:00:00 a#4 by hand
    "#]],
    );
}

#[test]
fn skip_skips_while_one_is_open() {
    check(
        "agent x; job a manual, skip; trigger a; trigger a; ok a#1; trigger a",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#2 by hand
        00:00:00 a#2 skipped (Overlap): skipped because instance a#1 of the same job was still open
        00:00:00 a#1 succeeded
        00:00:00 a#3 by hand
        00:00:00 a#3 -> x
    "#]],
    );
}

#[test]
fn replace_stops_the_earlier_and_starts_when_it_is_gone() {
    check(
        "agent x; job a manual, replace; trigger a; trigger a; why a#2; stopped a#1; ok a#2",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#2 by hand
        00:00:00 a#1 stopping for duly: replaced by instance a#2
        00:00:00 stop a#1
        00:00:00 why a#2: waits until instance a#1, which it replaces, is gone
        00:00:00 a#1 stopped by duly: replaced by instance a#2
        00:00:00 a#2 -> x
        00:00:00 a#2 succeeded
    "#]],
    );
}

#[test]
fn a_chain_of_replaces_leaves_only_the_last() {
    check(
        "agent x; job a manual, replace; trigger a; trigger a; trigger a; trigger a; stopped a#1; ok a#4",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#2 by hand
        00:00:00 a#1 stopping for duly: replaced by instance a#2
        00:00:00 stop a#1
        00:00:00 a#3 by hand
        00:00:00 a#2 skipped (Overlap): skipped because instance a#3 of the same job was still open
        00:00:00 stop a#1
        00:00:00 a#4 by hand
        00:00:00 a#3 skipped (Overlap): skipped because instance a#4 of the same job was still open
        00:00:00 stop a#1
        00:00:00 a#1 stopped by duly: replaced by instance a#2
        00:00:00 a#4 -> x
        00:00:00 a#4 succeeded
    "#]],
    );
}

#[test]
fn replacing_what_waits_for_an_agent_needs_no_stop() {
    check(
        "job a manual, replace; trigger a; trigger a; agent x",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#2 by hand
        00:00:00 a#1 stopped by duly: replaced by instance a#2
        00:00:00 a#2 -> x
    "#]],
    );
}

#[test]
fn a_replaced_chain_does_not_breed() {
    check(
        "job a delay 0s, replace; until 00:00:01; trigger a; until 00:00:02; agent x runs 1s; until 00:00:04.5; pause a; until 00:01",
        expect![[r#"
        00:00:00 a#1 for 00:00:00
        00:00:01 a#2 by hand
        00:00:01 a#1 stopped by duly: replaced by instance a#2
        00:00:02 a#2 -> x
        00:00:03 a#2 succeeded
        00:00:03 a#3 for 00:00:03
        00:00:03 a#3 -> x
        00:00:04 a#3 succeeded
        00:00:04 a#4 for 00:00:04
        00:00:04 a#4 -> x
        00:00:05 a#4 succeeded
    "#]],
    );
}

#[test]
fn an_exclusive_job_waits_for_a_silent_holder() {
    check(
        "agent x; agent y; job a manual, exclusive, route round, lost_after 1m
         trigger a; start a#1; gone x; trigger a; until 01:00; why a#2; resolve a#1 lost",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#2 by hand
            01:00:00 why a#2: the job is exclusive and instance a#1 may still be running
            01:00:00 a#1 failed (Lost)
            01:00:00 a#2 -> y
        "#]],
    );
}

#[test]
fn a_takeover_waits_for_leash_grace_and_drift() {
    check(
        "agent x; agent y; job a manual, takeover 30s, route round
         trigger a; start a#1; gone x; trigger a; until 00:00:44; why a#1; until 00:01",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#2 by hand
            00:00:44 why a#1: whether it runs is not known: its agent is not connected; it is held until that is known or it counts as lost; runs on agent 1; next 00:00:45
            00:00:45 a#1 failed (Lost)
            00:00:45 a#2 -> y
        "#]],
    );
}

/// Whoever beats is answered, and the answer lengthens the leash, whether or not the agent has said what it holds.
#[test]
fn a_takeover_counts_from_the_last_sign_of_the_agent() {
    check(
        "agent x; agent y; job a manual, takeover 30s, route round
         trigger a; start a#1; gone x; trigger a; until 00:00:40; beat x; until 00:01:24; why a#1; until 00:02",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#2 by hand
            00:01:24 why a#1: whether it runs is not known: its agent is not connected; it is held until that is known or it counts as lost; runs on agent 1; next 00:01:25
            00:01:25 a#1 failed (Lost)
            00:01:25 a#2 -> y
        "#]],
    );
}

/// A shard that had no turn for a while may have the word of an agent unread before it.
#[test]
fn nobody_counts_as_silent_before_everything_is_heard() {
    check(
        "agent x; agent y; job a manual, takeover 30s, route round
         trigger a; start a#1; gone x; trigger a; starved until 00:05; back x; until 00:06; ok a#1; until 00:07",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#2 by hand
            00:06:00 a#1 succeeded
            00:06:00 a#2 -> y
        "#]],
    );
}

#[test]
fn what_was_created_ahead_is_judged_when_its_time_comes_after_a_crash() {
    check(
        "agent x; job a every 10s, skip, lost_after 1h; until 00:00:11; start a#1; until 00:00:19; gone x
         down until 00:00:21; until 00:00:25; back x; until 00:00:29; ok a#1; until 00:00:31",
        expect![[r#"
            00:00:08.500 a#1 for 00:00:10
            00:00:10 a#1 -> x
            00:00:18.500 a#2 for 00:00:20
            00:00:21.001 a#2 skipped (Overlap): skipped because instance a#1 of the same job was still open
            00:00:28.500 a#3 for 00:00:30
            00:00:29 a#1 succeeded
            00:00:30 a#3 -> x
        "#]],
    );
}

#[test]
fn a_job_follows_several_beside_its_own_times() {
    check(
        "agent x; hide for; job a manual; job b manual; job c every 10s, after a, after b failure, allow; trigger a; trigger b
         ok a#1; fail b#1; until 00:00:10; trigger b; ok b#2; delete a",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:00 b#1 -> x
            00:00:00 a#1 succeeded
            00:00:00 c#1 after a#1
            00:00:00 c#1 -> x
            00:00:00 b#1 failed (Exit)
            00:00:00 c#2 after b#1
            00:00:00 c#2 -> x
            00:00:10 c#3 -> x
            00:00:10 b#2 by hand
            00:00:10 b#2 -> x
            00:00:10 b#2 succeeded
        "#]],
    );
}

#[test]
fn no_circle_gets_in_over_any_of_them() {
    check(
        "job a manual; job b manual, after a; job c manual, after b, after a; job a manual, after c; job a manual, after a",
        expect![[r#"
            00:00:00 job a manual, after c: refused, the job would follow itself through 1
            00:00:00 job a manual, after a: refused, the job would follow itself through 1
        "#]],
    );
}
