//! Why an instance waits or a job does not run, from what is true now. Reasons are data; nothing is looked up in a log.

use model::{InstanceId, JobId, JobMode, Overlap, Timestamp, Why};

use crate::effect::WhyReply;
use crate::open::{Again, Open, Phase};
use crate::shard::Shard;

impl Shard {
    pub(crate) fn why_instance_reply(&self, id: InstanceId, now: Timestamp) -> WhyReply {
        let open = &self.open[&id];
        let next = match open.phase {
            Phase::Scheduled => Some(open.due),
            Phase::RetryWait { until, .. } => Some(until),
            _ => self.lost_at(open),
        };
        WhyReply { state: Some(open.state()), why: self.why_instance(id, now), next }
    }

    /// The most telling reason first.
    pub(crate) fn why_instance(&self, id: InstanceId, now: Timestamp) -> Vec<Why> {
        let open = &self.open[&id];
        let mut why = Vec::new();
        if let Some((by, since)) = &open.stopping {
            why.push(Why::Stopping { by: by.0.clone(), since: *since });
        }
        if let (Some(uncertain), Some(agent)) = (&open.uncertain, open.agent()) {
            let (since, told) = (uncertain.since, uncertain.why.clone());
            why.push(Why::Uncertain { agent, since, lost_at: self.lost_at(open), why: told });
        }
        why.push(match open.phase {
            Phase::Scheduled if open.planned > now => Why::NotDue { at: open.planned },
            Phase::Scheduled => Why::Jitter { until: open.due },
            Phase::Waiting => self.why_held_back(open),
            Phase::Queued { .. } => self.why_no_agent(open, now),
            Phase::InLine { .. } => self.why_in_line(open),
            Phase::Asking => Why::Asking { pool: self.queues.pool_of(open.queue).name.clone() },
            Phase::Ordered { agent } => Why::Ordered { agent, at: open.ordered_at.unwrap_or(now) },
            Phase::Running { agent } => Why::Running { agent, since: open.started_at.unwrap_or(now) },
            Phase::RetryWait { until, why: Again::Redelivery | Again::Elsewhere } => Why::Redelivery { at: until },
            Phase::RetryWait { until, why: Again::Retry } => {
                Why::Retry { number: open.retries_used, max: open.rule.rule.retry.times(), at: until }
            }
            Phase::Spread { open: left, total, .. } => Why::Children { open: left, total },
        });
        why
    }

    fn why_held_back(&self, open: &Open) -> Why {
        let job = self.jobs.get(&open.job);
        if let Some(held) = job.and_then(|job| job.held.as_ref()) {
            return Why::Quarantined { error: held.error.clone() };
        }
        let live = job.and_then(|job| job.live.as_ref());
        let Some(holder) = live.and_then(|live| live.active.first().copied()) else {
            return Why::Overlap { holder: open.id };
        };
        let rule = &open.rule.rule;
        let at_once = live.map_or(0, |live| live.active.len() as u32);
        let doubtful = self.open.get(&holder).is_some_and(|holder| holder.uncertain.is_some());
        match (rule.overlap, rule.limits.job) {
            (Overlap::Replace, _) => Why::Replacing { holder },
            _ if rule.exclusive.is_some() && doubtful => Why::ExclusiveHolder { holder },
            (_, Some(max)) if at_once >= max => Why::JobLimit { max },
            _ => Why::Overlap { holder },
        }
    }

    /// Walks the conditions of placing in the order a person would.
    fn why_no_agent(&self, open: &Open, now: Timestamp) -> Why {
        let pool = self.queues.pool_of(open.queue);
        let name = || pool.name.clone();
        let members = &self.queues.get(open.queue).members;
        if members.is_empty() {
            if let Some((what, kept_out)) = self.queues.kept_out(open.queue, &self.agents)
                && !kept_out.is_empty()
            {
                let names: Vec<&str> = kept_out.iter().map(|id| self.agents[id].record.name.as_str()).collect();
                return Why::NoAgentMay { what, agents: names.join(", ") };
            }
            if let Some(named) = self.queues.named(open.queue) {
                return Why::NoAgentNamed { name: named.to_string() };
            }
            let in_pool = |agent: &&crate::agents::Agent| {
                agent.record.serves(open.tenant) && agent.record.pools.contains(&pool.name)
            };
            let anyone = self.agents.values().any(|agent| in_pool(&agent));
            let label = self.queues.labels(open.queue).iter().find(|(k, v)| {
                !self.agents.values().filter(in_pool).any(|agent| agent.record.labels.get(*k) == Some(v))
            });
            return match label.or_else(|| self.queues.labels(open.queue).iter().next()) {
                Some((k, v)) if anyone => Why::NoAgentWith { pool: name(), label: format!("{k}={v}") },
                _ => Why::NoAgentInPool { pool: name() },
            };
        }
        if let Some((why, _)) = self.queues.turns.refusal(open.tenant, self.queues.lends, now) {
            return why;
        }
        if let Some(max) = pool.bound.full(pool.running, self.queues.lends) {
            return Why::PoolLimit { pool: name(), max };
        }
        if let Some(max) = self.queues.global.full(self.queues.running, self.queues.lends) {
            return Why::GlobalLimit { max };
        }
        let up: Vec<_> = members.iter().map(|id| &self.agents[id]).filter(|agent| agent.takes_work()).collect();
        if up.is_empty() {
            let drained = members.iter().filter(|id| self.agents[id].record.drained).count() as u32;
            return Why::NoAgentUp { pool: name(), known: members.len() as u32, drained };
        }
        if self.is_kept_from(open, now) {
            return Why::KeptForOthers { pool: name() };
        }
        if let Some(max) = open.rule.rule.limits.per_agent.filter(|_| up.iter().any(|agent| agent.has_slot())) {
            return Why::AgentLimit { max };
        }
        Why::NoFreeSlot { pool: name(), agents: up.len() as u32, slots: up.iter().map(|a| a.record.slots).sum() }
    }

    pub(crate) fn why_job(&self, id: JobId, now: Timestamp) -> WhyReply {
        let job = &self.jobs[&id];
        let live = job.live.as_deref();
        let scheduled =
            live.and_then(|live| live.scheduled.iter().filter_map(|i| self.open.get(i)).map(|o| o.due).min());
        let mut why = Vec::new();
        if let Some(held) = &job.held {
            why.push(Why::Quarantined { error: held.error.clone() });
        }
        match job.mode {
            JobMode::Enabled => {}
            JobMode::Paused => why.push(Why::Paused),
            JobMode::Disabled => why.push(Why::Disabled),
        }
        for instance in live.into_iter().flat_map(|live| live.waiting.iter().chain(&live.active)) {
            if self.open.contains_key(instance) {
                why.extend(self.why_instance(*instance, now));
            }
        }
        let next = scheduled.or(job.wake);
        if let Some(at) = next.filter(|_| why.is_empty()) {
            why.push(Why::NotDue { at });
        }
        WhyReply { state: None, why, next }
    }
}
