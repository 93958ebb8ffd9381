//! Two slots, and more orders than that.

use expect_test::expect;
use wire::link;

use super::super::waiting::WAITING_MAX;
use super::super::*;
use super::talk::{order, working};

#[test]
fn an_order_that_finds_no_slot_waits_for_one() {
    working()
        .order(1, 2)
        .order(2, 2)
        .order(3, 2)
        .order(4, 2)
        .order(5, 1)
        .order(3, 2)
        .at(1_000_000)
        .ended(1)
        .ended(3)
        .check(expect![[r#"
            order 1 of task 2
              start 1
            order 2 of task 2
              start 2
            order 3 of task 2
            order 4 of task 2
            order 5 of task 1
              keep 5#2 of 1 Succeeded until 70001000
              send 5#2 of 1 Succeeded
            order 3 of task 2
            at 1000000
              beat at 1000000 with 4 running
            1 exits
              start 3
              keep 1#2 of 1 Failed until 70001000
              send 1#2 of 1 Failed
            3 exits
              start 4
              keep 3#2 of 1 Failed until 70001000
              send 3#2 of 1 Failed
        "#]]);
}

#[test]
fn what_waits_is_held_and_may_start_after_its_last_instant() {
    let patient = vec![link::Order { start_by: 2_000_000, ..order(3, 2) }];
    working()
        .order(1, 2)
        .order(2, 2)
        .orders("3, to start by 2000000", patient)
        .query(5, &[3, 4])
        .cut()
        .at(9_000_000)
        .connect()
        .greet(1, 6)
        .ended(2)
        .check(expect![[r#"
            order 1 of task 2
              start 1
            order 2 of task 2
              start 2
            order 3, to start by 2000000
            query [3, 4] under 5
              send here [3], not here [4], under 5
            cut
            at 9000000
            connect
              send hello, 2 slots
            welcome
            greet 1=6
              keep term 1=6
              send stored 1=6, holding [1; 2; 3]
            2 exits
              start 3
              keep 2#2 of 1 Failed until 70001000
              send 2#2 of 1 Failed
        "#]]);
}

#[test]
fn what_waits_can_be_stopped_and_has_not_run_then() {
    working().order(1, 2).order(2, 2).order(3, 2).order(4, 2).stop(3).order(3, 2).ended(1).check(expect![[r#"
        order 1 of task 2
          start 1
        order 2 of task 2
          start 2
        order 3 of task 2
        order 4 of task 2
        stop 3
          keep 3#2 of 1 Stopped (stopped by li while it waited for a slot) until 70001000
          send 3#2 of 1 Stopped (stopped by li while it waited for a slot)
        order 3 of task 2
          send 3#2 of 1 Stopped (stopped by li while it waited for a slot)
        1 exits
          start 4
          keep 1#2 of 1 Failed until 70001000
          send 1#2 of 1 Failed
    "#]]);
}

#[test]
fn what_waited_beyond_its_leash_does_not_start() {
    let leashed = |attempt| vec![link::Order { leash_us: Some(3_000_000), ..order(attempt, 2) }];
    working()
        .order(1, 2)
        .order(2, 2)
        .orders("3 on a leash", leashed(3))
        .orders("4 on a leash", leashed(4))
        .at(2_000_000)
        .beat_seen(2_000_000)
        .at(4_000_000)
        .ended(1)
        .cut()
        .at(6_000_000)
        .ended(2)
        .check(expect![[r#"
            order 1 of task 2
              start 1
            order 2 of task 2
              start 2
            order 3 on a leash
            order 4 on a leash
            at 2000000
              beat at 2000000 with 4 running
            beat of 2000000 seen
            at 4000000
              beat at 4000000 with 4 running
            1 exits
              start 3 on a leash until 5000000
              keep 1#2 of 1 Failed until 70001000
              send 1#2 of 1 Failed
            cut
            at 6000000
            2 exits
              note: attempt 4 was not started: its server was silent for longer than its leash while it waited for a slot
              keep 2#2 of 1 Failed until 70001000; 4#2 of 1 Undelivered (its server was silent for longer than its leash while it waited for a slot) until 70001000
        "#]]);
}

#[test]
fn nothing_that_waits_starts_while_the_disk_is_full() {
    working()
        .order(1, 2)
        .order(2, 2)
        .order(3, 2)
        .step("no room".into(), |session, _, _| session.on_room(false))
        .ended(1)
        .step("room".into(), |session, _, _| session.on_room(true))
        .check(expect![[r#"
            order 1 of task 2
              start 1
            order 2 of task 2
              start 2
            order 3 of task 2
            no room
            1 exits
              keep 1#2 of 1 Failed until 70001000
              send 1#2 of 1 Failed
            room
              start 3
        "#]]);
}

#[test]
fn waiting_has_a_bound() {
    let many = (1..=WAITING_MAX as i64 + 3).map(|attempt| order(attempt, 2)).collect();
    let talk = working().orders("two to run, as many as may wait, and one more", many);
    assert_eq!((talk.session.running(), talk.session.waiting()), (2, WAITING_MAX));
    talk.query(5, &[WAITING_MAX as i64 + 2, WAITING_MAX as i64 + 3]).last(expect![[r#"
        query [10002, 10003] under 5
          send here [10002; 10003], not here [], under 5
          send 10003#2 of 1 Undelivered (all slots of the agent are in use, and as many orders wait for one as it keeps)
    "#]]);
}

#[test]
fn a_killed_agent_forgets_what_waited_and_is_asked_again() {
    let running = |attempt| Taken { attempt, shard: 1, until: Timestamp(1), started_at: None, leash: None };
    let recovered = Recovered { terms: vec![(1, 5)], running: vec![running(1), running(2)], ..Recovered::default() };
    super::talk::restarted(recovered)
        .connect()
        .greet(1, 5)
        .task(2, r#"{"kind":"command","argv":["x"]}"#)
        .order(3, 2)
        .ended(1)
        .check(expect![[r#"
            connect
              send hello, 2 slots
            welcome
            greet 1=5
              send stored 1=5, holding [1; 2]
            task 2
            order 3 of task 2
            1 exits
              start 3
              keep 1#2 of 1 Failed until 1
              send 1#2 of 1 Failed
        "#]]);
}
