//! Every route and every call of executors, by everybody, in their own tenant and in another one. What is expected is worked
//! out from what the route declares and from what the role holds: nobody writes it down, so nobody forgets it.

use model::rights::{Permission, Permissions, Place, Role};
use model::{Actor, AgentId, TenantId, TenantRecord, Timestamp};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::access::Token;
use store::people::{Account, AccountKind, Grant, Holder, NamedRole, Origin, PeopleChange};
use wire::routes::{ALL, Route};
use wire::xxl::Call;

use crate::streams::Reader;
use crate::world::{PATIENCE, TOKEN, World, agent_record};

/// Fits where a number and where a name is wanted, and nothing has it.
const NOBODY: &str = "7777777";

/// Routes about what may lie in a folder that speak of a whole tenant all the same, if nothing narrower is asked for.
const ABOUT_ALL: [&str; 4] = ["stats", "overview", "verify", "variable_delete"];

struct Person {
    name: String,
    /// None: an account, and nothing else.
    role: Option<(String, Permissions)>,
    /// Everywhere, or in the tenant acme.
    everywhere: bool,
    /// Where in the tenant.
    place: Place,
}

impl Person {
    fn new(name: &str, role: Option<Role>, everywhere: bool) -> Person {
        let role = role.map(|role| (role.name().to_owned(), role.permissions()));
        Person { name: name.into(), role, everywhere, place: Place::default() }
    }

    fn token(&self) -> String {
        format!("duly_of-{}", self.name)
    }

    /// Whether they get past the guard, in their own tenant or in another one.
    fn may(&self, route: &Route, own: bool) -> bool {
        let enters = own || (self.role.is_some() && self.everywhere);
        match route.permission {
            Permission::Public => true,
            Permission::SignedIn => enters,
            Permission::May(kind, action) => {
                let holds = self.role.as_ref().is_some_and(|(_, permissions)| permissions.has(kind, action));
                let there = self.place.is_everywhere() || (kind.has_place() && !ABOUT_ALL.contains(&route.operation));
                enters && holds && there && (self.everywhere || !kind.is_of_installation())
            }
        }
    }
}

fn people() -> Vec<Person> {
    let mut people: Vec<Person> =
        Role::ALL.into_iter().map(|role| Person::new(&format!("{}-of-acme", role.name()), Some(role), false)).collect();
    people.extend(
        Role::ALL.into_iter().map(|role| Person::new(&format!("{}-everywhere", role.name()), Some(role), true)),
    );
    people.push(Person::new("nobody-in-particular", None, false));
    let own_role = |name: &str, words: &[&str]| {
        let permissions =
            words.iter().filter_map(|word| Permissions::parse(word)).fold(Permissions::NONE, Permissions::either);
        Person { role: Some((name.into(), permissions)), ..Person::new(&format!("{name}-of-acme"), None, false) }
    };
    people.push(own_role("night-shift", &["job.see", "job.run", "instance.see", "log.see"]));
    people.push(own_role("door-keeper", &["agent.*", "pool.see", "member.see", "audit.see", "secret.edit"]));
    let place = Place { folder: Some("etl".into()), ..Place::default() };
    people.push(Person { place, ..Person::new("developer-of-a-folder", Some(Role::Developer), false) });
    let place = Place { labels: [("team".to_owned(), "a".to_owned())].into(), ..Place::default() };
    people.push(Person { place, ..Person::new("admin-of-a-label", Some(Role::TenantAdmin), false) });
    people
}

/// A world with a second tenant and all these people.
async fn world_of(people: &[Person]) -> World {
    let world = World::new().await;
    let app = &world.running.app;
    let acme = TenantRecord::new(TenantId(0), "acme", Timestamp(0), Actor("ann".into()));
    app.shards.ask(Actor::system(), engine::Command::PutTenant { tenant: Box::new(acme) }).await.unwrap();
    app.tenants.replace(app.reads.tenants(std::time::Instant::now() + PATIENCE).unwrap());
    let acme = app.tenants.by_name("acme").unwrap();
    for person in people {
        join(&world, person, acme).await;
    }
    world
}

