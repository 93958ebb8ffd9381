//! All addresses. A handler can be mounted only where its first argument is the `Caller` of that very endpoint, so a
//! route without a permission check does not compile.

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::handler::Handler;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodFilter, MethodRouter, get, on};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};
use wire::routes::{Method, PREFIX};

use super::endpoint::*;
use super::guard::Caller;
use super::{again, armour, console, doors, forward, pages, record, speak};
use crate::ops::Desk;

/// Arguments of a handler that begin with the caller of `E`.
pub(super) trait Guarded<E> {}

macro_rules! guarded {
    ($($rest:ident)*) => {
        impl<M, E, $($rest),*> Guarded<E> for (M, Caller<E>, $($rest,)*) {}
    };
}
guarded!();
guarded!(T1);
guarded!(T1 T2);
guarded!(T1 T2 T3);
guarded!(T1 T2 T3 T4);
guarded!(T1 T2 T3 T4 T5);

struct Mounts {
    router: Router<Desk>,
    desk: Desk,
}

impl Mounts {
    fn at<E: Endpoint, H, T>(mut self, _endpoint: E, handler: H) -> Mounts
    where
        H: Handler<T, Desk>,
        T: Guarded<E> + 'static,
    {
        let method = match E::ROUTE.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
            Method::Delete => MethodFilter::DELETE,
        };
        let mut door: MethodRouter<Desk> = on(method, handler).layer(DefaultBodyLimit::max(E::BODY_MAX));
        if E::ROUTE.method == Method::Post {
            let answer_once = |State(desk), request, next| again::answer_once::<E>(desk, request, next);
            door = door.layer(from_fn_with_state(self.desk.clone(), answer_once));
        }
        // Inside of what passes on: recorded once, where it is done.
        let recorded = |State(desk), request, next| record::record::<E>(desk, request, next);
        door = door.layer(from_fn_with_state(self.desk.clone(), recorded));
        if E::AT != At::Anywhere {
            let pass_on = |State(desk), request, next| forward::forward::<E>(desk, request, next);
            door = door.layer(from_fn_with_state(self.desk.clone(), pass_on));
        }
        let door = door.layer(from_fn(|request, next| speak::within(E::PATIENCE, request, next)));
        self.router = self.router.route(&format!("{PREFIX}{}", E::ROUTE.path), door);
        self
    }
}

pub(super) fn build(desk: Desk) -> Router {
    let mounts = Mounts { router: Router::new(), desk: desk.clone() };
    let mounts = jobs(mounts);
    let mounts = instances(mounts);
    let mounts = agents(mounts);
    let mounts = values(mounts);
    let mounts = people(mounts);
    let router = installation(mounts).router;
    let small = DefaultPredicate::new().and(NotForContentType::const_new("application/vnd.sqlite3"));
    router
        .route("/", get(pages::root))
        .route("/favicon.ico", get(console::icon))
        .route("/ui", get(console::page))
        .route("/ui/", get(console::page))
        .route("/ui/{*path}", get(console::at))
        .route("/ui/setup.js", get(pages::setup_script))
        .route("/ui/duly.css", get(pages::style))
        .route("/auth/oidc/start", get(doors::oidc::start))
        .route("/auth/oidc/callback", get(doors::oidc::callback))
        .route("/metrics", get(pages::metrics))
        .fallback(speak::no_route)
        .method_not_allowed_fallback(speak::wrong_method)
        .layer(CatchPanicLayer::custom(speak::panicked))
        .layer(from_fn_with_state(desk.clone(), speak::speak))
        .layer(from_fn(armour::armour))
        .layer(CompressionLayer::new().gzip(true).compress_when(small))
        // Executors speak for themselves: nothing of the above is theirs.
        .layer(from_fn_with_state(desk.clone(), crate::xxl::door))
        .layer(from_fn_with_state(desk.clone(), armour::see_the_way))
        .with_state(desk)
}

