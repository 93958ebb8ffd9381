//! Holds everything the shard remembers twice against each other. Slow, and only asked by tests and the simulation.

use std::collections::{BTreeMap, BTreeSet};

use model::{AgentId, InstanceId, JobId, TenantId};

use crate::open::{Open, Phase};
use crate::shard::Shard;
use crate::wheel::tick_of;

impl Shard {
    /// The first thing that does not agree, in words.
    pub fn check_consistency(&self) -> Result<(), String> {
        self.check_attempts()?;
        self.check_due()?;
        self.check_lines()?;
        self.check_agents()?;
        self.check_jobs()?;
        self.check_shards()?;
        self.check_drawn()?;
        self.check_plan()
    }

    fn check_attempts(&self) -> Result<(), String> {
        let expected: BTreeSet<_> = self.open.values().map(|open| (open.attempt, open.id)).collect();
        same("attempts", expected, self.attempts.iter().map(|(attempt, id)| (*attempt, *id)).collect())
    }

    fn check_due(&self) -> Result<(), String> {
        let scheduled = self.open.values().filter(|open| open.phase == Phase::Scheduled);
        let expected: BTreeSet<_> = scheduled.map(|open| (open.due, open.id)).collect();
        let kept = self.due.iter();
        let count = kept.clone().count();
        must(count == expected.len(), || format!("{count} due entries for {} scheduled", expected.len()))?;
        same("due", expected, kept.collect())
    }

    fn check_lines(&self) -> Result<(), String> {
        let queued = self.open.values().filter(|open| matches!(open.phase, Phase::Queued { .. }));
        let expected: BTreeSet<_> = queued.map(|open| (open.queue, open.id)).collect();
        must(self.queues.waiting() == expected.len(), || format!("{} said to wait", self.queues.waiting()))?;
        same("lines", expected, self.queues.everyone().collect())
    }

    fn check_agents(&self) -> Result<(), String> {
        let mut busy: BTreeMap<AgentId, BTreeSet<InstanceId>> = BTreeMap::new();
        let (mut proposed, mut running) = (BTreeMap::<AgentId, u32>::new(), BTreeMap::<usize, u32>::new());
        let mut of_tenants: BTreeMap<AgentId, BTreeMap<TenantId, (u32, u32)>> = BTreeMap::new();
        let mut of_tenant: BTreeMap<TenantId, u32> = BTreeMap::new();
        for open in self.open.values() {
            if let Some(agent) = open.agent() {
                busy.entry(agent).or_default().insert(open.id);
                of_tenants.entry(agent).or_default().entry(open.tenant).or_default().0 += 1;
                *of_tenant.entry(open.tenant).or_default() += 1;
                *running.entry(self.queues.get(open.queue).pool).or_default() += 1;
            }
            if let Some(agent) = open.target.filter(|_| open.phase == Phase::Scheduled) {
                *proposed.entry(agent).or_default() += 1;
                of_tenants.entry(agent).or_default().entry(open.tenant).or_default().1 += 1;
            }
        }
        for (id, agent) in &self.agents {
            let kept = agent.busy.iter().copied().collect();
            same(&format!("busy of agent {id}"), busy.remove(id).unwrap_or_default(), kept)?;
            let expected = of_tenants.remove(id).unwrap_or_default();
            must(agent.of_tenants == expected, || format!("agent {id} counts {:?}", agent.of_tenants))?;
            let expected = proposed.get(id).copied().unwrap_or(0);
            must(agent.proposed == expected, || format!("{} proposed for agent {id}, not {expected}", agent.proposed))?;
        }
        for (tenant, count) in of_tenant {
            let kept = self.queues.turns.running(tenant);
            must(kept == count, || format!("tenant {tenant} runs {kept}, not {count}"))?;
        }
        let total: u32 = running.values().sum();
        must(self.queues.running == total, || format!("{} running, not {total}", self.queues.running))?;
        let pools = self.queues.pools_running().filter(|(_, count)| *count > 0);
        same("pools", running.into_iter().collect(), pools.collect())
    }

