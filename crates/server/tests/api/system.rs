//! The installation as a whole.

use expect_test::expect;
use model::Verdict;
use reqwest::Method;
use serde_json::json;

use crate::world::{TOKEN, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alive_means_that_the_loop_comes_round() {
    let world = World::new().await;
    assert_eq!(world.get("/health").await.good()["ok"], true);
    assert_eq!(world.get("/ready").await.good()["ready"], true);
    // Stop the loop for good: the process is there, the progress is not.
    world.shard().stop().await;
    while !world.running.app.shards.running().is_empty() {
        tokio::task::yield_now().await;
    }
    expect!["503 E0111 the scheduling loop has ended"].assert_eq(&world.get("/health").await.refusal());
    assert!(world.get("/ready").await.refusal().starts_with("503 E0111"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_and_limits_are_set_and_shown() {
    let world = World::new().await;
    assert_eq!(world.get("/limits").await.good(), json!({"limit": null}));
    assert_eq!(world.put("/limits", json!({"limit": 7})).await.good(), json!({"limit": 7}));
    assert!(world.put("/limits", json!({})).await.refusal().starts_with("422 E0102"));
    let pool = world.put("/pools/etl", json!({"limit": 2})).await.good();
    assert_eq!(pool, json!({"name": "etl", "limit": 2, "agents": 0, "online": 0, "slots": 0, "addresses": []}));
    let world = world.restart().await;
    assert_eq!(world.get("/limits").await.good(), json!({"limit": 7}));
    assert_eq!(world.get("/pools").await.good()["items"], json!([pool]));
    assert_eq!(world.delete("/pools/etl").await.status, 204);
    expect![[r#"404 E0503 there is no pool "etl""#]].assert_eq(&world.delete("/pools/etl").await.refusal());
    assert!(world.put("/pools/A B", json!({"limit": 1})).await.refusal().starts_with("422 E0204"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_shares_waits_in_line_and_is_told_for_whom() {
    let world = World::new().await;
    let refused = world.apply("job: a\nnoop: true\nresources: { licence: 2 }\n").await.refusal();
    assert!(refused.contains("E0218") && refused.contains("needs 2 of the resource licence"), "{refused}");
    let licence = world.put("/resources/licence", json!({"units": 3})).await.good();
    assert_eq!(licence, json!({"kind": "counted", "name": "licence", "units": 3, "held": 0, "waiting": 0, "line": []}));
    assert!(world.put("/resources/a b", json!({"units": 3})).await.refusal().starts_with("422 E0204"));
    assert!(world.put("/resources/licence", json!({"units": 3_000_000})).await.refusal().starts_with("422 E0215"));
    let jobs = "job: a\nnoop: true\nmutex: [books]\n---\njob: b\nnoop: true\nmutex: [books]\n---\n\
                job: c\nnoop: true\noverlap: allow\nresources: { licence: 2 }\n";
    world.apply(jobs).await.good();
    let agent = world.agent("mill").await;
    let (a, b) = (world.trigger("a").await, world.trigger("b").await);
    world.until_state(a, "dispatched").await;
    world.until_state(b, "ready").await;
    let why = world.get(&format!("/instances/{b}/why")).await.good();
    let text = format!("waits for the mutex books, which instance {a} holds");
    assert_eq!(why["reasons"], json!([{"kind": "mutex", "text": text}]));
    let (c, d) = (world.trigger("c").await, world.trigger("c").await);
    world.until_state(c, "dispatched").await;
    let why = world.get(&format!("/instances/{d}/why")).await.good();
    let text = "waits for its turn to have 2 of the resource licence, of which 1 are free";
    assert_eq!(why["reasons"], json!([{"kind": "resource", "text": text}]));

    // Who holds and who waits survives a restart; so does the order.
    let world = world.restart().await;
    let lines = world.get("/resources").await.good()["items"].clone();
    let line = |at: usize| {
        let line = lines[at]["line"].as_array().unwrap().iter();
        line.map(|ticket| (ticket["instance"].as_i64().unwrap(), ticket["held"] == true)).collect::<Vec<_>>()
    };
    assert_eq!((&lines[0]["name"], line(0)), (&json!("books"), vec![(a, true), (b, false)]));
    assert_eq!((&lines[1]["name"], line(1)), (&json!("licence"), vec![(c, true), (d, false)]));
    assert!(world.get("/verify").await.good()["ok"] == true);
    world.agent("mill").await;
    world.report(agent, a, Verdict::Succeeded).await;
    world.report(agent, b, Verdict::Failed).await;
    world.until_state(b, "failed").await;
    world.put("/resources/licence", json!({"units": 4})).await.good();
    world.report(agent, d, Verdict::Succeeded).await;
    world.report(agent, c, Verdict::Succeeded).await;
    world.until_state(c, "succeeded").await;
    let lines = world.get("/resources").await.good()["items"].clone();
    assert!(lines.as_array().unwrap().iter().all(|line| line["held"] == 0 && line["waiting"] == 0), "{lines}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_a_store_and_leaves_nothing_behind() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\n").await.good();
    let request = world.request(Method::POST, "/backup").bearer_auth(TOKEN);
    let copy = request.send().await.unwrap().bytes().await.unwrap();
    assert!(copy.starts_with(b"SQLite format 3\0"));
    let left =
        std::fs::read_dir(world.dir.path()).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    assert_eq!(left.filter(|name| name.contains("backup")).collect::<Vec<_>>(), Vec::<String>::new());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_is_counted() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\n").await.good();
    world.trigger("a").await;
    let stats = world.get("/stats").await.good();
    assert_eq!((&stats["jobs"]["enabled"], &stats["instances"]["ready"]), (&json!(1), &json!(1)));
    let metrics = world.send(world.request(Method::GET, "/api/v1/../../metrics").bearer_auth(TOKEN)).await;
    assert_eq!(metrics.status, 200);
    let route = "duly_api_requests_total{method=\"POST\",route=\"/api/v1/jobs/{name}/trigger\",status=\"201\"}";
    assert!(metrics.text.contains(route), "{}", metrics.text);
    assert!(metrics.text.contains("duly_commit_seconds_bucket"), "{}", metrics.text);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_glance_tells_what_is_open_and_what_fails() {
    let world = World::new().await;
    let agent = world.agent("mill").await;
    world.apply("job: bad\nnoop: true\n---\njob: good\nnoop: true\n").await.good();
    for verdict in [Verdict::Failed, Verdict::Failed] {
        let id = world.trigger("bad").await;
        world.report(agent, id, verdict).await;
        world.until_state(id, "failed").await;
    }
    let done = world.trigger("good").await;
    world.report(agent, done, Verdict::Succeeded).await;
    world.until_state(done, "succeeded").await;
    let open = world.trigger("good").await;
    world.until_state(open, "dispatched").await;
    let glance = world.get("/overview").await.good();
    assert_eq!((&glance["failed"], &glance["failing"]), (&json!(2), &json!([{"job": "bad", "failed": 2}])));
    assert_eq!((&glance["ended"], &glance["late"]), (&json!(3), &json!(0)));
    let counted: i64 = glance["open"].as_object().unwrap().values().map(|count| count.as_i64().unwrap()).sum();
    assert_eq!(counted, 1, "{glance}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_next_is_told_of_all_jobs_soonest_first() {
    let world = World::new().await;
    let jobs = "job: a-late\nevery: 3h\nnoop: true\n---\njob: z-soon\nevery: 10m\nnoop: true\n---\n\
                job: never\nnoop: true\n---\njob: off\nevery: 1m\nmode: disabled\nnoop: true\n---\n\
                job: once-more\nevery: { every: 1m, max_count: 1 }\nnoop: true\n";
    world.apply(jobs).await.good();
    let told = world.get("/upcoming?hours=4").await.good();
    let jobs = told["jobs"].as_array().unwrap();
    let names: Vec<_> = jobs.iter().map(|job| job["job"].as_str().unwrap()).collect();
    assert_eq!(names, ["once-more", "z-soon", "a-late"], "{told}");
    let times = |at: usize| jobs[at]["times"].as_array().unwrap().len();
    assert_eq!([times(0), times(2)], [1, 1]);
    assert!((23..=24).contains(&times(1)), "every ten minutes in four hours: {told}");
    let next = world.get("/jobs/z-soon/next?n=2").await.good();
    assert_eq!(jobs[1]["times"][1], next["fires"][1]["at"], "as they will happen");
    let one = world.get("/upcoming?hours=4&limit=1").await.good();
    assert_eq!((one["jobs"].as_array().unwrap().len(), &one["more"]), (1, &json!(2)));
    let refused = world.get("/upcoming?hours=1000").await.refusal();
    assert!(refused.contains("1000 is outside 1 to 168"), "{refused}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_meets_a_page() {
    let world = World::new().await;
    // The console where it was built, and plain pages where it was not.
    for (path, says) in [("/", "openapi.json"), ("/ui", "duly job list"), ("/ui/setup", "set up already")] {
        let told = world.send(world.request(Method::GET, &format!("/api/..{path}"))).await;
        assert_eq!(told.status, 200, "{path}");
        assert!(told.text.contains(says) || told.text.contains("id=\"console\""), "{path}: {}", told.text);
    }
    for path in ["/ui/nobody.js", "/ui/assets/nobody.js", "/ui/..%2fetc"] {
        let told = world.send(world.request(Method::GET, &format!("/api/..{path}"))).await;
        assert_eq!((told.status, &told.json()["code"]), (404, &json!("E0104")), "{path}: {}", told.text);
    }
    world.stop().await;
}
