//! Tenants: who owns what, how much each may have, and how one goes.

use model::{Quotas, Serves, TenantRecord, TenantState};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::time::Time;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantView {
    pub id: i64,
    pub name: String,
    /// Its share beside the others' when there is not enough for all.
    pub weight: u32,
    pub quotas: QuotasBody,
    /// Whether its HTTP tasks and executors may be at private addresses.
    pub private_network: bool,
    pub state: TenantStateWord,
    pub created_at: Time,
    pub created_by: String,
    /// The servers that may schedule it, by their names; none: any.
    #[serde(default)]
    #[schema(required = true)]
    pub servers: Vec<String>,
    /// The shards that its jobs are in and no other tenant's are; none: they are where everyone's are.
    #[serde(default)]
    #[schema(required = true)]
    pub own_shards: Vec<i64>,
    #[schema(required = true)]
    pub exported_at: Option<Time>,
    /// What it has of what its quotas bound; in a list it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TenantUsageView>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TenantStateWord {
    Active,
    /// It is being deleted: nothing of it starts.
    Closing,
}

/// How much a tenant may have; null for no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotasBody {
    #[serde(default)]
    pub jobs: Option<u32>,
    /// Instances running at once.
    #[serde(default)]
    pub running: Option<u32>,
    /// Starts in a second, evenly spread.
    #[serde(default)]
    pub per_second: Option<u32>,
    /// Bytes of what its tasks print that are kept of each day, by each server's own count.
    #[serde(default)]
    pub log_bytes_per_day: Option<u64>,
    /// Days for which what has ended is kept, if that is less than the installation keeps it.
    #[serde(default)]
    pub history_days: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantUsageView {
    pub jobs: u64,
    /// Instances known to run for a moment already.
    pub running: u64,
    /// Instances that have not ended.
    pub open: u64,
    pub agents: u32,
    pub pools: u32,
    /// Bytes of logs that the server that answers has kept of today, since it started.
    #[serde(default)]
    pub log_bytes_today: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantBody {
    pub name: String,
    #[serde(default)]
    pub weight: Option<u32>,
    #[serde(default)]
    pub quotas: QuotasBody,
    #[serde(default)]
    pub private_network: bool,
    /// The servers that may schedule it, by their names; none: any.
    #[serde(default)]
    pub servers: Vec<String>,
}

/// A tenant as it shall be; what is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantChangeBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// All of them together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotas: Option<QuotasBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_network: Option<bool>,
    /// The servers that may schedule it, all of them; none named: any. A tenant that was made without has no jobs yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TenantDeleteQuery {
    /// The word the first call answered with; without it nothing is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<String>,
    /// Stop what runs instead of waiting for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<bool>,
}

/// What goes with a tenant: after the first call nothing has happened yet, after the second it is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantDeletionView {
    pub name: String,
    pub state: TenantStateWord,
    pub jobs: u64,
    pub pools: u32,
    pub agents: u32,
    /// Instances that have not ended; they are waited for, or stopped if that was asked for.
    pub open: u64,
    /// Say this to delete it all; once, and not after `confirm_by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_by: Option<Time>,
}

/// Which tenants may use an agent besides its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SharingBody {
    #[serde(default)]
    pub everyone: bool,
    /// Their names.
    #[serde(default)]
    pub tenants: Vec<String>,
}

impl From<&TenantRecord> for TenantView {
    fn from(of: &TenantRecord) -> TenantView {
        TenantView {
            id: of.id.0,
            name: of.name.clone(),
            weight: of.weight,
            quotas: of.quotas.into(),
            private_network: of.private_network,
            state: of.state.into(),
            created_at: of.created_at.into(),
            created_by: of.created_by.0.clone(),
            servers: of.servers.clone(),
            own_shards: of.own.iter().map(|shard| shard.0).collect(),
            exported_at: of.exported.as_ref().map(|exported| exported.at.into()),
            usage: None,
        }
    }
}

impl From<TenantState> for TenantStateWord {
    fn from(state: TenantState) -> TenantStateWord {
        match state {
            TenantState::Active => TenantStateWord::Active,
            TenantState::Closing => TenantStateWord::Closing,
        }
    }
}

impl std::fmt::Display for TenantStateWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            TenantStateWord::Active => "active",
            TenantStateWord::Closing => "closing",
        })
    }
}

impl From<Quotas> for QuotasBody {
    fn from(Quotas { jobs, running, per_second, log_bytes, history_days }: Quotas) -> QuotasBody {
        QuotasBody { jobs, running, per_second, log_bytes_per_day: log_bytes, history_days }
    }
}

impl From<QuotasBody> for Quotas {
    fn from(QuotasBody { jobs, running, per_second, log_bytes_per_day, history_days }: QuotasBody) -> Quotas {
        Quotas { jobs, running, per_second, log_bytes: log_bytes_per_day, history_days }
    }
}

impl SharingBody {
    pub fn is_plain(&self) -> bool {
        !self.everyone && self.tenants.is_empty()
    }

    /// As an agent's record says it, with names made numbers; the first name nobody has is given back.
    pub fn serves(&self, id: impl Fn(&str) -> Option<model::TenantId>) -> Result<Serves, String> {
        if self.everyone {
            return Ok(Serves::Everyone);
        }
        let ids = self.tenants.iter().map(|name| id(name).ok_or_else(|| name.clone()));
        let ids = ids.collect::<Result<Vec<_>, String>>()?;
        Ok(if ids.is_empty() { Serves::Own } else { Serves::Named(ids) })
    }
}
