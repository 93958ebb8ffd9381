//! Picks an agent for an instance that may start, and orders it there. Never talks to one.

use model::{AgentId, Exclusive, InstanceId, Part, Route, Span, Timestamp};

use crate::agents::Agent;
use crate::change::Change;
use crate::effect::{Decisions, Effect, Order};
use crate::fire::Making;
use crate::open::{Open, Phase};
use crate::plan::chance;
use crate::queue::QueueId;
use crate::shard::Shard;

/// An order may start this long after it was sent; then it is void, wherever it is.
pub const ORDER_LIFE: Span = Span::secs(30);
/// How far behind the head of a line to look for one that can go, when the head waits for something of its own.
const LOOK: usize = 64;

impl Shard {
    /// Puts an instance in line for an agent, and past the line if nobody is in it.
    pub(crate) fn enqueue(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let queue = self.open[&id].queue;
        if self.queues.is_empty(queue) && self.try_place(id, now, out) {
            return;
        }
        let open = self.open.get_mut(&id).expect("being placed");
        open.phase = Phase::Queued { since: now };
        let (priority, since) = (open.rule.rule.priority, now);
        self.queues.push(queue, priority, since, id);
        self.flush_later(id, now);
    }

    /// Somebody may be able to go now.
    pub(crate) fn drain(&mut self, queue: QueueId, now: Timestamp, out: &mut Decisions) {
        while !self.queues.is_empty(queue) && self.queues.has_room(queue) {
            let placed = self.queues.front(queue, LOOK).into_iter().any(|id| {
                let (priority, since) = self.place_in_line(id);
                let placed = self.try_place(id, now, out);
                if placed {
                    self.queues.remove(queue, priority, since, id);
                }
                placed
            });
            if !placed {
                break;
            }
        }
    }

    pub(crate) fn drain_all(&mut self, now: Timestamp, out: &mut Decisions) {
        for queue in self.queues.with_waiting() {
            self.drain(queue, now, out);
        }
    }

    /// A slot of this agent, and maybe a place in its pool, is free.
    pub(crate) fn drain_after(&mut self, queue: QueueId, agent: AgentId, now: Timestamp, out: &mut Decisions) {
        if self.queues.waiting() == 0 {
            return;
        }
        if self.queues.limits_bind(queue) {
            return self.drain_all(now, out);
        }
        for queue in self.queues.with_waiting() {
            if self.queues.get(queue).members.contains(&agent) {
                self.drain(queue, now, out);
            }
        }
    }

    pub(crate) fn place_in_line(&self, id: InstanceId) -> (i32, Timestamp) {
        let open = &self.open[&id];
        let since = match open.phase {
            Phase::Queued { since } => since,
            _ => open.due,
        };
        (open.rule.rule.priority, since)
    }

    fn try_place(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) -> bool {
        let open = &self.open[&id];
        if open.rule.rule.pool.route == Route::Broadcast && !open.is_child() {
            return self.spread(id, now, out);
        }
        if !self.queues.has_room(open.queue) {
            return false;
        }
        let Some(agent) = self.pick(open, |agent| agent.has_slot() && self.within_per_agent(open, agent)) else {
            return false;
        };
        self.order(id, agent, now, out);
        true
    }

    /// Where an instance would go, if its time came now and slots were no question.
    pub(crate) fn propose(&self, open: &Open) -> Option<AgentId> {
        if open.rule.rule.pool.route == Route::Broadcast {
            return None;
        }
        self.pick(open, Agent::has_slot).or_else(|| self.pick(open, |_| true))
    }

