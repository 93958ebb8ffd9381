//! Executors, which are called and know no fence: what they do not answer is in doubt, and nothing is sent twice.

use crate::world::check;
use expect_test::expect;

#[test]
fn what_was_not_answered_is_in_doubt_and_never_sent_again() {
    check(
        "agent x executor auto; agent y executor auto; job a manual, executors, route first, lost_after 10m; trigger a
         unanswered a#1; why a#1; gone x; back x; why a#1; until 00:11:00",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 why a#1: whether it runs is not known: it hung up; it is held until that is known or it counts as lost; sent to agent 1, which has not answered yet; next 00:10:00
            00:00:00 why a#1: whether it runs is not known: it hung up; it is held until that is known or it counts as lost; sent to agent 1, which has not answered yet; next 00:10:00
            00:10:00 a#1 failed (Lost)
        "#]],
    );
}

#[test]
fn a_callback_ends_what_was_in_doubt() {
    check(
        "agent x executor auto; job a manual, executors; trigger a; unanswered a#1; callback a#1 ok; callback a#1 fail",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 succeeded
            00:00:00 callback: 1 ended, 0 foreign
            00:00:00 callback: 0 ended, 0 foreign
        "#]],
    );
}

#[test]
fn nobody_calls_back_for_a_pool_that_is_not_his() {
    check(
        "agent x executor auto pool red; job a manual, executors, pool red; trigger a; start a#1
         callback a#1 ok for blue; callback a#1 ok for red",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 callback: 0 ended, 1 foreign
            00:00:00 a#1 succeeded
            00:00:00 callback: 1 ended, 0 foreign
        "#]],
    );
}

#[test]
fn an_executor_that_comes_back_is_trusted_with_what_it_took() {
    check(
        "agent x executor auto; job a manual, executors, allow, lost_after 10m; trigger a; start a#1; trigger a; gone x
         why a#1; back x; why a#1; why a#2; inspect x",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#2 by hand
            00:00:00 a#2 -> x
            00:00:00 why a#1: whether it runs is not known: its agent is not connected; it is held until that is known or it counts as lost; runs on agent 1; next 00:10:00
            00:00:00 why a#1: runs on agent 1
            00:00:00 why a#2: whether it runs is not known: its agent is not connected; it is held until that is known or it counts as lost; sent to agent 1, which has not answered yet; next 00:10:00
            00:00:00 holds a#1 taken, a#2 sent
        "#]],
    );
}

