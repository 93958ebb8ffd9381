//! What the engine knows of agents: who is there, what each holds, and what to believe when one falls silent.
//! Absence is believed only from an agent that has stored our term.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    AgentId, AgentKind, AgentRecord, AttemptId, Ending, Exclusive, InstanceId, Load, MisfireRule, Outcome, ShardId,
    SkipReason, Span, State, TenantId, Timestamp, Uncertain, Verdict, Why,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::change::NoteKind;
use crate::effect::{Decisions, Effect};
use crate::input::{Held, Roster};
use crate::jobs::remove_from;
use crate::open::{Open, Phase};
use crate::shard::Shard;

/// Clocks drift and kills take time: a leash that has run out is trusted only so much later.
const LEASH_MARGIN: Span = Span::secs(5);

#[derive(Debug)]
pub(crate) struct Agent {
    pub record: Arc<AgentRecord>,
    pub connected: bool,
    /// Its word counts for nothing any more.
    pub removed: bool,
    pub load: Load,
    /// When it last said that it is there. Whoever is told so is also told that we are: that lengthens leashes.
    pub heard_at: Timestamp,
    /// Instances ordered to it and not ended.
    pub busy: FxHashSet<InstanceId>,
    /// Scheduled instances proposed for it.
    pub proposed: u32,
    /// The same of each tenant that has any: ordered, proposed.
    pub of_tenants: BTreeMap<TenantId, (u32, u32)>,
}

impl Agent {
    fn new(record: Arc<AgentRecord>) -> Agent {
        let load = Load::default();
        let (busy, of_tenants) = (FxHashSet::default(), BTreeMap::new());
        Agent {
            record,
            connected: false,
            removed: false,
            load,
            heard_at: Timestamp::MIN,
            busy,
            proposed: 0,
            of_tenants,
        }
    }

    pub(crate) fn take(&mut self, id: InstanceId, tenant: TenantId) {
        if self.busy.insert(id) {
            self.of_tenants.entry(tenant).or_default().0 += 1;
        }
    }

    pub(crate) fn give_back(&mut self, id: InstanceId, tenant: TenantId) {
        if self.busy.remove(&id) {
            self.count(tenant, |(ordered, _)| *ordered -= 1);
        }
    }

    pub(crate) fn propose(&mut self, tenant: TenantId) {
        self.proposed += 1;
        self.of_tenants.entry(tenant).or_default().1 += 1;
    }

    pub(crate) fn forget_proposal(&mut self, tenant: TenantId) {
        self.proposed -= 1;
        self.count(tenant, |(_, proposed)| *proposed -= 1);
    }

    fn count(&mut self, tenant: TenantId, change: impl Fn(&mut (u32, u32))) {
        let counts = self.of_tenants.get_mut(&tenant).expect("what is taken back was counted");
        change(counts);
        if *counts == (0, 0) {
            self.of_tenants.remove(&tenant);
        }
    }

    /// How many of the tenant's are ordered to it.
    pub(crate) fn holds_of(&self, tenant: TenantId) -> u32 {
        self.of_tenants.get(&tenant).map_or(0, |(ordered, _)| *ordered)
    }

    /// It keeps what it is told about terms, so that its word for "not here" can be believed.
    pub(crate) fn is_fenced(&self) -> bool {
        !self.record.kind.is_executor()
    }

    pub(crate) fn takes_work(&self) -> bool {
        self.connected && !self.record.drained
    }

    pub(crate) fn has_slot(&self) -> bool {
        (self.busy.len() as u32) < self.record.slots
    }

    pub(crate) fn will_have_slot(&self) -> bool {
        self.busy.len() as u32 + self.proposed < self.record.slots
    }

    /// How loaded it is, for comparing: share of its slots, then its machine, then its id.
    pub(crate) fn burden(&self) -> (u64, u32, AgentId) {
        let share =
            (self.busy.len() as u64 + u64::from(self.proposed)) * 1_000_000 / u64::from(self.record.slots.max(1));
        (share, self.load.cpu_percent as u32 + self.load.memory_percent as u32, self.record.id)
    }
}

