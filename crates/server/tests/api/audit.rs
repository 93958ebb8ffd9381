//! Every change is in the audit, or it is not made.

use std::time::Duration;

use expect_test::expect;
use reqwest::Method;
use serde_json::{Value, json};
use server::ServerConfig;
use store::audit::{AuditLog, Begun, Writing};
use store::sqlite::{Options, SqliteStore};
use wire::routes;

use crate::world::{PATIENCE, TOKEN, World, config, names};

async fn entries(world: &World, filter: &str) -> Vec<Value> {
    let page = world.get(&format!("/audit?limit=500&{filter}")).await.good();
    page["items"].as_array().unwrap().iter().map(|item| item["entry"].clone()).collect()
}

/// Waits until something that fits is written.
async fn entry(world: &World, filter: &str) -> Value {
    let end = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(entry) = entries(world, filter).await.first() {
            return entry.clone();
        }
        assert!(tokio::time::Instant::now() < end, "nothing is recorded for {filter}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn sql(world: &World, text: &str) {
    rusqlite::Connection::open(world.dir.path().join("duly.db")).unwrap().execute_batch(text).unwrap();
}

/// Whoever adds a route need not think of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_that_changes_something_is_recorded() {
    let world = World::new().await;
    let changing = |route: &&routes::Route| route.method != routes::Method::Get && route.operation != "preview";
    for route in routes::ALL.iter().filter(changing) {
        let method = Method::from_bytes(format!("{:?}", route.method).to_uppercase().as_bytes()).unwrap();
        let places = route.path.matches('{').count();
        let told = world.send(world.request(method, &route.at(&vec!["4711"; places])).bearer_auth(TOKEN)).await;
        let entry = entry(&world, &format!("operation={}", route.operation)).await;
        let code = told.text.starts_with('{').then(|| told.json()["code"].clone()).filter(|_| told.status >= 400);
        assert_eq!(entry["outcome"], code.unwrap_or("done".into()), "{}: {told:?}", route.operation);
        assert_eq!(entry["request"], told.headers["x-request-id"].to_str().unwrap());
        if route.permission != routes::Permission::Public {
            assert_eq!((&entry["who"], &entry["by"]), (&json!("ann"), &json!("token 1")), "{}", route.operation);
        }
        assert!(entry["from"].as_str().unwrap().starts_with("127.0.0.1:"));
    }
    assert_eq!(world.get("/audit/verify").await.good()["findings"], json!([]));
    world.stop().await;
}