#[test]
fn after_a_restart_what_was_sent_is_not_sent_again_and_what_was_not_is() {
    check(
        "agent x executor auto; hide for; job a every 1s, executors, allow; until 00:00:02.100; down until 00:00:03.200; inspect x; until 00:00:05",
        expect![[r#"
            00:00:01 a#1 -> x
            00:00:02 a#2 -> x
            00:00:03.201 a#3 -> x
            00:00:03.201 holds a#1 sent, a#2 sent, a#3 sent
            00:00:04 a#4 -> x
            00:00:05 a#5 -> x
        "#]],
    );
}

#[test]
fn one_that_cannot_be_reached_moves_on_at_once() {
    check(
        "agent x executor auto; agent y executor auto; job a manual, executors, route first; trigger a; gone x
         unsent a#1; callback a#1 ok",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 Undelivered, again at once
            00:00:00 a#1 -> y
            00:00:00 a#1 succeeded
            00:00:00 callback: 1 ended, 0 foreign
        "#]],
    );
}

#[test]
fn a_route_that_asks_first_leaves_its_trail() {
    check(
        "agent x executor auto; agent y executor auto; job a manual, executors, route failover; trigger a; why a#1
         asked a#1 y x: refused, y: ok; callback a#1 ok",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 ask for a#1: x, y
            00:00:00 why a#1: the executors of pool default are being asked which of them takes it
            00:00:00 a#1 -> y
            00:00:00 a#1 succeeded: x: refused, y: ok
            00:00:00 callback: 1 ended, 0 foreign
        "#]],
    );
}

#[test]
fn when_nobody_asked_takes_it_it_fails_with_what_they_said() {
    check(
        "agent x executor auto; job a manual, executors, route busyover, retry 1 x 5s; trigger a
         asked a#1 nobody x: busy; until 00:00:05; asked a#1 nobody x: still busy",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 ask for a#1: x
            00:00:00 a#1 Refused, again at 00:00:05
            00:00:05 ask for a#1: x
            00:00:05 a#1 dead (Refused)
        "#]],
    );
}

#[test]
fn a_list_is_the_whole_pool_in_its_order() {
    check(
        "agent c executor auto; agent b executor 0; agent a executor 1; job j manual, executors, allow, route first
         job k manual, executors, allow, route last; trigger j; trigger k; why j",
        expect![[r#"
            00:00:00 j#1 by hand
            00:00:00 j#1 -> b
            00:00:00 k#1 by hand
            00:00:00 k#1 -> a
            00:00:00 why j: sent to agent 2, which has not answered yet
        "#]],
    );
}

#[test]
fn addresses_are_in_their_order_and_agents_are_none_of_them() {
    check(
        "agent z; agent b executor auto; agent a executor auto; job j manual, executors, allow, route broadcast; trigger j
         job k manual; trigger k",
        expect![[r#"
            00:00:00 j#1 by hand
            00:00:00 j#2 shard of j#1
            00:00:00 j#3 shard of j#1
            00:00:00 j#2 -> a (0/2)
            00:00:00 j#3 -> b (1/2)
            00:00:00 k#1 by hand
            00:00:00 k#1 -> z
        "#]],
    );
}

#[test]
fn a_shard_is_tried_again_alone_and_by_whoever_has_its_place() {
    check(
        "agent a executor auto; agent b executor auto; agent c executor auto; hide for
         job j manual, executors, route broadcast, retry 1 x 1s; job each manual, after each of j; job all manual, after j
         trigger j; callback j#2 ok; gone b; callback j#3 fail; callback j#4 ok; until 00:00:01; callback j#3 ok",
        expect![[r#"
            00:00:00 j#1 by hand
            00:00:00 j#2 shard of j#1
            00:00:00 j#3 shard of j#1
            00:00:00 j#4 shard of j#1
            00:00:00 j#2 -> a (0/3)
            00:00:00 j#3 -> b (1/3)
            00:00:00 j#4 -> c (2/3)
            00:00:00 j#2 succeeded
            00:00:00 each#1 after j#2
            00:00:00 j#3 Failed, again at 00:00:01
            00:00:00 j#4 succeeded
            00:00:00 each#2 after j#4
            00:00:01 j#3 -> c (1/3)
            00:00:01 j#3 succeeded
            00:00:01 each#3 after j#3
            00:00:01 j#1 succeeded
            00:00:01 all#1 after j#1
        "#]],
    );
}

#[test]
fn a_stop_is_for_all_the_executor_has_of_the_job() {
    check(
        "agent x executor auto; agent y executor auto; job a manual, executors, allow, route first; trigger a; trigger a
         stop a#1; stopped a#1; stopped a#2",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#2 by hand
            00:00:00 a#2 -> x
            00:00:00 a#1 stopping for ann
            00:00:00 a#2 stopping for ann
            00:00:00 stop a#1
            00:00:00 stop a#2
            00:00:00 a#1 stopped by ann
            00:00:00 a#2 stopped by ann
        "#]],
    );
}

#[test]
fn a_run_that_the_executor_discards_is_skipped() {
    check(
        "agent x executor auto; job a manual, executors, allow, retry 3 x 1s; trigger a; discarded a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 skipped (Overlap): as it said
        "#]],
    );
}

#[test]
fn a_person_can_say_where() {
    check(
        "agent x executor auto; agent y executor auto; agent z executor auto pool other
         job a manual, executors, route first, retry 1 x 1s; trigger a on y; callback a#1 fail; until 00:00:01; trigger a on z",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> y
            00:00:00 a#1 Failed, again at 00:00:01
            00:00:00 callback: 1 ended, 0 foreign
            00:00:01 a#1 -> y
            00:00:01 trigger a on z: refused, job 1 does not run on agent 3
        "#]],
    );
}

#[test]
fn a_success_after_its_timeout_is_none() {
    check(
        "agent x executor auto; job a manual, executors, timeout 1s; job b manual, executors, timeout 1s, allow; trigger a
         trigger b; start a#1; start b#1; until 00:00:01; callback a#1 ok; callback b#1 ok",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:00 b#1 -> x
            00:00:01 a#1 failed (Timeout)
            00:00:01 callback: 1 ended, 0 foreign
            00:00:01 b#1 succeeded
            00:00:01 callback: 1 ended, 0 foreign
        "#]],
    );
}

#[test]
fn what_was_stopped_is_stopped_whatever_its_executor_calls_that() {
    check(
        "agent x executor auto; job a manual, executors; job b manual, after a; trigger a; start a#1; stop a#1
         callback a#1 ok",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 stopping for ann
            00:00:00 stop a#1
            00:00:00 a#1 stopped by ann
            00:00:00 callback: 1 ended, 0 foreign
        "#]],
    );
}

#[test]
fn an_executor_with_runs_is_not_removed() {
    check(
        "agent x executor auto; job a manual, executors; trigger a; remove agent x; callback a#1 ok; remove agent x",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 succeeded
            00:00:00 callback: 1 ended, 0 foreign
        "#]],
    );
}
