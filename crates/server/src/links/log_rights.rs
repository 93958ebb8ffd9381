//! Whose output an agent may send: only that of attempts ordered to it. Looked up once per attempt, then remembered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{AgentId, AttemptId};
use store::Reads;

const REMEMBERED: u64 = 100_000;
const READ_WITHIN: Duration = Duration::from_secs(5);

/// Answers whether an attempt was ordered to an agent.
pub fn log_rights(reads: Arc<dyn Reads>) -> Arc<dyn Fn(AgentId, AttemptId) -> bool + Send + Sync> {
    let owners: moka::sync::Cache<AttemptId, AgentId> = moka::sync::Cache::new(REMEMBERED);
    Arc::new(move |agent, attempt| {
        let owner = owners.get(&attempt).or_else(|| {
            let owner = owner_of(&*reads, attempt)?;
            owners.insert(attempt, owner);
            Some(owner)
        });
        owner == Some(agent)
    })
}

/// None also if the store cannot be read now: the agent sends it again.
fn owner_of(reads: &dyn Reads, attempt: AttemptId) -> Option<AgentId> {
    let by = Instant::now() + READ_WITHIN;
    let id = reads.instance_of(attempt, by).ok()??;
    let instance = reads.instance(id, by).ok()??;
    if instance.attempt == attempt {
        return instance.target;
    }
    let earlier = reads.attempts(id, by).ok()?;
    earlier.into_iter().find(|record| record.id == attempt)?.target
}
