//! Picks an agent for an instance that may start, and orders it there. Never talks to one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use model::{AgentId, Exclusive, InstanceId, JobId, Part, Route, Span, State, Targets, TenantId, Timestamp};

use crate::agents::Agent;
use crate::alarm::Alarm;
use crate::change::Change;
use crate::effect::{Ask, Decisions, Effect, Order, Question};
use crate::open::{Open, Phase};
use crate::plan::chance;
use crate::queue::QueueId;
use crate::route::Usage;
use crate::shard::Shard;

/// An order may start this long after it was sent; then it is void, wherever it is.
pub const ORDER_LIFE: Span = Span::secs(30);

/// What is due by then finds its slot free.
const SOON: Span = Span::millis(100);

static NEVER_USED: Usage = Usage::new();

impl Shard {
    /// Puts an instance in line for an agent, and past the line if nobody is in it.
    pub(crate) fn enqueue(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let queue = self.open[&id].queue;
        if self.queues.is_empty(queue) && self.try_place(id, now, out) {
            return;
        }
        let open = self.open.get_mut(&id).expect("being placed");
        open.phase = Phase::Queued { since: now };
        // Whoever waits goes wherever there is room then.
        open.target = open.target.filter(|_| open.pinned);
        self.queues.push(queue, open.rule.rule.priority, now, id);
        self.flush_later(id, now);
    }

    /// Lets go from these lines who can: tenants in turns, and of a tenant's heads the best first. What is scarce is the
    /// slots of one agent, or all there is.
    fn drain(&mut self, lines: Vec<QueueId>, scarce: Option<AgentId>, now: Timestamp, out: &mut Decisions) {
        let head = |shard: &Shard, line| shard.queues.head(line).map(|head| Reverse((head, line)));
        let mut tenants: BTreeMap<TenantId, BinaryHeap<_>> = BTreeMap::new();
        for line in lines {
            tenants.entry(self.queues.tenant(line)).or_default().extend(head(self, line));
        }
        while let Some(tenant) = self.whose_turn(&tenants, scarce) {
            let is_full = |agent: &AgentId| self.agents.get(agent).is_none_or(|agent| !agent.has_slot());
            if scarce.as_ref().is_some_and(is_full) {
                return;
            }
            let heads = tenants.get_mut(&tenant).expect("only those who wait have a turn");
            let Some(Reverse((_, line))) = heads.pop() else {
                tenants.remove(&tenant);
                continue;
            };
            let Some((_, id)) = self.queues.head(line) else { continue };
            let (priority, since) = self.place_in_line(id);
            self.blamed = Some(self.open[&id].job);
            if self.try_place(id, now, out) {
                self.queues.remove(line, priority, since, id);
                heads.extend(head(self, line));
            }
        }
    }

    fn whose_turn<T>(&self, waiting: &BTreeMap<TenantId, T>, scarce: Option<AgentId>) -> Option<TenantId> {
        if waiting.len() < 2 {
            return waiting.keys().next().copied();
        }
        let agent = scarce.and_then(|agent| self.agents.get(&agent));
        let has = |tenant: TenantId| agent.map(|agent| agent.holds_of(tenant));
        waiting.keys().copied().min_by_key(|tenant| (self.queues.rank(*tenant, has(*tenant)), *tenant))
    }