fn jobs(mounts: Mounts) -> Mounts {
    use doors::jobs as door;
    mounts
        .at(JobList, door::list)
        .at(JobFolders, door::folders)
        .at(JobApply, door::apply)
        .at(JobShow, door::show)
        .at(JobDelete, door::delete)
        .at(JobTrigger, door::trigger)
        .at(JobPause, door::pause)
        .at(JobResume, door::resume)
        .at(JobEnable, door::enable)
        .at(JobDisable, door::disable)
        .at(JobRelease, door::release)
        .at(JobVersions, door::versions)
        .at(JobNext, door::next)
        .at(JobWhy, door::why)
        .at(JobExport, door::export)
        .at(Preview, door::preview)
}

fn instances(mounts: Mounts) -> Mounts {
    use doors::instances as door;
    mounts
        .at(InstanceList, door::list)
        .at(InstanceShow, door::show)
        .at(InstanceStop, door::stop)
        .at(InstanceRerun, door::rerun)
        .at(InstanceResolve, door::resolve)
        .at(InstanceReplay, door::replay)
        .at(AttemptList, door::attempts)
        .at(InstanceWhy, door::why)
        .at(Log, doors::streams::log)
        .at(Events, doors::streams::events)
}

fn agents(mounts: Mounts) -> Mounts {
    use doors::agents as door;
    mounts
        .at(PoolList, door::pools)
        .at(PoolPut, door::put_pool)
        .at(PoolDelete, door::delete_pool)
        .at(ResourceList, door::resources)
        .at(ResourcePut, door::put_resource)
        .at(AgentList, door::list)
        .at(AgentShow, door::show)
        .at(AgentDrain, door::drain)
        .at(AgentUndrain, door::undrain)
        .at(AgentRemove, door::remove)
        .at(AgentRevoke, door::revoke)
        .at(JoinToken, door::join_token)
        .at(AgentShare, door::share)
        .at(LimitShow, door::limit)
        .at(LimitPut, door::put_limit)
}

fn values(mounts: Mounts) -> Mounts {
    use doors::values as door;
    mounts
        .at(VariableList, door::variables)
        .at(VariablePut, door::put_variable)
        .at(VariableDelete, door::delete_variable)
        .at(VariableEffective, door::effective)
        .at(SecretList, door::secrets)
        .at(SecretPut, door::put_secret)
        .at(SecretDelete, door::delete_secret)
        .at(SecretRotate, door::rotate)
}

fn people(mounts: Mounts) -> Mounts {
    use doors::people as door;
    mounts
        .at(Whoami, door::whoami)
        .at(OwnPassword, door::own_password)
        .at(PersonList, door::list)
        .at(PersonCreate, door::create)
        .at(PersonShow, door::show)
        .at(PersonDelete, door::delete)
        .at(PersonDisable, door::disable)
        .at(PersonEnable, door::enable)
        .at(PersonUnlock, door::unlock)
        .at(PersonPassword, door::password)
        .at(PersonSessions, door::sessions)
        .at(PersonSignOut, door::sign_out)
        .at(PersonTokens, door::tokens)
        .at(PersonTokenCreate, door::create_token)
        .at(PersonTokenRevoke, door::revoke_token)
        .at(GroupList, door::groups)
        .at(GroupCreate, door::create_group)
        .at(GroupDelete, door::delete_group)
        .at(GroupJoin, door::join)
        .at(GroupLeave, door::leave)
        .at(RoleList, door::roles)
        .at(RolePut, door::put_role)
        .at(RoleDelete, door::delete_role)
        .at(GrantList, door::grants)
        .at(GrantCreate, door::create_grant)
        .at(GrantDelete, door::delete_grant)
}

