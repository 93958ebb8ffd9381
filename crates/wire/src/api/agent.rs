//! Agents and pools as they are shown and set.

use std::collections::BTreeMap;

use model::{AgentKind, AgentRecord, AgentState, Load};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SharingBody;
use crate::time::Time;

crate::job::words! {
    AgentStateWord for AgentState {
        Online = AgentState::Online,
        /// Known, but not connected.
        Silent = AgentState::Silent,
    }
}

/// What takes the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKindWord {
    /// One of ours: it dials in.
    #[default]
    Agent,
    /// An application that is called at the address that is its name.
    Executor,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    pub id: i64,
    // Servers from before there were executors do not say it.
    #[serde(default)]
    #[schema(required = true)]
    pub kind: AgentKindWord,
    pub name: String,
    pub state: AgentStateWord,
    /// Takes no new work.
    pub drained: bool,
    pub pools: Vec<String>,
    pub labels: BTreeMap<String, String>,
    pub slots: u32,
    pub version: String,
    pub joined_at: Time,
    #[schema(required = true)]
    pub seen_at: Option<Time>,
    /// From its last heartbeat, while it is online.
    #[schema(required = true)]
    pub load: Option<LoadView>,
    /// What its machine lets tasks do, as it said when it connected; absent for executors and while that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<AgentPolicy>,
    /// Which tenants use it besides its own; told only in its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<SharingBody>,
}

/// What an agent's own policy lets tasks do. Kept by the agent; shown here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentPolicy {
    /// Where the agent read it, on its machine; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Kinds of task it runs, by their keys in a job file.
    #[serde(default)]
    pub tasks: Vec<String>,
    /// As whom tasks run; its own user if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
    /// The agent itself runs as root, and so does every task for which nobody else is named.
    #[serde(default)]
    pub as_root: bool,
    /// Whom a job may name besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub run_as_in_pools: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub run_as_of_tenants: BTreeMap<String, String>,
    /// Where tasks may start; anywhere if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories: Option<Vec<String>>,
    /// Where programs of commands may be; anywhere if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<String>>,
    /// Variables of the agent that may be passed on; any harmless one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_pass: Option<Vec<String>>,
    /// Variables a job may set; any harmless one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_set: Option<Vec<String>>,
    /// HTTP tasks may call private networks, if their tenant may.
    #[serde(default)]
    pub private_networks: bool,
}

impl AgentPolicy {
    /// As a tenant is told that only shares the agent: nothing of other tenants.
    pub fn told_to(mut self, tenant: &str) -> AgentPolicy {
        self.run_as_of_tenants.retain(|name, _| name == tenant);
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LoadView {
    pub cpu_percent: f32,
    pub memory_percent: f32,
    pub disk_percent: f32,
    pub running: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PoolView {
    pub name: String,
    /// Instances running in it at once; null for no bound.
    #[schema(required = true)]
    pub limit: Option<u32>,
    pub agents: u32,
    pub online: u32,
    /// Slots of the agents that are online.
    pub slots: u32,
    /// Executors that a person listed; empty if they register by themselves.
    #[serde(default)]
    #[schema(required = true)]
    pub addresses: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolBody {
    /// Instances running in it at once; null for no bound.
    pub limit: Option<u32>,
    /// The pool's executors, in this order, instead of those that register by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

/// Instances running at once in the whole installation; null for no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitBody {
    // Left out is a mistake here and not "no bound".
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true)]
    pub limit: Option<u32>,
}

impl AgentView {
    /// An executor has no load to tell of, only whether it is there.
    pub fn executor(of: &AgentRecord, is_there: bool) -> AgentView {
        let state = if is_there { AgentStateWord::Online } else { AgentStateWord::Silent };
        AgentView { state, ..AgentView::new(of, None) }
    }

    /// `load` is there exactly while the agent is online.
    pub fn new(of: &AgentRecord, load: Option<Load>) -> AgentView {
        AgentView {
            id: of.id.0,
            kind: match of.kind {
                AgentKind::Agent => AgentKindWord::Agent,
                AgentKind::Executor(_) => AgentKindWord::Executor,
            },
            name: of.name.clone(),
            state: if load.is_some() { AgentStateWord::Online } else { AgentStateWord::Silent },
            drained: of.drained,
            pools: of.pools.clone(),
            labels: of.labels.clone(),
            slots: of.slots,
            version: of.version.clone(),
            joined_at: of.joined_at.into(),
            seen_at: of.seen_at.map(Time::from),
            load: load.map(LoadView::from),
            policy: None,
            sharing: None,
        }
    }
}

impl From<Load> for LoadView {
    fn from(load: Load) -> LoadView {
        LoadView {
            cpu_percent: load.cpu_percent,
            memory_percent: load.memory_percent,
            disk_percent: load.disk_percent,
            running: load.running,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_shares_an_agent_learns_nothing_of_other_tenants() {
        let users = [("acme", "acme-user"), ("globex", "globex-user")];
        let policy = AgentPolicy {
            run_as_of_tenants: users.map(|(tenant, user)| (tenant.into(), user.into())).into(),
            run_as: Some("batch".into()),
            ..AgentPolicy::default()
        };
        let told = policy.clone().told_to("acme");
        assert_eq!(told.run_as_of_tenants.keys().collect::<Vec<_>>(), ["acme"]);
        assert_eq!(told.run_as, policy.run_as);
        assert!(policy.told_to("west").run_as_of_tenants.is_empty());
    }
}