    /// The route's choice among the agents that take work and pass `fits`. What was proposed stays, if it still fits.
    fn pick(&self, open: &Open, fits: impl Fn(&Agent) -> bool) -> Option<AgentId> {
        let takes = |id: &AgentId| {
            let agent = &self.agents[id];
            agent.takes_work() && fits(agent)
        };
        if let Some(target) = open.target.filter(|target| self.queues.get(open.queue).members.contains(target))
            && takes(&target)
        {
            return Some(target);
        }
        let members = self.queues.get(open.queue).members.iter().copied().filter(takes);
        match open.rule.rule.pool.route {
            Route::First | Route::Fixed(_) | Route::Broadcast => members.min(),
            Route::Last => members.max(),
            Route::Round => nth(members, self.jobs.get(&open.job).map_or(0, |job| job.turn as usize)),
            Route::Random => nth(members, chance(open.attempt.0 as u64, 0) as usize),
            Route::LeastLoaded => members.min_by_key(|id| self.agents[id].burden()),
        }
    }

    fn within_per_agent(&self, open: &Open, agent: &Agent) -> bool {
        let Some(max) = open.rule.rule.limits.per_agent else { return true };
        let same_job = agent.busy.iter().filter(|id| self.open.get(id).is_some_and(|o| o.job == open.job));
        (same_job.count() as u32) < max
    }

    fn order(&mut self, id: InstanceId, agent: AgentId, now: Timestamp, out: &mut Decisions) {
        let open = self.open.get_mut(&id).expect("being placed");
        if open.target != Some(agent) && !open.fresh {
            out.change(Change::Placed { row: open.row(), attempt: open.attempt, target: Some(agent) });
        }
        open.target = Some(agent);
        open.phase = Phase::Ordered { agent };
        open.ordered_at = Some(now);
        open.uncertain = None;
        let (queue, job) = (open.queue, open.job);
        self.queues.occupy(queue);
        self.agents.get_mut(&agent).expect("picked among the known").busy.insert(id);
        if let Some(job) = self.jobs.get_mut(&job) {
            job.turn = job.turn.wrapping_add(1);
        }
        self.send_order(id, now, out);
        self.flush_later(id, now);
    }

    pub(crate) fn send_order(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let open = &self.open[&id];
        let rule = &open.rule.rule;
        let leash = match rule.exclusive {
            Some(Exclusive::Takeover { leash }) => Some(leash),
            Some(Exclusive::Wait) | None => None,
        };
        out.effect(Effect::Order(Order {
            agent: open.agent().expect("an ordered instance has an agent"),
            shard: self.id,
            term: self.term,
            attempt: open.attempt,
            attempt_no: open.attempt_no,
            instance: open.id,
            tenant: open.tenant,
            job: open.job,
            version: open.version,
            params: open.params,
            planned: open.planned,
            part: open.part,
            start_by: now + ORDER_LIFE,
            timeout: rule.timeout,
            stop_grace: rule.stop_grace,
            leash,
        }));
        self.watch_timeout(id, now);
    }

    /// One child on every agent that takes work, each told its index and the total.
    fn spread(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) -> bool {
        let open = &self.open[&id];
        let members = self.queues.get(open.queue).members.iter().copied();
        let agents: Vec<AgentId> = members.filter(|id| self.agents[id].takes_work()).collect();
        // A removed job makes no more children.
        if agents.is_empty() || !self.jobs.contains_key(&open.job) {
            return false;
        }
        let (job, planned, params, total) = (open.job, open.planned, open.params, agents.len() as u32);
        let open = self.open.get_mut(&id).expect("being placed");
        open.phase = Phase::Spread { open: total, total, failed: 0 };
        open.started_at = Some(now);
        open.flush_due = false;
        self.flush_later(id, now);
        for (index, agent) in agents.into_iter().enumerate() {
            let making = Making {
                planned,
                cause: model::Cause::Shard(id),
                params,
                part: Part::child(index as u32, total),
                parent: Some(id),
                pinned: Some(agent),
                number: None,
            };
            self.create(job, making, now, out);
        }
        true
    }
}

fn nth(members: impl Iterator<Item = AgentId> + Clone, turn: usize) -> Option<AgentId> {
    match members.clone().count() {
        0 => None,
        count => members.clone().nth(turn % count),
    }
}
