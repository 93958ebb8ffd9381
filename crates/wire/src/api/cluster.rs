//! The servers of an installation and what each owns.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::time::{Length, Time};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClusterView {
    /// The server that answered.
    pub answered_by: Option<i64>,
    /// By the store's clock.
    pub now: Time,
    /// How long what a server owns stays its own without a renewal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Length>,
    pub servers: Vec<ServerView>,
    pub shards: Vec<OwnedView>,
    /// Tenants that only some servers may schedule.
    #[serde(default)]
    #[schema(required = true)]
    pub reserved: Vec<ReservedView>,
}

/// A tenant that only some servers may schedule, and whether one of them does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReservedView {
    pub tenant: String,
    /// Their names.
    pub servers: Vec<String>,
    /// How many shards it has for its own.
    pub shards: u32,
    pub state: ReservedStateWord,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReservedStateWord {
    Served,
    /// By a server that is drained or has weight 0: none that may have its shards is there to take them.
    Kept,
    /// None of them is there to do it: its jobs wait.
    Waiting,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerView {
    pub id: i64,
    pub name: String,
    pub state: ServerStateWord,
    /// Its share compared with the others'.
    pub weight: u32,
    /// Shards it owns.
    pub shards: u32,
    pub api: String,
    pub agents: String,
    pub version: String,
    pub started_at: Time,
    /// Up to when its leases are renewed.
    pub until: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServerStateWord {
    Alive,
    /// It takes nothing more and gives away what it has.
    Draining,
    /// It has not renewed its leases.
    Dead,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OwnedView {
    pub id: i64,
    /// None: nobody owns it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<i64>,
    pub term: i64,
    pub batch: i64,
    /// Every planned time up to here is decided.
    pub horizon: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightBody {
    /// 0 takes nothing.
    pub weight: u32,
}