    fn check_jobs(&self) -> Result<(), String> {
        let place = |open: &Open| match open.phase {
            Phase::Scheduled => "scheduled",
            Phase::Waiting => "waiting",
            Phase::Queued { .. }
            | Phase::InLine { .. }
            | Phase::Asking
            | Phase::Ordered { .. }
            | Phase::Running { .. }
            | Phase::RetryWait { .. }
            | Phase::Spread { .. } => "active",
        };
        let whole = self.open.values().filter(|open| open.is_listed() && self.jobs.contains_key(&open.job));
        let expected: Vec<(JobId, &str, InstanceId)> = whole.map(|open| (open.job, place(open), open.id)).collect();
        let mut kept = Vec::new();
        for (id, live) in self.jobs.iter().filter_map(|(id, job)| Some((*id, job.live.as_ref()?))) {
            kept.extend(live.scheduled.iter().map(|instance| (id, "scheduled", *instance)));
            kept.extend(live.active.iter().map(|instance| (id, "active", *instance)));
            kept.extend(live.waiting.iter().map(|instance| (id, "waiting", *instance)));
        }
        must(kept.len() == expected.len(), || format!("live lists {kept:?}, not {expected:?}"))?;
        same("live lists", expected.into_iter().collect(), kept.into_iter().collect())
    }

    fn check_shards(&self) -> Result<(), String> {
        let mut shards: BTreeMap<InstanceId, usize> = BTreeMap::new();
        for parent in self.open.values().filter(|open| !open.alone).filter_map(|open| open.parent) {
            *shards.entry(parent).or_default() += 1;
        }
        for parent in self.open.values() {
            let children = shards.get(&parent.id).copied().unwrap_or(0);
            match parent.phase {
                Phase::Spread { open, .. } if open as usize == children && open > 0 => {}
                Phase::Spread { open, .. } => {
                    return Err(format!("{} says {open} shards are open, not {children}", parent.id));
                }
                _ => must(children == 0, || format!("{} is not spread and has shards", parent.id))?,
            }
        }
        Ok(())
    }

    /// Nothing is under way without what it needs, and only those let through stand in line.
    fn check_drawn(&self) -> Result<(), String> {
        for open in self.open.values() {
            let under_way = open.agent().is_some() || matches!(open.phase, Phase::Spread { .. });
            let (id, has) = (open.id, self.has_what_it_needs(open.id));
            must(!under_way || has, || format!("{id} is under way without what it needs"))?;
            let in_line = matches!(open.phase, Phase::InLine { .. });
            must(!in_line || (open.drew.is_some() && !has), || format!("{id} waits for nothing"))?;
            let held_back = matches!(open.phase, Phase::Waiting);
            must(!held_back || open.drew.is_none(), || format!("{id} keeps others waiting while it waits itself"))?;
        }
        Ok(())
    }

    /// Every job with a next time is looked at by then.
    fn check_plan(&self) -> Result<(), String> {
        let mut looked: BTreeSet<_> = self.wheel.everyone().collect();
        looked.extend(self.planning.iter().map(|job| (*job, i64::MIN)));
        for (id, job) in self.jobs.iter().filter(|(_, job)| job.plans()) {
            let Some(wake) = job.wake else { continue };
            let entries = looked.range((*id, i64::MIN)..=(*id, tick_of(wake)));
            must(entries.count() > 0, || format!("job {id} is never looked at for {wake:?}"))?;
        }
        Ok(())
    }
}

fn must(yes: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if yes { Ok(()) } else { Err(otherwise()) }
}

fn same<T: Ord + std::fmt::Debug>(what: &str, expected: BTreeSet<T>, kept: BTreeSet<T>) -> Result<(), String> {
    let differing: Vec<_> = expected.symmetric_difference(&kept).collect();
    must(differing.is_empty(), || format!("{what} disagree about {differing:?}"))
}