    pub(crate) fn drain_all(&mut self, now: Timestamp, out: &mut Decisions) {
        if self.queues.waiting() > 0 {
            let lines = self.queues.with_waiting().collect();
            self.drain(lines, None, now, out);
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
        let takes = |line: &QueueId| self.queues.get(*line).members.contains(&agent);
        let lines = self.queues.with_waiting().filter(takes).collect();
        self.drain(lines, Some(agent), now, out);
    }

    pub(crate) fn place_in_line(&self, id: InstanceId) -> (i32, Timestamp) {
        let open = &self.open[&id];
        match open.phase {
            Phase::Queued { since } => (open.rule.rule.priority, since),
            _ => unreachable!("only those in line have a place there"),
        }
    }

    pub(crate) fn try_place(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) -> bool {
        let open = &self.open[&id];
        if open.rule.rule.pool.route == Route::Broadcast && !open.is_child() {
            return self.spread(id, now, out);
        }
        if !self.queues.has_room(open.queue, now) {
            self.come_back_when_its_turn_is(id, now);
            return false;
        }
        let fits = |agent: &Agent| self.fits(open, agent, now);
        if let Some(question) = question(open) {
            return self.ask(id, question, now, out);
        }
        let Some(agent) = self.pick(open, fits) else {
            self.come_back_after_others(id, now);
            return false;
        };
        if self.stands_in_line(id, now, out) {
            return true;
        }
        self.order(id, agent, now, out);
        true
    }

    /// Has those it may go to asked; false if nobody is there to be asked.
    fn ask(&mut self, id: InstanceId, question: Question, now: Timestamp, out: &mut Decisions) -> bool {
        let open = &self.open[&id];
        let fits = |id: &AgentId| {
            let agent = &self.agents[id];
            agent.takes_work() && self.fits(open, agent, now)
        };
        let candidates: Vec<AgentId> =
            self.queues.get(open.queue).members.iter().copied().filter(|id| fits(id)).collect();
        if candidates.is_empty() {
            return false;
        }
        if self.stands_in_line(id, now, out) {
            return true;
        }
        let open = &self.open[&id];
        let ask = Ask { attempt: open.attempt, alias: self.alias_of(open.job), question, candidates };
        self.open.get_mut(&id).expect("being placed").phase = Phase::Asking;
        out.effect(Effect::Ask(ask));
        true
    }

    pub(crate) fn alias_of(&self, job: JobId) -> i32 {
        self.jobs.get(&job).map_or(0, |job| job.alias)
    }

    /// Where an instance will go when its time comes, unless things change: what is proposed counts as load, or all
    /// that is due at one instant would go to one agent.
    pub(crate) fn propose(&mut self, open: &mut Open) {
        // An executor knows no fence, so where it goes is written when it goes: nothing would be won by proposing one.
        let pool = &open.rule.rule.pool;
        if pool.route == Route::Broadcast || pool.of == Targets::Executors {
            return;
        }
        open.target = self.pick(open, Agent::will_have_slot).or_else(|| self.pick(open, |_| true));
        if let Some(agent) = open.target {
            self.agents.get_mut(&agent).expect("picked among the known").propose(open.tenant);
            self.note_choice(open.job, open.queue, &open.rule.rule.pool.route, agent);
        }
    }

    /// A scheduled instance is scheduled no longer.
    pub(crate) fn forget_proposal(&mut self, tenant: TenantId, target: Option<AgentId>) {
        if let Some(agent) = target.and_then(|agent| self.agents.get_mut(&agent)) {
            agent.forget_proposal(tenant);
        }
    }

    fn note_choice(&mut self, id: JobId, queue: QueueId, route: &Route, agent: AgentId) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.turn = job.turn.wrapping_add(1);
        if matches!(route, Route::LeastFrequent | Route::LeastRecent) {
            self.usage.entry(id).or_default().choose(id, agent, &self.queues.get(queue).members);
        }
    }

    /// The route's choice among the agents that take work and pass `fits`. What was proposed stays, if it still fits.
    fn pick(&self, open: &Open, fits: impl Fn(&Agent) -> bool) -> Option<AgentId> {
        let takes = |id: &AgentId| {
            let agent = &self.agents[id];
            agent.takes_work() && fits(agent)
        };
        let members = &self.queues.get(open.queue).members;
        if let Some(target) = open.target.filter(|target| members.contains(target) && takes(target)) {
            return Some(target);
        }
        let usage = || self.usage.get(&open.job).unwrap_or(&NEVER_USED);
        let all = members;
        let mut members = members.iter().copied().filter(takes);
        match open.rule.rule.pool.route {
            // Members are in the order of their ids.
            Route::First | Route::Fixed(_) | Route::Broadcast | Route::Failover | Route::BusyOver => members.next(),
            Route::Last => members.next_back(),
            Route::Round => nth(members, self.jobs.get(&open.job).map_or(0, |job| job.turn as usize)),
            Route::Random => nth(members, chance(open.attempt.0 as u64, 0) as usize),
            Route::LeastLoaded => members.min_by_key(|id| self.agents[id].burden()),
            Route::ConsistentHash => {
                let number = match self.alias_of(open.job) {
                    0 => open.job.0,
                    alias => i64::from(alias),
                };
                self.queues.ring(open.queue, &self.agents).choose(number, takes)
            }
            Route::LeastFrequent => usage().least_often(open.job, all, takes),
            Route::LeastRecent => usage().longest_ago(all, takes),
        }
    }

    pub(crate) fn fits(&self, open: &Open, agent: &Agent, now: Timestamp) -> bool {
        agent.has_slot() && self.within_per_agent(open, agent) && self.leaves_room(open.tenant, agent, now)
    }

    /// On an agent that several tenants share, slots are kept for those of others that are due in a moment, up to their
    /// share: what is due finds its slot free and needs no disk, however many of another tenant wait.
    fn leaves_room(&self, tenant: TenantId, agent: &Agent, now: Timestamp) -> bool {
        if agent.of_tenants.len() < 2 {
            return true;
        }
        let (slots, mine) = (u64::from(agent.record.slots), self.queues.turns.weight(tenant));
        let mut kept = 0;
        for (other, soon) in self.due.others(tenant, now + SOON, agent.record.slots as usize) {
            let Some((ordered, proposed)) = agent.of_tenants.get(&other).copied() else { continue };
            let weight = self.queues.turns.weight(other);
            let share = slots * weight / (weight + mine);
            kept += share.saturating_sub(u64::from(ordered)).min(u64::from(proposed)).min(soon as u64);
        }
        agent.busy.len() as u64 + kept < slots
    }

    /// Its tenant may start it by then, if that is only a matter of time.
    fn come_back_when_its_turn_is(&mut self, id: InstanceId, now: Timestamp) {
        let refusal = self.queues.turns.refusal(self.open[&id].tenant, self.queues.lends, now);
        if let Some((_, Some(at))) = refusal {
            self.alarms.set(at, Alarm::Turn);
        }
    }

