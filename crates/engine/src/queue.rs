//! Instances that may start and wait for an agent. All in one line wait for the same thing, so when the first cannot
//! go nobody behind it can: a job with a condition of its own has a line of its own. The order is priority with ageing:
//! a step of priority is worth a fixed time of waiting, so the key never changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use model::{
    AgentId, AgentKind, InstanceId, JobId, PoolRecord, Route, Rule, Span, Targets, TaskSort, TenantId, Timestamp,
};
use rustc_hash::FxHashMap;

use crate::agents::Agent;
use crate::route::Ring;
use crate::slices::Bound;
use crate::turns::{Rank, Turns};

/// One step of priority outweighs this much waiting.
pub const AGEING: Span = Span::secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueId(pub u32);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    tenant: TenantId,
    pool: String,
    labels: BTreeMap<String, String>,
    of: Targets,
    /// What its members must be allowed to run.
    runs: Option<TaskSort>,
    named: Option<String>,
    pinned: Option<AgentId>,
    /// Set for a job that may have to wait while others of its pool need not.
    own: Option<JobId>,
    /// Agents that refused what waits here, in order.
    shunned: Vec<AgentId>,
}

#[derive(Debug)]
pub(crate) struct Queue {
    key: Key,
    /// Agents that may take from it, connected or not: agents by id, executors by address or as a person listed them.
    pub members: Vec<AgentId>,
    /// The same on a ring, once a route asks for it.
    ring: OnceLock<Ring>,
    ready: BTreeSet<(i64, InstanceId)>,
    pub pool: usize,
}

#[derive(Debug)]
pub(crate) struct Pool {
    tenant: TenantId,
    pub name: String,
    pub bound: Bound,
    pub running: u32,
}

#[derive(Debug)]
pub(crate) struct Queues {
    queues: Vec<Queue>,
    by_key: BTreeMap<Key, QueueId>,
    pools: Vec<Pool>,
    pool_by_name: FxHashMap<(TenantId, String), usize>,
    /// Of the installation.
    pub global: Bound,
    pub running: u32,
    /// Other shards share the limits: what is not lent may not be used.
    pub lends: bool,
    /// Between tenants.
    pub turns: Turns,
    /// Lines that are not empty.
    busy: BTreeSet<QueueId>,
    waiting: usize,
}

impl Queues {
    pub(crate) fn new(pools: Vec<PoolRecord>, turns: Turns, global_limit: Option<u32>, lends: bool) -> Self {
        let mut queues = Queues {
            queues: Vec::new(),
            by_key: BTreeMap::new(),
            pools: Vec::new(),
            pool_by_name: FxHashMap::default(),
            global: Bound::of(global_limit),
            running: 0,
            lends,
            turns,
            busy: BTreeSet::new(),
            waiting: 0,
        };
        for pool in pools {
            queues.set_limit(pool.tenant, &pool.name, pool.limit);
        }
        queues
    }

    /// The line for instances of this job under this rule; `pinned` for a shard of a broadcast.
    pub(crate) fn intern(
        &mut self,
        tenant: TenantId,
        job: JobId,
        rule: &Rule,
        pinned: Option<AgentId>,
        agents: &BTreeMap<AgentId, Agent>,
    ) -> QueueId {
        let (named, spreads) = match &rule.pool.route {
            Route::Fixed(name) => (Some(name.clone()), false),
            Route::Broadcast => (None, pinned.is_none()),
            Route::First
            | Route::Last
            | Route::Round
            | Route::Random
            | Route::LeastLoaded
            | Route::ConsistentHash
            | Route::LeastFrequent
            | Route::LeastRecent
            | Route::Failover
            | Route::BusyOver => (None, false),
        };
        let own = (spreads || rule.limits.per_agent.is_some()).then_some(job);
        let (pool, labels) = (rule.pool.name.clone(), rule.pool.labels.clone());
        let (of, runs) = (rule.pool.of, rule.pool.runs);
        self.find_or_make(Key { tenant, pool, labels, of, runs, named, pinned, own, shunned: Vec::new() }, agents)
    }

    /// The same line without this agent, which refused what waits there.
    pub(crate) fn without(&mut self, id: QueueId, agent: AgentId, agents: &BTreeMap<AgentId, Agent>) -> QueueId {
        let mut key = self.get(id).key.clone();
        if let Err(at) = key.shunned.binary_search(&agent) {
            key.shunned.insert(at, agent);
        }
        self.find_or_make(key, agents)
    }

