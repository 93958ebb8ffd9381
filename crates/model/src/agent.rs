//! A node that runs tasks for us: an agent of ours, or an application that is called.

use std::collections::BTreeMap;

use crate::{AgentId, TaskSorts, TenantId, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRecord {
    pub id: AgentId,
    pub tenant: TenantId,
    /// Whose runs it takes, besides its own tenant's.
    pub serves: Serves,
    pub name: String,
    pub pools: Vec<String>,
    pub labels: BTreeMap<String, String>,
    /// Tasks it runs at once; a server never has more orders open there.
    pub slots: u32,
    pub drained: bool,
    pub joined_at: Timestamp,
    pub seen_at: Option<Timestamp>,
    pub version: String,
    /// What its own policy lets it run, as it said when it last connected.
    pub runs: TaskSorts,
    pub kind: AgentKind,
}

impl AgentRecord {
    pub fn serves(&self, tenant: TenantId) -> bool {
        self.tenant == tenant
            || match &self.serves {
                Serves::Own => false,
                Serves::Everyone => true,
                Serves::Named(tenants) => tenants.contains(&tenant),
            }
    }
}

/// Which tenants share an agent with the one it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Serves {
    #[default]
    Own,
    Everyone,
    Named(Vec<TenantId>),
}

/// What stands behind a name that work is sent to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentKind {
    /// Ours: it dials in, keeps fences, and may say what it does not have.
    #[default]
    Agent,
    /// An application that we call. It knows no fence: what it does not answer stays uncertain.
    Executor(Executor),
}

impl AgentKind {
    pub fn is_executor(self) -> bool {
        match self {
            AgentKind::Agent => false,
            AgentKind::Executor(_) => true,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executor {
    /// Its place in the list a person wrote for its pool; none if it registered by itself.
    pub listed: Option<u32>,
    /// It was there when last heard of. A server that starts takes it for there until that turns out wrong.
    pub present: bool,
    /// It was seen to say busy while it was, so that its word for idle is worth something.
    pub tells_busy: bool,
    /// It was seen to have the log of a run, so that having none means something.
    pub keeps_logs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    Online,
    /// Known, but not connected.
    Silent,
}

/// What a heartbeat says of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    pub cpu_percent: f32,
    pub memory_percent: f32,
    pub disk_percent: f32,
    pub running: u32,
}

/// Agents that run the same kind of work. Agents say which pools they are in; the pool itself sets limits, and lists
/// executors that do not say it themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRecord {
    pub tenant: TenantId,
    pub name: String,
    /// Instances running in it at once.
    pub limit: Option<u32>,
    /// Executors a person listed, in this order; empty if they register by themselves.
    pub addresses: Vec<String>,
}
