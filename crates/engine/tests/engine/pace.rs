//! How much one step does: what is due leaves in small parcels, and what is planned ahead never stands in its way.

use crate::world::{MIDNIGHT, World, run};
use duly_engine::{Decisions, Effect, Input};
use model::{Span, Timestamp};

const JOBS: usize = 1_500;
const DUE: Timestamp = Timestamp(MIDNIGHT.0 + 300_000_000);

/// Many jobs due at one instant, and an agent with a slot for each.
fn crowd() -> World {
    let mut world = run("agent x runs 60m slots 5000; job a every 5m");
    let id = world.store.job_named("a").expect("just made");
    let rule = world.store.rule_of(world.store.jobs[&id].version).clone();
    for n in 1..JOBS {
        world.apply_job(&format!("a{n}"), rule.clone());
    }
    world
}

/// What each tick of one instant writes and orders, until the shard wants no more.
fn ticks(world: &mut World, at: Timestamp, wake: impl Fn(&World) -> Option<Timestamp>) -> Vec<(usize, usize)> {
    let mut ticks = Vec::new();
    while wake(world).is_some_and(|wake| wake <= at) {
        let mut out = Decisions::default();
        world.shard.step(at, Input::Tick, &mut out);
        let orders = out.effects.iter().filter(|effect| matches!(effect, Effect::Order(_))).count();
        ticks.push((out.changes.len(), orders));
    }
    ticks
}

#[test]
fn a_burst_is_planned_in_short_commits_and_leaves_in_many_parcels() {
    let mut world = crowd();
    let planned = ticks(&mut world, DUE - Span::secs(1), |world| world.shard.next_wake());
    assert_eq!(planned.iter().map(|(changes, _)| changes).sum::<usize>(), JOBS, "{planned:?}");
    assert!(planned.iter().all(|(changes, _)| *changes <= 200), "{planned:?}");
    let started = ticks(&mut world, DUE, |world| world.shard.next_due());
    assert_eq!(started.iter().map(|(_, orders)| orders).sum::<usize>(), JOBS, "{started:?}");
    assert!(started.len() >= 2 && started[0] == (0, 200), "{started:?}");
}

#[test]
fn what_is_late_already_is_planned_in_long_commits() {
    let mut world = crowd();
    let planned = ticks(&mut world, DUE + Span::secs(2), |world| world.shard.next_wake());
    assert_eq!(planned[0].0, JOBS, "{planned:?}");
}

#[test]
fn while_a_commit_is_under_way_only_what_is_due_wakes_the_shard() {
    let mut world = crowd();
    let before = DUE - Span::secs(1);
    world.shard.step(before, Input::Tick, &mut Decisions::default());
    assert!(world.shard.next_wake() <= Some(before), "there is more to plan");
    assert_eq!(world.shard.next_wake_while_writing(), None);
    ticks(&mut world, before, |world| world.shard.next_wake());
    assert_eq!(world.shard.next_wake_while_writing(), Some(DUE));
}
