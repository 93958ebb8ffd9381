//! Conversations with a server, written as data: what the session is told, and below it what it asks for.

mod servers;
mod slots;
mod storm;
mod talk;

use expect_test::expect;
use model::{Outcome, Span, Timestamp, Verdict};
use wire::link::{self, down, report, up};

use super::*;
use talk::{AHEAD, order, restarted, talk, working};

#[test]
fn a_noop_is_kept_before_it_is_reported_and_a_message_of_orders_is_one_of_reports() {
    working().orders("7 and 8", vec![order(7, 1), order(8, 1)]).ack(7, ENDED).check(expect![[r#"
            order 7 and 8
              keep 7#2 of 1 Succeeded until 70001000; 8#2 of 1 Succeeded until 70001000
              send 7#2 of 1 Succeeded; 8#2 of 1 Succeeded
            ack 7#2
              keep acked [7]
        "#]]);
}

#[test]
fn a_repeated_order_is_never_started_twice() {
    working().order(7, 2).order(7, 2).ended(7).order(7, 2).ack(7, ENDED).order(7, 2).check(expect![[r#"
            order 7 of task 2
              start 7
            order 7 of task 2
            7 exits
              keep 7#2 of 1 Failed until 70001000
              send 7#2 of 1 Failed
            order 7 of task 2
              send 7#2 of 1 Failed
            ack 7#2
              keep acked [7]
              settled 7
            order 7 of task 2
              send 7#2 of 1 Lost (it had ended here and its result was acknowledged and dropped)
        "#]]);
}

#[test]
fn only_a_task_that_lasts_is_reported_as_started() {
    working()
        .order(7, 2)
        .order(8, 2)
        .started(7)
        .started(8)
        .ended(8)
        .at(199_999)
        .at(200_000)
        .cut()
        .connect()
        .greet(1, 5)
        .ack(7, STARTED)
        .cut()
        .connect()
        .greet(1, 5)
        .check(expect![[r#"
            order 7 of task 2
              start 7
            order 8 of task 2
              start 8
            7 starts
            8 starts
            8 exits
              keep 8#2 of 1 Failed until 70001000
              send 8#2 of 1 Failed
            at 199999
              beat at 199999 with 1 running
            at 200000
              send 7#1 of 1 started at 0
            cut
            connect
              send hello, 2 slots
            welcome
            greet 1=5
              send stored 1=5, holding [7 since 0; 8 since 0]
              send 8#2 of 1 Failed; 7#1 of 1 started at 0
            ack 7#1
            cut
            connect
              send hello, 2 slots
            welcome
            greet 1=5
              send stored 1=5, holding [7 since 0; 8 since 0]
              send 8#2 of 1 Failed
        "#]]);
}

#[test]
fn terms_only_rise_and_are_on_disk_before_they_count() {
    working()
        .greet(1, 5)
        .greet(1, 6)
        .greet(1, 5)
        .greet(2, 1)
        .order(7, 2)
        .orders("8 under 9", vec![link::Order { term: 9, ..order(8, 2) }])
        .orders("7 again under 9", vec![link::Order { term: 9, ..order(7, 2) }])
        .check(expect![[r#"
            greet 1=5
              send stored 1=5, holding []
            greet 1=6
              keep term 1=6
              send stored 1=6, holding []
            greet 1=5
              note: an owner of shard 1 came with term 5, but 6 is known
            greet 2=1
              keep term 2=1
              send stored 2=1, holding []
            order 7 of task 2
              note: an owner of shard 1 came with term 5, but 6 is known
              note: attempt 7 was not started: it was ordered by a server that no longer owns its shard
            order 8 under 9
              keep term 1=9
              start 8
            order 7 again under 9
              start 7
        "#]]);
}

#[test]
fn lateness_is_judged_by_the_servers_clock() {
    let by = |start_by| vec![link::Order { start_by, ..order(start_by, 2) }];
    working().orders("just in time", by(AHEAD)).orders("late", by(AHEAD - 1)).check(expect![[r#"
        order just in time
          start 1000
        order late
          note: attempt 999 was not started: it arrived too late to be started
          keep 999#2 of 1 Undelivered (it arrived too late to be started) until 60000999
          send 999#2 of 1 Undelivered (it arrived too late to be started)
    "#]]);
}

#[test]
fn an_order_before_any_welcome_cannot_be_judged_and_does_not_start() {
    talk()
        .step("connect".into(), |session, now, out| session.on_connected(Server(1), now, out))
        .task(2, r#"{"kind":"command","argv":["x"]}"#)
        .order(7, 2)
        .check(expect![[r#"
            connect
              send hello, 2 slots
            task 2
            order 7 of task 2
              keep term 1=5
              note: attempt 7 was not started: it arrived too late to be started
              keep 7#2 of 1 Undelivered (it arrived too late to be started) until 70001000
              send 7#2 of 1 Undelivered (it arrived too late to be started)
        "#]]);
}

#[test]
fn a_stop_reaches_a_running_task_and_forbids_one_that_has_not_come() {
    working().order(7, 2).stop(7).stop(8).order(8, 2).ack(8, ENDED).order(8, 2).check(expect![[r#"
            order 7 of task 2
              start 7
            stop 7
              stop 7 for li within 7us
            stop 8
              keep 8#2 of 1 Stopped (stopped by li before it reached the agent) until 3600001000
              send 8#2 of 1 Stopped (stopped by li before it reached the agent)
            order 8 of task 2
              send 8#2 of 1 Stopped (stopped by li before it reached the agent)
            ack 8#2
              keep acked [8]
            order 8 of task 2
              send 8#2 of 1 Lost (it had ended here and its result was acknowledged and dropped)
        "#]]);
}

#[test]
fn what_ended_in_the_dark_is_told_on_the_next_stream_until_it_is_acknowledged() {
    working()
        .order(7, 2)
        .order(8, 1)
        .cut()
        .ended(7)
        .connect()
        .greet(1, 5)
        .ack(8, ENDED)
        .cut()
        .connect()
        .greet(1, 5)
        .check(expect![[r#"
            order 7 of task 2
              start 7
            order 8 of task 1
              keep 8#2 of 1 Succeeded until 70001000
              send 8#2 of 1 Succeeded
            cut
            7 exits
              keep 7#2 of 1 Failed until 70001000
            connect
              send hello, 2 slots
            welcome
            greet 1=5
              send stored 1=5, holding [8 since 0; 7 since 0]
              send 8#2 of 1 Succeeded; 7#2 of 1 Failed
            ack 8#2
              keep acked [8]
            cut
            connect
              send hello, 2 slots
            welcome
            greet 1=5
              send stored 1=5, holding [7 since 0]
              send 7#2 of 1 Failed
        "#]]);
}

#[test]
fn absence_is_stated_only_under_a_term_that_is_stored() {
    working().order(7, 2).order(8, 1).query(5, &[7, 8, 9]).query(6, &[9]).query(5, &[9]).check(expect![[r#"
            order 7 of task 2
              start 7
            order 8 of task 1
              keep 8#2 of 1 Succeeded until 70001000
              send 8#2 of 1 Succeeded
            query [7, 8, 9] under 5
              send here [7; 8 since 0], not here [9], under 5
              send 8#2 of 1 Succeeded
            query [9] under 6
              keep term 1=6
              send here [], not here [9], under 6
            query [9] under 5
              note: an owner of shard 1 came with term 5, but 6 is known
        "#]]);
}

#[test]
fn a_new_owner_hears_what_the_old_one_was_told() {
    working().order(8, 1).greet(1, 6).greet(2, 1).check(expect![[r#"
        order 8 of task 1
          keep 8#2 of 1 Succeeded until 70001000
          send 8#2 of 1 Succeeded
        greet 1=6
          keep term 1=6
          send stored 1=6, holding [8 since 0]
          send 8#2 of 1 Succeeded
        greet 2=1
          keep term 2=1
          send stored 2=1, holding []
    "#]]);
}

#[test]
fn ended_attempts_are_forgotten_when_no_order_of_them_can_come() {
    let talk = working().order(8, 1).ack(8, ENDED).at(69_000_000).beat_seen(69_000_000);
    assert!(talk.session.graves.contains(8));
    let talk = talk.at(71_000_000).beat_seen(71_000_000).at(72_000_000);
    assert!(!talk.session.graves.contains(8));
}

#[test]
fn tasks_belong_to_their_stream() {
    working().task(3, "{}").order(7, 3).cut().connect().greet(1, 5).order(8, 2).check(expect![[r#"
        task 3
        order 7 of task 3
          note: task version 3 cannot be read: missing field `kind` at line 1 column 2
          note: attempt 7 was not started: this version of the agent cannot read the task
          keep 7#2 of 1 Refused (this version of the agent cannot read the task) until 70001000
          send 7#2 of 1 Refused (this version of the agent cannot read the task)
        cut
        connect
          send hello, 2 slots
        welcome
        greet 1=5
          send stored 1=5, holding [7]
          send 7#2 of 1 Refused (this version of the agent cannot read the task)
        order 8 of task 2
          note: attempt 8 was not started: it came without its task
          keep 8#2 of 1 Undelivered (it came without its task) until 70001000
          send 8#2 of 1 Undelivered (it came without its task)
    "#]]);
}

#[test]
fn a_leash_is_counted_from_when_the_last_seen_beat_was_sent() {
    let leashed = vec![link::Order { leash_us: Some(3_000_000), ..order(7, 2) }];
    working()
        .orders("7 on a leash", leashed)
        .at(1_000_000)
        .beat_seen(1_000_000)
        .at(1_500_000)
        .beat_seen(1_000_000)
        .beat_seen(9_000_000)
        .cut()
        .at(5_000_000)
        .connect()
        .greet(1, 5)
        .check(expect![[r#"
            order 7 on a leash
              start 7 on a leash until 3000000
            at 1000000
              beat at 1000000 with 1 running
            beat of 1000000 seen
              leash 7 until 4000000
            at 1500000
            beat of 1000000 seen
            beat of 9000000 seen
            cut
            at 5000000
            connect
              send hello, 2 slots
            welcome
            greet 1=5
              leash 7 until 8000000
              send stored 1=5, holding [7]
        "#]]);
}

#[test]
fn a_full_disk_lets_nothing_start_and_says_so() {
    working()
        .step("no room".into(), |session, _, _| session.on_room(false))
        .order(7, 1)
        .ack(7, ENDED)
        .step("room".into(), |session, _, _| session.on_room(true))
        .order(8, 2)
        .check(expect![[r#"
            no room
            order 7 of task 1
              note: attempt 7 was not started: the agent has no room to keep another result
              send 7#2 of 1 Undelivered (the agent has no room to keep another result)
            ack 7#2
            room
            order 8 of task 2
              start 8
        "#]]);
}

#[test]
fn after_a_restart_everything_known_is_still_known() {
    let ending = |attempt| Ending {
        report: link::Report {
            attempt,
            seq: ENDED,
            shard: 1,
            body: Some(report::Body::Ended(Outcome::of(Verdict::Warned, "x", Timestamp(1)).into())),
        },
        until: Timestamp(70_000_000),
    };
    let running =
        Taken { attempt: 3, shard: 1, until: Timestamp(1), started_at: Some(Timestamp(-5)), leash: Some(Span::SECOND) };
    let recovered = Recovered {
        terms: vec![(1, 6)],
        running: vec![running],
        unacked: vec![ending(2), ending(1)],
        graves: vec![(4, Timestamp(70_000_000))],
        rebooted: true,
        booted: Timestamp(0),
    };
    restarted(recovered)
        .connect()
        .greet(1, 5)
        .greet(1, 6)
        .task(1, r#"{"kind":"noop"}"#)
        .orders("1, 3 and 4", [1, 3, 4].map(|attempt| link::Order { term: 6, ..order(attempt, 1) }).to_vec())
        .ended(3)
        .check(expect![[r#"
            connect
              send hello, 2 slots, rebooted
            welcome
            greet 1=5
              note: an owner of shard 1 came with term 5, but 6 is known
            greet 1=6
              leash 3 until 1000000
              send stored 1=6, holding [3 since -5; 2; 1]
              send 2#2 of 1 Warned (x); 1#2 of 1 Warned (x)
            task 1
            order 1, 3 and 4
              send 1#2 of 1 Warned (x); 4#2 of 1 Lost (it had ended here and its result was acknowledged and dropped)
            3 exits
              keep 3#2 of 1 Failed until 1
              send 3#2 of 1 Failed
        "#]]);
}

#[test]
fn many_reports_travel_in_messages_of_a_bounded_size() {
    let talk = working().orders("1200", (0..1_200).map(|attempt| order(attempt, 1)).collect()).cut();
    let (mut session, now, mut out) = (talk.session, Now::both(Timestamp(0)), Vec::new());
    session.on_connected(Server(1), now, &mut out);
    let greet = down::Body::Greet(link::Greet { shard: 1, term: 5 });
    session.on_down(Server(1), now, Down { body: Some(greet) }, &mut out);
    session.flush(now, &mut out);
    let sizes: Vec<usize> = out
        .iter()
        .filter_map(|act| match act {
            Act::Send { up: Up { body: Some(up::Body::Reports(reports)) }, .. } => Some(reports.items.len()),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, [500, 500, 200]);
}
