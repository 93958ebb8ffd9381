//! Nothing waits, and nothing is skipped, without saying why.

use crate::world::check;
use expect_test::expect;

#[test]
fn what_has_not_come_due() {
    check(
        "agent x; job a cron 0 * * * * ?, jitter 30s; why a; until 00:00:59; why a#1; until 00:01:00; why a#1",
        expect![[r#"
            00:00:00 why a: its time has not come; next 00:01:00
            00:00:58.500 a#1 for 00:01:00
            00:00:59 why a#1: its time has not come; next 00:01:14.053157
            00:01:00 why a#1: its start is spread by the job's jitter; next 00:01:14.053157
        "#]],
    );
}

#[test]
fn no_agent_for_it() {
    check(
        "job a manual, pool p; trigger a; why a#1; agent x pool p; ok a#1
         job b manual, pool p, label os=mac; trigger b; why b#1
         job c manual, route to nobody; trigger c; why c#1
         gone x; trigger a; why a#2; back x; drain x; why a#2",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 why a#1: no agent has joined pool p
            00:00:00 a#1 -> x
            00:00:00 a#1 succeeded
            00:00:00 b#1 by hand
            00:00:00 why b#1: no agent of pool p carries the label os=mac
            00:00:00 c#1 by hand
            00:00:00 why c#1: no agent is named nobody
            00:00:00 a#2 by hand
            00:00:00 why a#2: none of the 1 eligible agents of pool p is connected and taking work
            00:00:00 a#2 -> x
            00:00:00 why a#2: sent to agent 1, which has not answered yet
        "#]],
    );
}

#[test]
fn no_room_for_it() {
    check(
        "agent x slots 1; agent y slots 1; job a manual, allow; trigger a; trigger a; trigger a; why a#3",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#2 by hand
        00:00:00 a#2 -> y
        00:00:00 a#3 by hand
        00:00:00 why a#3: all 2 slots of the 2 eligible agents of pool default are in use
    "#]],
    );
}

#[test]
fn on_its_way_and_running_and_stopping() {
    check(
        "agent x; job a manual; trigger a; why a#1; start a#1; why a#1; stop a#1; why a#1; why a",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 why a#1: sent to agent 1, which has not answered yet
        00:00:00 why a#1: runs on agent 1
        00:00:00 a#1 stopping for ann
        00:00:00 stop a#1
        00:00:00 why a#1: is being stopped by ann; runs on agent 1
        00:00:00 why a: is being stopped by ann; runs on agent 1
    "#]],
    );
}

#[test]
fn held_back_by_its_job() {
    check(
        "agent x; job a manual; pause a; why a; disable a; why a; break a; why a; trigger a",
        expect![[r#"
        00:00:00 why a: the job is paused
        00:00:00 why a: the job is disabled
        00:00:00 quarantined
        00:00:00 why a: held: deciding about it failed (it broke); a person must look; the job is disabled
        00:00:00 trigger a: refused, job 1 is disabled
    "#]],
    );
}
