//! The server dies at every step of a life, before or after what it decided is on disk: nothing is lost, nothing is
//! done twice.

use std::collections::BTreeMap;

use crate::world::{Crash, World, clock};
use model::*;

const LIFE: &str = "
    agent x slots 3 runs 2s; agent y slots 2 runs 3s
    job cron cron */5 * * * * ?, allow; job rate every 700ms, queue 2; job chain delay 1s, retry 1 x 1s
    job wide every 6s, route broadcast, retry 1 x 1s; job next after chain end; job hand manual, skip
    until 00:00:04; trigger hand; trigger hand; until 00:00:05.3; job rate every 900ms, queue 2; pause cron
    until 00:00:07; resume cron; gone y; until 00:00:09; back y; until 00:00:12; trigger hand key k
    until 00:00:15; delete wide; until 00:00:17";

#[test]
fn a_crash_at_any_step_loses_nothing_and_doubles_nothing() {
    let mut calm = World::new();
    calm.play(LIFE);
    let steps = calm.told;
    assert!(steps > 80, "a life of {steps} steps is too short to be worth it");
    for committed in [false, true] {
        for at in 1..=steps {
            let mut world = World::new();
            world.crash = Some(Crash { at, committed });
            world.play(LIFE);
            wind_down(&mut world);
            check(&world, &format!("a crash at step {at}, committed: {committed}"));
        }
    }
}

fn wind_down(world: &mut World) {
    for job in world.store.jobs.keys().copied().collect::<Vec<_>>() {
        world.ask(duly_engine::Command::SetMode { job, mode: JobMode::Paused });
    }
    world.until(world.now + Span::HOUR);
}

fn check(world: &World, when: &str) {
    let told = |what: &str| format!("{what} after {when}, by {}\n{}", clock(world.now), world.story());
    for kept in world.store.rows.values() {
        assert!(kept.ending.is_some(), "{}", told(&format!("{} is still open", world.label(kept.instance.id))));
    }
    // An attempt begins on one machine, and every one that began has its ending on disk.
    let mut began: BTreeMap<AttemptId, u32> = BTreeMap::new();
    for attempt in world.machines.values().flat_map(|machine| &machine.begun) {
        *began.entry(*attempt).or_default() += 1;
        assert!(world.store.ended.contains(attempt), "{}", told(&format!("attempt {attempt} never ended")));
    }
    assert!(began.values().all(|count| *count == 1), "{}", told("an attempt began twice"));
    assert!(world.store.orphans.is_empty(), "{}", told("somebody reported an attempt nobody knows"));
    // One success is enough: no instance that succeeded ran once more.
    let ended = world.store.rows.values().filter(|kept| kept.instance.state == State::Succeeded);
    let again = ended.filter(|kept| kept.instance.attempt_no > 1 && kept.instance.part == Part::WHOLE).count();
    assert_eq!(again, 0, "{}", told("something ran again though nothing had failed"));
}

/// Attempts of every kind: a redelivery, two retries, a person's rerun, two retries.
const TRIES: &str = "
    agent x; job a manual, retry 2 x 1s; trigger a; wait 1s; undelivered a#1; wait 1s; fail a#1; wait 2s
    fail a#1; wait 2s; fail a#1; wait 1s; rerun a#1; wait 1s; fail a#1; wait 2s; fail a#1; wait 2s; fail a#1; wait 1s";

#[test]
fn a_crash_at_any_step_neither_costs_nor_gives_a_retry() {
    let mut calm = World::new();
    calm.play(TRIES);
    let steps = calm.told;
    for (at, committed) in (1..=steps).flat_map(|at| [(at, false), (at, true)]) {
        let mut world = World::new();
        world.crash = Some(Crash { at, committed });
        world.play(TRIES);
        let a = &world.store.rows[&world.instance("a#1")].instance;
        assert_eq!(
            (a.state, a.attempt_no, a.retries_used),
            (State::Dead, 7, 2),
            "after a crash at step {at}, committed: {committed}\n{}",
            world.story()
        );
    }
}
