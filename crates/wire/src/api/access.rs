//! Set-up, sessions, tokens. A secret appears in the answer that makes it and never again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SharingBody;
use crate::time::{Length, Time};

/// Makes the first administrator, once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupBody {
    /// From the link the server printed.
    pub token: String,
    #[schema(max_length = 128)]
    pub admin: String,
    #[schema(min_length = 10, max_length = 1024)]
    pub password: String,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetupView {
    pub user: String,
    /// An API token for the command line. Shown only here.
    pub token: String,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionBody {
    #[schema(max_length = 128)]
    pub name: String,
    #[schema(max_length = 1024)]
    pub password: String,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    pub user: String,
    /// Works like an API token until it expires; browsers get it as a cookie too.
    pub token: String,
    pub expires_at: Time,
}

/// How somebody signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionWay {
    Password,
    /// By the identity provider.
    Provider,
}

/// A session as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionInfoView {
    pub id: String,
    /// The one this request was made with.
    pub current: bool,
    pub user: String,
    pub way: SessionWay,
    pub address: String,
    /// What the browser or program called itself.
    pub program: String,
    pub created_at: Time,
    /// To within a minute or so.
    pub last_used_at: Time,
    pub expires_at: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    /// What it is for.
    #[schema(max_length = 128)]
    pub name: String,
    /// Never, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<Length>,
    /// No more than these of its owner's permissions, such as `job.see`; all of them, if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub scope: Vec<String>,
    /// Only in the tenant of this request.
    #[serde(default)]
    pub only_here: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    pub id: i64,
    pub name: String,
    pub user: String,
    /// No more than these, if it says so.
    #[schema(required = true)]
    pub scope: Option<Vec<String>>,
    /// Only there, if it says so.
    #[schema(required = true)]
    pub tenant: Option<String>,
    pub created_at: Time,
    /// To within a minute or so.
    #[schema(required = true)]
    pub last_used_at: Option<Time>,
    #[schema(required = true)]
    pub expires_at: Option<Time>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenCreatedView {
    pub id: i64,
    pub name: String,
    /// Shown only here; the server keeps a hash of it.
    pub token: String,
    #[schema(required = true)]
    pub expires_at: Option<Time>,
}

/// A token with which one agent joins, once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinTokenBody {
    /// Pools the agent may be in; any, if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub pools: Vec<String>,
    /// Labels the agent gets beside its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// 1h if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<Length>,
    /// Other tenants whose runs the agent takes too.
    #[serde(default, skip_serializing_if = "SharingBody::is_plain")]
    pub sharing: SharingBody,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JoinTokenView {
    pub token: String,
    pub expires_at: Time,
    /// Where agents dial the servers, for `--server`.
    #[serde(default)]
    pub servers: Vec<String>,
}

/// A token that XXL-JOB executors show, and are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct XxlTokenBody {
    /// Only for executors of this application; for all of the tenant if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct XxlTokenView {
    pub id: i64,
    #[schema(required = true)]
    pub pool: Option<String>,
    pub created_at: Time,
    pub created_by: String,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct XxlTokenCreatedView {
    pub id: i64,
    #[schema(required = true)]
    pub pool: Option<String>,
    /// What goes into `xxl.job.accessToken` of the executors.
    pub token: String,
}

// Secrets are not printed by accident.
macro_rules! debug_without_secrets {
    ($($name:ident { $($shown:ident),* })*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($shown), &self.$shown))*.finish_non_exhaustive()
            }
        }
    )*};
}

debug_without_secrets! {
    SetupBody { admin }
    SetupView { user }
    SessionBody { name }
    SessionView { user, expires_at }
    TokenCreatedView { id, name, expires_at }
    JoinTokenView { expires_at, servers }
    XxlTokenCreatedView { id, pool }
}
