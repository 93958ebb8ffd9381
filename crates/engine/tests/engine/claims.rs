//! What the store may refuse: a name that is taken, a request made before.

use crate::world::{Commons, Crash, World, check, run};
use duly_engine::change::ClaimName;
use duly_engine::input::Triggering;
use duly_engine::{Command, Refusal, Reply};
use expect_test::expect;
use model::*;

#[test]
fn a_name_belongs_to_one_job() {
    let mut world = run("job a manual");
    // Somebody who has not heard of it yet makes it again.
    let rule = Rule::default();
    let content = world.store.intern(&rule);
    let reply = world.ask(Command::ApplyJob(Box::new(duly_engine::input::JobDraft {
        id: None,
        tenant: TenantId::DEFAULT,
        name: "a".into(),
        folder: String::new(),
        labels: Default::default(),
        rule: duly_engine::Compiled::new(rule).expect("a plain rule"),
        rule_content: content,
        task: content,
        source: content,
        mode: JobMode::Enabled,
        alias: 0,
    })));
    assert_eq!(reply, Some(Err(Refusal::NameTaken { name: "a".into(), by: world.job("a") })));
}

#[test]
fn a_name_is_free_again_when_its_job_is_deleted() {
    check(
        "agent x runs 1s; job a manual; trigger a; delete a; job a manual; trigger a; until 00:01",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:01 a#1 succeeded
        00:00:01 a#1 succeeded
    "#]],
    );
}

#[test]
fn a_request_made_twice_is_made_once() {
    check(
        "agent x runs 1s; job a manual; trigger a key k; trigger a key k; until 00:01; trigger a key k; trigger a key l",
        expect![[r#"
        00:00:00 a#1 by hand
        00:00:00 a#1 -> x
        00:00:00 trigger a key k: repeats a#1
        00:00:01 a#1 succeeded
        00:01:00 trigger a key k: repeats a#1
        00:01:00 a#2 by hand
        00:01:00 a#2 -> x
    "#]],
    );
}

#[test]
fn a_request_that_was_refused_may_be_made_again() {
    let mut world = run("agent x; job a manual");
    let job = world.job("a");
    let asked =
        Triggering { job, params: None, on: None, planned: Some(world.now), idempotency_key: None, adopt: None };
    let again = Triggering { idempotency_key: Some("k".into()), ..asked.clone() };
    world.ask(Command::Trigger(Box::new(asked)));
    assert_eq!(world.ask(Command::Trigger(Box::new(again))), Some(Err(Refusal::AlreadyPlanned(job))));
    world.play("trigger a key k");
    assert!(world.story().contains("a#2 by hand"), "{}", world.story());
}

#[test]
fn a_name_promised_before_a_crash_passes_on() {
    let mut world = World::new();
    world.crash = Some(Crash { at: 1, committed: true });
    world.apply_job("a", Rule::default());
    assert_eq!(world.store.job_named("a"), None, "the server died between the claim and the job");
    world.play("agent x; job a manual; trigger a");
    expect![[r#"
        00:00:00.001 a#1 by hand
        00:00:00.001 a#1 -> x
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_name_that_another_shard_holds_is_taken() {
    let mut world = World::of(ShardId(1), Commons::of(64));
    let theirs = (1..).map(JobId).find(|job| shard_of(*job, 64) == ShardId(2)).expect("ids are spread");
    let name = ClaimName::JobName { tenant: TenantId::DEFAULT, name: "a".into() };
    world.store.claims.insert(name, theirs.0);
    let reply = world.apply_job("a", Rule::default());
    assert_eq!(reply, Some(Err(Refusal::NameTaken { name: "a".into(), by: theirs })));

    world.apply_job("b", Rule::default());
    assert_eq!(shard_of(world.job("b"), 64), ShardId(1), "a new job belongs to the shard that makes it");
}

#[test]
fn an_instance_promised_before_a_crash_is_made_once_when_it_is_asked_for_again() {
    let mut world = run("agent x; job a manual");
    let job = world.job("a");
    world.crash = Some(Crash { at: world.told + 1, committed: true });
    world.trigger(job, None, Some("k"));
    let Some(Ok(Reply::Repeated { id, planned: None })) = world.trigger(job, None, Some("k")) else {
        panic!("the key is taken and nothing came of it");
    };
    let adopt =
        Triggering { job, params: None, on: None, planned: None, idempotency_key: Some("k".into()), adopt: Some(id) };
    assert!(matches!(world.ask(Command::Trigger(Box::new(adopt.clone()))), Some(Ok(Reply::Instance { .. }))));
    world.play("ok a#1");
    let again = world.ask(Command::Trigger(Box::new(adopt)));
    assert_eq!(again, Some(Ok(Reply::Repeated { id, planned: None })));
}