    /// Slots that are kept for others are free again when those others' time has passed, whatever became of them.
    fn come_back_after_others(&mut self, id: InstanceId, now: Timestamp) {
        if self.is_kept_from(&self.open[&id], now) {
            let at = (now + SOON).0.div_euclid(SOON.0) + 1;
            self.alarms.set(Timestamp(at * SOON.0), Alarm::Turn);
        }
    }

    /// There is a slot for it, and it is kept for others.
    pub(crate) fn is_kept_from(&self, open: &Open, now: Timestamp) -> bool {
        self.queues.get(open.queue).members.iter().any(|id| {
            let agent = &self.agents[id];
            agent.takes_work()
                && agent.has_slot()
                && self.within_per_agent(open, agent)
                && !self.leaves_room(open.tenant, agent, now)
        })
    }

    pub(crate) fn within_per_agent(&self, open: &Open, agent: &Agent) -> bool {
        let Some(max) = open.rule.rule.limits.per_agent else { return true };
        let same_job = agent.busy.iter().filter(|id| self.open.get(id).is_some_and(|o| o.job == open.job));
        (same_job.count() as u32) < max
    }

    pub(crate) fn order(&mut self, id: InstanceId, agent: AgentId, now: Timestamp, out: &mut Decisions) {
        let open = self.open.get_mut(&id).expect("being placed");
        let as_proposed = open.target == Some(agent);
        // A scheduled row that names this agent says enough: once its time has come, it may have been sent. Whoever
        // keeps no fence cannot tell us later that it was not.
        let says_enough = as_proposed && open.written == State::Scheduled && open.rule.rule.pool.of == Targets::Agents;
        let as_written = !open.fresh && says_enough;
        if !open.fresh && !says_enough {
            let note = open.note.clone().map(Into::into);
            out.change(Change::Placed { row: open.row(), attempt: open.attempt, target: Some(agent), note });
            open.written = State::Dispatched;
        }
        open.target = Some(agent);
        open.phase = Phase::Ordered { agent };
        open.ordered_at = Some(now);
        let (queue, job, tenant, rule) = (open.queue, open.job, open.tenant, Arc::clone(&open.rule));
        self.queues.start(queue, now);
        self.agents.get_mut(&agent).expect("picked among the known").take(id, tenant);
        if !as_proposed {
            self.note_choice(job, queue, &rule.rule.pool.route, agent);
        }
        self.send_order(id, as_written, now, out);
        self.flush_later(id, now);
    }

    pub(crate) fn send_order(&mut self, id: InstanceId, as_written: bool, now: Timestamp, out: &mut Decisions) {
        let fence = self.next_fence(id);
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
            fence,
            attempt_no: open.attempt_no,
            instance: open.id,
            tenant: open.tenant,
            job: open.job,
            version: open.version,
            params: open.params,
            planned: open.planned,
            dated: open.dated(),
            alias: self.alias_of(open.job),
            part: open.part,
            start_by: now + ORDER_LIFE,
            timeout: rule.timeout,
            overlap: rule.overlap,
            stop_grace: rule.stop_grace,
            leash,
            as_written,
        }));
        self.watch_timeout(id, now);
    }

    /// One child on every agent that takes work, each told its index and the total.
    fn spread(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) -> bool {
        let members = self.queues.get(self.open[&id].queue).members.iter().copied();
        let agents: Vec<AgentId> = members.filter(|id| self.agents[id].takes_work()).collect();
        if agents.is_empty() {
            return false;
        }
        if self.stands_in_line(id, now, out) {
            return true;
        }
        let total = agents.len() as u32;
        let open = self.open.get_mut(&id).expect("being placed");
        open.phase = Phase::Spread { open: total, total, failed: 0 };
        open.started_at = Some(now);
        // Its row says so at once: a load counts the shards of what it finds spread.
        if !open.fresh {
            self.flush(id, now, out);
        }
        for (index, agent) in agents.into_iter().enumerate() {
            let child = InstanceId(self.ids.take());
            let open = self.open[&id].shard(child, Part::child(index as u32, total), agent);
            self.admit_child(open, agent, now, out);
        }
        true
    }
}

/// What its route wants to know before it chooses. One that is bound somewhere has nothing to choose.
fn question(open: &Open) -> Option<Question> {
    match open.rule.rule.pool.route {
        _ if open.pinned => None,
        Route::Failover => Some(Question::Alive),
        Route::BusyOver => Some(Question::Idle),
        Route::First
        | Route::Last
        | Route::Round
        | Route::Random
        | Route::LeastLoaded
        | Route::ConsistentHash
        | Route::LeastFrequent
        | Route::LeastRecent
        | Route::Fixed(_)
        | Route::Broadcast => None,
    }
}

fn nth(mut members: impl Iterator<Item = AgentId> + Clone, turn: usize) -> Option<AgentId> {
    match members.clone().count() {
        0 => None,
        count => members.nth(turn % count),
    }
}
