//! A small world around one shard: a store that keeps the contract, machines that run things, a clock that stands
//! where it is put, and a script that tells the story. Tests read as data: a script, and what came of it.
#![allow(unreachable_pub)] // there is nobody outside

mod commons;
mod job;
mod machine;
mod script;
mod store;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use duly_engine::input::{Caller, JobDraft, Triggering};
use duly_engine::{Answer, Change, Command, Commit, Decisions, Effect, Input, Order, Refusal, Reply, Shard};
use model::*;

pub use commons::{Commons, Shared};
pub use machine::Machine;
pub use store::Store;
pub use text::{MIDNIGHT, clock};

pub struct World {
    pub store: Store,
    pub shard: Shard,
    pub now: Timestamp,
    pub machines: BTreeMap<AgentId, Machine>,
    pub crash: Option<Crash>,
    /// Times the shard was told something.
    pub told: usize,
    pub log: Vec<String>,
    hidden: Vec<String>,
    labels: BTreeMap<InstanceId, String>,
    counts: BTreeMap<JobId, u32>,
    pub names: BTreeMap<JobId, String>,
    callers: u64,
    replies: BTreeMap<u64, Result<Reply, Refusal>>,
    /// Attempts ordered and not known to have ended, and by which order.
    pub out: BTreeMap<AttemptId, Order>,
    /// Machines are executors.
    pub called: bool,
    /// Questions nobody has answered.
    pub asks: Vec<duly_engine::Ask>,
    /// Jobs hold mutexes and resources.
    pub shares: bool,
    /// Jobs of other shards.
    pub strangers: Vec<JobId>,
    /// Questions are answered at once, by the first that is asked.
    pub answers: bool,
    /// What follows by itself from what the shard was told.
    follow: std::collections::VecDeque<Input>,
}

/// The server dies while it is told something for the so-manieth time.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    pub at: usize,
    /// What it decided is on disk, but nobody has heard of it.
    pub committed: bool,
}

/// Runs a script and holds what came of it against what is expected.
pub fn check(script: &str, expected: expect_test::Expect) {
    expected.assert_eq(&run(script).story());
}

pub fn run(script: &str) -> World {
    let mut world = World::new();
    world.play(script);
    world
}

impl World {
    pub fn new() -> World {
        World::of(ShardId(0), Shared::default())
    }

    /// One shard of those that share this.
    pub fn of(shard: ShardId, commons: Shared) -> World {
        let mut store = Store::of(shard, commons);
        let shard = revive(&mut store, MIDNIGHT);
        World {
            store,
            shard,
            now: MIDNIGHT,
            machines: BTreeMap::new(),
            crash: None,
            told: 0,
            log: Vec::new(),
            hidden: Vec::new(),
            labels: BTreeMap::new(),
            counts: BTreeMap::new(),
            names: BTreeMap::new(),
            callers: 0,
            replies: BTreeMap::new(),
            out: BTreeMap::new(),
            called: false,
            asks: Vec::new(),
            shares: false,
            strangers: Vec::new(),
            answers: false,
            follow: Default::default(),
        }
    }

