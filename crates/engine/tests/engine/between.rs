//! A job that follows one of another shard: told, fired once for each end, whatever crashes in between.

use crate::world::{Commons, Crash, World};
use model::*;

/// A leader in one shard, a follower in the other.
fn apart() -> [World; 2] {
    let commons = Commons::of(2);
    let mut worlds = [0, 1].map(|shard| World::of(ShardId(shard), commons.clone()));
    worlds[0].play("agent x; job a manual");
    worlds[1].play("agent y");
    follow(&mut worlds, "b", On::Success, false);
    worlds
}

fn follow(worlds: &mut [World; 2], name: &str, on: On, each: bool) {
    let mut rule = Rule::default();
    rule.trigger.follows = vec![Follow { job: worlds[0].job("a"), on, each }];
    worlds[1].apply_job(name, rule);
}

fn hear(worlds: &mut [World; 2]) {
    for _ in 0..3 {
        worlds.iter_mut().for_each(World::hear);
    }
}

fn made(world: &World, name: &str) -> usize {
    let job = world.job(name);
    world.store.rows.values().filter(|kept| kept.instance.job == job).count()
}

fn told(worlds: &[World; 2]) -> usize {
    worlds[0].store.commons.borrow().outbox.len()
}

#[test]
fn an_end_in_one_shard_fires_a_follower_in_another() {
    let mut worlds = apart();
    hear(&mut worlds);
    worlds[0].play("trigger a; ok a#1; trigger a; fail a#2");
    hear(&mut worlds);
    assert_eq!(made(&worlds[1], "b"), 1, "{}", worlds[1].story());
    let row = worlds[1].store.rows.values().next().expect("one was made");
    assert_eq!(row.instance.cause, Cause::After(worlds[0].instance("a#1")));
    assert_eq!(told(&worlds), 0);
}

#[test]
fn only_the_ends_that_are_followed_are_told() {
    let mut worlds = apart();
    follow(&mut worlds, "b", On::Failure, false);
    hear(&mut worlds);
    worlds[0].play("trigger a; ok a#1");
    assert_eq!(told(&worlds), 0);
    worlds[0].play("trigger a; fail a#2");
    assert_eq!(told(&worlds), 1);
    hear(&mut worlds);
    assert_eq!(made(&worlds[1], "b"), 1);
}

#[test]
fn one_that_follows_no_more_is_told_no_more() {
    for change in ["job b manual", "delete b"] {
        let mut worlds = apart();
        hear(&mut worlds);
        worlds[1].play(change);
        hear(&mut worlds);
        worlds[0].play("trigger a; ok a#1");
        assert_eq!(told(&worlds), 0, "after {change}");
        assert!(worlds[0].store.followers.is_empty());
    }
}

#[test]
fn a_paused_follower_is_told_and_does_not_run() {
    let mut worlds = apart();
    hear(&mut worlds);
    worlds[1].play("pause b");
    worlds[0].play("trigger a; ok a#1");
    hear(&mut worlds);
    assert_eq!((made(&worlds[1], "b"), told(&worlds)), (0, 0));
}

#[test]
fn whoever_asks_is_told_of_followers_elsewhere() {
    use duly_engine::{Command, Reply};
    let mut worlds = apart();
    hear(&mut worlds);
    let (a, b) = (worlds[0].job("a"), worlds[1].job("b"));
    assert_eq!(worlds[0].ask(Command::Followers { job: a }), Some(Ok(Reply::Followers(vec![b]))));
}

#[test]
fn a_message_heard_twice_is_acted_on_once() {
    let mut worlds = apart();
    hear(&mut worlds);
    worlds[0].play("trigger a; ok a#1");
    let letters = worlds[1].store.commons.borrow().waiting_for(ShardId(1));
    for (id, message) in letters.iter().chain(&letters).cloned() {
        worlds[1].tell(duly_engine::Input::Heard { id, message });
    }
    assert_eq!(made(&worlds[1], "b"), 1);
}

/// Wherever either of them dies, before or after its commit, each end is followed once.
#[test]
fn a_crash_loses_no_end_and_repeats_none() {
    for (shard, at, committed) in (0..2).flat_map(|s| (1..=8).flat_map(move |at| [(s, at, true), (s, at, false)])) {
        let mut worlds = apart();
        hear(&mut worlds);
        let crash = Crash { at: worlds[shard].told + at, committed };
        worlds[shard].crash = Some(crash);
        worlds[0].play("trigger a");
        let instance = worlds[0].store.rows.keys().next().copied();
        let Some(open) = instance else { continue };
        let attempt = worlds[0].store.rows[&open].instance.attempt;
        worlds[0].end(AgentId(1), attempt, Verdict::Succeeded);
        // Whoever came back is told again what it has not acknowledged.
        worlds[0].disconnect(AgentId(1));
        worlds[0].connect(AgentId(1), None);
        hear(&mut worlds);
        worlds.iter_mut().for_each(|world| world.crash = None);
        hear(&mut worlds);
        assert_eq!(made(&worlds[1], "b"), 1, "{crash:?} of {shard}\n{}{}", worlds[0].story(), worlds[1].story());
        assert_eq!(told(&worlds), 0);
    }
}

/// Where there was one shard nobody had to be told; after a move to where there are more, everybody has.
#[test]
fn a_store_that_was_moved_is_told_who_follows_whom() {
    let mut worlds = apart();
    worlds[0].store.commons.borrow_mut().outbox.clear();
    worlds[1].store.forget_commits();
    worlds[1].restart();
    worlds[1].tell(duly_engine::Input::Tick);
    hear(&mut worlds);
    worlds[0].play("trigger a; ok a#1");
    hear(&mut worlds);
    assert_eq!(made(&worlds[1], "b"), 1);
}
