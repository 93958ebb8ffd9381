//! Tenants beside each other: who goes first when there is not enough for all, and what a quota holds back.

use crate::world::{Commons, World, check};
use duly_engine::{Command, Refusal, Reply};
use expect_test::expect;
use model::{Actor, Rule, ShardId, TenantId, TenantRecord, Timestamp, shard_of};

#[test]
fn a_flood_does_not_stand_before_another_tenant() {
    check(
        "hide by_hand; tenant a; tenant b; agent x slots 1 for everyone
         job a/flood manual, allow; job b/one manual, allow
         trigger a/flood; trigger a/flood; trigger a/flood; trigger a/flood; trigger b/one; trigger b/one
         ok a/flood#1; ok b/one#1; ok a/flood#2; ok b/one#2; ok a/flood#3",
        expect![[r#"
            00:00:00 a/flood#1 -> x
            00:00:00 a/flood#1 succeeded
            00:00:00 b/one#1 -> x
            00:00:00 b/one#1 succeeded
            00:00:00 a/flood#2 -> x
            00:00:00 a/flood#2 succeeded
            00:00:00 b/one#2 -> x
            00:00:00 b/one#2 succeeded
            00:00:00 a/flood#3 -> x
            00:00:00 a/flood#3 succeeded
            00:00:00 a/flood#4 -> x
        "#]],
    );
}

#[test]
fn weight_says_whose_turn_it_is() {
    check(
        "hide by_hand succeeded; tenant a weight 3; tenant b; agent x slots 4 for everyone
         job a/x manual, allow; job b/x manual, allow
         trigger a/x; trigger a/x; trigger a/x; trigger a/x; trigger a/x; trigger a/x; trigger b/x; trigger b/x; trigger b/x
         ok a/x#1; ok a/x#2; ok a/x#3; ok b/x#1",
        expect![[r#"
            00:00:00 a/x#1 -> x
            00:00:00 a/x#2 -> x
            00:00:00 a/x#3 -> x
            00:00:00 a/x#4 -> x
            00:00:00 b/x#1 -> x
            00:00:00 a/x#5 -> x
            00:00:00 a/x#6 -> x
            00:00:00 b/x#2 -> x
        "#]],
    );
}

#[test]
fn who_is_due_among_many_of_another_tenant_starts_with_the_first() {
    check(
        "hide for_00; tenant a; tenant b; agent x slots 4 for everyone
         job a/1 once 00:00:05; job a/2 once 00:00:05; job a/3 once 00:00:05; job a/4 once 00:00:05; job a/5 once 00:00:05
         job b/1 once 00:00:05; until 00:00:05",
        expect![[r#"
            00:00:05 a/1#1 -> x
            00:00:05 b/1#1 -> x
            00:00:05 a/2#1 -> x
            00:00:05 a/3#1 -> x
        "#]],
    );
}

#[test]
fn a_slot_is_kept_for_what_another_tenant_has_due_in_a_moment() {
    check(
        "hide for_00 by_hand; tenant a; tenant b; agent x slots 2 for everyone
         job a/x manual, allow; job b/x every 5s
         trigger a/x; until 00:00:04.95; trigger a/x; why a/x#2; until 00:00:05; ok a/x#1; ok b/x#1",
        expect![[r#"
            00:00:00 a/x#1 -> x
            00:00:04.950 why a/x#2: the free slots of pool default are kept for other tenants' runs that are about to be due
            00:00:05 b/x#1 -> x
            00:00:05 a/x#1 succeeded
            00:00:05 a/x#2 -> x
            00:00:05 b/x#1 succeeded
        "#]],
    );
}

#[test]
fn what_was_kept_for_nothing_is_free_again() {
    check(
        "hide for_00 by_hand; tenant a; tenant b; agent x slots 2 for everyone
         job a/x manual, allow; job b/x every 5s
         trigger a/x; until 00:00:04.95; trigger a/x; pause b/x; until 00:00:06",
        expect![[r#"
            00:00:00 a/x#1 -> x
            00:00:04.950 b/x#1 withdrawn
            00:00:05.100 a/x#2 -> x
        "#]],
    );
}

#[test]
fn a_tenant_runs_no_more_at_once_than_its_quota() {
    check(
        "hide by_hand; tenant b running 1; agent x for everyone; job b/x manual, allow; job y manual, allow
         trigger b/x; trigger b/x; trigger y; why b/x#2; ok b/x#1; tenant b running 2; trigger b/x",
        expect![[r#"
            00:00:00 b/x#1 -> x
            00:00:00 y#1 -> x
            00:00:00 why b/x#2: tenant b may run 1 at once and does
            00:00:00 b/x#1 succeeded
            00:00:00 b/x#2 -> x
            00:00:00 b/x#3 -> x
        "#]],
    );
}

#[test]
fn a_tenant_starts_no_faster_than_its_rate_and_evenly() {
    check(
        "hide by_hand; tenant b rate 4; agent x for everyone; job b/x manual, allow
         trigger b/x; trigger b/x; trigger b/x; why b/x#2; until 00:00:01; trigger b/x; trigger b/x; until 00:00:02",
        expect![[r#"
            00:00:00 b/x#1 -> x
            00:00:00 why b/x#2: tenant b may start 4 in a second, evenly, and has
            00:00:00.250 b/x#2 -> x
            00:00:00.500 b/x#3 -> x
            00:00:01 b/x#4 -> x
            00:00:01.250 b/x#5 -> x
        "#]],
    );
}

#[test]
fn nothing_of_a_closing_tenant_starts() {
    check(
        "hide by_hand; tenant b; agent x for everyone; job b/x manual, allow; trigger b/x; tenant b closing yes
         trigger b/x; why b/x#2; ok b/x#1; until 00:01",
        expect![[r#"
            00:00:00 b/x#1 -> x
            00:00:00 why b/x#2: tenant b is being deleted; nothing of it starts
            00:00:00 b/x#1 succeeded
        "#]],
    );
}

#[test]
fn an_agent_takes_only_what_it_is_there_for() {
    check(
        "hide by_hand; tenant a; tenant b; agent x for b; job a/x manual; job b/x manual
         trigger a/x; trigger b/x; why a/x#1; agent y for everyone",
        expect![[r#"
            00:00:00 b/x#1 -> x
            00:00:00 why a/x#1: no agent has joined pool default
            00:00:00 a/x#1 -> y
        "#]],
    );
}

#[test]
fn names_of_tenants_are_unique_and_the_first_stays() {
    check(
        "tenant a; tenant b; tenant b named a; tenant b named c; tenant default closing yes",
        expect![[r#"
        00:00:00 tenant b named a: refused, another tenant is named a
        00:00:00 tenant default closing yes: refused, the tenant every installation has cannot be closed
    "#]],
    );
}

fn put(world: &mut World, tenant: TenantRecord) -> Result<TenantRecord, Refusal> {
    match world.ask(Command::PutTenant { tenant: Box::new(tenant) }) {
        Some(Ok(Reply::Tenant(id))) => Ok(world.store.tenants[&id].clone()),
        Some(Err(refusal)) => Err(refusal),
        other => panic!("{other:?}"),
    }
}

fn named(name: &str, servers: &[&str]) -> TenantRecord {
    let servers = servers.iter().map(|name| (*name).into()).collect();
    TenantRecord { servers, ..TenantRecord::new(TenantId(0), name, Timestamp(0), Actor("ann".into())) }
}

#[test]
fn a_tenant_of_some_servers_has_shards_of_its_own_and_keeps_them() {
    let mut world = World::of(ShardId(0), Commons::of(64));
    let own = |from: i64| (from..from + 8).map(ShardId).collect::<Vec<_>>();
    assert_eq!(put(&mut world, named("anywhere", &[])).unwrap().own, []);
    let a = put(&mut world, named("a", &["s1"])).unwrap();
    let b = put(&mut world, named("b", &["s1", "s2"])).unwrap();
    assert_eq!((&a.own, &b.own), (&own(64), &own(72)));
    let any = put(&mut world, TenantRecord { servers: vec![], own: vec![], ..a.clone() }).unwrap();
    assert_eq!(any.own, own(64), "its jobs are there");
    let stale = put(&mut world, TenantRecord { servers: vec!["s3".into()], own: own(72), ..a }).unwrap();
    assert_eq!(stale.own, own(64), "whatever the caller thought");
    let later = put(&mut world, named("later", &[])).unwrap();
    let later = put(&mut world, TenantRecord { servers: vec!["s1".into()], ..later }).unwrap();
    assert_eq!(later.own, own(80));
    for n in 3..56 {
        put(&mut world, named(&format!("t{n}"), &["s1"])).unwrap();
    }
    assert_eq!(put(&mut world, named("one more", &["s1"])), Err(Refusal::NoShardsLeft));
    let mut alone = World::of(ShardId(0), Commons::of(1));
    assert_eq!(put(&mut alone, named("a", &["s1"])), Err(Refusal::NoShardsLeft), "one shard is one server's");
}

#[test]
fn a_tenant_with_shards_of_its_own_has_no_job_elsewhere() {
    let mut world = World::of(ShardId(0), Commons::of(64));
    let first = world.store.tenants[&TenantId::DEFAULT].clone();
    world.apply_job("a", Rule::default());
    assert_eq!(shard_of(world.job("a"), 64), ShardId(0));
    put(&mut world, TenantRecord { servers: vec!["s1".into()], ..first }).unwrap();
    let reply = world.apply_job("b", Rule::default());
    assert_eq!(reply, Some(Err(Refusal::NotOwner)), "whoever asked here did not know yet");

    let mut own = World::of(ShardId(70), Commons::of(64));
    own.apply_job("c", Rule::default());
    assert_eq!(shard_of(own.job("c"), 64), ShardId(70), "the id says its shard");
}
