//! Who may run at once, and who comes first when not all may. (Every order of every test is held against all limits.)

use crate::world::check;
use expect_test::expect;

#[test]
fn a_job_has_its_limit() {
    check(
        "agent x; job a manual, allow, limit 1; trigger a; trigger a; why a#2; ok a#1",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#2 by hand
        00:00:00 why a#2: the job may run 1 at once and does
        00:00:00 a#1 succeeded
        00:00:00 a#2 -> x
    "#]],
    );
}

#[test]
fn a_job_has_its_limit_per_agent_and_stands_in_nobodys_way() {
    check(
        "agent x slots 2; job a manual, allow, per_agent 1; job b manual
         trigger a; trigger a; why a#2; trigger b; ok a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#2 by hand
            00:00:00 why a#2: the job may run 1 at once on one agent, and does on every agent that has a free slot
            00:00:00 b#1 by hand
            00:00:00 b#1 -> x
            00:00:00 a#1 succeeded
            00:00:00 a#2 -> x
        "#]],
    );
}

#[test]
fn a_pool_has_its_limit() {
    check(
        "agent x pool p; agent y pool p; pool p limit 1; job a manual, pool p; job b manual, pool p
         trigger a; trigger b; why b#1; ok a#1; pool p limit 2; trigger a",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:00 why b#1: pool p may run 1 at once and does
            00:00:00 a#1 succeeded
            00:00:00 b#1 -> x
            00:00:00 a#2 by hand
            00:00:00 a#2 -> y
        "#]],
    );
}

#[test]
fn the_installation_has_its_limit() {
    check(
        "agent x; global limit 1; job a manual; job b manual; trigger a; trigger b; why b#1; global limit 2",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 b#1 by hand
        00:00:00 why b#1: this installation may run 1 at once and does
        00:00:00 b#1 -> x
    "#]],
    );
}

#[test]
fn slots_are_never_exceeded() {
    check(
        "agent x slots 2 runs 5s; job a every 1s, allow; until 00:00:12; why a#5",
        expect![[r#"
            00:00:00 a#1 for 00:00:01
            00:00:00.500 a#2 for 00:00:02
            00:00:01 a#1 -> x
            00:00:01.500 a#3 for 00:00:03
            00:00:02 a#2 -> x
            00:00:02.500 a#4 for 00:00:04
            00:00:03.500 a#5 for 00:00:05
            00:00:04.500 a#6 for 00:00:06
            00:00:05.500 a#7 for 00:00:07
            00:00:06 a#1 succeeded
            00:00:06 a#3 -> x
            00:00:06.500 a#8 for 00:00:08
            00:00:07 a#2 succeeded
            00:00:07 a#4 -> x
            00:00:07.500 a#9 for 00:00:09
            00:00:08.500 a#10 for 00:00:10
            00:00:09.500 a#11 for 00:00:11
            00:00:10.500 a#12 for 00:00:12
            00:00:11 a#3 succeeded
            00:00:11 a#5 -> x
            00:00:11.500 a#13 for 00:00:13
            00:00:12 a#4 succeeded
            00:00:12 a#6 -> x
            00:00:12 why a#5: sent to agent 1, which has not answered yet
        "#]],
    );
}

#[test]
fn priority_comes_first_and_age_counts() {
    check(
        "agent x slots 1; job low manual; job high manual, priority 1; job a manual; trigger a
         until 00:00:01; trigger low; until 00:00:30.5; trigger high; ok a#1; ok high#1; ok low#1
         trigger a; trigger low; until 00:02; trigger high; ok a#2",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:01 low#1 by hand
            00:00:30.500 high#1 by hand
            00:00:30.500 a#1 succeeded
            00:00:30.500 high#1 -> x
            00:00:30.500 high#1 succeeded
            00:00:30.500 low#1 -> x
            00:00:30.500 low#1 succeeded
            00:00:30.500 a#2 by hand
            00:00:30.500 a#2 -> x
            00:00:30.500 low#2 by hand
            00:02:00 high#2 by hand
            00:02:00 a#2 succeeded
            00:02:00 low#2 -> x
        "#]],
    );
}

#[test]
fn lines_with_different_labels_share_an_agent_fairly() {
    check(
        "hide by_hand; agent x slots 1 label k=1; job a manual, allow; job b manual, allow, label k=1
         trigger a; trigger a; until 00:00:01; trigger b; until 00:00:02; trigger a; until 00:00:03; trigger b
         ok a#1; ok a#2; ok b#1; ok a#3; ok b#2",
        expect![[r#"
            00:00:00 a#1 -> x
            00:00:03 a#1 succeeded
            00:00:03 a#2 -> x
            00:00:03 a#2 succeeded
            00:00:03 b#1 -> x
            00:00:03 b#1 succeeded
            00:00:03 a#3 -> x
            00:00:03 a#3 succeeded
            00:00:03 b#2 -> x
            00:00:03 b#2 succeeded
        "#]],
    );
}
