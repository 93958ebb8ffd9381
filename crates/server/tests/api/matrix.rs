//! Every route, by everybody, in their own tenant and in another one. What is expected is worked out from what the route
//! declares and from what the role holds: nobody writes it down, so nobody forgets it.

use std::collections::BTreeMap;

use model::rights::{Permission, Role};
use model::{Actor, AgentId, TenantId, TenantRecord, Timestamp};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::access::Token;
use store::people::{Account, AccountKind, Grant, Holder, Origin, PeopleChange};
use wire::routes::{ALL, Route};

use crate::world::{PATIENCE, World, agent_record};

/// Fits where a number and where a name is wanted, and nothing has it.
const NOBODY: &str = "7777777";

struct Person {
    name: String,
    /// None: an account, and nothing else.
    role: Option<Role>,
    /// Everywhere, or in the tenant acme.
    everywhere: bool,
}

impl Person {
    fn new(name: &str, role: Option<Role>, everywhere: bool) -> Person {
        Person { name: name.into(), role, everywhere }
    }

    fn token(&self) -> String {
        format!("duly_of-{}", self.name)
    }

    /// Whether they get past the guard, in their own tenant or in another one.
    fn may(&self, permission: Permission, own: bool) -> bool {
        let enters = own || (self.role.is_some() && self.everywhere);
        match permission {
            Permission::Public => true,
            Permission::SignedIn => enters,
            Permission::May(kind, action) => {
                let holds = self.role.is_some_and(|role| role.permissions().has(kind, action));
                enters && holds && (self.everywhere || !kind.is_of_installation())
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
    let grant = person.role.map(|role| Grant {
        id: 0,
        holder: Holder::Person(person.name.clone()),
        role: role.name().into(),
        tenant: (!person.everywhere).then_some(acme),
        folder: None,
        labels: BTreeMap::new(),
        origin: Origin::Given,
        created_at: Timestamp(0),
        created_by: "ann".into(),
    });
    let done = world.running.app.access.run(move |access| {
        access.change(&PeopleChange::Made(account.clone()))?;
        if let Some(grant) = &grant {
            access.change(&PeopleChange::Granted(grant.clone()))?;
        }
        access.put_token(&token)
    });
    done.await.unwrap();
}

/// Status and code of the answer; streams are not read.
async fn ask(world: &World, person: &Person, route: &Route, value: &str, tenant: Option<&str>) -> (u16, String) {
    let method = Method::from_bytes(format!("{:?}", route.method).to_uppercase().as_bytes()).unwrap();
    let values = vec![value; route.path.matches('{').count()];
    let mut request = world.request(method.clone(), &route.at(&values)).bearer_auth(person.token());
    if method == Method::POST || method == Method::PUT {
        request = request.json(&json!({}));
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
                let expected = exists && person.may(route.permission, own);
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
    let named = ["payroll", "vault", "licence", "ann", "hr-1", "default"].map(String::from);
    (named.into(), vec![instance.to_string(), agent.to_string(), executors, token])
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
    for path in ["/jobs", "/instances", "/pools", "/resources", "/agents", "/xxl-tokens", "/tokens"] {
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
    let all = ["/jobs", "/instances", "/agents", "/xxl-tokens", "/tokens"];
    for path in all {
        let seen = world.send(world.request(Method::GET, path).bearer_auth(stranger.token())).await.good();
        let text = seen.to_string();
        assert!(!text.contains("payroll") && !text.contains("hr-1") && !text.contains("ann"), "{path}: {text}");
    }
    world.stop().await;
}
