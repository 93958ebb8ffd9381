//! Instances that may start and wait for an agent: one line per pool, labels and pin. Within a line the order is
//! priority with ageing: a step of priority is worth a fixed time of waiting, so the key never changes.

use std::collections::{BTreeMap, BTreeSet};

use model::{AgentId, InstanceId, PoolRecord, PoolRef, Route, Span, TenantId, Timestamp};
use rustc_hash::FxHashMap;

use crate::agents::Agent;

/// One step of priority outweighs this much waiting.
pub const AGEING: Span = Span::secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueId(pub u32);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    tenant: TenantId,
    pool: String,
    labels: BTreeMap<String, String>,
    named: Option<String>,
    pinned: Option<AgentId>,
}

#[derive(Debug)]
pub(crate) struct Queue {
    key: Key,
    /// Agents that may take from it, connected or not, by id.
    pub members: Vec<AgentId>,
    ready: BTreeSet<(i64, InstanceId)>,
    pub pool: usize,
}

#[derive(Debug)]
pub(crate) struct Pool {
    pub name: String,
    pub limit: Option<u32>,
    pub running: u32,
}

#[derive(Debug)]
pub(crate) struct Queues {
    queues: Vec<Queue>,
    by_key: BTreeMap<Key, QueueId>,
    pools: Vec<Pool>,
    pool_by_name: FxHashMap<(TenantId, String), usize>,
    pub global_limit: Option<u32>,
    pub running: u32,
}

impl Queues {
    pub(crate) fn new(pools: Vec<PoolRecord>, global_limit: Option<u32>) -> Self {
        let mut queues = Queues {
            queues: Vec::new(),
            by_key: BTreeMap::new(),
            pools: Vec::new(),
            pool_by_name: FxHashMap::default(),
            global_limit,
            running: 0,
        };
        for pool in pools {
            queues.set_limit(pool.tenant, &pool.name, pool.limit);
        }
        queues
    }

    pub(crate) fn intern(&mut self, tenant: TenantId, pool: &PoolRef, agents: &BTreeMap<AgentId, Agent>) -> QueueId {
        let named = match &pool.route {
            Route::Fixed(name) => Some(name.clone()),
            Route::First | Route::Last | Route::Round | Route::Random | Route::LeastLoaded | Route::Broadcast => None,
        };
        self.find_or_make(
            Key { tenant, pool: pool.name.clone(), labels: pool.labels.clone(), named, pinned: None },
            agents,
        )
    }

    pub(crate) fn intern_pinned(
        &mut self,
        tenant: TenantId,
        pool: &PoolRef,
        agent: AgentId,
        agents: &BTreeMap<AgentId, Agent>,
    ) -> QueueId {
        let key =
            Key { tenant, pool: pool.name.clone(), labels: pool.labels.clone(), named: None, pinned: Some(agent) };
        self.find_or_make(key, agents)
    }

    fn find_or_make(&mut self, key: Key, agents: &BTreeMap<AgentId, Agent>) -> QueueId {
        if let Some(id) = self.by_key.get(&key) {
            return *id;
        }
        let id = QueueId(self.queues.len() as u32);
        let pool = self.pool(key.tenant, &key.pool);
        let members = members(&key, agents);
        self.queues.push(Queue { key: key.clone(), members, ready: BTreeSet::new(), pool });
        self.by_key.insert(key, id);
        id
    }

    fn pool(&mut self, tenant: TenantId, name: &str) -> usize {
        let pools = &mut self.pools;
        *self.pool_by_name.entry((tenant, name.to_string())).or_insert_with(|| {
            pools.push(Pool { name: name.to_string(), limit: None, running: 0 });
            pools.len() - 1
        })
    }

    pub(crate) fn set_limit(&mut self, tenant: TenantId, name: &str, limit: Option<u32>) {
        let pool = self.pool(tenant, name);
        self.pools[pool].limit = limit;
    }

    /// Agents came, went or changed what they are.
    pub(crate) fn regroup(&mut self, agents: &BTreeMap<AgentId, Agent>) {
        for queue in &mut self.queues {
            queue.members = members(&queue.key, agents);
        }
    }

    pub(crate) fn get(&self, id: QueueId) -> &Queue {
        &self.queues[id.0 as usize]
    }

    pub(crate) fn pool_of(&self, id: QueueId) -> &Pool {
        &self.pools[self.get(id).pool]
    }

    pub(crate) fn labels(&self, id: QueueId) -> &BTreeMap<String, String> {
        &self.get(id).key.labels
    }

    pub(crate) fn named(&self, id: QueueId) -> Option<&str> {
        self.get(id).key.named.as_deref()
    }

    /// Queues that have somebody waiting.
    pub(crate) fn with_waiting(&self) -> Vec<QueueId> {
        (0..self.queues.len() as u32).map(QueueId).filter(|id| !self.get(*id).ready.is_empty()).collect()
    }

    pub(crate) fn push(&mut self, id: QueueId, priority: i32, since: Timestamp, instance: InstanceId) {
        self.queues[id.0 as usize].ready.insert((key(priority, since), instance));
    }

    pub(crate) fn remove(&mut self, id: QueueId, priority: i32, since: Timestamp, instance: InstanceId) {
        self.queues[id.0 as usize].ready.remove(&(key(priority, since), instance));
    }

    /// The first few in line, best first.
    pub(crate) fn front(&self, id: QueueId, most: usize) -> Vec<InstanceId> {
        self.get(id).ready.iter().take(most).map(|(_, instance)| *instance).collect()
    }

    pub(crate) fn is_empty(&self, id: QueueId) -> bool {
        self.get(id).ready.is_empty()
    }

    pub(crate) fn occupy(&mut self, id: QueueId) {
        let pool = self.get(id).pool;
        self.pools[pool].running += 1;
        self.running += 1;
    }

    pub(crate) fn release(&mut self, id: QueueId) {
        let pool = self.get(id).pool;
        self.pools[pool].running -= 1;
        self.running -= 1;
    }

    /// Whether pool and installation leave room for one more.
    pub(crate) fn has_room(&self, id: QueueId) -> bool {
        let pool = self.pool_of(id);
        pool.limit.is_none_or(|max| pool.running < max) && self.global_limit.is_none_or(|max| self.running < max)
    }

    /// A place freed in this queue's pool may help others than this queue.
    pub(crate) fn limits_bind(&self, id: QueueId) -> bool {
        self.pool_of(id).limit.is_some() || self.global_limit.is_some()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queues.iter().map(|queue| queue.ready.len()).sum()
    }

    pub(crate) fn running(&self) -> usize {
        self.running as usize
    }
}

fn key(priority: i32, since: Timestamp) -> i64 {
    since.0.saturating_sub(AGEING.0.saturating_mul(i64::from(priority)))
}

fn members(key: &Key, agents: &BTreeMap<AgentId, Agent>) -> Vec<AgentId> {
    agents
        .values()
        .filter(|agent| {
            let record = &agent.record;
            let pinned = key.pinned.is_none_or(|pin| pin == record.id);
            let named = key.named.as_ref().is_none_or(|name| *name == record.name);
            let labels = key.labels.iter().all(|(k, v)| record.labels.get(k) == Some(v));
            record.tenant == key.tenant && record.pools.contains(&key.pool) && labels && pinned && named
        })
        .map(|agent| agent.record.id)
        .collect()
}