async fn join(world: &World, person: &Person, acme: TenantId) {
    let account = Account {
        name: person.name.clone(),
        kind: AccountKind::Service,
        password: None,
        must_change: false,
        subject: None,
        disabled_at: None,
        created_at: Timestamp(0),
        created_by: "ann".into(),
    };
    let token = Token {
        id: 0,
        name: "matrix".into(),
        hash: Sha256::digest(person.token().as_bytes()).into(),
        user: person.name.clone(),
        scope: None,
        tenant: None,
        created_at: Timestamp(0),
        expires_at: None,
        revoked_at: None,
    };
    let named = person.role.clone().filter(|(name, _)| Role::ALL.iter().all(|role| role.name() != name));
    let named = named.map(|(name, permissions)| NamedRole {
        name,
        permissions,
        created_at: Timestamp(0),
        created_by: "ann".into(),
    });
    let grant = person.role.as_ref().map(|(role, _)| Grant {
        id: 0,
        holder: Holder::Person(person.name.clone()),
        role: role.clone(),
        tenant: (!person.everywhere).then_some(acme),
        folder: person.place.folder.clone(),
        labels: person.place.labels.clone(),
        origin: Origin::Given,
        created_at: Timestamp(0),
        created_by: "ann".into(),
    });
    let done = world.running.app.access.run(move |access| {
        access.change(&PeopleChange::Made(account.clone()))?;
        if let Some(role) = &named {
            access.change(&PeopleChange::RolePut(role.clone()))?;
        }
        if let Some(grant) = &grant {
            access.change(&PeopleChange::Granted(grant.clone()))?;
        }
        access.put_token(&token)
    });
    done.await.unwrap();
}

/// What a route takes, where nothing said is refused before anybody looks whose it is. Elsewhere `{}` is as good as any.
fn body_of(route: &Route) -> Value {
    match route.operation {
        "instance_resolve" => json!({"verdict": "succeeded"}),
        _ => json!({}),
    }
}

