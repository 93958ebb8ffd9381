//! Turns what the store has into what the engine starts from. A job whose content cannot be read is held, not fatal.

use std::sync::Arc;

use engine::{Compiled, HeldJob, Loaded, LoadedJob};
use model::{ContentId, Part, Route, Rule, State, VersionId};
use rustc_hash::FxHashMap;
use store::{Ownership, Stored};

pub(crate) fn decode(ownership: Ownership, stored: Stored, ids: std::ops::Range<i64>, shard: model::ShardId) -> Loaded {
    let mut held = stored.held;
    for (job, error) in stored.unreadable {
        tracing::error!(job = ?job, %error, "a stored row cannot be read");
        held.extend(job.map(|job| HeldJob { job, error, since: None }));
    }
    let mut rules = Rules { contents: stored.contents.into_iter().collect(), compiled: FxHashMap::default() };
    let mut jobs = Vec::with_capacity(stored.jobs.len());
    for job in stored.jobs {
        let rule = rules.get(job.rule).unwrap_or_else(|error| {
            tracing::error!(job = %job.name, %error, "a job's rule cannot be read; the job is held");
            held.push(HeldJob { job: job.id, error, since: None });
            unreadable()
        });
        jobs.push(LoadedJob {
            id: job.id,
            tenant: job.tenant,
            version: job.version,
            rule,
            rule_content: job.rule,
            task: job.task,
            source: job.source,
            mode: job.mode,
            since: job.since,
            fired: job.fired,
            alias: job.alias,
        });
    }
    let versions: FxHashMap<VersionId, ContentId> = stored.versions.iter().map(|v| (v.id, v.rule)).collect();
    let open = stored.open.into_iter().map(|instance| {
        let rule =
            versions.get(&instance.version).ok_or("its version is gone".to_string()).and_then(|id| rules.get(*id));
        (instance, rule.unwrap_or_else(|_| unreadable()))
    });
    let mut open: Vec<_> = open.collect();
    open.sort_by_key(|(instance, _)| (instance.planned, instance.id));
    Loaded {
        shard,
        shards: stored.shards,
        first: ownership.standing.batch.0 == 0,
        term: ownership.term,
        horizon: ownership.standing.horizon,
        ids,
        jobs,
        open,
        agents: stored.agents,
        pools: stored.pools,
        tenants: stored.tenants,
        global_limit: stored.global_limit,
        held,
        spread_failures: Vec::new(),
        followers: stored.followers,
        tickets: stored.tickets,
    }
}

/// Whole instances that were spread over agents and whose children must be counted.
pub(crate) fn broadcasts(loaded: &Loaded) -> Vec<model::InstanceId> {
    let spread = loaded.open.iter().filter(|(instance, rule)| {
        instance.part == Part::WHOLE && rule.rule.pool.route == Route::Broadcast && instance.state == State::Running
    });
    spread.map(|(instance, _)| instance.id).collect()
}

struct Rules {
    contents: FxHashMap<ContentId, Vec<u8>>,
    compiled: FxHashMap<ContentId, Arc<Compiled>>,
}

impl Rules {
    fn get(&mut self, id: ContentId) -> Result<Arc<Compiled>, String> {
        if let Some(rule) = self.compiled.get(&id) {
            return Ok(Arc::clone(rule));
        }
        let body = self.contents.get(&id).ok_or_else(|| format!("content {id} is gone"))?;
        let rule = wire::rule::decode(body).map_err(|error| error.to_string())?;
        let compiled = Compiled::new(rule).map_err(|error| error.to_string())?;
        self.compiled.insert(id, Arc::clone(&compiled));
        Ok(compiled)
    }
}

/// Stands in for a rule that cannot be read: manual only, and its job is held anyway.
fn unreadable() -> Arc<Compiled> {
    Compiled::new(Rule::default()).expect("a manual rule always compiles")
}