/// An editor asks with every pause in typing what saving would do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_asks_for_a_plan_is_not_recorded() {
    let world = World::new().await;
    for body in [json!({"job": "a", "noop": true}), json!({"job": "a", "cron": "nonsense", "noop": true})] {
        world.post("/jobs/apply", json!({"dry_run": true, "jobs": [body]})).await;
    }
    assert!(entries(&world, "operation=job_apply").await.is_empty());
    world.post("/jobs/apply", json!({"jobs": [{"job": "a", "cron": "nonsense", "noop": true}]})).await;
    assert_eq!(entries(&world, "operation=job_apply").await.len(), 1, "an attempt to change something is");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_recorded_is_not_done() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\n").await.good();
    sql(&world, "create trigger full before insert on audit_begun begin select raise(abort, 'the disk is full'); end");
    expect!["503 E0941 the audit cannot be written: the store failed: the disk is full; nothing was changed"]
        .assert_eq(&world.post("/jobs/a/pause", json!({})).await.refusal());
    assert_eq!(world.get("/jobs/a").await.good()["mode"], "enabled");
    // Neither is what is recorded only afterwards.
    assert_eq!(world.post("/jobs/a/trigger", json!({})).await.status, 503);
    assert_eq!(world.get("/instances?job=a").await.good()["items"], json!([]));
    sql(&world, "drop trigger full");
    let end = tokio::time::Instant::now() + PATIENCE;
    while world.post("/jobs/a/pause", json!({})).await.status != 200 {
        assert!(tokio::time::Instant::now() < end, "changes are taken again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(entry(&world, "operation=job_pause&outcome=done").await["before"]["mode"], "enabled");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_was_cut_short_is_told_as_unknown() {
    let world = World::new().await;
    let dir = world.stop().await;
    let entry_text = r#"{"at":"2026-11-15T10:00:00.000000Z","operation":"job_delete","outcome":"begun","who":"ann"}"#;
    let begun = Begun { id: "x".into(), at: model::Timestamp(1), text: entry_text.into() };
    let mut log = SqliteStore::open(dir.path(), &Options::default()).unwrap().audit().unwrap();
    log.write(&Writing { begun: vec![begun], ..Writing::default() }).unwrap();
    drop(log);
    let world = World::start(dir).await;
    let told = entry(&world, "outcome=unknown").await;
    assert_eq!((&told["operation"], &told["who"]), (&json!("job_delete"), &json!("ann")));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_entries_are_dropped_and_signed_off() {
    let dir = World::new().await.stop().await;
    let mut log = SqliteStore::open(dir.path(), &Options::default()).unwrap().audit().unwrap();
    let kept = log.after(0, 100).unwrap();
    assert!(kept.len() >= 2, "it started and stopped: {kept:?}");
    drop(log);
    let config = ServerConfig { keep_audit: Some(Duration::from_micros(1)), ..config(dir.path()) };
    let world = World::with(dir, config).await;
    let told = entry(&world, "operation=audit_checkpoint").await;
    let until = told["after"]["dropped_until"]["seq"].as_i64().unwrap();
    assert!(until >= kept.len() as i64);
    expect!["404 E0943 there is no entry 1"].assert_eq(&world.get("/audit/1").await.refusal());
    assert_eq!(world.get("/audit/verify").await.good()["findings"], json!([]));
    let noted = kept[0].mark.hash;
    let against = world.get(&format!("/audit/verify?expect=1:{noted}")).await.good();
    assert_eq!(against["findings"], json!([]), "nothing can be said of what was dropped");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_is_read_in_pages_and_a_repeat_is_recorded_once() {
    let world = World::new().await;
    world.apply("job: a\nnoop: true\n").await.good();
    for n in 0..3 {
        let pause =
            world.request(Method::POST, "/jobs/a/pause").bearer_auth(TOKEN).header("duly-reason", n.to_string());
        world.send(pause.header("idempotency-key", "same")).await.good();
    }
    world.post("/jobs/a/enable", json!({})).await.good();
    assert_eq!(entries(&world, "about=a&operation=job_pause").await.len(), 1);
    let first = world.get("/audit?about=a&limit=2").await.good();
    let rest = world.get(&format!("/audit?about=a&limit=2&cursor={}", first["next"].as_str().unwrap())).await.good();
    let operations = |page: &Value| {
        page["items"].as_array().unwrap().iter().map(|item| item["entry"]["operation"].clone()).collect::<Vec<_>>()
    };
    assert_eq!([operations(&first), operations(&rest)].concat(), ["job_enable", "job_pause", "job_apply"]);
    assert_eq!((names(&first, "seq").len(), &rest["next"]), (2, &Value::Null));
    let bad = world.request(Method::POST, "/jobs/a/pause").bearer_auth(TOKEN).header("duly-reason", "UTF-8''a%0Ab");
    expect!["400 E0942 the reason has control characters"].assert_eq(&world.send(bad).await.refusal());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn executors_that_are_not_let_in_are_recorded() {
    let world = World::new().await;
    let token = world.post("/xxl-tokens", json!({"pool": "shop"})).await.good()["token"].as_str().unwrap().to_owned();
    let call = async |call: &str, app: &str, address: &str| {
        let body = json!({"registryGroup": "EXECUTOR", "registryKey": app, "registryValue": address});
        let request = world.request(Method::POST, &format!("/api/{call}")).header("xxl-job-access-token", &token);
        world.send(request.json(&body)).await.good()["code"].clone()
    };
    assert_eq!(call("registry", "another", "http://203.0.113.7:9999/").await, 500);
    assert_eq!(call("registryRemove", "another", "http://203.0.113.7:9999/").await, 500);
    assert_eq!(call("registry", "shop", "http://169.254.169.254/").await, 500);
    for filter in [
        "operation=xxl_registry&outcome=E0602",
        "operation=xxl_registry_remove&outcome=E0602",
        "operation=xxl_registry&outcome=E0981",
    ] {
        let told = entry(&world, filter).await;
        assert_eq!(told["tenant"], 1, "{told}");
        assert!(told["from"].as_str().unwrap().starts_with("127.0.0.1:"), "{told}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_tenant_is_recorded() {
    let world = World::new().await;
    world.post("/tenants", json!({"name": "acme"})).await.good();
    // Whoever asks only whether it could be exported has nothing of it.
    let head = world.send(world.request(Method::HEAD, "/tenants/acme/export").bearer_auth(TOKEN)).await;
    assert_eq!(head.status, 200);
    assert_eq!(world.get("/tenants/acme").await.good()["exported_at"], json!(null));
    assert_eq!(world.delete("/tenants/acme").await.status, 409);
    // Read to its end it counts, before the end is told.
    assert_eq!(world.get("/tenants/acme/export").await.status, 200);
    let word = world.delete("/tenants/acme").await.good()["confirm"].as_str().unwrap().to_owned();
    assert!(entries(&world, "operation=tenant_gone").await.is_empty());
    world.delete(&format!("/tenants/acme?confirm={word}")).await.good();
    let told = entry(&world, "operation=tenant_gone&about=acme").await;
    assert_eq!((&told["outcome"], &told["by"]), (&json!("done"), &json!("server")), "{told}");
    assert_eq!(world.get("/tenants/acme").await.status, 404);
    world.stop().await;
}
