//! What follows a failure: so many tries, so far apart, and never after a person's stop.

use crate::world::{check, run};
use expect_test::expect;
use model::{Span, Timestamp};

#[test]
fn fixed_delays_then_the_dead_letter() {
    check(
        "agent x; job a manual, retry 2 x 5s
         trigger a; fail a#1; why a#1; until 00:00:05; timedout a#1; until 00:01; fail a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 Failed, again at 00:00:05
            00:00:00 why a#1: failed; retry 1 of 2 is waiting for its time; next 00:00:05
            00:00:05 a#1 -> x
            00:00:05 a#1 TimedOut, again at 00:00:10
            00:00:10 a#1 -> x
            00:01:00 a#1 dead (Exit)
        "#]],
    );
}

#[test]
fn a_list_of_delays() {
    check(
        "agent x; job a manual, retry 1s 10s
         trigger a; fail a#1; until 00:00:01; fail a#1; until 00:00:11; fail a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 Failed, again at 00:00:01
            00:00:01 a#1 -> x
            00:00:01 a#1 Failed, again at 00:00:11
            00:00:11 a#1 -> x
            00:00:11 a#1 dead (Exit)
        "#]],
    );
}

#[test]
fn exponential_delays_grow_to_their_bound_and_spread_within_theirs() {
    for job in 0..20 {
        let mut world = run("agent x");
        world.play(&format!("job j{job} manual, retry exp 6 x 1s up to 10s jitter 50; trigger j{job}"));
        for plain in [1, 2, 4, 8, 10, 10] {
            let failed_at = world.now;
            world.play(&format!("fail j{job}#1"));
            let retry_at = world.store.rows[&world.instance(&format!("j{job}#1"))].instance.retry_at;
            let delay = retry_at.expect("a retry waits") - failed_at;
            assert!(delay >= Span::secs(plain) && delay <= Span::millis(plain * 1_500), "{delay} for {plain}s");
            world.until(retry_at.unwrap_or(Timestamp::MAX));
        }
        world.play(&format!("fail j{job}#1"));
        assert!(world.story().ends_with("dead (Exit)\n"));
    }
}

#[test]
fn nothing_follows_a_stop() {
    check(
        "agent x; job a manual, retry 2 x 5s; trigger a; stop a#1; fail a#1; until 00:01",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#1 stopping for ann
        00:00:00 stop a#1
        00:00:00 a#1 stopped by ann
    "#]],
    );
}

#[test]
fn a_waiting_retry_can_be_stopped() {
    check(
        "agent x; job a manual, retry 2 x 5s; trigger a; fail a#1; stop a#1; until 00:01",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#1 Failed, again at 00:00:05
        00:00:00 a#1 stopped by ann
    "#]],
    );
}

#[test]
fn a_final_failure_is_final() {
    check(
        "agent x; job a manual, retry 2 x 5s; job b manual; trigger a; fatal a#1; trigger b; fail b#1",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#1 dead (Exit)
        00:00:00 b#1 by hand
        00:00:00 b#1 -> x
        00:00:00 b#1 failed (Exit)
    "#]],
    );
}

#[test]
fn a_dead_letter_without_retries() {
    check(
        "agent x; job a manual, dead_letter; trigger a; fail a#1; rerun a#1; ok a#1; rerun a#1",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#1 dead (Exit)
        00:00:00 a#1 open again
        00:00:00 a#1 -> x
        00:00:00 a#1 succeeded
        00:00:00 a#1 open again
        00:00:00 a#1 -> x
    "#]],
    );
}

#[test]
fn what_was_not_delivered_goes_again_and_costs_no_retry() {
    check(
        "agent x; job a manual, retry 1 x 5s
         trigger a; undelivered a#1; undelivered a#1; until 00:00:01; fail a#1; until 00:00:06; fail a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 Undelivered, again at once
            00:00:00 a#1 -> x
            00:00:00 a#1 Undelivered, again at 00:00:01
            00:00:01 a#1 -> x
            00:00:01 a#1 Failed, again at 00:00:06
            00:00:06 a#1 -> x
            00:00:06 a#1 dead (Exit)
        "#]],
    );
}