    pub fn story(&self) -> String {
        self.log.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Tells the shard one thing, commits what it decides, and lets it happen.
    pub fn tell(&mut self, input: Input) {
        self.tell_one(input);
        while let Some(next) = self.follow.pop_front() {
            self.tell_one(next);
        }
    }

    fn tell_one(&mut self, input: Input) {
        self.told += 1;
        let crash = self.crash.take_if(|crash| crash.at <= self.told);
        let mut out = Decisions::default();
        self.shard.step(self.now, input.clone(), &mut out);
        // The audit looks at everything: the more there is, the less often.
        let due = self.told.is_multiple_of(1 + self.shard.census().open / 50);
        if let Some(Err(what)) = due.then(|| self.shard.check_consistency()) {
            panic!("after {input:?} at {}: {what}\n{}", clock(self.now), self.story());
        }
        match crash {
            None => {
                let answers = self.commit(&mut out);
                self.release(out.effects);
                for answer in answers {
                    self.tell(match answer {
                        Answer::Claim(answer) => Input::ClaimAnswered(answer),
                        Answer::Granted(grant) => Input::Granted(grant),
                    });
                }
            }
            Some(Crash { committed, .. }) => {
                if committed {
                    self.commit(&mut out);
                }
                self.restart();
                // Whoever got no answer asks again; agents have told again what was not acknowledged.
                if let (false, Input::Command { .. }) = (committed, &input) {
                    self.tell(input);
                }
            }
        }
    }

    fn commit(&mut self, out: &mut Decisions) -> Vec<Answer> {
        if out.writes_nothing() {
            return Vec::new();
        }
        let commit = Commit {
            shard: self.shard.id(),
            term: self.shard.term(),
            batch: Batch(self.store.batch() + 1),
            horizon: self.shard.horizon(),
            next_id: self.shard.next_id(),
            changes: std::mem::take(&mut out.changes),
            claims: std::mem::take(&mut out.claims),
        };
        commit.changes.iter().for_each(|change| self.tell_of(change));
        for change in &commit.changes {
            match change {
                Change::Ended(ended) => self.out.remove(&ended.attempt),
                Change::Retried(retried) => self.out.remove(&retried.attempt),
                _ => None,
            };
        }
        match self.store.commit(&commit) {
            Ok(answers) => answers,
            Err(what) => panic!("at {}: {what}\n{}", clock(self.now), self.story()),
        }
    }

    fn release(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Order(order) => self.order(order),
                Effect::Stop { agent, attempt, .. } => {
                    let what = format!("stop {}", self.attempt_label(attempt));
                    self.say(what);
                    if let Some(machine) = self.machines.get_mut(&agent) {
                        machine.stop(attempt, self.now);
                    }
                }
                Effect::Acknowledge { agent, attempt, .. } => {
                    if let Some(machine) = self.machines.get_mut(&agent) {
                        machine.unacknowledged.remove(&attempt);
                    }
                }
                Effect::Reply { caller, reply } => {
                    self.replies.insert(caller.0, reply);
                }
                Effect::WantIds { count } => {
                    let ids = self.store.take_ids(count);
                    self.tell(Input::Ids { from: ids.start, until: ids.end });
                }
                Effect::Ask(ask) => {
                    let who: Vec<_> = ask.candidates.iter().map(|id| self.machines[id].record.name.clone()).collect();
                    let what = format!("ask for {}: {}", self.attempt_label(ask.attempt), who.join(", "));
                    self.say(what);
                    match self.answers {
                        true => {
                            let (attempt, chosen) = (ask.attempt, ask.candidates.first().copied());
                            self.follow.push_back(Input::Asked { attempt, chosen, trail: "the first".into() });
                        }
                        false => self.asks.push(ask),
                    }
                }
                Effect::Inspect { open, .. } => {
                    let seen = |one: &duly_engine::Inspected| {
                        let taken = if one.taken { "taken" } else { "sent" };
                        format!("{} {taken}", self.attempt_label(one.attempt))
                    };
                    let what: Vec<_> = open.iter().map(seen).collect();
                    self.say(format!("holds {}", what.join(", ")));
                }
                // Whoever looks at all of them finds it.
                Effect::Wake { .. } | Effect::Query { .. } => {}
            }
        }
    }

    fn order(&mut self, order: Order) {
        self.out.insert(order.attempt, order.clone());
        self.judge_order(&order);
        let label = self.attempt_label(order.attempt);
        let machine = self.machines.get_mut(&order.agent).expect("orders go to known machines");
        let part = order.part.index().map_or(String::new(), |index| format!(" ({index}/{})", order.part.total));
        let what = format!("{label} -> {}{part}", machine.record.name);
        let called = machine.record.kind.is_executor();
        let there = machine.connected;
        assert!(!called || !machine.begun.contains(&order.attempt), "{what}: sent twice\n{}", self.story());
        let machine = self.machines.get_mut(&order.agent).expect("orders go to known machines");
        machine.take(&order, self.now);
        self.say(what);
        if called && !there {
            // Whoever calls it says at once that nobody is there.
            self.out.remove(&order.attempt);
            let outcome = Outcome::of(Verdict::Undelivered, "nobody is there", self.now);
            let report = Report { attempt: order.attempt, seq: 9, kind: ReportKind::Ended(Box::new(outcome)) };
            self.follow.push_back(Input::Report { agent: order.agent, report });
        }
    }

    /// What must hold whenever something is sent.
    fn judge_order(&self, order: &Order) {
        let story = || format!("at {} for {order:?}\n{}", clock(self.now), self.story());
        let same = |one: &&Order| one.agent == order.agent;
        let slots = self.machines[&order.agent].record.slots as usize;
        let there: Vec<_> = self.out.values().filter(same).map(|one| self.attempt_label(one.attempt)).collect();
        assert!(there.len() <= slots, "{slots} slots for {there:?} {}", story());
        let rule = self.store.rule_of(order.version);
        let waits = self.store.commons.borrow().waits(order.instance, &rule.needs);
        assert!(order.part != Part::WHOLE || waits.is_none(), "sent without {waits:?} {}", story());
        assert!(self.store.global_limit.is_none_or(|max| self.out.len() <= max as usize), "global limit {}", story());
        let pool_of = |one: &Order| self.store.rule_of(one.version).pool.name.clone();
        let in_pool = self.out.values().filter(|one| pool_of(one) == rule.pool.name).count();
        let limit = self.store.pools.get(&rule.pool.name).and_then(|pool| pool.limit);
        assert!(limit.is_none_or(|max| in_pool <= max as usize), "pool limit {}", story());
        // Instances frozen with different rules may disagree about company.
        let alike = |one: &&Order| one.version == order.version && one.planned != order.planned;
        let of_job = self.out.values().filter(alike);
        let others: std::collections::BTreeSet<_> = of_job.map(|one| one.planned).collect();
        let most = match rule.overlap {
            _ if rule.exclusive.is_some() => Some(1),
            Overlap::Allow { max } => [max, rule.limits.job].into_iter().flatten().min(),
            Overlap::Queue { .. } | Overlap::Skip | Overlap::Replace => Some(1),
        };
        let living = self.store.jobs.contains_key(&order.job);
        assert!(!living || most.is_none_or(|max| others.len() < max as usize), "overlap {others:?} {}", story());
        let beside = self.out.values().filter(same).filter(|one| one.version == order.version).count();
        assert!(rule.limits.per_agent.is_none_or(|max| beside <= max as usize), "per agent {}", story());
    }

    /// Asks for something and gives the answer, if there is one yet.
    pub fn ask(&mut self, command: Command) -> Option<Result<Reply, Refusal>> {
        self.callers += 1;
        let caller = Caller(self.callers);
        self.tell(Input::Command { caller, by: Actor("ann".into()), command });
        self.replies.remove(&caller.0)
    }

    pub fn apply_job(&mut self, name: &str, rule: Rule) -> Option<Result<Reply, Refusal>> {
        let content = self.store.intern(&rule);
        let id = self.store.job_named(name);
        let reply = self.ask(Command::ApplyJob(Box::new(JobDraft {
            id,
            tenant: self.tenant_of(name),
            name: name.into(),
            folder: String::new(),
            labels: Default::default(),
            rule: duly_engine::Compiled::new(rule).expect("the script names a good rule"),
            rule_content: content,
            task: content,
            source: content,
            mode: id.map_or(JobMode::Enabled, |id| self.store.jobs[&id].mode),
            alias: 7,
        })));
        if let Some(id) = self.store.job_named(name) {
            self.names.insert(id, name.into());
        }
        reply
    }

    /// `b/job` is a job of tenant b; the others are the first tenant's.
    pub fn tenant_of(&self, job: &str) -> TenantId {
        let Some((tenant, _)) = job.split_once('/') else { return TenantId::DEFAULT };
        self.store.tenants.values().find(|known| known.name == tenant).expect("a tenant made before").id
    }

    pub fn trigger(
        &mut self,
        job: JobId,
        planned: Option<Timestamp>,
        key: Option<&str>,
    ) -> Option<Result<Reply, Refusal>> {
        let idempotency_key = key.map(str::to_string);
        self.ask(Command::Trigger(Box::new(Triggering {
            job,
            params: None,
            on: None,
            planned,
            idempotency_key,
            adopt: None,
        })))
    }

    pub fn rerun(&mut self, id: InstanceId) -> Option<Result<Reply, Refusal>> {
        let instance = self.store.rows[&id].instance.clone();
        let rule = duly_engine::Compiled::new(self.store.rule_of(instance.version).clone()).expect("it ran before");
        self.ask(Command::Rerun { instance: Box::new(instance), rule })
    }

    pub fn connect(&mut self, agent: AgentId, booted: Option<Timestamp>) {
        // The door knows only who has joined; one that was removed must join again.
        if !self.store.agents.contains_key(&agent) {
            let agent = Box::new(self.machines[&agent].record.clone());
            self.ask(Command::PutAgent { agent });
        }
        let machine = self.machines.get_mut(&agent).expect("scripts name known machines");
        machine.connected = true;
        if booted.is_some() {
            machine.reboot();
        }
        let (record, held) = (Arc::new(machine.record.clone()), machine.held());
        // What it does not have was never there. Of an executor nobody knows that.
        let fenced = !record.kind.is_executor();
        self.out.retain(|attempt, order| {
            !fenced || order.agent != agent || held.iter().any(|held| held.attempt == *attempt)
        });
        self.tell(Input::AgentUp { agent: record, held, up_since: booted.unwrap_or(Timestamp::MIN) });
        if booted.is_some() && !fenced {
            self.signs_say_gone(agent);
        }
        let again: Vec<_> = self.machines[&agent].unacknowledged.values().cloned().collect();
        again.into_iter().for_each(|report| self.tell(Input::Report { agent, report }));
    }

    /// Whoever calls an executor sees that another process answers, and gives up what the earlier one had.
    fn signs_say_gone(&mut self, agent: AgentId) {
        let held: Vec<_> = self.out.values().filter(|order| order.agent == agent).map(|order| order.attempt).collect();
        for attempt in held {
            self.out.remove(&attempt);
            let outcome = Outcome::of(Verdict::Lost, "its executor was restarted", self.now);
            let report = Report { attempt, seq: 9, kind: ReportKind::Ended(Box::new(outcome)) };
            self.tell(Input::Report { agent, report });
        }
    }

    /// Hears what other shards have told it, in order.
    pub fn hear(&mut self) {
        let waiting = self.store.commons.borrow().waiting_for(self.store.shard);
        for (id, message) in waiting {
            self.tell(Input::Heard { id, message });
        }
    }

    pub fn disconnect(&mut self, agent: AgentId) {
        self.machines.get_mut(&agent).expect("scripts name known machines").connected = false;
        self.tell(Input::AgentGone { agent });
    }

    /// The attempt ends on its machine, which says so if it can.
    pub fn end(&mut self, agent: AgentId, attempt: AttemptId, verdict: Verdict) {
        let machine = self.machines.get_mut(&agent).expect("it was ordered there");
        let report = machine.end(attempt, verdict, self.now);
        if machine.connected {
            self.tell(Input::Report { agent, report });
        }
    }

    /// The server dies and another takes over from what is on disk; connected agents greet it.
    pub fn restart(&mut self) {
        // Nobody loads in no time, and instants are what tells by-hand instances apart.
        self.now += Span::millis(1);
        self.shard = revive(&mut self.store, self.now);
        if let Err(what) = self.shard.check_consistency() {
            panic!("after a load at {}: {what}\n{}", clock(self.now), self.story());
        }
        let connected: Vec<_> = self.machines.iter().filter(|(_, m)| m.connected).map(|(id, _)| *id).collect();
        connected.into_iter().for_each(|agent| self.connect(agent, None));
    }

    /// Lets time pass, doing whatever falls due on the way.
    pub fn until(&mut self, end: Timestamp) {
        let (mut idle, mut busy) = (0, 0);
        loop {
            busy += 1;
            assert!(busy < 200_000, "no end of it at {}\n{}", clock(self.now), self.story());
            let ends = self.machines.iter().filter_map(|(id, m)| m.next_end().map(|(at, a)| (at, *id, a))).min();
            let silence = self.shard.next_silence();
            let wake = self.shard.next_wake().into_iter().chain(silence).min();
            let next = ends.map(|(at, ..)| at).into_iter().chain(wake).min().filter(|next| *next <= end);
            let Some(next) = next else { break };
            let (before, stood) = (self.store.batch(), self.now);
            self.now = self.now.max(next);
            match ends.filter(|(at, ..)| wake.is_none_or(|wake| *at < wake)) {
                Some((_, agent, attempt)) => {
                    let verdict = self.machines[&agent].running[&attempt].verdict;
                    self.end(agent, attempt, verdict);
                }
                None if silence == wake => self.tell(Input::Quiet { until: self.now }),
                None => self.tell(Input::Tick),
            }
            idle = if self.store.batch() == before && self.now == stood { idle + 1 } else { 0 };
            assert!(idle < 5_000, "time stands still at {}: next {wake:?}\n{}", clock(self.now), self.story());
        }
        self.now = self.now.max(end);
    }

    pub fn label(&self, id: InstanceId) -> String {
        self.labels.get(&id).cloned().unwrap_or_else(|| format!("instance {id}"))
    }

    fn attempt_label(&self, attempt: AttemptId) -> String {
        self.store.attempts.get(&attempt).map_or(format!("attempt {attempt}"), |id| self.label(*id))
    }
}

fn revive(store: &mut Store, now: Timestamp) -> Shard {
    let ids = store.take_ids(duly_engine::FIRST_BLOCK);
    Shard::load(duly_engine::Loaded { ids, ..store.load() }, now)
}
