//! Whose output an agent may send, and how much of it is kept: only that of attempts ordered to it, and of each day what
//! its tenant may have. Looked up once per attempt, then remembered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{AgentId, AttemptId, TenantId};
use store::Reads;

use super::log_quota::LogQuota;
use crate::logs::{Allowed, Leave};

const REMEMBERED: u64 = 100_000;
const READ_WITHIN: Duration = Duration::from_secs(5);

/// Answers whether an attempt was ordered to an agent, and whether there is room for what it printed.
pub fn log_rights(reads: Arc<dyn Reads>, quota: Arc<LogQuota>) -> Allowed {
    let owners: moka::sync::Cache<AttemptId, (AgentId, TenantId)> = moka::sync::Cache::new(REMEMBERED);
    Arc::new(move |agent, attempt, bytes| {
        let owner = owners.get(&attempt).or_else(|| {
            let owner = owner_of(&*reads, attempt)?;
            owners.insert(attempt, owner);
            Some(owner)
        });
        match owner {
            Some((own, tenant)) if own == agent => quota.take(tenant, attempt, bytes),
            _ => Leave::Refused,
        }
    })
}

/// None also if the store cannot be read now: the agent sends it again.
fn owner_of(reads: &dyn Reads, attempt: AttemptId) -> Option<(AgentId, TenantId)> {
    let by = Instant::now() + READ_WITHIN;
    let id = reads.instance_of(attempt, by).ok()??;
    let instance = reads.instance(id, by).ok()??;
    let target = if instance.attempt == attempt {
        instance.target
    } else {
        let earlier = reads.attempts(id, by).ok()?;
        earlier.into_iter().find(|record| record.id == attempt)?.target
    };
    Some((target?, instance.tenant))
}
