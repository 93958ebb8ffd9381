//! Everything an owner keeps in memory.

use std::collections::BTreeMap;

use engine::HeldJob;
use model::{InstanceId, ShardId};

use super::state::State;
use crate::{Stored, StoredVersion};

impl State {
    pub(super) fn load(&self, shard: ShardId) -> Stored {
        let mut stored = Stored { shards: self.shards_max.max(1), ..Stored::default() };
        let living = self.jobs.values().filter(|kept| kept.shard == shard && kept.removed_at.is_none());
        stored.jobs = living.map(|kept| kept.record.clone()).collect();
        let mine = (shard, InstanceId(i64::MIN))..=(shard, InstanceId(i64::MAX));
        for (_, id) in self.open.range(mine).map(|(key, ())| key) {
            let instance = &self.instances[id].instance;
            if self.spoilt.contains(id) {
                stored.unreadable.push((Some(instance.job), format!("instance {id}: told to be unreadable")));
            } else {
                stored.open.push(instance.clone());
            }
        }
        self.load_versions(&mut stored);
        stored.agents = self.agents.values().cloned().collect();
        stored.pools = self.pools.values().cloned().collect();
        stored.tenants = self.tenants();
        stored.global_limit = self.global_limit.get(&()).copied().flatten();
        let held = self.quarantine.values().filter(|(of, ..)| *of == shard);
        let held = held.filter_map(|(_, one, decided)| {
            Some(HeldJob { job: one.job?, error: one.error.clone(), since: Some((one.at, *decided)) })
        });
        stored.held = held.collect();
        let followers = self.followers.iter().filter(|(_, (of, _))| *of == shard);
        stored.followers = followers.map(|((job, follower), (_, ends))| (*job, *follower, *ends)).collect();
        stored.tickets = self.tickets_of_shard(shard);
        stored
    }

    fn load_versions(&self, stored: &mut Stored) {
        let of_jobs = stored.jobs.iter().map(|job| (job.version, job.id));
        let of_open = stored.open.iter().map(|instance| (instance.version, instance.job));
        let wanted: BTreeMap<_, _> = of_jobs.chain(of_open).collect();
        let mut rules = BTreeMap::new();
        for (id, job) in wanted {
            let Some(found) = self.versions.get(&id) else {
                stored.unreadable.push((Some(job), format!("version {id} of job {job} is missing")));
                continue;
            };
            rules.insert(found.rule, job);
            stored.versions.push(StoredVersion {
                id,
                job: found.job,
                rule: found.rule,
                task: found.task,
                source: found.source,
            });
        }
        for (rule, job) in rules {
            match self.content(rule) {
                Some(body) => stored.contents.push((rule, body.clone())),
                None => stored.unreadable.push((Some(job), format!("rule {rule} of job {job} is missing"))),
            }
        }
    }
}