    fn find_or_make(&mut self, key: Key, agents: &BTreeMap<AgentId, Agent>) -> QueueId {
        if let Some(id) = self.by_key.get(&key) {
            return *id;
        }
        let id = QueueId(self.queues.len() as u32);
        let pool = self.pool(key.tenant, &key.pool);
        let members = members(&key, agents);
        self.queues.push(Queue { key: key.clone(), members, ring: OnceLock::new(), ready: BTreeSet::new(), pool });
        self.by_key.insert(key, id);
        id
    }

    fn pool(&mut self, tenant: TenantId, name: &str) -> usize {
        let pools = &mut self.pools;
        *self.pool_by_name.entry((tenant, name.to_string())).or_insert_with(|| {
            pools.push(Pool { tenant, name: name.to_string(), bound: Bound::default(), running: 0 });
            pools.len() - 1
        })
    }

    pub(crate) fn set_limit(&mut self, tenant: TenantId, name: &str, limit: Option<u32>) {
        let pool = self.pool(tenant, name);
        self.pools[pool].bound.limit = limit;
    }

    /// The limits of all pools; one that is not named has none.
    pub(crate) fn set_limits(&mut self, pools: &[PoolRecord]) {
        for pool in &mut self.pools {
            pool.bound.limit = None;
        }
        for pool in pools {
            self.set_limit(pool.tenant, &pool.name, pool.limit);
        }
    }

    pub(crate) fn bound_of(&mut self, tenant: TenantId, name: &str) -> &mut Bound {
        let pool = self.pool(tenant, name);
        &mut self.pools[pool].bound
    }

    pub(crate) fn bounds_mut(&mut self) -> impl Iterator<Item = &mut Bound> {
        self.pools.iter_mut().map(|pool| &mut pool.bound)
    }

    /// Each with what it runs.
    pub(crate) fn pools(&self) -> impl Iterator<Item = (TenantId, &str, &Bound, u32)> {
        self.pools.iter().map(|pool| (pool.tenant, pool.name.as_str(), &pool.bound, pool.running))
    }

    /// Agents came, went or changed what they are.
    pub(crate) fn regroup(&mut self, agents: &BTreeMap<AgentId, Agent>) {
        for queue in &mut self.queues {
            queue.members = members(&queue.key, agents);
            queue.ring = OnceLock::new();
        }
    }

    pub(crate) fn get(&self, id: QueueId) -> &Queue {
        &self.queues[id.0 as usize]
    }

    pub(crate) fn ring(&self, id: QueueId, agents: &BTreeMap<AgentId, Agent>) -> &Ring {
        let queue = self.get(id);
        let named = |id: &AgentId| (*id, agents[id].record.name.as_str());
        queue.ring.get_or_init(|| Ring::of(queue.members.iter().map(named)))
    }

    pub(crate) fn pool_of(&self, id: QueueId) -> &Pool {
        &self.pools[self.get(id).pool]
    }

    pub(crate) fn tenant(&self, id: QueueId) -> TenantId {
        self.get(id).key.tenant
    }

    /// Of a tenant that has so much of what is scarce; all it runs if nothing is told.
    pub(crate) fn rank(&self, tenant: TenantId, has: Option<u32>) -> Rank {
        self.turns.rank(tenant, has.unwrap_or_else(|| self.turns.running(tenant)))
    }

    pub(crate) fn labels(&self, id: QueueId) -> &BTreeMap<String, String> {
        &self.get(id).key.labels
    }

    /// Who would be in the line if no policy kept them from running what waits there.
    pub(crate) fn kept_out(&self, id: QueueId, agents: &BTreeMap<AgentId, Agent>) -> Option<(TaskSort, Vec<AgentId>)> {
        let key = &self.get(id).key;
        let runs = key.runs?;
        let open = Key { runs: None, ..key.clone() };
        Some((runs, members(&open, agents)))
    }

    pub(crate) fn named(&self, id: QueueId) -> Option<&str> {
        self.get(id).key.named.as_deref()
    }

    /// Lines that have somebody waiting.
    pub(crate) fn with_waiting(&self) -> impl Iterator<Item = QueueId> {
        self.busy.iter().copied()
    }

    pub(crate) fn push(&mut self, id: QueueId, priority: i32, since: Timestamp, instance: InstanceId) {
        let added = self.queues[id.0 as usize].ready.insert((key(priority, since), instance));
        self.waiting += usize::from(added);
        self.busy.insert(id);
    }

