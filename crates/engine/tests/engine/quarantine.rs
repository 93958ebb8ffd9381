//! A job that cannot be decided about is held; everything else goes on.

use crate::world::check;
use expect_test::expect;

#[test]
fn a_held_job_fires_nothing_and_says_what_it_missed() {
    check(
        "agent x runs 1s; job a every 10s; job b every 20s; until 00:00:19; break a; until 00:00:45; why a#2; release a; until 00:00:51",
        expect![[r#"
            00:00:08.500 a#1 for 00:00:10
            00:00:10 a#1 -> x
            00:00:11 a#1 succeeded
            00:00:18.500 b#1 for 00:00:20
            00:00:18.500 a#2 for 00:00:20
            00:00:19 quarantined
            00:00:20 b#1 -> x
            00:00:21 b#1 succeeded
            00:00:38.500 b#2 for 00:00:40
            00:00:40 b#2 -> x
            00:00:41 b#2 succeeded
            00:00:45 why a#2: held: deciding about it failed (it broke); a person must look
            00:00:45 a 00:00:30..00:00:40 x2 skipped (Quarantined)
            00:00:45 a#2 -> x
            00:00:46 a#2 succeeded
            00:00:48.500 a#3 for 00:00:50
            00:00:50 a#3 -> x
            00:00:51 a#3 succeeded
        "#]],
    );
}

#[test]
fn a_restart_does_not_free_it() {
    check(
        "agent x runs 1s; job a every 10s; until 00:00:11; break a; crash; until 00:00:45; trigger a; rerun a#1; release a; until 00:00:51",
        expect![[r#"
            00:00:08.500 a#1 for 00:00:10
            00:00:10 a#1 -> x
            00:00:11 a#1 succeeded
            00:00:11 quarantined
            00:00:45 trigger a: refused, job 1 is held: it broke
            00:00:45 rerun a#1: refused, job 1 is held: it broke
            00:00:45 a 00:00:20..00:00:40 x3 skipped (Quarantined)
            00:00:48.500 a#2 for 00:00:50
            00:00:50 a#2 -> x
            00:00:51 a#2 succeeded
        "#]],
    );
}

#[test]
fn what_passed_before_a_restart_has_its_entry_too() {
    check(
        "agent x runs 1s; job b every 10s; job a every 10s; until 00:00:11; break a; hide b#; until 00:00:35; crash
         until 00:00:55; crash; until 00:01:05; release a; until 00:01:11",
        expect![[r#"
            00:00:08.500 b#1 for 00:00:10
            00:00:08.500 a#1 for 00:00:10
            00:00:10 b#1 -> x
            00:00:10 a#1 -> x
            00:00:11 b#1 succeeded
            00:00:11 a#1 succeeded
            00:00:11 quarantined
            00:01:05 a 00:00:20..00:01:00 x5 skipped (Quarantined)
            00:01:08.500 a#2 for 00:01:10
            00:01:10 a#2 -> x
            00:01:11 a#2 succeeded
        "#]],
    );
}

#[test]
fn what_passed_before_a_change_has_its_entry_too() {
    check(
        "agent x runs 1s; job b every 10s; job a every 10s; until 00:00:11; break a; hide b#; until 00:00:35; crash
         until 00:00:55; job a every 20s; until 00:01:05; pause a; until 00:01:45; resume a; crash; until 00:02:10
         release a; until 00:02:30",
        expect![[r#"
            00:00:08.500 b#1 for 00:00:10
            00:00:08.500 a#1 for 00:00:10
            00:00:10 b#1 -> x
            00:00:10 a#1 -> x
            00:00:11 b#1 succeeded
            00:00:11 a#1 succeeded
            00:00:11 quarantined
            00:00:55 a 00:00:20..00:00:50 x4 skipped (Quarantined)
            00:02:10 a 00:02:05..00:02:05 x1 skipped (Quarantined)
            00:02:23.500 a#2 for 00:02:25
            00:02:25 a#2 -> x
            00:02:26 a#2 succeeded
        "#]],
    );
}

#[test]
fn one_that_planned_nothing_more_plans_nothing_when_it_is_released() {
    check(
        "agent x runs 1s; job a once 00:00:10; until 00:00:20; break a; release a; until 00:01",
        expect![[r#"
            00:00:08.500 a#1 for 00:00:10
            00:00:10 a#1 -> x
            00:00:11 a#1 succeeded
            00:00:20 quarantined
        "#]],
    );
}

#[cfg(feature = "faults")]
mod faults {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use duly_engine::{Decisions, Input};
    use model::{Rule, Span, When};

    use crate::world::{clock, run};

    #[test]
    fn a_panic_names_the_job_to_blame_and_the_rest_goes_on_without_it() {
        let mut world = run("agent x runs 1s; job good every 5s");
        let mut rule = Rule { priority: duly_engine::PANICKING_PRIORITY, ..Rule::default() };
        rule.trigger.when = When::Rate { every: Span::secs(5) };
        world.apply_job("bad", rule);
        world.until(world.now + Span::secs(2));
        world.now += Span::millis(1_500);
        let tick = || world.shard.step(world.now, Input::Tick, &mut Decisions::default());
        assert!(catch_unwind(AssertUnwindSafe(tick)).is_err());
        let blamed = world.shard.blamed();
        assert_eq!(blamed, world.store.job_named("bad"));
        world.restart();
        world.tell(Input::Quarantine { job: blamed, input: "Tick".into(), error: "it broke".into() });
        world.until(world.now + Span::secs(10));
        assert!(world.story().contains("good#2 succeeded"), "{} {}", clock(world.now), world.story());
    }
}
