//! Agents, pools, tenants and limits, which every shard keeps in memory: who has changed them raises their revision.

use engine::change::{Change, Commit};

pub(crate) fn changes_roster(commit: &Commit) -> bool {
    commit.changes.iter().any(is_of_roster)
}

fn is_of_roster(change: &Change) -> bool {
    match change {
        Change::AgentPut(_)
        | Change::AgentRemoved { .. }
        | Change::PoolPut(_)
        | Change::TenantPut(_)
        | Change::TenantRemoved { .. }
        | Change::GlobalLimit { .. } => true,
        Change::Created(_)
        | Change::Withdrawn { .. }
        | Change::Placed { .. }
        | Change::Progress(_)
        | Change::Retried(_)
        | Change::Ended(_)
        | Change::Reopened { .. }
        | Change::Stopping { .. }
        | Change::Gap(_)
        | Change::JobPut(_)
        | Change::JobMode { .. }
        | Change::JobRemoved { .. }
        | Change::JobCounted { .. }
        | Change::Quarantined { .. }
        | Change::Unquarantined { .. }
        | Change::Orphan { .. }
        | Change::Note(_)
        | Change::Released { .. }
        | Change::Told { .. }
        | Change::Took { .. }
        | Change::Follower { .. }
        | Change::Drawn(_)
        | Change::Returned(_)
        | Change::ResourcePut { .. } => false,
    }
}
