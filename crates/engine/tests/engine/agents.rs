//! What to believe of agents: those that fall silent, come back, come back without, or say what is not theirs to say.

use std::sync::Arc;

use crate::world::{World, check, run};
use duly_engine::input::{Caller, Triggering};
use duly_engine::{Command, Decisions, Effect, Input, Order};
use expect_test::expect;
use model::{Actor, AgentId, Timestamp};

#[test]
fn a_silent_agent_leaves_its_work_uncertain_then_lost() {
    check(
        "agent x; agent y; job a manual, lost_after 1m, retry 1 x 5s, route first
         trigger a; start a#1; gone x; until 00:00:59; why a#1; until 00:01:05; ok a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:59 why a#1: whether it runs is not known: its agent is not connected; it is held until that is known or it counts as lost; runs on agent 1; next 00:01:00
            00:01:00 a#1 Lost, again at 00:01:05
            00:01:05 a#1 -> y
            00:01:05 a#1 succeeded
        "#]],
    );
}

#[test]
fn one_that_returns_in_time_is_believed() {
    check(
        "agent x; job a manual, lost_after 1m; trigger a; start a#1; until 00:00:10; gone x; until 00:00:50; back x
         until 00:01; gone x; until 00:01:30; why a#1; until 00:01:59; back x; ok a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:01:30 why a#1: whether it runs is not known: its agent is not connected; it is held until that is known or it counts as lost; runs on agent 1; next 00:02:00
            00:01:59 a#1 succeeded
        "#]],
    );
}