fn installation(mounts: Mounts) -> Mounts {
    use doors::{access, audit, cluster, system, tenants};
    mounts
        .at(TenantList, tenants::list)
        .at(TenantCreate, tenants::create)
        .at(TenantShow, tenants::show)
        .at(TenantSet, tenants::set)
        .at(TenantExport, tenants::export)
        .at(TenantDelete, tenants::delete)
        .at(AuditList, audit::list)
        .at(AuditShow, audit::show)
        .at(AuditVerify, audit::verify)
        .at(AuditExport, audit::export)
        .at(ClusterShow, cluster::show)
        .at(ServerDrain, cluster::drain)
        .at(ServerUndrain, cluster::undrain)
        .at(ServerWeight, cluster::weigh)
        .at(ServerForget, cluster::forget)
        .at(Verify, system::verify)
        .at(Stats, system::stats)
        .at(Overview, system::overview)
        .at(Upcoming, system::upcoming)
        .at(Quarantine, system::quarantine)
        .at(Harden, system::harden)
        .at(Backup, system::backup)
        .at(Health, system::health)
        .at(Ready, system::ready)
        .at(Version, system::version)
        .at(Document, system::document)
        .at(Setup, access::setup)
        .at(SessionOpen, access::open_session)
        .at(SessionClose, access::close_session)
        .at(TokenList, access::tokens)
        .at(TokenCreate, access::create_token)
        .at(TokenRevoke, access::revoke_token)
        .at(SessionList, access::sessions)
        .at(SessionEnd, access::end_session)
        .at(XxlTokenList, access::xxl_tokens)
        .at(XxlTokenCreate, access::create_xxl_token)
        .at(XxlTokenRevoke, access::revoke_xxl_token)
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use super::*;

    /// A handler, and where it is to be mounted. Whether that compiles is asked by two traits: the one of `&Asked` is
    /// looked at first, and holds only where `Mounts::at` would take it.
    struct Asked<E, H, T>(PhantomData<(E, H, T)>);

    trait Fits {
        fn fits(&self) -> bool;
    }

    impl<E: Endpoint, H: Handler<T, Desk>, T: Guarded<E> + 'static> Fits for &Asked<E, H, T> {
        fn fits(&self) -> bool {
            true
        }
    }

    trait FitsNot {
        fn fits(&self) -> bool;
    }

    impl<E, H, T> FitsNot for Asked<E, H, T> {
        fn fits(&self) -> bool {
            false
        }
    }

    fn at<E: Endpoint, H: Handler<T, Desk>, T>(_: E, _: H) -> Asked<E, H, T> {
        Asked(PhantomData)
    }

    async fn asks_first(_: Caller<JobDelete>, _: State<Desk>) {}
    async fn asks_second(_: State<Desk>, _: Caller<JobDelete>) {}
    async fn asks_nobody(_: State<Desk>) {}

    #[test]
    #[allow(clippy::needless_borrow)]
    fn a_handler_fits_only_where_it_first_asks_for_the_very_permission_of_its_route() {
        assert!((&&at(JobDelete, asks_first)).fits());
        assert!((&&at(JobDelete, doors::jobs::delete)).fits());
        assert!(!(&&at(JobList, asks_first)).fits(), "the permission of another route");
        assert!(!(&&at(JobDelete, doors::jobs::list)).fits(), "the permission of another route");
        assert!(!(&&at(JobDelete, asks_second)).fits(), "something comes before it");
        assert!(!(&&at(JobDelete, asks_nobody)).fits(), "none");
    }

    /// Beside the API: pages, and doors that look after themselves. Whatever else is mounted goes through `Mounts`.
    const WITHOUT_A_CALLER: [&str; 10] = [
        "/",
        "/favicon.ico",
        "/ui",
        "/ui/",
        "/ui/{*path}",
        "/ui/setup.js",
        "/ui/duly.css",
        "/auth/oidc/start",
        "/auth/oidc/callback",
        "/metrics",
    ];

    #[test]
    fn only_pages_are_mounted_without_a_permission() {
        let (code, _) = include_str!("router.rs").split_once("#[cfg(test)]").expect("this is a test");
        let mounted: Vec<&str> = code.split(".route(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(mounted, WITHOUT_A_CALLER);
        let other_ways = [".route(", ".route_service(", ".nest", ".merge(", ".fallback("];
        let counts = other_ways.map(|way| code.matches(way).count());
        assert_eq!(counts, [WITHOUT_A_CALLER.len() + 1, 0, 0, 0, 1], "one more is that of `Mounts`, {other_ways:?}");
    }
}
