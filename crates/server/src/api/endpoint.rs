//! Every operation as a type: where it is, what it needs, what it takes and answers. Handlers name theirs in their first
//! argument, the router checks that they do, and the OpenAPI document is written from the same lines.

use std::time::Duration;

use wire::api::*;
use wire::routes::{self, Method, Permission, Route};
use wire::{Code, JobBody};

use super::openapi::Sheet;

/// Which server answers, when there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// Whoever is asked: it needs the store only, or finds the owners itself.
    Anywhere,
    /// The owner of the job named in its path.
    Job,
    /// The owner of the instance named in its path.
    Instance,
    /// The owner of the first shard, which keeps what all share.
    First,
    /// Whoever has the output of the instance named in its path.
    Log,
}

/// How what an endpoint changes gets into the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Announced before it is done, recorded before it is answered.
    Surely,
    /// Recorded a moment after it is done, together with others: for what comes by thousands and carries who did it.
    Soon,
}

pub(super) trait Endpoint: Send + Sync + 'static {
    const ROUTE: Route;
    const AT: At = At::Anywhere;
    /// Asked twice, it does what it does once.
    const HARMLESS_TWICE: bool = true;
    /// The largest body it takes.
    const BODY_MAX: usize = 4 << 20;
    /// Something may be different afterwards, so it is recorded; what only looks is recorded if it was refused.
    const CHANGES: bool = !matches!(Self::ROUTE.method, Method::Get);
    const KEPT: Kept = Kept::Surely;
    /// How long its answer may take to begin.
    const PATIENCE: Duration = Duration::from_secs(30);
    /// Whether a repeated POST with the same key gets the first answer from memory. Off where the answer holds a
    /// secret or a stream.
    const REMEMBERED: bool = matches!(Self::ROUTE.method, Method::Post);

    fn describe(sheet: Sheet) -> Sheet;

    /// Answered although nobody has set the server up.
    fn before_setup() -> bool {
        let operation = Self::ROUTE.operation;
        Self::ROUTE.permission == Permission::Public && operation != routes::SESSION_OPEN.operation
    }
}

macro_rules! endpoints {
    ($($name:ident $route:ident { $($const:ident = $value:expr;)* => $describe:expr })*) => {
        $(
            pub(super) struct $name;

            impl Endpoint for $name {
                const ROUTE: Route = routes::$route;
                $(endpoints!(@const $const $value);)*

                fn describe(sheet: Sheet) -> Sheet {
                    let describe: fn(Sheet) -> Sheet = $describe;
                    describe(sheet)
                }
            }
        )*

        /// The sheets of all operations, for the OpenAPI document.
        pub(super) fn sheets() -> Vec<Sheet> {
            vec![$($name::describe(Sheet::new($name::ROUTE))),*]
        }
    };
    (@const BODY_MAX $value:expr) => { const BODY_MAX: usize = $value; };
    (@const PATIENCE $value:expr) => { const PATIENCE: Duration = Duration::from_secs($value); };
    (@const AT $value:expr) => { const AT: At = $value; };
    (@const HARMLESS_TWICE $value:expr) => { const HARMLESS_TWICE: bool = $value; };
    (@const CHANGES $value:expr) => { const CHANGES: bool = $value; };
    (@const KEPT $value:expr) => { const KEPT: Kept = $value; };
    (@const REMEMBERED $value:expr) => { const REMEMBERED: bool = $value; };
}

const JOB_FAULTS: &[Code] = &[Code::BadJobs, Code::NameTaken, Code::EngineFailed, Code::TooLarge];

