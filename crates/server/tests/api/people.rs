//! Who there is and what they may do, over HTTP.

use expect_test::expect;
use model::Span;
use reqwest::Method;
use serde_json::{Value, json};
use store::people::Counting;

use crate::world::{TOKEN, Told, World, names};

const FIRST: &str = "a first password";
const OWN: &str = "one of their own";

impl World {
    pub(crate) async fn as_who(&self, who: &str, method: Method, path: &str, body: Value) -> Told {
        let request = self.request(method, path).bearer_auth(who);
        self.send(if body.is_null() { request } else { request.json(&body) }).await
    }

    pub(crate) async fn sign_in(&self, name: &str, password: &str) -> String {
        let opened = self.post("/sessions", json!({"name": name, "password": password})).await.good();
        opened["token"].as_str().unwrap().to_owned()
    }

    /// Somebody who has signed in, with a role everywhere or in a folder.
    pub(crate) async fn person(&self, name: &str, grants: &[Value]) -> String {
        self.post("/people", json!({"name": name, "password": FIRST})).await.good();
        for grant in grants {
            let mut grant = grant.clone();
            grant["person"] = json!(name);
            self.post("/grants", grant).await.good();
        }
        let session = self.sign_in(name, FIRST).await;
        let own = json!({"old": FIRST, "new": OWN});
        assert_eq!(self.as_who(&session, Method::PUT, "/whoami/password", own).await.status, 204);
        session
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_person_changes_their_password_and_may_do_what_is_granted_at_once() {
    let world = World::new().await;
    world.post("/people", json!({"name": "bob", "password": FIRST})).await.good();
    let bob = world.sign_in("bob", FIRST).await;
    let ask = async |path: &str| world.as_who(&bob, Method::GET, path, Value::Null).await;
    assert_eq!(ask("/whoami").await.good()["must_change_password"], true);
    assert!(ask("/jobs").await.refusal().starts_with("403 E0905"), "nothing else before that");
    let set = async |old: &str, new: &str| {
        world.as_who(&bob, Method::PUT, "/whoami/password", json!({"old": old, "new": new})).await
    };
    assert!(set("wrong", OWN).await.refusal().starts_with("401 E0603"));
    assert!(set(FIRST, "bob12345678").await.refusal().starts_with("422 E0608"));
    assert_eq!(set(FIRST, OWN).await.status, 204);
    assert_eq!(ask("/jobs").await.status, 403, "no role yet");

    let grant = world.post("/grants", json!({"person": "bob", "role": "viewer"})).await.good();
    assert_eq!(grant["tenant"], "default");
    assert_eq!(ask("/jobs").await.status, 200, "at once");
    assert_eq!(ask("/people").await.status, 403);
    let who = ask("/whoami").await.good();
    assert_eq!(
        (&who["name"], &who["tenant"], &who["must_change_password"]),
        (&json!("bob"), &json!("default"), &json!(false))
    );
    assert_eq!(who["rights"][0]["tenant"], "default");
    assert_eq!(world.delete(&format!("/grants/{}", grant["id"])).await.status, 204);
    assert_eq!(ask("/jobs").await.status, 403, "at once");

    // By a group.
    world.post("/groups", json!({"name": "night"})).await.good();
    assert_eq!(world.put("/groups/night/members/bob", json!({})).await.status, 204);
    world.post("/grants", json!({"group": "night", "role": "operator"})).await.good();
    assert_eq!(ask("/jobs").await.status, 200);
    assert_eq!(world.get("/people/bob").await.good()["groups"], json!(["night"]));
    assert_eq!(world.delete("/groups/night/members/bob").await.status, 204);
    assert_eq!(ask("/jobs").await.status, 403);

    world.post("/people/bob/disable", json!({})).await.good();
    assert_eq!(ask("/whoami").await.status, 401, "their session has ended");
    let shut = world.post("/sessions", json!({"name": "bob", "password": OWN})).await.refusal();
    expect!["401 E0603 name or password is wrong"].assert_eq(&shut);
    world.post("/people/bob/enable", json!({})).await.good();
    world.sign_in("bob", OWN).await;
    assert_eq!(world.delete("/people/bob").await.status, 204);
    assert_eq!(world.get("/people/bob").await.status, 404);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gives_more_than_they_have_nor_acts_upon_who_has_more() {
    let world = World::new().await;
    world.put("/roles/clerk", json!({"permissions": ["person.*", "role.*", "member.*", "job.see"]})).await.good();
    let clerk = world.person("eve", &[json!({"role": "clerk", "everywhere": true})]).await;
    let ask = async |method: Method, path: &str, body: Value| world.as_who(&clerk, method, path, body).await;
    let refused = async |method: Method, path: &str, body: Value| {
        let told = ask(method.clone(), path, body).await;
        assert!(told.status == 403 && told.text.contains("E0903"), "{method} {path}: {}", told.text);
    };
    refused(Method::POST, "/grants", json!({"person": "eve", "role": "platform_admin", "everywhere": true})).await;
    refused(Method::POST, "/grants", json!({"person": "eve", "role": "operator"})).await;
    refused(Method::PUT, "/roles/clerk", json!({"permissions": ["job.edit"]})).await;
    refused(Method::PUT, "/people/ann/password", json!({"password": "taken over by eve"})).await;
    refused(Method::POST, "/people/ann/disable", json!({})).await;
    refused(Method::DELETE, "/people/ann", Value::Null).await;
    refused(Method::DELETE, "/grants/1", Value::Null).await;
    refused(Method::POST, "/people/ann/unlock", json!({})).await;
    refused(Method::DELETE, "/people/ann/sessions", Value::Null).await;
    refused(Method::DELETE, "/people/ann/tokens/1", Value::Null).await;
    // Nor does anybody take what they could not give.
    world.put("/roles/boss", json!({"permissions": ["job.see", "job.edit"]})).await.good();
    refused(Method::PUT, "/roles/boss", json!({"permissions": ["job.see"]})).await;
    refused(Method::DELETE, "/roles/boss", Value::Null).await;
    assert_eq!(world.delete("/roles/boss").await.status, 204);
    world.post("/groups", json!({"name": "root"})).await.good();
    world.post("/grants", json!({"group": "root", "role": "platform_admin", "everywhere": true})).await.good();
    refused(Method::PUT, "/groups/root/members/eve", json!({})).await;
    world.post("/people", json!({"name": "deploy", "kind": "service"})).await.good();
    world.post("/grants", json!({"person": "deploy", "role": "developer"})).await.good();
    refused(Method::POST, "/people/deploy/tokens", json!({"name": "mine"})).await;
    // A disabled one is no way around it.
    world.person("old", &[json!({"role": "platform_admin", "everywhere": true})]).await;
    world.post("/people/old/disable", json!({})).await.good();
    refused(Method::PUT, "/people/old/password", json!({"password": "taken over by eve"})).await;
    // What they have they may give.
    ask(Method::POST, "/people", json!({"name": "tim"})).await.good();
    ask(Method::PUT, "/roles/looker", json!({"permissions": ["job.see"]})).await.good();
    ask(Method::POST, "/grants", json!({"person": "tim", "role": "looker"})).await.good();
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_administrator_stays() {
    let world = World::new().await;
    let last = async |told: Told| assert!(told.refusal().starts_with("409 E0904"), "{}", told.text);
    last(world.delete("/people/ann").await).await;
    last(world.post("/people/ann/disable", json!({})).await).await;
    let grants = world.get("/grants").await.good();
    assert_eq!(names(&grants, "role"), ["platform_admin"]);
    last(world.delete(&format!("/grants/{}", grants["items"][0]["id"])).await).await;
    world.post("/people", json!({"name": "bob"})).await.good();
    world.post("/grants", json!({"person": "bob", "role": "platform_admin", "everywhere": true})).await.good();
    assert_eq!(world.delete("/people/ann").await.status, 204);
    assert_eq!(world.get("/jobs").await.status, 401, "their token went with them");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_carries_a_part_of_its_owners_rights_and_manages_nothing() {
    let world = World::new().await;
    let make = async |body: Value| world.post("/tokens", body).await;
    let text = |made: &Value| made["token"].as_str().unwrap().to_owned();
    let narrow = text(&make(json!({"name": "look", "scope": ["job.see"], "only_here": true})).await.good());
    let ask = async |method: Method, path: &str, body: Value| world.as_who(&narrow, method, path, body).await;
    assert_eq!(ask(Method::GET, "/jobs", Value::Null).await.status, 200);
    assert_eq!(ask(Method::GET, "/people", Value::Null).await.status, 403);
    let who = ask(Method::GET, "/whoami", Value::Null).await.good();
    assert_eq!((&who["token"], &who["rights"][0]["permissions"]), (&json!("look"), &json!(["job.see"])));
    for (method, path, body) in [
        (Method::POST, "/tokens", json!({"name": "more"})),
        (Method::DELETE, "/tokens/1", Value::Null),
        (Method::PUT, "/whoami/password", json!({"old": "x", "new": OWN})),
    ] {
        assert!(ask(method, path, body).await.refusal().starts_with("403 E0913"), "{path}");
    }
    assert!(make(json!({"name": "x", "scope": ["job.fly"]})).await.refusal().starts_with("422 E0911"));
    // Not even one that may look after accounts looks after its owner's.
    let clerk = text(&make(json!({"name": "clerk", "scope": ["person.*"]})).await.good());
    let ask = async |method: Method, path: &str, body: Value| world.as_who(&clerk, method, path, body).await;
    assert_eq!(ask(Method::GET, "/people/ann", Value::Null).await.status, 200);
    let taken = json!({"password": "taken over by a token"});
    for (method, path, body) in [
        (Method::PUT, "/people/ann/password", taken.clone()),
        (Method::POST, "/people/ann/disable", json!({})),
        (Method::DELETE, "/people/ann", Value::Null),
    ] {
        assert!(ask(method, path, body).await.refusal().starts_with("403 E0913"), "{path}");
    }
    // Nor does a session or a whole token get around the old password.
    let own = world.put("/people/ann/password", taken).await.refusal();
    expect!["409 E0918 one's own password is changed by whoever knows the old one"].assert_eq(&own);
    // What a token makes ends with it at the latest.
    let short = text(&make(json!({"name": "short", "expires_in": "1h"})).await.good());
    let child = world.as_who(&short, Method::POST, "/tokens", json!({"name": "child"})).await.good();
    assert!(!child["expires_at"].is_null());

    // A program's token is made by who may do as much; a person's by nobody else.
    world.post("/people", json!({"name": "deploy", "kind": "service"})).await.good();
    world.post("/grants", json!({"person": "deploy", "role": "viewer"})).await.good();
    let made = world.post("/people/deploy/tokens", json!({"name": "ci"})).await.good();
    let deploy = text(&made);
    assert_eq!(world.as_who(&deploy, Method::GET, "/whoami", Value::Null).await.good()["name"], "deploy");
    assert_eq!(names(&world.get("/people/deploy/tokens").await.good(), "name"), ["ci"]);
    world.post("/people", json!({"name": "bob"})).await.good();
    assert!(world.post("/people/bob/tokens", json!({"name": "ci"})).await.refusal().starts_with("409 E0910"));
    assert_eq!(world.delete(&format!("/people/deploy/tokens/{}", made["id"])).await.status, 204);
    assert_eq!(world.as_who(&deploy, Method::GET, "/whoami", Value::Null).await.status, 401);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_listed_and_end_one_by_one_or_all() {
    let world = World::new().await;
    let first = world.person("bob", &[json!({"role": "viewer"})]).await;
    let second = world.sign_in("bob", OWN).await;
    let listed = world.as_who(&second, Method::GET, "/sessions", Value::Null).await.good();
    let items = listed["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert!(!listed.to_string().contains(&first) && !listed.to_string().contains(&second));
    let other = items.iter().find(|session| session["current"] == false).unwrap();
    assert_eq!((&other["address"], &other["way"]), (&json!("127.0.0.1"), &json!("password")));
    let path = format!("/sessions/{}", other["id"].as_str().unwrap());
    let strangers = world.delete(&path).await.refusal();
    assert!(strangers.starts_with("404 E0912"), "one's own only: {strangers}");
    assert_eq!(world.as_who(&second, Method::DELETE, &path, Value::Null).await.status, 204);
    let works = async |token: &str| world.as_who(token, Method::GET, "/whoami", Value::Null).await.status == 200;
    assert!(!works(&first).await && works(&second).await);
    assert_eq!(world.delete("/people/bob/sessions").await.status, 204);
    assert!(!works(&second).await && works(TOKEN).await);
    // A password that somebody sets ends what the old one began.
    let third = world.sign_in("bob", OWN).await;
    assert_eq!(world.put("/people/bob/password", json!({"password": FIRST})).await.status, 204);
    assert!(!works(&third).await);
    // Tokens are revoked with it if that is asked for.
    let fourth = world.sign_in("bob", FIRST).await;
    let own = json!({"old": FIRST, "new": OWN});
    assert_eq!(world.as_who(&fourth, Method::PUT, "/whoami/password", own).await.status, 204);
    let made = world.as_who(&fourth, Method::POST, "/tokens", json!({"name": "ci"})).await.good();
    let token = made["token"].as_str().unwrap();
    assert_eq!(world.put("/people/bob/password", json!({"password": FIRST})).await.status, 204);
    assert!(works(token).await, "left alone");
    let reset = json!({"password": FIRST, "revoke_tokens": true});
    assert_eq!(world.put("/people/bob/password", reset).await.status, 204);
    assert!(!works(token).await && works(TOKEN).await);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessing_closes_a_name_whether_it_exists_or_not_until_somebody_opens_it() {
    let world = World::new().await;
    world.person("bob", &[json!({"role": "viewer"})]).await;
    let guess = async |name: &str| world.post("/sessions", json!({"name": name, "password": "guess"})).await.refusal();
    // Looking at a password takes a while, and waits are short at first.
    let until_closed = async |name: &str| {
        let mut looked_at = 0;
        loop {
            match guess(name).await.as_str() {
                "401 E0603 name or password is wrong" if looked_at < 20 => looked_at += 1,
                "429 E0112 too many wrong passwords for this name" => return looked_at,
                other => panic!("after {looked_at} tries: {other}"),
            }
        }
    };
    assert!(until_closed("nobody").await >= 5);
    assert!(until_closed("bob").await >= 5);
    let right = world.post("/sessions", json!({"name": "bob", "password": OWN})).await;
    assert_eq!(right.status, 429, "not even the right one");
    world.post("/people/bob/unlock", json!({})).await.good();
    world.sign_in("bob", OWN).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_password_is_not_tried_on_everybody() {
    let world = World::new().await;
    world.person("bob", &[json!({"role": "viewer"})]).await;
    world.post("/people", json!({"name": "new", "password": FIRST})).await.good();
    let now = world.running.app.clock.now();
    let counting = Counting { since: now - Span::HOUR, one_runs_off: Span::HOUR };
    let sprayed = world.running.app.access.run(move |access| {
        (0..100).try_for_each(|n| access.note_failed(&format!("somebody-{n}"), "127.0.0.1", now, counting))
    });
    sprayed.await.unwrap();
    let guess = async |name: &str| world.post("/sessions", json!({"name": name, "password": FIRST})).await;
    let told = guess("somebody-else").await;
    expect!["429 E0112 too many wrong passwords from this address"].assert_eq(&told.refusal());
    assert!(told.headers.contains_key("retry-after"));
    assert_eq!(guess("new").await.status, 429, "nobody is known from here by that name");
    world.sign_in("bob", OWN).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_armoured() {
    let world = World::new().await;
    for path in ["/", "/ui", "/ui/setup", "/ui/setup.js", "/nowhere"] {
        let told = world.send(world.http.get(format!("{}{path}", world.running.url))).await;
        let policy = told.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'self'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert!(!told.text.contains("<script>") && !told.text.contains("<style"), "{path} has something inline");
        for name in ["x-content-type-options", "referrer-policy", "permissions-policy", "x-frame-options"] {
            assert!(told.headers.contains_key(name), "{path} lacks {name}");
        }
    }
    assert_eq!(world.post("/tokens", json!({"name": "t"})).await.headers["cache-control"], "no-store");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_stream_ends_with_what_it_was_opened_by() {
    let world = World::new().await;
    let made = world.post("/tokens", json!({"name": "watch"})).await.good();
    let token = made["token"].as_str().unwrap();
    let mut stream = world.request(Method::GET, "/events").bearer_auth(token).send().await.unwrap();
    assert_eq!(stream.status().as_u16(), 200);
    assert_eq!(world.delete(&format!("/tokens/{}", made["id"])).await.status, 204);
    let ends = async { while stream.chunk().await.unwrap().is_some() {} };
    tokio::time::timeout(std::time::Duration::from_secs(20), ends).await.expect("it ends by itself");
    world.stop().await;
}
