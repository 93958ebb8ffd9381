//! Verify finds what was taken from the ledger and what was put into it.

use std::path::Path;
use std::time::{Duration, Instant};

use model::Timestamp;
use serde_json::json;
use server::verify::{Window, verify};
use store::sqlite::{Options, SqliteStore};
use wire::api::{FindingKind, VerifyView};

use crate::world::World;

fn look(data: &Path, from: Timestamp, to: Timestamp) -> VerifyView {
    let store = SqliteStore::open(data, &Options::default()).unwrap();
    let window = Window { from, to, tenant: None, job: None, now: to, shards: 1 };
    verify(&store.reads().unwrap(), &window, Instant::now() + Duration::from_secs(60), &|| true).unwrap()
}

fn spoil(data: &Path, statement: impl Fn(&str) -> String) {
    let file = std::fs::read_dir(data)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|e| e == "db"));
    let conn = rusqlite::Connection::open(file.unwrap()).unwrap();
    let table: String = conn
        .query_row(
            "select name from sqlite_master where type = 'table' and name like 'instance_d%' limit 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    conn.execute_batch(&statement(&table)).unwrap();
}

fn told(view: &VerifyView) -> Vec<FindingKind> {
    view.findings.iter().map(|finding| finding.kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_job_may_no_longer_plan_is_not_lost() {
    let world = World::new().await;
    let from = world.running.app.clock.now();
    let few = |max: u32, sh: &str| format!("job: few\nevery: {{ every: 100ms, max_count: {max} }}\nsh: {sh}\n");
    let fired = async |world: &World, count: u64| {
        let view = world.get("/verify?job=few").await.good();
        assert_eq!((&view["ok"], &view["findings"]), (&json!(true), &json!([])), "{view}");
        assert!(view["times"].as_u64() <= Some(count), "{view}");
        (view["times"].as_u64() == Some(count)).then_some(())
    };
    world.apply(&few(3, "one")).await.good();
    world.until(async |world: &World| fired(world, 3).await).await;
    // What a person asks for later is no sign that the plan went on.
    world.post("/jobs/few/trigger", json!({})).await.good();
    world.until(async |world: &World| fired(world, 3).await).await;
    world.apply(&few(5, "two")).await.good();
    world.until(async |world: &World| fired(world, 5).await).await;
    world.delete("/jobs/few").await;
    let to = world.running.app.clock.now();
    let dir = world.stop().await;
    let clean = look(dir.path(), from, to);
    assert!(clean.ok && clean.times == 5, "{clean:?}");
    let second = |table: &str| format!("select id from {table} order by planned limit 1 offset 1");
    spoil(dir.path(), |table| format!("delete from {table} where id = ({})", second(table)));
    assert_eq!(told(&look(dir.path(), from, to)), [FindingKind::Lost], "what is really missing is still found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_later_than_their_grace_are_named() {
    let world = World::new().await;
    let from = world.running.app.clock.now();
    world.apply("job: tick\nevery: 100ms\nnoop: true\noverlap: allow\n").await.good();
    world
        .until(async |world: &World| (world.get("/verify").await.good()["fired"].as_u64() > Some(5)).then_some(()))
        .await;
    world.post("/jobs/tick/pause", json!({})).await.good();
    let to = world.running.app.clock.now();
    let dir = world.stop().await;
    spoil(dir.path(), |table| format!("update {table} set started_at = planned + 2000"));
    let third = |table: &str| format!("select id from {table} order by planned limit 1 offset 2");
    spoil(dir.path(), |table| {
        format!("update {table} set started_at = planned + 61000000 where id = ({})", third(table))
    });
    let view = look(dir.path(), from, to);
    assert!(view.ok, "late is told, and is no disagreement: {view:?}");
    let lateness = view.lateness;
    assert!(lateness.starts > 5 && (2_000..2_100).contains(&lateness.p50.0.0), "{lateness:?}");
    let late: Vec<_> =
        lateness.jobs.iter().map(|job| (job.job.as_str(), job.starts, job.longest.to_string())).collect();
    assert_eq!((lateness.late, late), (1, vec![("tick", 1, "1m1s".into())]), "{:?}", lateness.jobs);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hole_and_a_double_are_found() {
    let world = World::new().await;
    let from = world.running.app.clock.now();
    world.apply("job: tick\nevery: 100ms\nnoop: true\noverlap: { queue: 5 }\n---\njob: calm\ncron: \"* * * * * ?\"\nnoop: true\n").await.good();
    let enough = async |world: &World| {
        let view = world.get("/verify").await.good();
        assert_eq!((&view["ok"], &view["findings"]), (&json!(true), &json!([])), "{view}");
        (view["times"].as_u64() > Some(20) && view["skipped"].as_u64() > Some(0)).then_some(())
    };
    world.until(enough).await;
    world.post("/jobs/tick/pause", json!({})).await.good();
    let to = world.running.app.clock.now();
    // Long before there was anything to plan costs nothing.
    assert_eq!(world.get("/verify?from=0001-01-01T00:00:00Z").await.good()["ok"], true);
    let dir = world.stop().await;

    let clean = look(dir.path(), from, to);
    assert!(clean.ok, "{clean:?}");
    assert_eq!(clean.times, clean.fired + clean.skipped, "{clean:?}");
    let middle =
        |table: &str| format!("select id from {table} where planned <= {} order by planned limit 1 offset 5", to.0);
    spoil(dir.path(), |table| format!("delete from {table} where id = ({})", middle(table)));
    assert_eq!(told(&look(dir.path(), from, to)), [FindingKind::Lost]);

    spoil(dir.path(), |table| format!("update {table} set planned = planned + 1 where id = ({})", middle(table)));
    let moved = look(dir.path(), from, to);
    assert_eq!(moved.findings.iter().filter(|f| f.kind == FindingKind::Unplanned).count(), 1, "{moved:?}");
    assert_eq!(moved.findings.iter().filter(|f| f.kind == FindingKind::Lost).count(), 2, "{moved:?}");

    spoil(dir.path(), |table| {
        format!(
            "drop index {table}_ledger; create temp table copy as select * from {table} where id = ({}); \
             update copy set id = id + 500000, planned = planned - 1; insert into {table} select * from copy; \
             update copy set id = id + 1; insert into {table} select * from copy;",
            middle(table)
        )
    });
    let doubled = look(dir.path(), from, to);
    assert!(!doubled.ok);
    assert_eq!(doubled.findings.iter().filter(|f| f.kind == FindingKind::Doubled).count(), 1, "{doubled:?}");
}