    pub(crate) fn remove(&mut self, id: QueueId, priority: i32, since: Timestamp, instance: InstanceId) {
        let line = &mut self.queues[id.0 as usize].ready;
        let removed = line.remove(&(key(priority, since), instance));
        if line.is_empty() {
            self.busy.remove(&id);
        }
        self.waiting -= usize::from(removed);
    }

    /// The first in line, with what it is compared by.
    pub(crate) fn head(&self, id: QueueId) -> Option<(i64, InstanceId)> {
        self.get(id).ready.first().copied()
    }

    pub(crate) fn len(&self, id: QueueId) -> usize {
        self.get(id).ready.len()
    }

    pub(crate) fn is_empty(&self, id: QueueId) -> bool {
        self.get(id).ready.is_empty()
    }

    /// It starts now, and its tenant has had a turn.
    pub(crate) fn start(&mut self, id: QueueId, now: Timestamp) {
        self.count(id);
        self.turns.start(self.tenant(id), now);
    }

    /// It runs already, as a load found it.
    pub(crate) fn occupy(&mut self, id: QueueId) {
        self.count(id);
        self.turns.occupy(self.tenant(id));
    }

    fn count(&mut self, id: QueueId) {
        let pool = self.get(id).pool;
        self.pools[pool].running += 1;
        self.running += 1;
    }

    pub(crate) fn release(&mut self, id: QueueId) {
        let pool = self.get(id).pool;
        self.pools[pool].running -= 1;
        self.running -= 1;
        self.turns.release(self.tenant(id));
    }

    /// Whether pool, tenant and installation leave room for one more.
    pub(crate) fn has_room(&self, id: QueueId, now: Timestamp) -> bool {
        let pool = self.pool_of(id);
        self.turns.has_room(self.tenant(id), self.lends, now)
            && pool.bound.has_room(pool.running, self.lends)
            && self.global.has_room(self.running, self.lends)
    }

    /// A place freed in this queue's pool may help others than this queue.
    pub(crate) fn limits_bind(&self, id: QueueId) -> bool {
        self.pool_of(id).bound.binds() || self.global.binds() || self.turns.is_bound(self.tenant(id))
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Everyone in every line.
    pub(crate) fn everyone(&self) -> impl Iterator<Item = (QueueId, InstanceId)> {
        let lines = self.queues.iter().enumerate();
        lines.flat_map(|(at, line)| line.ready.iter().map(move |(_, instance)| (QueueId(at as u32), *instance)))
    }

    pub(crate) fn pools_running(&self) -> impl Iterator<Item = (usize, u32)> {
        self.pools.iter().enumerate().map(|(at, pool)| (at, pool.running))
    }

    pub(crate) fn running(&self) -> usize {
        self.running as usize
    }
}

fn key(priority: i32, since: Timestamp) -> i64 {
    since.0.saturating_sub(AGEING.0.saturating_mul(i64::from(priority)))
}

fn members(key: &Key, agents: &BTreeMap<AgentId, Agent>) -> Vec<AgentId> {
    let belongs = |agent: &&Agent| {
        let record = &agent.record;
        let sort = match record.kind {
            AgentKind::Agent => Targets::Agents,
            AgentKind::Executor(_) => Targets::Executors,
        };
        let labels = key.labels.iter().all(|(k, v)| record.labels.get(k) == Some(v));
        let may = key.runs.is_none_or(|sort| record.runs.has(sort)) && !key.shunned.contains(&record.id);
        record.serves(key.tenant) && record.pools.contains(&key.pool) && labels && sort == key.of && may
    };
    let mut all: Vec<&Agent> = agents.values().filter(belongs).collect();
    // A list somebody wrote is the whole pool, in its order.
    if all.iter().any(|agent| place_in_list(agent).is_some()) {
        all.retain(|agent| place_in_list(agent).is_some());
    }
    if key.of == Targets::Executors {
        all.sort_by(|a, b| (place_in_list(a), &a.record.name).cmp(&(place_in_list(b), &b.record.name)));
    }
    let chosen = all.into_iter().map(|agent| &agent.record).filter(|record| {
        key.pinned.is_none_or(|pin| pin == record.id) && key.named.as_ref().is_none_or(|name| *name == record.name)
    });
    chosen.map(|record| record.id).collect()
}

fn place_in_list(agent: &Agent) -> Option<u32> {
    match agent.record.kind {
        AgentKind::Agent => None,
        AgentKind::Executor(executor) => executor.listed,
    }
}