#[test]
fn a_redelivery_is_not_called_a_retry() {
    check(
        "agent x; job a manual; job b manual, retry 1 x 5s
         trigger a; undelivered a#1; undelivered a#1; why a#1; crash; why a#1; stop a#1
         trigger b; fail b#1; wait 5s; undelivered b#1; undelivered b#1; why b#1; wait 1s; fail b#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 Undelivered, again at once
            00:00:00 a#1 -> x
            00:00:00 a#1 Undelivered, again at 00:00:01
            00:00:00 why a#1: the agent did not take it; it is sent again in a moment; next 00:00:01
            00:00:00.001 why a#1: the agent did not take it; it is sent again in a moment; next 00:00:01
            00:00:00.001 a#1 stopped by ann
            00:00:00.001 b#1 by hand
            00:00:00.001 b#1 -> x
            00:00:00.001 b#1 Failed, again at 00:00:05.001
            00:00:05.001 b#1 -> x
            00:00:05.001 b#1 Undelivered, again at once
            00:00:05.001 b#1 -> x
            00:00:05.001 b#1 Undelivered, again at 00:00:06.001
            00:00:05.001 why b#1: the agent did not take it; it is sent again in a moment; next 00:00:06.001
            00:00:06.001 b#1 -> x
            00:00:06.001 b#1 dead (Exit)
        "#]],
    );
}

#[test]
fn retries_are_used_up_by_what_is_never_delivered_too() {
    let mut world = run("agent x; job a manual, retry 2 x 5s; trigger a");
    for _ in 0..17 {
        world.play("undelivered a#1; wait 5s");
    }
    let again = world.instance("a#1");
    assert_eq!(world.store.rows[&again].instance.retries_used, 2);
    world.play("undelivered a#1");
    assert!(world.story().ends_with("a#1 dead (Undelivered)\n"), "{}", world.story());
}

#[test]
fn a_crash_uses_up_no_retries() {
    // Reruns and redeliveries are attempts, but no retries of the policy, whatever the server remembers.
    check(
        "agent x; job a manual, retry 1 x 5s; trigger a; fatal a#1; rerun a#1; crash; undelivered a#1; crash
         fail a#1; crash; wait 5s; crash; fail a#1; rerun a#1; crash; fail a#1; wait 5s; ok a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 dead (Exit)
            00:00:00 a#1 open again
            00:00:00 a#1 -> x
            00:00:00.001 a#1 Undelivered, again at once
            00:00:00.001 a#1 -> x
            00:00:00.002 a#1 Failed, again at 00:00:05.002
            00:00:05.002 a#1 -> x
            00:00:05.004 a#1 dead (Exit)
            00:00:05.004 a#1 open again
            00:00:05.004 a#1 -> x
            00:00:05.005 a#1 Failed, again at 00:00:10.005
            00:00:10.005 a#1 -> x
            00:00:10.005 a#1 succeeded
        "#]],
    );
}

#[test]
fn what_is_never_delivered_is_given_up() {
    let mut world = run("agent x; job a manual; trigger a");
    for _ in 0..6 {
        world.play("undelivered a#1; wait 5s");
    }
    assert!(world.story().ends_with("a#1 failed (Undelivered)\n"), "{}", world.story());
}

#[test]
fn a_rerun_is_sent_once_over_a_crash() {
    check(
        "agent x; job a manual; trigger a; fail a#1; rerun a#1; crash; ok a#1; rerun a#1; gone x; back x without a#1",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#1 failed (Exit)
        00:00:00 a#1 open again
        00:00:00 a#1 -> x
        00:00:00.001 a#1 succeeded
        00:00:00.001 a#1 open again
        00:00:00.001 a#1 -> x
        00:00:00.001 a#1 -> x
    "#]],
    );
}

#[test]
fn a_retry_that_waits_for_its_time_survives_a_crash() {
    check(
        "agent x; job a manual, retry 2 x 5s; trigger a; fail a#1; crash; until 00:00:05; ok a#1",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#1 Failed, again at 00:00:05
        00:00:05 a#1 -> x
        00:00:05 a#1 succeeded
    "#]],
    );
}

#[test]
fn a_retry_that_waits_for_a_slot_is_no_misfire_after_a_crash() {
    check(
        "agent x slots 1; job a every 10s, retry 1 x 1s, misfire skip, grace 0s; job b manual, priority 9
         until 00:00:10; trigger b; fail a#1; pause a; until 00:05; crash; until 00:05:01; ok b#1; ok a#1",
        expect![[r#"
            00:00:08.500 a#1 for 00:00:10
            00:00:10 a#1 -> x
            00:00:10 b#1 by hand
            00:00:10 a#1 Failed, again at 00:00:11
            00:00:10 b#1 -> x
            00:05:01 b#1 succeeded
            00:05:01 a#1 -> x
            00:05:01 a#1 succeeded
        "#]],
    );
}