#[test]
fn what_never_arrived_is_sent_again_under_the_same_number() {
    let mut world = run("agent x; agent y; job a manual, route last; trigger a");
    let before = world.store.rows[&world.instance("a#1")].instance.attempt;
    world.play("gone y; back y without a#1; ok a#1");
    assert_eq!(world.store.rows[&world.instance("a#1")].instance.attempt, before);
    expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> y
        00:00:00 a#1 -> y
        00:00:00 a#1 succeeded
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_machine_that_restarted_has_lost_it() {
    check(
        "agent x; job a manual, retry 1 x 5s; trigger a; gone x; back x rebooted; until 00:00:05; ok a#1",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#1 Lost, again at 00:00:05
        00:00:05 a#1 -> x
        00:00:05 a#1 succeeded
    "#]],
    );
}

/// Nobody may have listened when the restart was news: what is older than the machine is lost however late that is said.
#[test]
fn what_was_ordered_before_a_machine_restarted_is_lost_and_what_was_ordered_since_is_sent_again() {
    let ordered_before =
        "agent x; job a manual, retry 1 x 5s; trigger a; gone x; until 00:01:00; back x rebooted at 00:00:20";
    check(
        ordered_before,
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:01:00 a#1 Lost, again at 00:01:05
    "#]],
    );
    check(
        "agent x; job a manual; until 00:00:30; trigger a; gone x; until 00:01:00; back x rebooted at 00:00:20; ok a#1",
        expect![[r#"
            00:00:30 a#1 by hand
            00:00:30 a#1 -> x
            00:01:00 a#1 -> x
            00:01:00 a#1 succeeded
        "#]],
    );
}

#[test]
fn what_ran_and_is_not_there_any_more_is_lost() {
    check(
        "agent x; job a manual; trigger a; start a#1; gone x; back x without a#1",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#1 failed (Lost)
    "#]],
    );
}

#[test]
fn what_was_to_be_stopped_and_never_started_is_stopped() {
    check(
        "agent x; job a manual; trigger a; stop a#1; gone x; back x without a#1",
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
fn a_stop_is_repeated_to_an_agent_that_returns() {
    check(
        "agent x; job a manual; trigger a; start a#1; gone x; stop a#1; back x; stopped a#1",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#1 stopping for ann
        00:00:00 stop a#1
        00:00:00 stop a#1
        00:00:00 a#1 stopped by ann
    "#]],
    );
}

#[test]
fn reports_come_twice_late_and_from_strangers() {
    check(
        "agent x; agent y; job a manual, route first, retry 1 x 0s
         trigger a; ok a#1 from y; start a#1 from y; fail a#1; ok a#1; ok a#1; fail a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 a#1 Failed, again at once
            00:00:00 a#1 -> x
            00:00:00 a#1 succeeded
        "#]],
    );
}

#[test]
fn news_from_before_the_silence_does_not_end_the_doubt() {
    check(
        "agent x; job a manual, lost_after 1m; trigger a; gone x; start a#1; why a#1; until 00:02",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 why a#1: whether it runs is not known: its agent is not connected; it is held until that is known or it counts as lost; runs on agent 1; next 00:01:00
            00:01:00 a#1 failed (Lost)
        "#]],
    );
}

#[test]
fn a_drained_agent_finishes_and_takes_no_more() {
    check(
        "agent x; job a manual; job b manual; trigger a; drain x; trigger b; why b#1; ok a#1; undrain x",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00 b#1 by hand
            00:00:00 why b#1: of the 1 eligible agents of pool default every one is drained: it takes nothing new
            00:00:00 a#1 succeeded
            00:00:00 b#1 -> x
        "#]],
    );
}

#[test]
fn a_removed_agent_may_still_run_what_it_has() {
    check(
        "agent x; job a manual, lost_after 1m; trigger a; start a#1; remove agent x; agent y; crash; trigger a
         until 00:00:30; back x; ok a#1",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:00.001 a#2 by hand
            00:00:30 a#1 succeeded
            00:00:30 a#2 -> x
        "#]],
    );
}

#[test]
fn a_server_that_was_away_asks_before_it_believes() {
    check(
        "agent x runs 30s; job a every 1m, lost_after 10s; until 00:01:05; down until 00:01:40; until 00:02:10
         gone x; down until 00:02:20; until 00:02:29; back x; until 00:02:31",
        expect![[r#"
            00:00:58.500 a#1 for 00:01:00
            00:01:00 a#1 -> x
            00:01:40.001 a#1 succeeded
            00:01:58.500 a#2 for 00:02:00
            00:02:00 a#2 -> x
            00:02:30 a#2 succeeded
        "#]],
    );
}

#[test]
fn what_nobody_honours_any_more_is_stopped_when_its_agent_returns() {
    check(
        "agent x; agent y; job a manual, route first, retry 1 x 1s, lost_after 10s
         trigger a; start a#1; gone x; until 00:00:12; ok a#1; until 00:00:20; back x; until 00:00:30",
        expect![[r#"
            00:00:00 a#1 by hand
            00:00:00 a#1 -> x
            00:00:10 a#1 Lost, again at 00:00:11
            00:00:11 a#1 -> y
            00:00:12 a#1 succeeded
            00:00:20 stop a#1
        "#]],
    );
}

#[test]
fn an_order_that_waited_for_its_commit_and_was_overtaken_does_not_stand() {
    let mut world = run("agent x; job a manual");
    let agent = AgentId(1);
    let job = world.store.job_named("a").expect("just made");
    let asked = Triggering { job, params: None, on: None, planned: None, idempotency_key: None, adopt: None };
    let ordered = step(&mut world, command(Command::Trigger(Box::new(asked))));
    let order = ordered.iter().find(|effect| matches!(effect, Effect::Order(_))).expect("x takes it");
    let Effect::Order(Order { instance, .. }) = order else { unreachable!() };
    assert!(world.shard.stands(order));
    step(&mut world, Input::AgentGone { agent });
    assert!(!world.shard.stands(order), "its agent will say that it does not have it");
    let back = |world: &World| {
        let record = Arc::new(world.machines[&agent].record.clone());
        Input::AgentUp { agent: record, held: Vec::new(), up_since: Timestamp::MIN }
    };
    let again = back(&world);
    let sent = step(&mut world, again);
    assert!(sent.iter().any(|effect| matches!(effect, Effect::Order(_))), "what is still wanted is sent again");
    assert!(world.shard.stands(order), "twice the same is once to an agent");
    step(&mut world, command(Command::Stop { instance: *instance }));
    step(&mut world, Input::AgentGone { agent });
    let again = back(&world);
    step(&mut world, again);
    assert!(!world.shard.stands(order), "it was believed absent, and ended");
}

fn command(command: Command) -> Input {
    Input::Command { caller: Caller(1), by: Actor("ann".into()), command }
}

/// Decides without letting anything happen.
fn step(world: &mut World, input: Input) -> Vec<Effect> {
    let mut out = Decisions::default();
    world.shard.step(world.now, input, &mut out);
    out.effects
}
