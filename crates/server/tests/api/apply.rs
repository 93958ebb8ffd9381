//! Applying jobs: a plan first, everything or nothing.

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::{World, names};

fn told(plan: &Value) -> String {
    let items = plan["items"].as_array().unwrap().iter().map(|item| {
        let fields = item["fields"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|field| format!(" {}", field["path"].as_str().unwrap()));
        format!("{} {}{}", item["action"].as_str().unwrap(), item["job"].as_str().unwrap(), fields.collect::<String>())
    });
    format!("applied={}\n{}", plan["applied"], items.collect::<Vec<_>>().join("\n"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_says_what_differs_and_is_carried_out() {
    let world = World::new().await;
    let first = "job: a\ncron: \"0 0 3 * * ?\"\nsh: date\nfolder: x\n---\njob: b\nnoop: true\nfolder: x/y\n---\njob: c\nnoop: true\n";
    let dry =
        world.post("/jobs/apply", json!({"files": [{"name": "f.yaml", "text": first}], "dry_run": true})).await.good();
    expect![[r#"
        applied=false
        create a cron folder sh
        create b folder noop
        create c noop"#]]
    .assert_eq(&told(&dry));
    assert_eq!(names(&world.get("/jobs").await.good(), "name"), Vec::<String>::new());

    world.apply(first).await.good();
    assert_eq!(names(&world.get("/jobs").await.good(), "name"), ["a", "b", "c"]);
    assert_eq!(names(&world.get("/jobs?folder=x").await.good(), "name"), ["a", "b"]);

    let second =
        "job: a\ncron: { expr: \"0 0 3 * * ?\", zone: UTC }\nsh: date\nfolder: x\n---\njob: d\nnoop: true\nfolder: x\n";
    let body = json!({"files": [{"name": "f.yaml", "text": second}], "prune": true, "prune_folder": "x"});
    let plan = world.post("/jobs/apply", body).await.good();
    expect![[r#"
        applied=true
        same a
        create d folder noop
        delete b"#]]
    .assert_eq(&told(&plan));
    assert_eq!(names(&world.get("/jobs").await.good(), "name"), ["a", "c", "d"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_faults_are_told_and_nothing_is_done() {
    let world = World::new().await;
    let yaml = "job: good\nnoop: true\n---\njob: odd\ncron: \"0 0 25 * * ?\"\nnoop: true\n---\njob: lost\nafter: nobody\nnoop: true\n---\njob: p\nafter: q\nnoop: true\n---\njob: q\nafter: p\nnoop: true\n";
    expect![[r#"
        422 E0203 4 things are wrong
          E0206 jobs.yaml: jobs[1].cron: odd: hour field, position 4: 25 is above 23
          E0212 jobs[2].after: lost: there is no job "nobody"
          E0213 jobs[3].after: p would follow itself
          E0213 jobs[4].after: q would follow itself"#]]
    .assert_eq(&world.apply(yaml).await.refusal());
    assert_eq!(names(&world.get("/jobs").await.good(), "name"), Vec::<String>::new());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_may_follow_jobs_of_the_same_call() {
    let world = World::new().await;
    world.apply("job: last\nafter: middle\nnoop: true\n---\njob: middle\nafter: { job: first, on: end }\nnoop: true\n---\njob: first\nnoop: true\n").await.good();
    let shown = world.get("/jobs/last").await.good();
    assert_eq!(shown["body"]["after"], "middle");
    let note = world.get("/jobs/last/next").await.good()["note"].clone();
    assert_eq!(note, "it follows middle: its times are when instances of that end");
    // The leader is made anew under its name: whoever follows it must be told.
    assert_eq!(world.delete("/jobs/middle?force=true").await.status, 204);
    world.apply("job: middle\nnoop: true\n").await.good();
    let plan = world.apply("job: last\nafter: middle\nnoop: true\n").await.good();
    assert_eq!(plan["items"][0]["action"], "change");
    let circle = world
        .apply("job: first\nafter: last\nnoop: true\n---\njob: middle\nafter: first\nnoop: true\n")
        .await
        .refusal();
    assert!(circle.contains("E0213"), "{circle}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_are_kept_and_a_job_can_be_exported() {
    let world = World::new().await;
    world.apply("job: a\nsh: echo one\nretry: 2\n").await.good();
    world.apply("job: a\nsh: echo two\nretry: { times: 2, delay: 10s }\nmode: paused\n").await.good();
    let versions = world.get("/jobs/a/versions").await.good();
    let sources: Vec<&str> =
        versions["items"].as_array().unwrap().iter().map(|v| v["body"]["sh"].as_str().unwrap()).collect();
    assert_eq!(sources, ["echo two", "echo one"]);
    assert_eq!(versions["items"][0]["current"], true);
    assert_eq!(versions["items"][0]["created_by"], "ann");
    let exported = world.get("/jobs/a/export").await;
    assert_eq!(exported.headers["content-type"], "application/yaml");
    expect![[r#"
        job: a
        mode: paused
        sh: echo two
        retry: 2
    "#]]
    .assert_eq(&exported.text);
    let again = world.apply(&exported.text).await.good();
    assert_eq!(again["items"][0]["action"], "same");
    world.stop().await;
}
