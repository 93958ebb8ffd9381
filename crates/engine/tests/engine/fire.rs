//! Planned times become instances: when, how many, and what becomes of those nobody could keep.

use crate::world::{check, run};
use expect_test::expect;

#[test]
fn an_instance_is_made_ahead_and_starts_on_its_time() {
    check(
        "agent x runs 1s; job a every 5m; until 00:05:02",
        expect![[r#"
            00:04:58.500 a#1 for 00:05:00
            00:05:00 a#1 -> x
            00:05:01 a#1 succeeded
        "#]],
    );
}

#[test]
fn cron_keeps_whole_seconds_and_a_job_made_late_fires_at_once_what_is_near() {
    check(
        "agent x runs 1s; until 00:00:58.5; job a cron 0 * * * * ?; until 00:02:01",
        expect![[r#"
            00:00:58.500 a#1 for 00:01:00
            00:01:00 a#1 -> x
            00:01:01 a#1 succeeded
            00:01:58.500 a#2 for 00:02:00
            00:02:00 a#2 -> x
            00:02:01 a#2 succeeded
        "#]],
    );
}

#[test]
fn a_rate_of_parts_of_a_second_keeps_its_beat() {
    check(
        "agent x runs 10ms; hide succeeded ->; job a every 400ms, allow; until 00:00:02",
        expect![[r#"
            00:00:00 a#1 for 00:00:00.400
            00:00:00 a#2 for 00:00:00.800
            00:00:00 a#3 for 00:00:01.200
            00:00:00 a#4 for 00:00:01.600
            00:00:00.500 a#5 for 00:00:02
            00:00:00.500 a#6 for 00:00:02.400
            00:00:00.500 a#7 for 00:00:02.800
            00:00:01.500 a#8 for 00:00:03.200
            00:00:01.500 a#9 for 00:00:03.600
        "#]],
    );
}

#[test]
fn jitter_is_not_for_what_somebody_asked_for() {
    check(
        "agent x; job a every 10m, jitter 9m; until 00:00:05; trigger a; ok a#1; trigger a for 00:01; until 00:01:01",
        expect![[r#"
            00:00:05 a#1 by hand
            00:00:05 a#1 -> x
            00:00:05 a#1 succeeded
            00:00:05 a#2 by hand
            00:01:00 a#2 -> x
        "#]],
    );
}

#[test]
fn jitter_moves_the_start_and_not_the_planned_time() {
    check(
        "agent x runs 1s; job a every 1m, jitter 20s; until 00:02:30",
        expect![[r#"
            00:00:58.500 a#1 for 00:01:00
            00:01:19.583447 a#1 -> x
            00:01:20.583447 a#1 succeeded
            00:01:58.500 a#2 for 00:02:00
            00:02:09.461997 a#2 -> x
            00:02:10.461997 a#2 succeeded
        "#]],
    );
}

#[test]
fn start_end_and_count_bound_a_plan() {
    check(
        "agent x runs 1s; hide ->
         job a every 10s, start 00:00:30, end 00:01:00
         job b every 10s, count 2
         until 00:10",
        expect![[r#"
            00:00:08.500 b#1 for 00:00:10
            00:00:11 b#1 succeeded
            00:00:18.500 b#2 for 00:00:20
            00:00:21 b#2 succeeded
            00:00:28.500 a#1 for 00:00:30
            00:00:31 a#1 succeeded
            00:00:38.500 a#2 for 00:00:40
            00:00:41 a#2 succeeded
            00:00:48.500 a#3 for 00:00:50
            00:00:51 a#3 succeeded
        "#]],
    );
}

#[test]
fn once_is_once() {
    check(
        "agent x runs 1s; job a once 00:00:30; until 01:00; crash; until 02:00",
        expect![[r#"
            00:00:28.500 a#1 for 00:00:30
            00:00:30 a#1 -> x
            00:00:31 a#1 succeeded
        "#]],
    );
}

#[test]
fn a_chain_starts_so_long_after_the_last_end() {
    check(
        "agent x runs 7s; job a delay 5s, count 3; until 01:00",
        expect![[r#"
        00:00:00 a#1 for 00:00:00
        00:00:00 a#1 -> x
        00:00:07 a#1 succeeded
        00:00:07 a#2 for 00:00:12
        00:00:12 a#2 -> x
        00:00:19 a#2 succeeded
        00:00:19 a#3 for 00:00:24
        00:00:24 a#3 -> x
        00:00:31 a#3 succeeded
    "#]],
    );
}

#[test]
fn a_chain_survives_a_crash_and_ends_with_its_job() {
    check(
        "agent x runs 7s; job a delay 5s; until 00:00:03; crash; until 00:00:13; delete a; until 01:00",
        expect![[r#"
        00:00:00 a#1 for 00:00:00
        00:00:00 a#1 -> x
        00:00:07 a#1 succeeded
        00:00:07 a#2 for 00:00:12
        00:00:12 a#2 -> x
        00:00:19 a#2 succeeded
    "#]],
    );
}

#[test]
fn a_deleted_chain_leaves_nothing_behind() {
    check(
        "job a delay 0s; until 00:00:05; delete a; agent x runs 1s; until 00:01",
        expect![[r#"
        00:00:00 a#1 for 00:00:00
        00:00:05 a#1 stopped by ann: its job was deleted
    "#]],
    );
}

#[test]
fn followers_follow_what_they_asked_for() {
    check(
        "agent x; job a manual; job good after a; job bad after a failure; job any after a end
         trigger a; ok a#1; ok good#1; ok any#1
         trigger a; fail a#2; ok bad#1; ok any#2
         trigger a; stop a#3; stopped a#3",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 succeeded
            00:00:00 good#1 after a#1
            00:00:00 any#1 after a#1
            00:00:00 good#1 -> x
            00:00:00 any#1 -> x
            00:00:00 good#1 succeeded
            00:00:00 any#1 succeeded
            00:00:00 a#2 by hand
            00:00:00 a#2 -> x
            00:00:00 a#2 failed (Exit)
            00:00:00 bad#1 after a#2
            00:00:00 any#2 after a#2
            00:00:00 bad#1 -> x
            00:00:00 any#2 -> x
            00:00:00 bad#1 succeeded
            00:00:00 any#2 succeeded
            00:00:00 a#3 by hand
            00:00:00 a#3 -> x
            00:00:00 a#3 stopping for ann
            00:00:00 stop a#3
            00:00:00 a#3 stopped by ann
            00:00:00 any#3 after a#3
            00:00:00 any#3 -> x
        "#]],
    );
}

#[test]
fn missed_times_are_made_up_for_once() {
    check(
        "agent x runs 1s; job a every 5m; until 00:03; down until 00:17; until 00:21",
        expect![[r#"
            00:17:00.001 a#1 for 00:15:00 (missed 3)
            00:17:00.001 a 00:05:00..00:10:00 x2 merged into a#1
            00:17:00.001 a#1 -> x
            00:17:01.001 a#1 succeeded
            00:19:58.500 a#2 for 00:20:00
            00:20:00 a#2 -> x
            00:20:01 a#2 succeeded
        "#]],
    );
}

#[test]
fn missed_times_are_skipped() {
    check(
        "agent x runs 1s; job a every 5m, misfire skip; until 00:03; down until 00:17; until 00:21",
        expect![[r#"
            00:17:00.001 a 00:05:00..00:15:00 x3 missed
            00:19:58.500 a#1 for 00:20:00
            00:20:00 a#1 -> x
            00:20:01 a#1 succeeded
        "#]],
    );
}

#[test]
fn missed_times_are_all_made_up_for() {
    check(
        "agent x runs 1s; job a every 5m, misfire all; until 00:03; down until 00:17; until 00:21",
        expect![[r#"
            00:17:00.001 a#1 for 00:05:00 (missed 1)
            00:17:00.001 a#2 for 00:10:00 (missed 1)
            00:17:00.001 a#3 for 00:15:00 (missed 1)
            00:17:00.001 a#1 -> x
            00:17:01.001 a#1 succeeded
            00:17:01.001 a#2 -> x
            00:17:02.001 a#2 succeeded
            00:17:02.001 a#3 -> x
            00:17:03.001 a#3 succeeded
            00:19:58.500 a#4 for 00:20:00
            00:20:00 a#4 -> x
            00:20:01 a#4 succeeded
        "#]],
    );
}

#[test]
fn late_within_the_grace_is_on_time() {
    check(
        "agent x runs 1s; job a every 5m, misfire skip, grace 2m; until 00:03; down until 00:07; until 00:08",
        expect![[r#"
        00:07:00.001 a 00:05:00..00:05:00 x1 missed
    "#]],
    );
}

#[test]
fn more_missed_times_than_anyone_makes_up_for_are_one_entry() {
    let world = run("hide for; job a every 1s, misfire all, allow; until 00:00:10; down until 01:00; until 01:00:01");
    expect![[r#"
        01:00:00.001 a 00:00:12..00:42:20 x2529 missed
    "#]]
    .assert_eq(&world.story());
    // Made before, made up for, within the grace, ahead.
    assert_eq!(world.shard.census().open, 11 + 1_000 + 60 + 2);
}

#[test]
fn a_year_of_missed_seconds_is_counted_in_short_steps() {
    let world = run("hide for; job a cron * * * * * ?; until 00:00:10; down until 365d 00:00:00; wait 1s");
    expect![[r#"
        365d 00:00:00.001 a 00:00:12..364d 23:58:59 x31535928 merged into a#12
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_change_takes_back_what_was_made_ahead() {
    check(
        "agent x runs 1s; job a every 10s; until 00:00:09
         pause a; until 00:00:15; resume a; until 00:00:24
         job a every 3s; until 00:00:28",
        expect![[r#"
            00:00:08.500 a#1 for 00:00:10
            00:00:09 a#1 withdrawn
            00:00:23.500 a#2 for 00:00:25
            00:00:24 a#2 withdrawn
            00:00:25.500 a#3 for 00:00:27
            00:00:27 a#3 -> x
            00:00:28 a#3 succeeded
        "#]],
    );
}

#[test]
fn nothing_planned_after_a_pause_starts_and_by_hand_it_does() {
    check(
        "agent x runs 1s; job a every 1s; until 00:00:03.5; pause a; until 00:01; trigger a; until 00:01:02",
        expect![[r#"
            00:00:00 a#1 for 00:00:01
            00:00:00.500 a#2 for 00:00:02
            00:00:01 a#1 -> x
            00:00:01.500 a#3 for 00:00:03
            00:00:02 a#1 succeeded
            00:00:02 a#2 -> x
            00:00:02.500 a#4 for 00:00:04
            00:00:03 a#2 succeeded
            00:00:03 a#3 -> x
            00:00:03.500 a#5 for 00:00:05
            00:00:03.500 a#4 withdrawn
            00:00:03.500 a#5 withdrawn
            00:00:04 a#3 succeeded
            00:01:00 a#6 by hand
            00:01:00 a#6 -> x
            00:01:01 a#6 succeeded
        "#]],
    );
}

#[test]
fn a_disabled_job_takes_nothing() {
    check(
        "agent x runs 1s; job a every 10s; disable a; trigger a; until 00:01; resume a; until 00:01:11",
        expect![[r#"
            00:00:00 trigger a: refused, job 1 is disabled
            00:01:08.500 a#1 for 00:01:10
            00:01:10 a#1 -> x
            00:01:11 a#1 succeeded
        "#]],
    );
}

#[test]
fn a_planned_time_somebody_asked_for_by_hand_is_not_made_twice() {
    check(
        "agent x runs 1s; job a cron 0 * * * * ?; trigger a for 00:01; trigger a for 00:01; until 00:02:01; trigger a for 00:01",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 trigger a for 00:01: refused, there is an instance of job 1 for that planned time already
            00:01:00 a#1 -> x
            00:01:01 a#1 succeeded
            00:01:58.500 a#2 for 00:02:00
            00:02:00 a#2 -> x
            00:02:01 a#2 succeeded
            00:02:01 trigger a for 00:01: refused, there is an instance of job 1 for that planned time already
        "#]],
    );
}

#[test]
fn a_scheduled_instance_that_is_stopped_stays_the_entry_for_its_time() {
    check(
        "agent x runs 1s; job a cron 0 * * * * ?; until 00:00:59; stop a#1; pause a; resume a; until 00:02:01",
        expect![[r#"
            00:00:58.500 a#1 for 00:01:00
            00:00:59 a#1 stopping for ann
            00:01:00 a#1 stopped by ann
            00:01:58.500 a#2 for 00:02:00
            00:02:00 a#2 -> x
            00:02:01 a#2 succeeded
        "#]],
    );
}

#[test]
fn a_trigger_of_a_chain_does_not_wait_for_the_chain() {
    check(
        "agent x runs 1s; job a delay 1h; until 00:00:05; trigger a; until 00:00:09",
        expect![[r#"
        00:00:00 a#1 for 00:00:00
        00:00:00 a#1 -> x
        00:00:01 a#1 succeeded
        00:00:01 a#2 for 01:00:01
        00:00:05 a#3 by hand
        00:00:05 a#3 -> x
        00:00:06 a#3 succeeded
    "#]],
    );
}