impl Shard {
    pub(crate) fn enlist(&mut self, record: Arc<AgentRecord>) {
        let id = record.id;
        match self.agents.get_mut(&id) {
            Some(agent) => {
                let same = belongs_alike(&agent.record, &record);
                agent.record = record;
                if same {
                    return;
                }
            }
            None => {
                // One that was removed may come again, and still have what it was sent.
                let mut agent = Agent::new(record);
                for open in self.open.values() {
                    if open.agent() == Some(id) {
                        agent.take(open.id, open.tenant);
                    } else if open.phase == Phase::Scheduled && open.target == Some(id) {
                        agent.propose(open.tenant);
                    }
                }
                self.agents.insert(id, agent);
            }
        }
        self.queues.regroup(&self.agents);
    }

    pub(crate) fn agent_up(
        &mut self,
        record: Arc<AgentRecord>,
        held: Vec<Held>,
        up_since: Timestamp,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        let id = record.id;
        if self.agents.get(&id).is_some_and(|agent| agent.removed) {
            return;
        }
        self.enlist(record);
        self.agents.get_mut(&id).expect("just enlisted").connected = true;
        self.note_agent(NoteKind::AgentOnline(id), now, out);
        if !self.agents[&id].is_fenced() {
            return self.executor_up(id, now, out);
        }
        let held: FxHashMap<AttemptId, Option<Timestamp>> =
            held.into_iter().map(|h| (h.attempt, h.started_at)).collect();
        // What it runs that nobody honours any more would keep its slot, and maybe write where a successor does.
        for attempt in held.keys().filter(|attempt| !self.honours(**attempt, id)).collect::<BTreeSet<_>>() {
            let (by, grace) = ("duly: this attempt is no longer honoured".to_string(), Span::secs(10));
            out.effect(Effect::Stop { agent: id, attempt: *attempt, alias: 0, by, grace });
        }
        let mut absent = Vec::new();
        for instance in self.busy_on(id) {
            let attempt = self.open[&instance].attempt;
            match held.get(&attempt) {
                Some(started_at) => self.confirmed(instance, id, *started_at, now, out),
                None => absent.push(attempt),
            }
        }
        self.not_here(id, absent, up_since, now, out);
    }

    /// Every shard hears it; once is enough to write it down.
    fn note_agent(&mut self, kind: NoteKind, now: Timestamp, out: &mut Decisions) {
        if self.id == ShardId(0) {
            self.note(now, None, None, kind, out);
        }
    }

