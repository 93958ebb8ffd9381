//! Jobs switched on and off, and what they say of themselves.

use expect_test::expect;
use serde_json::json;

use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_paused_disabled_and_let_go_on() {
    let world = World::new().await;
    world.apply("job: a\ncron: \"0 0 3 1 1 ? 2090\"\nnoop: true\n").await.good();
    assert_eq!(world.get("/jobs/a").await.good()["next_fire"], "2090-01-01T03:00:00.000000Z");
    let paused = world.post("/jobs/a/pause", json!({})).await.good();
    assert_eq!((&paused["mode"], &paused["next_fire"]), (&json!("paused"), &json!(null)));
    assert_eq!(world.get("/jobs/a/why").await.good()["reasons"][0]["kind"], "paused");
    let next = world.get("/jobs/a/next?n=1").await.good();
    assert_eq!(next["note"], "the job is paused: none of these happens until it is resumed");
    assert_eq!(next["fires"][0]["at"], "2090-01-01T03:00:00.000000Z");
    world.trigger("a").await;

    world.post("/jobs/a/disable", json!({})).await.good();
    expect!["409 E0303 job a is disabled, not paused"]
        .assert_eq(&world.post("/jobs/a/resume", json!({})).await.refusal());
    let refused = world.post("/jobs/a/trigger", json!({})).await.refusal();
    assert!(refused.starts_with("409 E0303"), "{refused}");
    assert_eq!(world.post("/jobs/a/enable", json!({})).await.good()["mode"], "enabled");
    expect!["409 E0305 job a is not held"].assert_eq(&world.post("/jobs/a/release", json!({})).await.refusal());

    assert_eq!(world.delete("/jobs/a").await.status, 204);
    assert!(world.get("/jobs/a").await.refusal().starts_with("404 E0301"));
    // What it did is still there, under its name.
    assert_eq!(world.get("/instances").await.good()["items"][0]["job"], "a");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_are_previewed_in_their_zone() {
    let world = World::new().await;
    let body = json!({"cron": {"expr": "0 30 2 ? * MON-FRI", "zone": "Asia/Shanghai"}, "n": 2, "from": "2026-11-13T00:00:00Z"});
    let view = world.post("/preview", body).await.good();
    assert_eq!(view["zone"], "Asia/Shanghai");
    let local: Vec<&str> =
        view["fires"].as_array().unwrap().iter().map(|fire| fire["local"].as_str().unwrap()).collect();
    assert_eq!(local, ["2026-11-16T02:30:00+08:00", "2026-11-17T02:30:00+08:00"]);
    let bad = world.post("/preview", json!({"cron": "0 0 25 * * ?"})).await.refusal();
    assert!(bad.starts_with("422 E0206 cron: hour field, position 4"), "{bad}");
    expect!["422 E0205 give exactly one of cron, every and once"]
        .assert_eq(&world.post("/preview", json!({})).await.refusal());
    world.stop().await;
}