endpoints! {
    JobFolders JOB_FOLDERS { => |s| s.says("Folders that jobs lie in, by name; the first thousand").page::<FolderView>() }
    JobList JOB_LIST { => |s| s.says("Jobs, by name").query::<JobQuery>().page::<JobView>().may(&[Code::BadCursor]) }
    JobApply JOB_APPLY { BODY_MAX = 16 << 20; PATIENCE = 300; => |s| s
        .says("Create, change and delete jobs so that they are as sent; with `dry_run`, only say what would be done")
        .body::<ApplyBody>().json::<PlanView>().may(JOB_FAULTS) }
    JobShow JOB_SHOW { => |s| s.says("One job with its whole body").json::<JobView>().may(&[Code::NoSuchJob]) }
    JobDelete JOB_DELETE { AT = At::Job; => |s| s.says("Delete a job; its history stays").query::<DeleteQuery>()
        .nothing().may(&[Code::NoSuchJob, Code::JobFollowed]) }
    JobTrigger JOB_TRIGGER { AT = At::Job; KEPT = Kept::Soon; => |s| s.says("Make an instance now; answered when it is on disk")
        .optional_body::<TriggerBody>().created::<InstanceView>()
        .may(&[Code::NoSuchJob, Code::JobDisabled, Code::JobHeld, Code::AlreadyPlanned, Code::KeyReused, Code::BadTime, Code::OverSize, Code::NotThere]) }
    JobPause JOB_PAUSE { AT = At::Job; => |s| s.says("Nothing planned after the answer starts; manual triggers still work")
        .json::<JobView>().may(&[Code::NoSuchJob]) }
    JobResume JOB_RESUME { AT = At::Job; => |s| s.says("Go on from now").json::<JobView>().may(&[Code::NoSuchJob, Code::JobDisabled]) }
    JobEnable JOB_ENABLE { AT = At::Job; => |s| s.says("Go on from now").json::<JobView>().may(&[Code::NoSuchJob]) }
    JobDisable JOB_DISABLE { AT = At::Job; => |s| s.says("Nothing starts any more, not even by hand").json::<JobView>().may(&[Code::NoSuchJob]) }
    JobRelease JOB_RELEASE { AT = At::Job; => |s| s.says("Let a quarantined job go on").json::<JobView>().may(&[Code::NoSuchJob, Code::NotHeld]) }
    JobVersions JOB_VERSIONS { => |s| s.says("What the job was, newest first").page::<JobVersionView>().may(&[Code::NoSuchJob]) }
    JobNext JOB_NEXT { => |s| s.says("The next planned times, exactly as they will happen")
        .query::<NextQuery>().json::<PreviewView>().may(&[Code::NoSuchJob]) }
    JobWhy JOB_WHY { AT = At::Job; => |s| s.says("Why a job runs, waits or does not run").json::<WhyView>().may(&[Code::NoSuchJob]) }
    JobExport JOB_EXPORT { => |s| s.says("The job as a file that can be applied").yaml::<JobBody>().may(&[Code::NoSuchJob]) }
    Preview PREVIEW { CHANGES = false; => |s| s.says("The times a trigger would name").body::<PreviewBody>().json::<PreviewView>()
        .may(&[Code::BadTrigger, Code::BadCron]) }

    InstanceList INSTANCE_LIST { => |s| s.says("Instances, newest planned time first")
        .query::<InstanceQuery>().page::<InstanceView>().may(&[Code::BadCursor, Code::NoSuchJob]) }
    InstanceShow INSTANCE_SHOW { AT = At::Instance; => |s| s.says("One instance").json::<InstanceView>().may(&[Code::NoSuchInstance]) }
    InstanceStop INSTANCE_STOP { AT = At::Instance; => |s| s.says("Stop it: answered when the intent is on disk and nothing further starts")
        .json::<InstanceView>().may(&[Code::NoSuchInstance, Code::NotOpen]) }
    InstanceRerun INSTANCE_RERUN { AT = At::Instance; HARMLESS_TWICE = false; => |s| s.says("Run an ended instance once more: the same planned time, a new attempt")
        .json::<InstanceView>().may(&[Code::NoSuchInstance, Code::StillOpen, Code::NoSuchJob, Code::NoSuchVersion, Code::JobDisabled, Code::AlreadyPlanned]) }
    InstanceResolve INSTANCE_RESOLVE { AT = At::Instance; => |s| s.says("Say what became of an attempt whose agent cannot be asked")
        .body::<ResolveBody>().json::<InstanceView>().may(&[Code::NoSuchInstance, Code::NotOpen, Code::NotUncertain]) }
    InstanceReplay INSTANCE_REPLAY { PATIENCE = 120; => |s| s.says("Run dead letters once more")
        .body::<ReplayBody>().json::<ReplayView>().may(&[Code::NoSuchJob]) }
    AttemptList ATTEMPT_LIST { AT = At::Instance; => |s| s.says("All tries at an instance, oldest first").page::<AttemptView>().may(&[Code::NoSuchInstance]) }
    InstanceWhy INSTANCE_WHY { AT = At::Instance; => |s| s.says("Why it waits, runs, or ended as it did").json::<WhyView>().may(&[Code::NoSuchInstance]) }
    Log LOG { AT = At::Log; => |s| s.says("The output of an attempt; with `follow`, as server-sent events while it is written")
        .query::<LogQuery>().last_event_id().uses::<LogFrameView>().uses::<LogEndView>().log()
        .may(&[Code::NoSuchInstance, Code::NoSuchAttempt, Code::NoLog]) }
    Events EVENTS { => |s| s.says("What happens, as server-sent events; resumes after `Last-Event-ID`")
        .last_event_id().uses::<EventView>().stream() }

    PoolList POOL_LIST { => |s| s.says("Pools that have agents or a limit").page::<PoolView>() }
    PoolPut POOL_PUT { AT = At::First; => |s| s.says("Limit a pool, or list its executors").body::<PoolBody>().json::<PoolView>()
        .may(&[Code::BadName, Code::BadAddress, Code::NeverCalled, Code::PrivateForbidden, Code::OwnPort]) }
    PoolDelete POOL_DELETE { AT = At::First; => |s| s.says("Forget a pool nobody is in").nothing().may(&[Code::NoSuchPool, Code::PoolInUse]) }
    ResourceList RESOURCE_LIST { => |s| s.says("Mutexes and counted resources: who holds them and who waits").page::<ResourceView>() }
    ResourcePut RESOURCE_PUT { AT = At::First; => |s| s.says("Say how much there is of a counted resource").body::<ResourceBody>().json::<ResourceView>()
        .may(&[Code::BadName, Code::BadPolicy]) }
    AgentList AGENT_LIST { => |s| s.says("Agents, by name").page::<AgentView>() }
    AgentShow AGENT_SHOW { => |s| s.says("One agent").json::<AgentView>().may(&[Code::NoSuchAgent]) }
    AgentDrain AGENT_DRAIN { AT = At::First; => |s| s.says("Give it no new work").json::<AgentView>().may(&[Code::NoSuchAgent]) }
    AgentUndrain AGENT_UNDRAIN { AT = At::First; => |s| s.says("Give it work again").json::<AgentView>().may(&[Code::NoSuchAgent]) }
    AgentRemove AGENT_REMOVE { AT = At::First; => |s| s.says("Forget an agent; it must join again to come back")
        .nothing().may(&[Code::NoSuchAgent, Code::AgentBusy]) }
    AgentRevoke AGENT_REVOKE { AT = At::First; => |s| s.says("Cut an agent off at once, whatever it runs: its identity is worth nothing any more")
        .nothing().may(&[Code::NoSuchAgent]) }
    JoinToken JOIN_TOKEN { REMEMBERED = false; => |s| s.says("A token with which one agent joins, once")
        .optional_body::<JoinTokenBody>().created::<JoinTokenView>().may(&[Code::BadLength, Code::BadName, Code::NoSuchTenant]) }
    LimitShow LIMIT_SHOW { => |s| s.says("How many instances may run at once in the whole installation").json::<LimitBody>() }
    LimitPut LIMIT_PUT { AT = At::First; => |s| s.says("Set how many instances may run at once in the whole installation")
        .body::<LimitBody>().json::<LimitBody>() }

    AgentShare AGENT_SHARE { AT = At::First; => |s| s.says("Say which tenants use an agent besides its own").body::<SharingBody>()
        .json::<AgentView>().may(&[Code::NoSuchAgent, Code::NoSuchTenant]) }

    TenantList TENANT_LIST { => |s| s.says("Tenants, by name").page::<TenantView>() }
    TenantCreate TENANT_CREATE { AT = At::First; => |s| s.says("Make a tenant").body::<TenantBody>().created::<TenantView>()
        .may(&[Code::BadName, Code::BadPolicy, Code::TenantNameTaken]).may(&[Code::NotClustered, Code::NoSuchServer, Code::NoShardsLeft]) }
    TenantShow TENANT_SHOW { => |s| s.says("One tenant, and what it has of what it may have").json::<TenantView>().may(&[Code::NoSuchTenant]) }
    TenantSet TENANT_SET { AT = At::First; => |s| s.says("Change a tenant; what is left out stays").body::<TenantChangeBody>()
        .json::<TenantView>().may(&[Code::NoSuchTenant, Code::BadName, Code::BadPolicy, Code::TenantNameTaken, Code::TenantClosing])
        .may(&[Code::NotClustered, Code::NoSuchServer, Code::HasJobs, Code::NoShardsLeft]) }
    TenantExport TENANT_EXPORT { PATIENCE = 600; => |s| s.says("Everything of a tenant, as JSON lines")
        .file("application/jsonl").may(&[Code::NoSuchTenant]) }
    TenantDelete TENANT_DELETE { AT = At::First; HARMLESS_TWICE = false; => |s| s
        .says("Delete a tenant: without `confirm`, only say what would go and give the word that confirms it")
        .query::<TenantDeleteQuery>().json::<TenantDeletionView>()
        .may(&[Code::NoSuchTenant, Code::TenantKept, Code::NotExported, Code::NotConfirmed]) }

    ClusterShow CLUSTER_SHOW { => |s| s.says("Servers, and which shards each owns").json::<ClusterView>() }
    ServerDrain SERVER_DRAIN { => |s| s.says("Let a server give away all it owns, and take nothing more")
        .json::<ClusterView>().may(&[Code::NoSuchServer, Code::NotClustered]) }
    ServerUndrain SERVER_UNDRAIN { => |s| s.says("Let a server take its share again")
        .json::<ClusterView>().may(&[Code::NoSuchServer, Code::NotClustered]) }
    ServerWeight SERVER_WEIGHT { => |s| s.says("Change a server's share compared with the others'")
        .body::<WeightBody>().json::<ClusterView>().may(&[Code::NoSuchServer, Code::NotClustered]) }
    ServerForget SERVER_FORGET { => |s| s.says("Forget a server that is dead and holds nothing")
        .nothing().may(&[Code::NoSuchServer, Code::ServerAlive, Code::NotClustered]) }

    AuditList AUDIT_LIST { => |s| s.says("What was done and what was refused, newest first")
        .query::<AuditQuery>().page::<AuditView>().may(&[Code::BadCursor]) }
    AuditShow AUDIT_SHOW { => |s| s.says("One entry of the audit").json::<AuditView>().may(&[Code::NoSuchEntry]) }
    AuditVerify AUDIT_VERIFY { PATIENCE = 600; => |s| s.says("Walk along the audit's chain and say where it was broken")
        .query::<AuditVerifyQuery>().json::<AuditVerifyView>() }
    AuditExport AUDIT_EXPORT { => |s| s.says("The audit as lines of JSON that can be checked without a server")
        .file("application/x-ndjson") }

    Verify VERIFY { PATIENCE = 600; => |s| s.says("Compute every planned time anew and compare it with the ledger")
        .query::<VerifyQuery>().json::<VerifyView>().may(&[Code::NoSuchJob]) }
    Stats STATS { => |s| s.says("How many of everything").query::<StatsQuery>().json::<StatsView>() }
    Overview OVERVIEW { => |s| s.says("The state of things at a glance").json::<OverviewView>() }
    Upcoming UPCOMING { => |s| s.says("The jobs with the soonest planned times").query::<UpcomingQuery>().json::<UpcomingView>() }
    Quarantine QUARANTINE { => |s| s.says("Inputs that made deciding fail, and the jobs held for them").page::<QuarantineView>() }
    Harden HARDEN { => |s| s.says("How safe the installation is set up, and what to do about what is not").json::<HardenView>() }
    Backup BACKUP { REMEMBERED = false; PATIENCE = 600; => |s| s.says("A consistent copy of the store, made while it works")
        .file("application/vnd.sqlite3").may(&[Code::BackupFailed, Code::BackupElsewhere]) }

    Setup SETUP { REMEMBERED = false; => |s| s.says("Make the first administrator, once")
        .body::<SetupBody>().created::<SetupView>().may(&[Code::SetupDone, Code::BadSetupToken, Code::WeakPassword, Code::BadName]) }
    SessionOpen SESSION_OPEN { REMEMBERED = false; => |s| s.says("Sign in").body::<SessionBody>().created::<SessionView>()
        .may(&[Code::WrongPassword, Code::TooMany]) }
    SessionClose SESSION_CLOSE { => |s| s.says("Sign out").nothing() }
    TokenList TOKEN_LIST { => |s| s.says("API tokens that work").page::<TokenView>() }
    TokenCreate TOKEN_CREATE { REMEMBERED = false; => |s| s.says("Make an API token").body::<TokenBody>().created::<TokenCreatedView>()
        .may(&[Code::BadLength, Code::BadName, Code::BadPermission, Code::ScopedToken]) }
    SessionList SESSION_LIST { => |s| s.says("One's own sessions").page::<SessionInfoView>() }
    SessionEnd SESSION_END { => |s| s.says("End one of one's own sessions, at once").nothing().may(&[Code::NoSuchSession]) }
    Whoami WHOAMI { => |s| s.says("Who is asking, by what, and what they may do").json::<WhoamiView>() }
    OwnPassword OWN_PASSWORD { => |s| s.says("Set one's own password; all other sessions end").body::<OwnPasswordBody>().nothing()
        .may(&[Code::WrongPassword, Code::WeakPassword, Code::ScopedToken, Code::TooMany]) }

    PersonList PERSON_LIST { => |s| s.says("Accounts of persons and programs").page::<PersonView>() }
    PersonCreate PERSON_CREATE { => |s| s.says("Make an account; it may do nothing until a role is granted to it")
        .body::<PersonBody>().created::<PersonView>()
        .may(&[Code::BadName, Code::NameInUse, Code::WeakPassword, Code::WrongAccountKind]) }
    PersonShow PERSON_SHOW { => |s| s.says("One account").json::<PersonView>().may(&[Code::NoSuchPerson]) }
    PersonDelete PERSON_DELETE { => |s| s.says("Delete an account with all it holds; what it made stays, under its name")
        .nothing().may(&[Code::NoSuchPerson, Code::MoreThanOwn, Code::LastAdministrator]) }
    PersonDisable PERSON_DISABLE { => |s| s.says("Let nobody in by this account, at once")
        .json::<PersonView>().may(&[Code::NoSuchPerson, Code::MoreThanOwn, Code::LastAdministrator]) }
    PersonEnable PERSON_ENABLE { => |s| s.says("Let them in again").json::<PersonView>().may(&[Code::NoSuchPerson, Code::MoreThanOwn]) }
    PersonUnlock PERSON_UNLOCK { => |s| s.says("Lift the lock that many wrong passwords put on a name")
        .json::<PersonView>().may(&[Code::NoSuchPerson, Code::MoreThanOwn, Code::ScopedToken]) }
    PersonPassword PERSON_PASSWORD { => |s| s.says("Set another's password, which they must change; their sessions end")
        .body::<PasswordBody>().nothing()
        .may(&[Code::NoSuchPerson, Code::MoreThanOwn, Code::WeakPassword, Code::WrongAccountKind, Code::OwnPassword]) }
    PersonSessions PERSON_SESSIONS { => |s| s.says("Another's sessions").page::<SessionInfoView>() }
    PersonSignOut PERSON_SIGN_OUT { => |s| s.says("End all of another's sessions, at once").nothing()
        .may(&[Code::NoSuchPerson, Code::MoreThanOwn, Code::ScopedToken]) }
    PersonTokens PERSON_TOKENS { => |s| s.says("Another's API tokens that work").page::<TokenView>() }
    PersonTokenCreate PERSON_TOKEN_CREATE { REMEMBERED = false; => |s| s.says("Make an API token of a service account")
        .body::<TokenBody>().created::<TokenCreatedView>()
        .may(&[Code::NoSuchPerson, Code::WrongAccountKind, Code::MoreThanOwn, Code::BadLength, Code::BadName, Code::BadPermission, Code::ScopedToken]) }
    PersonTokenRevoke PERSON_TOKEN_REVOKE { => |s| s.says("Another's token works no more, at once").nothing()
        .may(&[Code::NoSuchToken, Code::MoreThanOwn, Code::ScopedToken]) }
    GroupList GROUP_LIST { => |s| s.says("Groups and who is in them").page::<GroupView>() }
    GroupCreate GROUP_CREATE { => |s| s.says("Make a group").body::<GroupBody>().created::<GroupView>().may(&[Code::BadName, Code::NameInUse]) }
    GroupDelete GROUP_DELETE { => |s| s.says("Delete a group with what was granted to it")
        .nothing().may(&[Code::NoSuchGroup, Code::MoreThanOwn, Code::LastAdministrator]) }
    GroupJoin GROUP_JOIN { => |s| s.says("Put somebody into a group: they hold what it holds")
        .nothing().may(&[Code::NoSuchGroup, Code::NoSuchPerson, Code::MoreThanOwn]) }
    GroupLeave GROUP_LEAVE { => |s| s.says("Take somebody out of a group")
        .nothing().may(&[Code::NoSuchGroup, Code::NoSuchPerson, Code::MoreThanOwn, Code::LastAdministrator]) }
    RoleList ROLE_LIST { => |s| s.says("Roles and what they permit").page::<RoleView>() }
    RolePut ROLE_PUT { => |s| s.says("Name a set of permissions, or change one").body::<RoleBody>().json::<RoleView>()
        .may(&[Code::BadName, Code::NameInUse, Code::BadPermission, Code::MoreThanOwn]) }
    RoleDelete ROLE_DELETE { => |s| s.says("Delete a role that nobody has").nothing()
        .may(&[Code::NoSuchRole, Code::RoleInUse, Code::MoreThanOwn]) }
    GrantList GRANT_LIST { => |s| s.says("Who has which role in the tenant").page::<GrantView>() }
    GrantCreate GRANT_CREATE { => |s| s.says("Give a role to a person or a group").body::<GrantBody>().created::<GrantView>()
        .may(&[Code::NoSuchPerson, Code::NoSuchGroup, Code::NoSuchRole, Code::MoreThanOwn]) }
    GrantDelete GRANT_DELETE { => |s| s.says("Take a grant back").nothing().may(&[Code::NoSuchGrant, Code::MoreThanOwn, Code::LastAdministrator]) }

    XxlTokenList XXL_TOKEN_LIST { => |s| s.says("Tokens of XXL-JOB executors").page::<XxlTokenView>() }
    XxlTokenCreate XXL_TOKEN_CREATE { REMEMBERED = false; => |s| s.says("Make a token that XXL-JOB executors show")
        .body::<XxlTokenBody>().created::<XxlTokenCreatedView>().may(&[Code::BadName]) }
    XxlTokenRevoke XXL_TOKEN_REVOKE { => |s| s.says("Executors that show it are refused, at once").nothing().may(&[Code::NoSuchToken]) }
    TokenRevoke TOKEN_REVOKE { => |s| s.says("A token works no more, at once").nothing().may(&[Code::NoSuchToken]) }

    VariableList VARIABLE_LIST { => |s| s.says("Variables of the installation, the tenant and its folders, by name").page::<VariableView>() }
    VariablePut VARIABLE_PUT { => |s| s.says("Set a variable at one level").body::<VariableBody>().json::<VariableView>()
        .may(&[Code::BadName, Code::OverSize]) }
    VariableDelete VARIABLE_DELETE { => |s| s.says("Take a variable away at one level").query::<VariableQuery>().nothing()
        .may(&[Code::NoSuchVariable, Code::BadName]) }
    VariableEffective VARIABLE_EFFECTIVE { => |s| s.says("What every variable is in a job, and where it is set")
        .page::<EffectiveView>().may(&[Code::NoSuchJob]) }
    SecretList SECRET_LIST { => |s| s.says("Secrets, by name; never their values").page::<SecretView>() }
    SecretPut SECRET_PUT { BODY_MAX = 256 << 10; => |s| s.says("Keep a secret's value, encrypted; no answer ever shows it")
        .body::<SecretBody>().json::<SecretView>()
        .may(&[Code::BadName, Code::BadSecret, Code::OverSize, Code::NoSecretKey, Code::OtherSecretKey]) }
    SecretDelete SECRET_DELETE { => |s| s.says("Forget a secret").nothing().may(&[Code::NoSuchSecret]) }
    SecretRotate SECRET_ROTATE { PATIENCE = 300; => |s| s.says("Move every secret to a new master key; may be repeated when it was cut short")
        .json::<RotatedView>().may(&[Code::NoSecretKey, Code::OtherSecretKey, Code::NothingToRotate]) }

    Health HEALTH { => |s| s.says("Alive means: the scheduling loop makes progress").json::<HealthView>().may(&[Code::NotReady]) }
    Ready READY { => |s| s.says("Whether work is taken").json::<ReadyView>().may(&[Code::NotReady]) }
    Version VERSION { => |s| s.says("What runs here").json::<VersionView>() }
    Document OPENAPI { => |s| s.says("This document").any_json() }
}
