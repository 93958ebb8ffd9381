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
    for list in ["/instances", "/instances?job=a"] {
        assert_eq!(world.get(list).await.good()["items"][0]["job"], "a", "{list}");
    }
    assert_eq!(world.get("/verify?job=a").await.good()["ok"], true);
    assert!(world.get("/instances?job=never").await.refusal().starts_with("404 E0301"));
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_that_has_passed_is_refused_unless_it_was_there_before() {
    let world = World::new().await;
    let past = world.apply("job: x\nonce: 2020-01-01T00:00:00Z\nnoop: true\n").await.refusal();
    assert!(past.contains("E0217 jobs[0].once: x: 2020-01-01T00:00:00.000000Z has passed"), "{past}");
    let at = wire::Time::from(world.running.app.clock.now() + model::Span::millis(1500));
    let file = format!("job: x\nonce: {at}\nnoop: true\n");
    world.apply(&file).await.good();
    world.until(async |world: &World| world.get("/jobs/x").await.good()["last"].is_object().then_some(())).await;
    world.until(async |world: &World| (world.running.app.clock.now() > at.into()).then_some(())).await;
    assert_eq!(world.apply(&file).await.good()["items"][0]["action"], "same");
    let other_task = file.replace("noop: true", "sh: date");
    assert_eq!(world.apply(&other_task).await.good()["items"][0]["action"], "change", "its time is as it was");
    let moved = world.apply("job: x\nonce: 2020-01-01T00:00:00Z\nnoop: true\n").await.refusal();
    assert!(moved.contains("jobs[0].once"), "{moved}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_others_follow_does_not_go_unnoticed() {
    let world = World::new().await;
    let lead = "job: lead\nnoop: true\n";
    let f1 = "job: f1\nafter: lead\nnoop: true\n";
    world.apply(&format!("{lead}---\n{f1}---\njob: f2\nafter: lead\nnoop: true\n")).await.good();
    expect!["409 E0308 job lead is followed by f1, f2"].assert_eq(&world.delete("/jobs/lead").await.refusal());
    // f2 goes with it; f1 stays and is named.
    let prune = json!({"files": [{"name": "f.yaml", "text": f1}], "prune": true, "dry_run": true});
    let plan = world.post("/jobs/apply", prune).await.good();
    let told: Vec<String> = plan["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| format!("{} {} {}", item["action"], item["job"], item["followers"]))
        .collect();
    assert_eq!(told, [r#""same" "f1" null"#, r#""delete" "f2" null"#, r#""delete" "lead" ["f1"]"#]);
    assert_eq!(world.delete("/jobs/f2").await.status, 204);
    assert_eq!(world.delete("/jobs/lead?force=true").await.status, 204);
    let why = world.get("/jobs/f1/why").await.good();
    assert_eq!(why["reasons"][0]["kind"], "leader_gone", "{why}");
    assert!(why["reasons"][0]["text"].as_str().unwrap().contains("lead, which was deleted"), "{why}");
    // Made anew it is another job; applying the follower again binds it.
    world.apply(&format!("{lead}---\n{f1}")).await.good();
    assert_eq!(world.get("/jobs/f1/why").await.good()["reasons"][0]["kind"], "idle");
    world.stop().await;
}
