//! Who gets in.

use expect_test::expect;
use model::Span;
use reqwest::Method;
use serde_json::json;
use sha2::{Digest, Sha256};
use store::access::{Session, Token};
use store::people::Way;

use crate::world::{TOKEN, Told, World, config, names, token};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_in_without_a_token() {
    let world = World::new().await;
    let without = world.send(world.request(Method::GET, "/jobs")).await;
    expect!["401 E0601 no token was sent"].assert_eq(&without.refusal());
    assert_eq!(without.headers["www-authenticate"], "Bearer realm=\"duly\"");
    let wrong = world.send(world.request(Method::GET, "/jobs").bearer_auth("duly_guess")).await;
    expect!["401 E0601 the token is not known, has expired or was revoked"].assert_eq(&wrong.refusal());
    for route in wire::routes::ALL.iter().filter(|route| route.permission != wire::routes::Permission::Public) {
        let method = Method::from_bytes(format!("{:?}", route.method).to_uppercase().as_bytes()).unwrap();
        let values = vec!["7"; route.path.matches('{').count()];
        let told = world.send(world.request(method, &route.at(&values))).await;
        assert_eq!(told.status, 401, "{}: {told:?}", route.operation);
    }
    let metrics = world.send(world.request(Method::GET, "/api/../metrics")).await;
    assert_eq!(metrics.status, 401);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_works_until_it_is_revoked() {
    let world = World::new().await;
    let made = world.post("/tokens", json!({"name": "ci", "expires_in": "1h"})).await.good();
    let text = made["token"].as_str().unwrap();
    let ask = async || world.send(world.request(Method::GET, "/jobs").bearer_auth(text)).await.status;
    assert_eq!(ask().await, 200);
    let listed = world.get("/tokens").await.good();
    assert_eq!(names(&listed, "name"), ["test", "ci"]);
    assert!(!listed.to_string().contains(text));
    assert_eq!(world.delete(&format!("/tokens/{}", made["id"])).await.status, 204);
    assert_eq!(ask().await, 401);
    assert_eq!(names(&world.get("/tokens").await.good(), "name"), ["test"]);
    expect!["404 E0607 there is no token 4711"].assert_eq(&world.delete("/tokens/4711").await.refusal());
    let forever = world.post("/tokens", json!({"name": "ci", "expires_in": "0s"})).await.refusal();
    expect![[r#"
        422 E0208 expires_in: a token lives for more than nothing and at most 3660d
          E0208 expires_in: a token lives for more than nothing and at most 3660d"#]]
    .assert_eq(&forever);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_had_its_time_opens_nothing() {
    let world = World::new().await;
    let (access, now) = (&world.running.app.access, world.running.app.clock.now());
    let ends = |name: &str, expires_at| Token { expires_at: Some(expires_at), ..token(name) };
    let of = |name: &str, used_ago: i64, left: i64| Session {
        hash: Sha256::digest(name.as_bytes()).into(),
        user: "ann".into(),
        way: Way::Password,
        address: "127.0.0.1".into(),
        program: String::new(),
        created_at: now - Span::DAY,
        used_at: now - Span::MINUTE.saturating_mul(used_ago),
        expires_at: now + Span::MINUTE.saturating_mul(left),
    };
    let tokens = [ends("token in time", now + Span::MINUTE), ends("token too late", now)];
    let sessions = [of("session in use", 115, 60), of("session left alone", 121, 60), of("session too long", 1, 0)];
    let kept = access.run(move |access| {
        tokens.iter().try_for_each(|token| access.put_token(token).map(drop))?;
        sessions.iter().try_for_each(|session| access.put_session(session))
    });
    kept.await.unwrap();
    let ask = async |who: &str| world.send(world.request(Method::GET, "/whoami").bearer_auth(who)).await.status;
    let asked = ["token in time", "token too late", "session in use", "session left alone", "session too long"];
    let mut told = Vec::new();
    for who in asked {
        told.push(ask(who).await);
    }
    assert_eq!(told, [200, 401, 200, 401, 401]);
    let listed = world.get("/tokens").await.good();
    assert_eq!(names(&listed, "name").len(), 2, "one's own, and the one that has not ended: {listed}");
    assert_eq!(world.get("/sessions").await.good()["items"].as_array().unwrap().len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_is_answered_where_it_was_made_and_to_who_may_still_make_it() {
    let world = World::new().await;
    world.post("/tenants", json!({"name": "acme"})).await.good();
    let made = world.post("/tokens", json!({"name": "ci"})).await.good();
    let ask = async |tenant: &str, path: &str| {
        let body = json!({"files": [{"name": "jobs.yaml", "text": "job: a\nnoop: true\n"}]});
        let request = world.request(Method::POST, path).bearer_auth(made["token"].as_str().unwrap());
        world.send(request.header("idempotency-key", "k-1").header("duly-tenant", tenant).json(&body)).await
    };
    let is_repeat = |told: &Told| told.headers.contains_key("idempotency-replayed");
    assert!(!is_repeat(&ask("default", "/jobs/apply").await));
    assert!(is_repeat(&ask("default", "/jobs/apply").await));
    let elsewhere = ask("acme", "/jobs/apply").await;
    assert!(!is_repeat(&elsewhere), "another tenant's answer");
    assert_eq!(elsewhere.good()["items"][0]["action"], "create");
    let other = ask("default", "/jobs/apply?once=more").await.refusal();
    expect!["409 E0109 this Idempotency-Key came with another body or other parameters a moment ago"].assert_eq(&other);
    assert_eq!(world.delete(&format!("/tokens/{}", made["id"])).await.status, 204);
    let revoked = ask("default", "/jobs/apply").await.refusal();
    expect!["401 E0601 the token is not known, has expired or was revoked"].assert_eq(&revoked);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_set_up_there_is_one_way_in() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir).await;
    expect!["503 E0604 nobody has set this server up yet"].assert_eq(&world.get("/jobs").await.refusal());
    let sign_in = world.post("/sessions", json!({"name": "ann", "password": "x"})).await;
    expect!["503 E0604 nobody has set this server up yet"].assert_eq(&sign_in.refusal());
    for open in ["/health", "/version", "/openapi.json"] {
        assert_eq!(world.get(open).await.status, 200, "{open}");
    }
    expect!["503 E0111 set-up has not been done"].assert_eq(&world.get("/ready").await.refusal());

    let token = world.running.app.setup.take_token().unwrap();
    let body = |token: &str, password: &str| json!({"token": token, "admin": "ann", "password": password});
    let guessed = world.post("/setup", body("setup_guess", "correct horse")).await.refusal();
    assert!(guessed.starts_with("403 E0606"), "{guessed}");
    let weak = world.post("/setup", body(&token, "short")).await.refusal();
    assert!(weak.starts_with("422 E0608"), "{weak}");
    let made = world.post("/setup", body(&token, "correct horse")).await.good();
    let api_token = made["token"].as_str().unwrap();
    assert_eq!(world.send(world.request(Method::GET, "/ready").bearer_auth(api_token)).await.status, 200);
    let again = world.post("/setup", body(&token, "correct horse")).await.refusal();
    assert!(again.starts_with("409 E0605"), "{again}");

    session(&world).await;
    world.stop().await;
}

/// Signing in with the password just set, by header and by cookie, and out again.
async fn session(world: &World) {
    let wrong = world.post("/sessions", json!({"name": "ann", "password": "guess"})).await;
    expect!["401 E0603 name or password is wrong"].assert_eq(&wrong.refusal());
    let opened = world.post("/sessions", json!({"name": "ann", "password": "correct horse"})).await;
    let cookie = opened.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let with_cookie = |method, path| world.request(method, path).header("cookie", cookie);
    assert_eq!(world.send(with_cookie(Method::GET, "/jobs")).await.status, 200);
    let from_elsewhere =
        with_cookie(Method::POST, "/jobs/apply").header("origin", "http://evil.example").json(&json!({}));
    expect!["403 E0602 a session works only from this server's own pages"]
        .assert_eq(&world.send(from_elsewhere).await.refusal());
    assert_eq!(world.send(with_cookie(Method::DELETE, "/sessions")).await.status, 204);
    assert_eq!(world.send(with_cookie(Method::GET, "/jobs")).await.status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_port_beyond_this_machine_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let open = server::ServerConfig { agent_listen: ([0, 0, 0, 0], 0).into(), ..config(dir.path()) };
    let refused = server::start(open, Default::default()).await.err().unwrap().to_string();
    assert!(refused.contains("is not a loopback address"), "{refused}");
    assert!(!TOKEN.is_empty());
}

#[tokio::test]
async fn a_server_that_is_alone_has_no_servers_to_choose_from() {
    let world = World::new().await;
    let refused = world.post("/tenants", json!({"name": "acme", "servers": ["a"]})).await.refusal();
    assert!(refused.starts_with("409 E0708"), "{refused}");
    let made = world.post("/tenants", json!({"name": "acme"})).await.good();
    assert_eq!((&made["servers"], &made["own_shards"]), (&json!([]), &json!([])));
    let refused = world.put("/tenants/acme", json!({"servers": ["a"]})).await.refusal();
    assert!(refused.starts_with("409 E0708"), "{refused}");
    let any = world.put("/tenants/acme", json!({"servers": []})).await.good();
    assert_eq!(any["servers"], json!([]));
}