    /// Whether an effect may still happen. An order that waited for its commit may have been overtaken: its agent went
    /// meanwhile and will say, or has said, that it does not have it. Sent now, it would start after it was believed
    /// absent; what is still wanted is sent again once the agent has spoken.
    pub fn stands(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Order(order) => {
                // Whoever calls an executor says at once if it cannot: that is better than silence.
                let there = self.agents.get(&order.agent).is_some_and(|agent| agent.connected || !agent.is_fenced());
                there && self.honours(order.attempt, order.agent)
            }
            Effect::Stop { .. }
            | Effect::Query { .. }
            | Effect::Acknowledge { .. }
            | Effect::Ask(_)
            | Effect::Inspect { .. }
            | Effect::Reply { .. }
            | Effect::Wake { .. }
            | Effect::WantIds { .. } => true,
        }
    }

    pub(crate) fn honours(&self, attempt: AttemptId, agent: AgentId) -> bool {
        self.attempts.get(&attempt).is_some_and(|id| self.open[id].agent() == Some(agent))
    }

    pub(crate) fn busy_on(&self, agent: AgentId) -> BTreeSet<InstanceId> {
        self.agents[&agent].busy.iter().copied().collect()
    }

    /// The agent says it has the attempt, so it is no longer in doubt.
    fn confirmed(
        &mut self,
        id: InstanceId,
        agent: AgentId,
        started_at: Option<Timestamp>,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        self.trust(id);
        match started_at {
            Some(at) => self.started(id, agent, at, now),
            None => self.flush_later(id, now),
        }
        let open = &self.open[&id];
        if let Some((by, _)) = &open.stopping {
            let (attempt, grace) = (open.attempt, open.rule.rule.stop_grace);
            out.effect(Effect::Stop { agent, attempt, alias: 0, by: by.0.clone(), grace });
        }
    }

    /// An agent that honours our term does not have these. What had not started may be sent; what had is gone.
    pub(crate) fn not_here(
        &mut self,
        agent: AgentId,
        attempts: Vec<AttemptId>,
        up_since: Timestamp,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        if self.agents.get(&agent).is_none_or(|agent| agent.removed) {
            return;
        }
        for attempt in attempts {
            let Some(id) = self.attempts.get(&attempt).copied() else { continue };
            let open = &self.open[&id];
            if open.agent() != Some(agent) {
                continue;
            }
            self.blamed = Some(open.job);
            let ran = matches!(open.phase, Phase::Running { .. });
            let rebooted = open.ordered_at.unwrap_or(open.due) <= up_since;
            if rebooted || ran {
                let what = if rebooted { "its machine restarted" } else { "its agent came back without it" };
                self.settle(id, Outcome::of(Verdict::Lost, what, now), now, out);
            } else if open.stopping.is_some() {
                let never = Outcome::of(Verdict::Stopped, "it had not started", now);
                self.settle(id, never, now, out);
            } else {
                self.send_again(id, now, out);
            }
        }
        self.drain_all(now, out);
    }

    /// It provably never started: it goes through the same door as if its time came now, under the same number.
    fn send_again(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let doubtful = self.trust(id);
        self.vacate(id);
        let open = self.open.get_mut(&id).expect("checked by the caller");
        let late = now - open.due;
        let misfire = open.by_trigger()
            && doubtful
            && open.attempt_no == 1
            && open.rule.is_misfire(late)
            && open.rule.rule.trigger.misfire.rule == MisfireRule::Skip;
        open.phase = Phase::Waiting;
        open.ordered_at = None;
        let written = open.written;
        if open.is_listed()
            && let Some(live) = self.jobs.get_mut(&open.job).and_then(|job| job.live.as_mut())
        {
            remove_from(&mut live.active, id);
        }
        if misfire {
            let why = Why::Misfire { late }.to_string();
            return self.finish(id, Ending::Skipped(SkipReason::Misfire), None, Some(why), now, out);
        }
        // What was never said to be under way has the overlap rule still before it.
        match written {
            State::Scheduled => self.launch(id, now, out),
            _ => self.relaunch(id, now, out),
        }
    }

    pub(crate) fn agent_beat(&mut self, agent: AgentId, load: Load, now: Timestamp) {
        if let Some(agent) = self.agents.get_mut(&agent) {
            agent.load = load;
            agent.heard_at = now;
        }
    }

    pub(crate) fn agent_gone(&mut self, id: AgentId, why: &str, now: Timestamp, out: &mut Decisions) {
        let Some(agent) = self.agents.get_mut(&id) else { return };
        if !std::mem::take(&mut agent.connected) {
            return;
        }
        self.note_agent(NoteKind::AgentSilent(id), now, out);
        for instance in self.busy_on(id) {
            self.doubt(instance, why, now);
        }
    }

    /// What it had stays in doubt: nobody is left whose word about it would count.
    pub(crate) fn agent_removed(&mut self, id: AgentId, now: Timestamp, out: &mut Decisions) {
        if !self.agents.get(&id).is_some_and(Agent::is_fenced) {
            return;
        }
        self.agent_gone(id, "its agent was removed", now, out);
        // The first shard is told by a command as well, which takes it out of the store.
        match self.id {
            ShardId(0) => self.agents.get_mut(&id).expect("just looked up").removed = true,
            _ => self.remove_agent(id),
        }
    }

    /// Nobody can be asked about this attempt: it is held until its agent returns, it counts as lost, or a person decides.
    pub(crate) fn doubt(&mut self, id: InstanceId, why: &str, now: Timestamp) {
        let open = self.open.get_mut(&id).expect("only open instances are doubted");
        if open.uncertain.is_some() {
            return;
        }
        open.uncertain = Some(Uncertain { since: now, why: why.into() });
        let attempt = open.attempt;
        if let Some(at) = self.lost_at(&self.open[&id]) {
            self.alarms.set_silence(at, id, attempt);
        }
        self.flush_later(id, now);
    }

    /// The attempt is no longer in doubt; tells whether it was.
    pub(crate) fn trust(&mut self, id: InstanceId) -> bool {
        let open = &self.open[&id];
        if let Some(at) = self.lost_at(open) {
            self.alarms.clear_silence(at, id, open.attempt);
        }
        self.open.get_mut(&id).expect("only open instances are trusted").uncertain.take().is_some()
    }

    /// When an uncertain attempt counts as lost by itself.
    pub(crate) fn lost_at(&self, open: &Open) -> Option<Timestamp> {
        let (since, rule) = (open.uncertain.as_ref()?.since, &open.rule.rule);
        match rule.exclusive {
            Some(Exclusive::Wait) => None,
            Some(Exclusive::Takeover { leash }) => {
                let heard = open.agent().and_then(|agent| self.agents.get(&agent)).map(|agent| agent.heard_at);
                Some(heard.map_or(since, |heard| heard.max(since)) + leash + rule.stop_grace + LEASH_MARGIN)
            }
            None => Some(since + rule.lost_after),
        }
    }

    /// What another shard wrote about agents, pools, tenants and limits.
    pub(crate) fn roster(&mut self, roster: &Roster, now: Timestamp, out: &mut Decisions) {
        let listed: BTreeSet<AgentId> = roster.agents.iter().map(|record| record.id).collect();
        // One that is connected and not listed joined after the list was read, or is about to be hung up on.
        let gone = self.agents.iter().filter(|(id, agent)| !listed.contains(id) && !agent.connected);
        for id in gone.map(|(id, _)| *id).collect::<Vec<_>>() {
            if self.holds_runs(id) {
                // It was removed while it had something of ours: it gets nothing more, and is forgotten later.
                let agent = self.agents.get_mut(&id).expect("just listed");
                agent.record = Arc::new(AgentRecord { drained: true, ..(*agent.record).clone() });
            } else {
                self.remove_agent(id);
            }
        }
        for record in &roster.agents {
            let mut record = record.clone();
            // What a connected agent says of itself is newer than what was written when it joined.
            if let Some(known) = self.agents.get(&record.id).filter(|known| known.connected && known.is_fenced()) {
                record.slots = known.record.slots;
                record.version.clone_from(&known.record.version);
                record.runs = known.record.runs;
            }
            self.enlist(Arc::new(record));
        }
        self.tenants = roster.tenants.iter().map(|tenant| (tenant.id, tenant.clone())).collect();
        self.queues.turns.set_all(&roster.tenants);
        self.queues.global.limit = roster.global_limit;
        self.queues.set_limits(&roster.pools);
        self.drain_all(now, out);
    }

    pub(crate) fn remove_agent(&mut self, id: AgentId) {
        self.agents.remove(&id);
        self.queues.regroup(&self.agents);
    }
}

/// Whether both belong to the same lines.
fn belongs_alike(a: &AgentRecord, b: &AgentRecord) -> bool {
    let lines =
        |of: &AgentRecord| (of.tenant, of.serves.clone(), of.name.clone(), of.pools.clone(), of.runs, listed(of));
    lines(a) == lines(b) && a.labels == b.labels
}

fn listed(record: &AgentRecord) -> Option<u32> {
    match record.kind {
        AgentKind::Agent => None,
        AgentKind::Executor(executor) => executor.listed,
    }
}
