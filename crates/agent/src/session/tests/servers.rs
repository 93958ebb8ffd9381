//! Conversations with several servers at once.

use expect_test::expect;
use wire::link;

use super::talk::{Talk, order, working};

#[test]
fn reports_go_to_whoever_owns_the_shard() {
    working()
        .by(2)
        .connect()
        .greet(2, 1)
        .by(1)
        .order(7, 2)
        .by(2)
        .task(1, r#"{"kind":"noop"}"#)
        .orders("8 of shard 2", vec![link::Order { shard: 2, term: 1, ..order(8, 1) }])
        .greet(1, 6)
        .ended(7)
        .check(expect![[r#"
            server 2:
            connect
              send to 2 hello, 2 slots
            welcome
            greet 2=1
              keep term 2=1
              send to 2 stored 2=1, holding []
            server 1:
            order 7 of task 2
              start 7
            server 2:
            task 1
            order 8 of shard 2
              keep 8#2 of 2 Succeeded until 70001000
              send to 2 8#2 of 2 Succeeded
            greet 1=6
              keep term 1=6
              send to 2 stored 1=6, holding [7]
            7 exits
              keep 7#2 of 1 Failed until 70001000
              send to 2 7#2 of 1 Failed
        "#]]);
}

#[test]
fn what_has_no_owner_waits_for_one() {
    working().order(7, 2).by(2).connect().greet(1, 4).by(1).cut().ended(7).by(2).greet(1, 6).ack(7, 2).check(expect![
        [r#"
            order 7 of task 2
              start 7
            server 2:
            connect
              send to 2 hello, 2 slots
            welcome
            greet 1=4
              note: an owner of shard 1 came with term 4, but 5 is known
            server 1:
            cut
            7 exits
              keep 7#2 of 1 Failed until 70001000
            server 2:
            greet 1=6
              keep term 1=6
              send to 2 stored 1=6, holding [7 since 0]
              send to 2 7#2 of 1 Failed
            ack 7#2
              keep acked [7]
              settled 7
        "#]
    ]);
}

#[test]
fn the_owner_before_is_not_told_what_comes_after() {
    working().order(7, 2).by(2).connect().greet(1, 6).by(1).greet(1, 5).query(5, &[7]).order(9, 2).ended(7).check(
        expect![[r#"
            order 7 of task 2
              start 7
            server 2:
            connect
              send to 2 hello, 2 slots
            welcome
            greet 1=6
              keep term 1=6
              send to 2 stored 1=6, holding [7]
            server 1:
            greet 1=5
              note: an owner of shard 1 came with term 5, but 6 is known
            query [7] under 5
              note: an owner of shard 1 came with term 5, but 6 is known
            order 9 of task 2
              note: an owner of shard 1 came with term 5, but 6 is known
              note: attempt 9 was not started: it was ordered by a server that no longer owns its shard
            7 exits
              keep 7#2 of 1 Failed until 70001000
              send to 2 7#2 of 1 Failed
        "#]],
    );
}

#[test]
fn many_shards_are_kept_with_one_write() {
    working().order(7, 2).greets(&[(1, 5), (2, 3), (3, 1)]).greets(&[(2, 2), (1, 6)]).check(expect![[r#"
        order 7 of task 2
          start 7
        greet [(1, 5), (2, 3), (3, 1)]
          keep term 2=3; term 3=1
          send stored 1=5, holding [7]; stored 2=3, holding []; stored 3=1, holding []
        greet [(2, 2), (1, 6)]
          note: an owner of shard 2 came with term 2, but 3 is known
          keep term 1=6
          send stored 1=6, holding [7]
    "#]]);
}

#[test]
fn every_server_gets_heartbeats_and_only_the_owner_lengthens_a_leash() {
    let leashed = vec![link::Order { leash_us: Some(3_000_000), ..order(7, 2) }];
    working()
        .orders("7 on a leash", leashed)
        .by(2)
        .connect()
        .at(1_000_000)
        .beat_seen(1_000_000)
        .by(1)
        .at(1_500_000)
        .cut()
        .by(2)
        .greet(1, 6)
        .at(2_000_000)
        .beat_seen(2_000_000)
        .check(expect![[r#"
            order 7 on a leash
              start 7 on a leash until 3000000
            server 2:
            connect
              send to 2 hello, 2 slots
            welcome
            at 1000000
              beat at 1000000 with 1 running
              beat to 2 at 1000000 with 1 running
            beat of 1000000 seen
            server 1:
            at 1500000
            cut
            server 2:
            greet 1=6
              keep term 1=6
              leash 7 until 4000000
              send to 2 stored 1=6, holding [7]
            at 2000000
              beat to 2 at 2000000 with 1 running
            beat of 2000000 seen
              leash 7 until 5000000
        "#]]);
}

#[test]
fn a_new_owner_that_heard_less_of_us_shortens_no_leash() {
    let leashed = vec![link::Order { leash_us: Some(3_000_000), ..order(7, 2) }];
    working()
        .by(2)
        .connect()
        .by(1)
        .at(1_000_000)
        .beat_seen(1_000_000)
        .orders("7 on a leash", leashed)
        .by(2)
        .greet(1, 6)
        .at(2_000_000)
        .beat_seen(2_000_000)
        .check(expect![[r#"
            server 2:
            connect
              send to 2 hello, 2 slots
            welcome
            server 1:
            at 1000000
              beat at 1000000 with 0 running
              beat to 2 at 1000000 with 0 running
            beat of 1000000 seen
            order 7 on a leash
              start 7 on a leash until 4000000
            server 2:
            greet 1=6
              keep term 1=6
              send to 2 stored 1=6, holding [7]
            at 2000000
              beat at 2000000 with 1 running
              beat to 2 at 2000000 with 1 running
            beat of 2000000 seen
              leash 7 until 5000000
        "#]]);
}

#[test]
fn a_server_that_released_a_shard_keeps_nothing_of_it_alive() {
    let leashed = vec![link::Order { leash_us: Some(3_000_000), ..order(7, 2) }];
    working()
        .greet(2, 1)
        .orders("7 on a leash", leashed)
        .released(&[1])
        .at(1_000_000)
        .beat_seen(1_000_000)
        .ended(7)
        .greet(1, 7)
        .check(expect![[r#"
            greet 2=1
              keep term 2=1
              send stored 2=1, holding []
            order 7 on a leash
              start 7 on a leash until 3000000
            released [1]
            at 1000000
              beat at 1000000 with 1 running
            beat of 1000000 seen
            7 exits
              keep 7#2 of 1 Failed until 70001000
            greet 1=7
              keep term 1=7
              send stored 1=7, holding [7 since 1000000]
              send 7#2 of 1 Failed
        "#]]);
}

#[test]
fn heartbeats_come_five_times_within_the_shortest_leash() {
    let leashed = vec![link::Order { leash_us: Some(2_000_000), ..order(7, 2) }];
    let beat = |talk: Talk, at: i64| talk.at(at).beat_seen(at);
    let talk = working().orders("7 on a leash", leashed);
    let talk = [300_000, 400_000, 700_000, 800_000].into_iter().fold(talk, beat);
    let talk = talk.ended(7);
    [1_200_000, 1_600_000, 2_200_000].into_iter().fold(talk, beat).check(expect![[r#"
        order 7 on a leash
          start 7 on a leash until 2000000
        at 300000
          beat at 300000 with 1 running
        beat of 300000 seen
          leash 7 until 2300000
        at 400000
        beat of 400000 seen
          leash 7 until 2400000
        at 700000
          beat at 700000 with 1 running
        beat of 700000 seen
          leash 7 until 2700000
        at 800000
        beat of 800000 seen
          leash 7 until 2800000
        7 exits
          keep 7#2 of 1 Failed until 70001000
          send 7#2 of 1 Failed
        at 1200000
          beat at 1200000 with 0 running
        beat of 1200000 seen
        at 1600000
        beat of 1600000 seen
        at 2200000
          beat at 2200000 with 0 running
        beat of 2200000 seen
    "#]]);
}