/// Status and code of the answer; streams are not read.
async fn ask(world: &World, person: &Person, route: &Route, value: &str, tenant: Option<&str>) -> (u16, String) {
    let method = Method::from_bytes(format!("{:?}", route.method).to_uppercase().as_bytes()).unwrap();
    let values = vec![value; route.path.matches('{').count()];
    let mut request = world.request(method.clone(), &route.at(&values)).bearer_auth(person.token());
    if method == Method::POST || method == Method::PUT {
        request = request.json(&body_of(route));
    }
    if let Some(tenant) = tenant {
        request = request.header("duly-tenant", tenant);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    if response.status().is_success() {
        return (status, String::new());
    }
    let problem: Value = response.json().await.unwrap_or_default();
    (status, problem["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_lets_exactly_those_in_who_hold_its_permission() {
    let people = people();
    let world = world_of(&people).await;
    let mut wrong = Vec::new();
    let (mut let_in, mut refused) = (0, 0);
    for person in &people {
        for route in ALL.iter().filter(|route| route.permission != Permission::Public) {
            for (own, tenant) in [(true, None), (false, Some("default")), (false, Some("no-such-tenant"))] {
                // Whoever has rights everywhere is at home in the first tenant.
                let exists = tenant != Some("no-such-tenant");
                let expected = exists && person.may(route, own);
                let (status, told) = ask(&world, person, route, NOBODY, tenant).await;
                let passed = status != 401 && told != "E0602";
                *(if passed { &mut let_in } else { &mut refused }) += 1;
                if passed != expected {
                    wrong.push(format!(
                        "{} {} ({}) in {tenant:?}: {status} {told}",
                        person.name, route.operation, route.permission
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} answers:\n{}", wrong.len(), let_in + refused, wrong.join("\n"));
    assert!(let_in > 100 && refused > 500, "{let_in} let in, {refused} refused");
    world.stop().await;
}

/// Things of the first tenant: their names, and the numbers of those that have one.
async fn belongings(world: &World) -> (Vec<String>, Vec<String>) {
    world.apply("job: payroll\nfolder: hr\nmanual: true\nnoop: true\n").await.good();
    world.put("/pools/vault", json!({"limit": 3})).await.good();
    world.put("/resources/licence", json!({"units": 2})).await.good();
    let instance = world.trigger("payroll").await;
    let agent = admitted(world, AgentId(911), "hr-1").await;
    let executors = world.post("/xxl-tokens", json!({})).await.good()["id"].to_string();
    let token = world.post("/tokens", json!({"name": "ann's"})).await.good()["id"].to_string();
    world.put("/variables/bracket", json!({"value": "upper"})).await.good();
    world.put("/secrets/wages", json!({"value": "not to be told"})).await.good();
    world.person("bob", &[json!({"role": "viewer"})]).await;
    let session = world.get("/people/bob/sessions").await.good()["items"][0]["id"].as_str().unwrap().to_owned();
    let grant = world.get("/grants").await.good()["items"][0]["id"].to_string();
    let entry = world.get("/audit").await.good()["items"][0]["seq"].to_string();
    let named = ["payroll", "vault", "licence", "ann", "bob", "hr-1", "default", "bracket", "wages"].map(String::from);
    let named = named.into_iter().chain([session]).collect();
    (named, vec![instance.to_string(), agent.to_string(), executors, token, grant, entry])
}

/// An agent that has joined, as far as the doors know.
async fn admitted(world: &World, id: AgentId, name: &str) -> AgentId {
    let app = &world.running.app;
    let record = agent_record(id, name, app.clock.now());
    app.doorman.admit(record, "a key", &app.shards).await.unwrap();
    id
}

async fn picture(world: &World) -> Vec<Value> {
    let mut seen = Vec::new();
    let of_tenant = ["/jobs", "/instances", "/pools", "/resources", "/agents", "/xxl-tokens", "/tokens"];
    for path in of_tenant.into_iter().chain(["/variables", "/secrets", "/grants", "/people/bob/sessions"]) {
        let mut page = world.get(path).await.good();
        // Said anew by every look.
        for item in page["items"].as_array_mut().into_iter().flatten() {
            item.as_object_mut()
                .unwrap()
                .retain(|key, _| !["last_used_at", "seen_at", "why", "state"].contains(&key.as_str()));
        }
        seen.push(page);
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_belongs_to_another_tenant_is_not_there() {
    let stranger = Person::new("admin-of-acme", Some(Role::TenantAdmin), false);
    let world = world_of(std::slice::from_ref(&stranger)).await;
    let mut heard = Reader::open_as(&world, &stranger.token(), "/events", None).await;
    let (names, numbers) = belongings(&world).await;
    let before = picture(&world).await;
    let mut wrong = Vec::new();
    for route in ALL.iter().filter(|route| route.permission != Permission::Public && route.path.contains('{')) {
        let missing = ask(&world, &stranger, route, NOBODY, None).await;
        for value in if route.path.contains("{id}") { &numbers } else { &names } {
            let told = ask(&world, &stranger, route, value, None).await;
            if told != missing {
                wrong.push(format!("{} of {value}: {told:?}, and of nothing {missing:?}", route.operation));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(picture(&world).await, before, "nothing of it has changed");
    let see =
        async |path: &str| world.send(world.request(Method::GET, path).bearer_auth(stranger.token())).await.good();
    let of_tenant = ["/jobs", "/instances", "/agents", "/xxl-tokens", "/tokens", "/pools", "/resources", "/sessions"];
    let of_tenant = of_tenant.into_iter().chain(["/variables", "/secrets", "/grants"]);
    for path in of_tenant.chain(["/overview", "/upcoming", "/verify", "/audit/export"]) {
        let told = world.send(world.request(Method::GET, path).bearer_auth(stranger.token())).await;
        assert_eq!(told.status, 200, "{path}: {told:?}");
        // What they asked for themselves is in their audit, with the names they tried.
        let own = |line: &&str| !(path == "/audit/export" && line.contains("\"who\":\"admin-of-acme\""));
        let text: String = told.text.lines().filter(own).collect();
        for name in ["payroll", "hr-1", "vault", "licence", "bracket", "wages", "bob"] {
            assert!(!text.contains(name), "{path}: {text}");
        }
    }
    // By its number, among others: it is not there, and nothing says that it could not be replayed.
    let id: i64 = numbers[0].parse().unwrap();
    let replay = async |id: i64| {
        let request = world.request(Method::POST, "/instances/replay").bearer_auth(stranger.token());
        let mut told = world.send(request.json(&json!({"ids": [id]}))).await.good();
        told["refused"][0]["id"].take();
        told.to_string().replace(&id.to_string(), "ID")
    };
    assert_eq!(replay(id).await, replay(7_777_777).await);
    let audited = see("/audit?limit=500").await;
    let whose = |item: &Value| item["entry"]["who"] == "admin-of-acme";
    assert!(audited["items"].as_array().unwrap().iter().all(whose), "{audited}");
    let stats = see("/stats").await;
    assert_eq!((&stats["instances"], &stats["agents"]), (&json!({}), &json!(0)), "{stats}");
    assert_eq!(stats["jobs"], json!({"enabled": 0, "paused": 0, "disabled": 0, "held": 0}));
    let body = json!({"files": [{"name": "jobs.yaml", "text": "job: own\nmanual: true\nnoop: true\n"}]});
    world.send(world.request(Method::POST, "/jobs/apply").bearer_auth(stranger.token()).json(&body)).await.good();
    let first = heard.next().await.expect("the stream goes on");
    assert_eq!((first.name.as_str(), &first.body["job"]), ("job_changed", &json!("own")), "{first:?}");
    world.stop().await;
}

/// What an executor is answered: 200 or 500, in the body.
async fn call(world: &World, call: Call, token: Option<&str>, body: &Value) -> i64 {
    let mut request = world.request(Method::POST, &format!("/api/{}", call.name())).json(body);
    if let Some(token) = token {
        request = request.header("xxl-job-access-token", token);
    }
    world.send(request).await.good()["code"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_of_executors_counts_where_its_token_is_for() {
    let world = world_of(&[]).await;
    let make = async |tenant: &str, body: Value| {
        let request = world.request(Method::POST, "/xxl-tokens").bearer_auth(TOKEN).header("duly-tenant", tenant);
        let made = world.send(request.json(&body)).await.good();
        (made["id"].to_string(), made["token"].as_str().unwrap().to_owned())
    };
    let (_, own) = make("default", json!({"pool": "shop"})).await;
    let (_, other_pool) = make("default", json!({"pool": "other"})).await;
    let (_, other_tenant) = make("acme", json!({})).await;
    let (id, revoked) = make("default", json!({})).await;
    assert_eq!(world.delete(&format!("/xxl-tokens/{id}")).await.status, 204);
    let executor =
        json!({"registryGroup": "EXECUTOR", "registryKey": "shop", "registryValue": "http://203.0.113.7:9999/"});
    assert_eq!(call(&world, Call::Registry, Some(&own), &executor).await, 200);
    world.apply("job: a\nmanual: true\nnoop: true\n").await.good();
    world.agent("a1").await;
    let instance = world.trigger("a").await;
    let attempt = world.until_state(instance, "dispatched").await["attempt"].clone();
    let look = async || {
        let agents = world.get("/agents").await.good();
        let shown = |agent: &Value| (agent["name"].clone(), agent["online"].clone(), agent["pools"].clone());
        let agents: Vec<_> = agents["items"].as_array().unwrap().iter().map(shown).collect();
        (agents, world.get(&format!("/instances/{instance}")).await.good()["state"].clone())
    };
    let before = look().await;
    for one in Call::ALL {
        let body = match one {
            Call::Registry | Call::RegistryRemove => executor.clone(),
            Call::Callback => json!([{"logId": attempt, "logDateTim": 0, "handleCode": 200, "handleMsg": "theirs"}]),
        };
        // Who is known is answered well where nothing of theirs could be meant by it.
        let of_other_pool = match one {
            Call::Registry | Call::RegistryRemove => 500,
            Call::Callback => 200,
        };
        let bearers = [
            (None, 500),
            (Some("a guess"), 500),
            (Some(&*revoked), 500),
            (Some(&*other_pool), of_other_pool),
            (Some(&*other_tenant), 200),
        ];
        for (token, expected) in bearers {
            assert_eq!(call(&world, one, token, &body).await, expected, "{one:?} with {token:?}");
            assert_eq!(look().await, before, "{one:?} with {token:?}");
        }
    }
    world.stop().await;
}
