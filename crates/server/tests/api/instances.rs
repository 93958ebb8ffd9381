//! Instances: made once per key, listed in pages, stopped, run again, explained.

use expect_test::expect;
use model::Verdict;
use serde_json::{Value, json};

use crate::world::{World, names};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_makes_one_instance_even_over_a_restart() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\n---\njob: b\nnoop: true\n").await.good();
    let path = "/jobs/a/trigger";
    let first = world.post_keyed(path, "k-1", json!({"params": {"x": 1}})).await;
    assert_eq!(first.status, 201);
    let id = first.good()["id"].clone();
    let again = world.post_keyed(path, "k-1", json!({"params": {"x": 1}})).await;
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.good()["id"], id);
    let other = world.post_keyed(path, "k-1", json!({"params": {"x": 2}})).await.refusal();
    assert!(other.starts_with("409 E0109"), "{other}");

    let world = world.restart().await;
    assert_eq!(world.post_keyed(path, "k-1", json!({"params": {"x": 1}})).await.good()["id"], id);
    let other = world.post_keyed(path, "k-1", json!({"params": {"x": 2}})).await.refusal();
    assert!(other.starts_with("409 E0109"), "{other}");
    let other = world.post_keyed("/jobs/b/trigger", "k-1", json!({"params": {"x": 1}})).await.refusal();
    assert!(other.starts_with("409 E0109"), "{other}");
    assert_eq!(world.get("/instances").await.good()["items"].as_array().unwrap().len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planned_time_is_taken_once_and_never_ahead() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\n").await.good();
    let agent = world.agent("mill").await;
    let yesterday = wire::Time(world.running.app.clock.now().0 - 86_400_000_000).to_string();
    let body = json!({"planned_at": yesterday});
    let made = world.post("/jobs/a/trigger", body.clone()).await.good();
    assert_eq!(made["planned_at"], yesterday);
    let id = made["id"].as_i64().unwrap();
    world.report(agent, id, Verdict::Succeeded).await;
    world.until_state(id, "succeeded").await;
    let taken = world.post("/jobs/a/trigger", body).await.refusal();
    assert!(taken.starts_with("409 E0306"), "{taken}");
    let ahead = world.post("/jobs/a/trigger", json!({"planned_at": "2090-01-01T00:00:00Z"})).await.refusal();
    assert!(ahead.starts_with("422 E0209 planned_at: 2090-01-01T00:00:00.000000Z is in the future"), "{ahead}");
    let old = world.post("/jobs/a/trigger", json!({"planned_at": "1999-01-01T00:00:00Z"})).await.refusal();
    assert!(old.starts_with("422 E0209"), "{old}");
    assert!(world.get("/quarantine").await.good()["items"].as_array().unwrap().is_empty());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_filtered_by_agent_cause_folder_and_label() {
    let world = World::new().await;
    let agent = world.agent("mill").await;
    let jobs =
        "job: a\nfolder: etl/night\nlabels: { team: billing }\nnoop: true\n---\njob: b\nfolder: ops\nnoop: true\n";
    world.apply(jobs).await.good();
    let (a, b) = (world.trigger("a").await, world.trigger("b").await);
    for id in [a, b] {
        world.report(agent, id, Verdict::Succeeded).await;
        world.until_state(id, "succeeded").await;
    }
    let listed = async |query: &str| {
        let items = world.get(&format!("/instances?{query}")).await.good()["items"].clone();
        let mut ids: Vec<i64> = items.as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(listed("cause=manual").await, [a, b]);
    assert!(listed("cause=planned").await.is_empty());
    assert_eq!(listed(&format!("agent={}", agent.0)).await, [a, b]);
    assert!(listed("agent=999").await.is_empty());
    assert_eq!((listed("folder=etl").await, listed("folder=ops").await), (vec![a], vec![b]));
    assert_eq!(listed("label=team%3Dbilling").await, [a]);
    assert!(listed("label=team%3Dbilling&folder=ops").await.is_empty());
    assert_eq!(listed("folder=etl&state=ended&cause=manual").await, [a]);
    let refused = world.get("/instances?label=billing").await.refusal();
    assert!(refused.starts_with("400 E0103 label: \"billing\" is not a label"), "{refused}");
    let jobs = world.get("/jobs?label=team%3Dbilling").await.good();
    assert_eq!(names(&jobs, "name"), ["a"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_shows_the_parameters_its_task_is_given() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\nparams: { region: east, day: monday }\n---\njob: b\nnoop: true\n").await.good();
    let of = async |job: &str, body: Value| {
        let id = world.post(&format!("/jobs/{job}/trigger"), body).await.good()["id"].clone();
        world.get(&format!("/instances/{id}")).await.good()["params"].clone()
    };
    assert_eq!(of("a", json!({})).await, json!({"region": "east", "day": "monday"}));
    assert_eq!(of("a", json!({"params": {"day": "friday"}})).await, json!({"region": "east", "day": "friday"}));
    assert_eq!(of("b", json!({})).await, Value::Null);
    // What an instance was given stays, whatever becomes of its job.
    let id = world.trigger("a").await;
    world.apply("job: a\nnoop: true\nparams: { region: west }\n").await.good();
    assert_eq!(world.get(&format!("/instances/{id}")).await.good()["params"]["region"], "east");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_neither_skip_nor_repeat() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\noverlap: allow\n---\njob: b\nnoop: true\n").await.good();
    let mut made = Vec::new();
    for _ in 0..7 {
        made.push(world.trigger("a").await.to_string());
    }
    world.trigger("b").await;
    made.reverse();
    let mut seen = Vec::new();
    let mut path = "/instances?job=a&limit=3".to_owned();
    loop {
        let page = world.get(&path).await.good();
        seen.extend(names(&page, "id"));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/instances?job=a&limit=3&cursor={next}");
        // A newer one in front disturbs nobody who is on the way.
        world.trigger("a").await;
    }
    assert_eq!(seen, made);
    let ended = world.get("/instances?state=ended").await.good();
    assert_eq!(ended["items"], json!([]));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_times_are_paged_one_by_one() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\n---\njob: b\nnoop: true\n---\njob: c\nnoop: true\n").await.good();
    let same = json!({"planned_at": wire::Time(world.running.app.clock.now().0 - 60_000_000).to_string()});
    for job in ["a", "b", "c"] {
        world.post(&format!("/jobs/{job}/trigger"), same.clone()).await.good();
    }
    let mut seen = Vec::new();
    let mut path = "/instances?limit=1".to_owned();
    loop {
        let page = world.get(&path).await.good();
        seen.extend(names(&page, "job"));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/instances?limit=1&cursor={next}");
    }
    assert_eq!(seen, ["c", "b", "a"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_says_why_and_can_be_stopped() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\n").await.good();
    let id = world.trigger("a").await;
    let why = world.get(&format!("/instances/{id}/why")).await.good();
    assert_eq!(why["reasons"], json!([{"kind": "no_agent_in_pool", "text": "no agent has joined pool default"}]));
    assert_eq!(world.get(&format!("/instances/{id}")).await.good()["why"], "no agent has joined pool default");
    world.post(&format!("/instances/{id}/stop"), json!({})).await.good();
    let stopped = world.until_state(id, "stopped").await;
    assert_eq!(stopped["reason"], "stopped by ann");
    let why = world.get(&format!("/instances/{id}/why")).await.good();
    assert!(why["reasons"][0]["text"].as_str().unwrap().starts_with("it was stopped (stopped by ann)"), "{why}");
    let again = world.post(&format!("/instances/{id}/stop"), json!({})).await.refusal();
    assert!(again.starts_with("409 E0402"), "{again}");
    let sure = world.post(&format!("/instances/{id}/resolve"), json!({"verdict": "lost"})).await.refusal();
    assert!(sure.starts_with("409 E0402"), "{sure}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_run_again_and_a_dead_letter_replayed() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\ndead_letter: true\n").await.good();
    let agent = world.agent("mill").await;
    let id = world.trigger("a").await;
    let path = format!("/instances/{id}");
    let running = world.post(&format!("{path}/rerun"), json!({})).await.refusal();
    assert!(running.starts_with("409 E0403"), "{running}");
    let ordered = world.until_state(id, "dispatched").await;
    assert!(ordered["why"].is_string(), "{ordered}");
    assert_eq!(ordered["placing"], json!({"pool": "default", "route": "least_loaded"}), "nobody was asked");
    world.report(agent, id, Verdict::Failed).await;
    let dead = world.until_state(id, "dead").await;
    assert_eq!(dead["placing"], json!({"pool": "default", "route": "least_loaded"}));
    assert_eq!(
        (&dead["exit_code"], &dead["reason"], &dead["outputs"]),
        (&json!(3), &json!("exit"), &json!({"rows": 7}))
    );

    let replay = world.post("/instances/replay", json!({"job": "a"})).await.good();
    assert_eq!(replay, json!({"replayed": [id], "refused": []}));
    let known = world.get(&format!("/audit?operation=instance_replay&about={id}")).await.good();
    assert_eq!(known["items"].as_array().map(Vec::len), Some(1), "its own page finds who replayed it: {known}");
    world.report(agent, id, Verdict::Succeeded).await;
    world.until_state(id, "succeeded").await;
    let attempts = world.get(&format!("{path}/attempts")).await.good();
    let told: Vec<(&Value, &Value)> =
        attempts["items"].as_array().unwrap().iter().map(|one| (&one["number"], &one["verdict"])).collect();
    assert_eq!(told, [(&json!(1), &json!("failed")), (&json!(2), &json!("succeeded"))]);
    let none = world.post("/instances/replay", json!({"ids": [id, 4711]})).await.good();
    assert_eq!(none["replayed"], json!([]));
    expect!["it is no dead letter, but succeeded"].assert_eq(none["refused"][0]["why"].as_str().unwrap());
    assert_eq!(world.post(&format!("{path}/rerun"), json!({})).await.good()["attempt_no"], 3);
    world.stop().await;
}
