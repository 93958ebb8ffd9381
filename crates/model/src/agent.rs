//! A node that runs tasks for us.

use std::collections::BTreeMap;

use crate::{AgentId, TenantId, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRecord {
    pub id: AgentId,
    pub tenant: TenantId,
    pub name: String,
    pub pools: Vec<String>,
    pub labels: BTreeMap<String, String>,
    /// Tasks it runs at once; a server never has more orders open there.
    pub slots: u32,
    pub drained: bool,
    pub joined_at: Timestamp,
    pub seen_at: Option<Timestamp>,
    pub version: String,
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

/// Agents that run the same kind of work. Agents say which pools they are in; the pool itself only sets limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRecord {
    pub tenant: TenantId,
    pub name: String,
    /// Instances running in it at once.
    pub limit: Option<u32>,
}
