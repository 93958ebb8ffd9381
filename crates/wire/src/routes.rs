//! Every operation of the public API: its address, the permission it needs, and the verb of the command line that does
//! the same. Server, client and the parity test read this one table.

use model::rights::{Action, Kind};

pub use model::rights::Permission;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub operation: &'static str,
    pub method: Method,
    /// With `{name}` or `{id}` where a value goes; below `PREFIX`.
    pub path: &'static str,
    pub permission: Permission,
    /// Words after `duly` that do this.
    pub verbs: &'static [&'static str],
}

pub const PREFIX: &str = "/api/v1";

macro_rules! routes {
    ($($name:ident $operation:literal $method:ident $path:literal $word:ident$(.$action:ident)? [$($verb:literal),*];)*) => {
        $(pub const $name: Route = Route {
            operation: $operation,
            method: Method::$method,
            path: $path,
            permission: routes!(@permission $word$(.$action)?),
            verbs: &[$($verb),*],
        };)*

        pub const ALL: &[Route] = &[$($name),*];
    };
    (@permission $kind:ident.$action:ident) => { Permission::May(Kind::$kind, Action::$action) };
    (@permission $word:ident) => { Permission::$word };
}

routes! {
    JOB_LIST         "job_list"         Get    "/jobs"                          Job.See       ["job list"];
    JOB_FOLDERS      "job_folders"      Get    "/folders"                       Job.See       ["job folders"];
    JOB_APPLY        "job_apply"        Post   "/jobs/apply"                    Job.Edit      ["job apply", "examples"];
    JOB_SHOW         "job_show"         Get    "/jobs/{name}"                   Job.See       ["job show"];
    JOB_DELETE       "job_delete"       Delete "/jobs/{name}"                   Job.Edit      ["job delete"];
    JOB_TRIGGER      "job_trigger"      Post   "/jobs/{name}/trigger"           Job.Run       ["job trigger"];
    JOB_PAUSE        "job_pause"        Post   "/jobs/{name}/pause"             Job.Run       ["job pause"];
    JOB_RESUME       "job_resume"       Post   "/jobs/{name}/resume"            Job.Run       ["job resume"];
    JOB_ENABLE       "job_enable"       Post   "/jobs/{name}/enable"            Job.Run       ["job enable"];
    JOB_DISABLE      "job_disable"      Post   "/jobs/{name}/disable"           Job.Run       ["job disable"];
    JOB_RELEASE      "job_release"      Post   "/jobs/{name}/release"           Job.Run       ["job release"];
    JOB_VERSIONS     "job_versions"     Get    "/jobs/{name}/versions"          Job.See       ["job versions", "job rollback"];
    JOB_NEXT         "job_next"         Get    "/jobs/{name}/next"              Job.See       ["next"];
    JOB_WHY          "job_why"          Get    "/jobs/{name}/why"               Job.See       ["why"];
    JOB_EXPORT       "job_export"       Get    "/jobs/{name}/export"            Job.See       ["job export"];
    PREVIEW          "preview"          Post   "/preview"                       SignedIn      ["preview", "next"];

    INSTANCE_LIST    "instance_list"    Get    "/instances"                     Instance.See  ["instance list", "job history"];
    INSTANCE_SHOW    "instance_show"    Get    "/instances/{id}"                Instance.See  ["instance show"];
    INSTANCE_STOP    "instance_stop"    Post   "/instances/{id}/stop"           Instance.Run  ["instance stop"];
    INSTANCE_RERUN   "instance_rerun"   Post   "/instances/{id}/rerun"          Instance.Run  ["instance rerun"];
    INSTANCE_RESOLVE "instance_resolve" Post   "/instances/{id}/resolve"        Instance.Run  ["instance resolve"];
    INSTANCE_REPLAY  "instance_replay"  Post   "/instances/replay"              Instance.Run  ["instance replay"];
    ATTEMPT_LIST     "attempt_list"     Get    "/instances/{id}/attempts"       Instance.See  ["instance attempts"];
    INSTANCE_WHY     "instance_why"     Get    "/instances/{id}/why"            Instance.See  ["why"];
    LOG              "log"              Get    "/instances/{id}/log"            Log.See       ["log"];
    EVENTS           "events"           Get    "/events"                        Instance.See  ["events"];

    POOL_LIST        "pool_list"        Get    "/pools"                         Pool.See      ["pool list"];
    POOL_PUT         "pool_put"         Put    "/pools/{name}"                  Pool.Edit     ["pool set"];
    POOL_DELETE      "pool_delete"      Delete "/pools/{name}"                  Pool.Edit     ["pool delete"];
    RESOURCE_LIST    "resource_list"    Get    "/resources"                     Resource.See  ["resource list"];
    RESOURCE_PUT     "resource_put"     Put    "/resources/{name}"              Resource.Edit ["resource set"];
    AGENT_LIST       "agent_list"       Get    "/agents"                        Agent.See     ["agents list"];
    AGENT_SHOW       "agent_show"       Get    "/agents/{id}"                   Agent.See     ["agents show"];
    AGENT_DRAIN      "agent_drain"      Post   "/agents/{id}/drain"             Agent.Edit    ["agents drain"];
    AGENT_UNDRAIN    "agent_undrain"    Post   "/agents/{id}/undrain"           Agent.Edit    ["agents undrain"];
    AGENT_REMOVE     "agent_remove"     Delete "/agents/{id}"                   Agent.Edit    ["agents remove"];
    AGENT_REVOKE     "agent_revoke"     Post   "/agents/{id}/revoke"            Agent.Edit    ["agents revoke"];
    JOIN_TOKEN       "join_token"       Post   "/join-tokens"                   Agent.Edit    ["join-token"];
    LIMIT_SHOW       "limit_show"       Get    "/limits"                        System.See    ["limit show"];
    LIMIT_PUT        "limit_put"        Put    "/limits"                        System.Edit   ["limit set"];

    AGENT_SHARE      "agent_share"      Put    "/agents/{id}/sharing"           Tenant.Edit   ["agents share"];

    TENANT_LIST      "tenant_list"      Get    "/tenants"                       Tenant.See    ["tenant list"];
    TENANT_CREATE    "tenant_create"    Post   "/tenants"                       Tenant.Edit   ["tenant create"];
    TENANT_SHOW      "tenant_show"      Get    "/tenants/{name}"                Tenant.See    ["tenant show"];
    TENANT_SET       "tenant_set"       Put    "/tenants/{name}"                Tenant.Edit   ["tenant set"];
    TENANT_EXPORT    "tenant_export"    Get    "/tenants/{name}/export"         Tenant.Edit   ["tenant export"];
    TENANT_DELETE    "tenant_delete"    Delete "/tenants/{name}"                Tenant.Edit   ["tenant delete"];

    CLUSTER_SHOW     "cluster_show"     Get    "/cluster"                       Server.See    ["cluster status"];
    SERVER_DRAIN     "server_drain"     Post   "/cluster/servers/{id}/drain"    Server.Edit   ["cluster drain"];
    SERVER_UNDRAIN   "server_undrain"   Post   "/cluster/servers/{id}/undrain"  Server.Edit   ["cluster undrain"];
    SERVER_WEIGHT    "server_weight"    Put    "/cluster/servers/{id}/weight"   Server.Edit   ["cluster weight"];
    SERVER_FORGET    "server_forget"    Delete "/cluster/servers/{id}"          Server.Edit   ["cluster forget"];

    AUDIT_LIST       "audit_list"       Get    "/audit"                         Audit.See     ["audit list"];
    AUDIT_VERIFY     "audit_verify"     Get    "/audit/verify"                  Audit.See     ["audit verify"];
    AUDIT_EXPORT     "audit_export"     Get    "/audit/export"                  Audit.See     ["audit export"];
    AUDIT_SHOW       "audit_show"       Get    "/audit/{id}"                    Audit.See     ["audit show"];

    VERIFY           "verify"           Get    "/verify"                        Job.See       ["verify"];
    STATS            "stats"            Get    "/stats"                         Instance.See  ["stats"];
    OVERVIEW         "overview"         Get    "/overview"                      Instance.See  ["overview"];
    UPCOMING         "upcoming"         Get    "/upcoming"                      Job.See       ["upcoming"];
    QUARANTINE       "quarantine"       Get    "/quarantine"                    System.See    ["quarantine"];
    BACKUP           "backup"           Post   "/backup"                        System.Edit   ["backup"];
    HARDEN           "harden"           Get    "/harden"                        System.See    ["harden"];

    SETUP            "setup"            Post   "/setup"                         Public        ["setup"];
    SESSION_OPEN     "session_open"     Post   "/sessions"                      Public        ["login"];
    SESSION_CLOSE    "session_close"    Delete "/sessions"                      SignedIn      ["logout"];
    TOKEN_LIST       "token_list"       Get    "/tokens"                        SignedIn      ["token list"];
    TOKEN_CREATE     "token_create"     Post   "/tokens"                        SignedIn      ["token create"];
    TOKEN_REVOKE     "token_revoke"     Delete "/tokens/{id}"                   SignedIn      ["token revoke"];

    SESSION_LIST     "session_list"     Get    "/sessions"                     SignedIn      ["session list"];
    SESSION_END      "session_end"      Delete "/sessions/{session}"           SignedIn      ["session end"];
    WHOAMI           "whoami"           Get    "/whoami"                       SignedIn      ["whoami"];
    OWN_PASSWORD     "own_password"     Put    "/whoami/password"              SignedIn      ["person password"];

    PERSON_LIST      "person_list"      Get    "/people"                       Person.See    ["person list"];
    PERSON_CREATE    "person_create"    Post   "/people"                       Person.Edit   ["person create"];
    PERSON_SHOW      "person_show"      Get    "/people/{name}"                Person.See    ["person show"];
    PERSON_DELETE    "person_delete"    Delete "/people/{name}"                Person.Edit   ["person delete"];
    PERSON_DISABLE   "person_disable"   Post   "/people/{name}/disable"        Person.Edit   ["person disable"];
    PERSON_ENABLE    "person_enable"    Post   "/people/{name}/enable"         Person.Edit   ["person enable"];
    PERSON_UNLOCK    "person_unlock"    Post   "/people/{name}/unlock"         Person.Edit   ["person unlock"];
    PERSON_PASSWORD  "person_password"  Put    "/people/{name}/password"       Person.Edit   ["person password"];
    PERSON_SESSIONS  "person_sessions"  Get    "/people/{name}/sessions"       Person.See    ["session list"];
    PERSON_SIGN_OUT  "person_sign_out"  Delete "/people/{name}/sessions"       Person.Edit   ["session end"];
    PERSON_TOKENS    "person_tokens"    Get    "/people/{name}/tokens"         Person.See    ["token list"];
    PERSON_TOKEN_CREATE "person_token_create" Post   "/people/{name}/tokens"         Person.Edit   ["token create"];
    PERSON_TOKEN_REVOKE "person_token_revoke" Delete "/people/{name}/tokens/{id}"    Person.Edit   ["token revoke"];
    GROUP_LIST       "group_list"       Get    "/groups"                       Person.See    ["group list"];
    GROUP_CREATE     "group_create"     Post   "/groups"                       Person.Edit   ["group create"];
    GROUP_DELETE     "group_delete"     Delete "/groups/{name}"                Person.Edit   ["group delete"];
    GROUP_JOIN       "group_join"       Put    "/groups/{name}/members/{person}" Person.Edit   ["group add"];
    GROUP_LEAVE      "group_leave"      Delete "/groups/{name}/members/{person}" Person.Edit   ["group remove"];
    ROLE_LIST        "role_list"        Get    "/roles"                        SignedIn      ["role list"];
    ROLE_PUT         "role_put"         Put    "/roles/{name}"                 Role.Edit     ["role set"];
    ROLE_DELETE      "role_delete"      Delete "/roles/{name}"                 Role.Edit     ["role delete"];
    GRANT_LIST       "grant_list"       Get    "/grants"                       Member.See    ["grant list"];
    GRANT_CREATE     "grant_create"     Post   "/grants"                       Member.Edit   ["grant create"];
    GRANT_DELETE     "grant_delete"     Delete "/grants/{id}"                  Member.Edit   ["grant delete"];

    XXL_TOKEN_LIST   "xxl_token_list"   Get    "/xxl-tokens"                    Agent.See     ["xxl-token list"];
    XXL_TOKEN_CREATE "xxl_token_create" Post   "/xxl-tokens"                    Agent.Edit    ["xxl-token create"];
    XXL_TOKEN_REVOKE "xxl_token_revoke" Delete "/xxl-tokens/{id}"               Agent.Edit    ["xxl-token revoke"];

    VARIABLE_LIST      "variable_list"      Get    "/variables"            Variable.See  ["variable list"];
    VARIABLE_PUT       "variable_put"       Put    "/variables/{name}"     Variable.Edit ["variable set"];
    VARIABLE_DELETE    "variable_delete"    Delete "/variables/{name}"     Variable.Edit ["variable delete"];
    VARIABLE_EFFECTIVE "variable_effective" Get    "/jobs/{name}/variables" Variable.See ["variable effective"];
    SECRET_LIST        "secret_list"        Get    "/secrets"              Secret.See    ["secret list"];
    SECRET_PUT         "secret_put"         Put    "/secrets/{name}"       Secret.Edit   ["secret set"];
    SECRET_DELETE      "secret_delete"      Delete "/secrets/{name}"       Secret.Edit   ["secret delete"];
    SECRET_ROTATE      "secret_rotate"      Post   "/secrets/rotate-key"   System.Edit   ["secret rotate-key"];

    HEALTH           "health"           Get    "/health"                        Public        ["health", "doctor"];
    READY            "ready"            Get    "/ready"                         Public        ["health", "doctor"];
    VERSION          "version"          Get    "/version"                       Public        ["health", "doctor"];
    OPENAPI          "openapi"          Get    "/openapi.json"                  Public        ["openapi"];
}

impl Route {
    /// The address with its values in place, each escaped: a name may be in any script.
    pub fn at(&self, values: &[&str]) -> String {
        let mut path = PREFIX.to_owned();
        let mut values = values.iter();
        for piece in self.path.split_inclusive('/') {
            if piece.starts_with('{') {
                let value = values.next().expect("a value for each place in the path");
                path.push_str(&escape(value));
                path.push_str(if piece.ends_with('/') { "/" } else { "" });
            } else {
                path.push_str(piece);
            }
        }
        assert!(values.next().is_none(), "no more values than places");
        path
    }
}

fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'~' => out.push(byte as char),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn addresses_and_operations_are_unique() {
        let addresses: BTreeSet<_> = ALL.iter().map(|r| format!("{:?} {}", r.method, r.path)).collect();
        let operations: BTreeSet<_> = ALL.iter().map(|r| r.operation).collect();
        assert_eq!((addresses.len(), operations.len()), (ALL.len(), ALL.len()));
        assert!(ALL.iter().all(|r| !r.verbs.is_empty()));
    }

    #[test]
    fn values_are_escaped_into_the_address() {
        assert_eq!(JOB_NEXT.at(&["夜/../间"]), "/api/v1/jobs/%E5%A4%9C%2F..%2F%E9%97%B4/next");
        assert_eq!(INSTANCE_SHOW.at(&["7"]), "/api/v1/instances/7");
        assert_eq!(JOB_LIST.at(&[]), "/api/v1/jobs");
    }
}
