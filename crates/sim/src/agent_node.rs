//! A machine with an agent: the real session, a disk that keeps what it was told to keep, and tasks that go on when
//! the agent dies and die when the machine does.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::session::{Act, Ending, Now, Profile, Record, Recovered, Server, Session, Taken};
use model::{AgentId, AgentRecord, AttemptId, JobId, Outcome, PoolRef, Span, TenantId, Timestamp, Usage, Verdict};
use wire::link::{self, Up, up};

use crate::checker::{Broken, Checker};
use crate::die::Die;
use crate::server_node::trace;
use crate::world::BEGIN;

/// A message, and the way it goes.
pub type Ups = Vec<(Server, Up)>;

pub struct AgentNode {
    pub record: Arc<AgentRecord>,
    session: Option<Session>,
    disk: Disk,
    /// What runs on the machine, whoever looks.
    tasks: BTreeMap<i64, Task>,
    /// What ended while no agent was there to see it.
    unseen: Vec<(i64, Outcome)>,
    /// Counts restarts of the machine.
    boot: u64,
    /// When its machine last started, as it counts.
    booted: Timestamp,
    /// Beats sent over each stream that is open.
    open: BTreeMap<Server, u32>,
    /// How much faster than the world its machine counts time, in millionths.
    drift: i64,
    bug: Option<AgentBug>,
}

/// After so many beats everyone who listens knows that the machine restarted.
const OLD_NEWS_AFTER: u32 = 15;

/// A defect planted on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentBug {
    /// Whoever speaks is taken for the owner, whatever term it comes with.
    TermIgnored,
    /// Besides, an order may come at any time.
    LateAccepted,
}

#[derive(Default)]
struct Disk {
    terms: BTreeMap<u32, i64>,
    endings: BTreeMap<i64, Ending>,
    graves: Vec<(i64, Timestamp)>,
    taken: BTreeMap<i64, Taken>,
    boot_seen: u64,
}

struct Task {
    ends_at: Timestamp,
    verdict: Verdict,
    /// By the machine's own clock; its shim ends it then, agent or not.
    leash_until: Option<Timestamp>,
    stop_grace: Span,
}

impl AgentNode {
    pub fn new(id: i64, slots: u32) -> AgentNode {
        let record = Arc::new(AgentRecord {
            id: AgentId(id),
            tenant: TenantId::DEFAULT,
            name: format!("agent-{id}"),
            pools: vec![PoolRef::DEFAULT.into()],
            labels: BTreeMap::new(),
            slots,
            drained: false,
            joined_at: Timestamp(0),
            seen_at: None,
            version: String::new(),
            serves: model::Serves::Own,
            runs: model::TaskSorts::ALL,
            kind: model::AgentKind::Agent,
        });
        AgentNode {
            record,
            session: None,
            disk: Disk::default(),
            tasks: BTreeMap::new(),
            unseen: Vec::new(),
            boot: 0,
            booted: Timestamp(0),
            open: BTreeMap::new(),
            drift: 0,
            bug: None,
        }
    }

    /// With a clock that runs so much faster than the world's, and a bug planted.
    pub fn with(self, drift: i64, bug: Option<AgentBug>) -> AgentNode {
        AgentNode { drift, bug, ..self }
    }

    /// What its machine counts.
    fn steady(&self, now: Timestamp) -> Timestamp {
        now + Span((now - BEGIN).0 / 1_000 * self.drift / 1_000)
    }

    /// About when its machine will count that; never too early by more than is looked at again.
    fn when(&self, steady: Timestamp, now: Timestamp) -> Timestamp {
        now + Span(((steady - self.steady(now)).0 as f64 / (1.0 + self.drift as f64 / 1e6)).ceil() as i64 + 1)
    }

    pub fn is_up(&self) -> bool {
        self.session.is_some()
    }

    /// The agent starts on what its disk has.
    pub fn start(&mut self, now: Timestamp) {
        let rebooted = self.disk.boot_seen != self.boot;
        trace(now, "the agent comes back", &(self.record.id, rebooted));
        self.open.clear();
        let running = self.disk.taken.values().filter(|taken| !self.disk.endings.contains_key(&taken.attempt));
        let recovered = Recovered {
            terms: self.disk.terms.iter().map(|(shard, term)| (*shard, *term)).collect(),
            running: running.copied().collect(),
            unacked: self.disk.endings.values().cloned().collect(),
            graves: self.disk.graves.clone(),
            rebooted,
            booted: self.booted,
        };
        let gone: Vec<i64> =
            recovered.running.iter().map(|t| t.attempt).filter(|a| !self.tasks.contains_key(a)).collect();
        let profile = Profile { name: self.record.name.clone(), slots: self.record.slots, ..Profile::default() };
        let mut session = Session::new(profile, recovered);
        let unseen: BTreeMap<i64, Outcome> = std::mem::take(&mut self.unseen).into_iter().collect();
        for attempt in gone {
            let lost = || Outcome::of(Verdict::Lost, "the machine restarted", Timestamp(0));
            session.on_ended(attempt, unseen.get(&attempt).cloned().unwrap_or_else(lost));
        }
        self.session = Some(session);
    }

    /// Killed with -9: memory is gone, disk and tasks are not.
    pub fn crash(&mut self) {
        self.session = None;
    }

    /// The machine restarts: tasks are gone, and what had not reached the disk may be too.
    pub fn reboot(&mut self, now: Timestamp, die: &mut Die, checker: &mut Checker) {
        self.session = None;
        self.boot += 1;
        self.booted = self.steady(now);
        for attempt in std::mem::take(&mut self.tasks).into_keys() {
            checker.ended(AttemptId(attempt));
        }
        self.unseen.clear();
        while die.one_in(2) && self.disk.endings.pop_last().is_some() {}
        while die.one_in(2) && self.disk.taken.pop_last().is_some() {}
    }

    pub fn connected(
        &mut self,
        to: Server,
        now: Timestamp,
        die: &mut Die,
        checker: &mut Checker,
    ) -> Result<Ups, Broken> {
        self.open.insert(to, 0);
        self.told(now, die, checker, |session, now, out| session.on_connected(to, now, out))
    }

    pub fn disconnected(&mut self, from: Server) {
        self.open.remove(&from);
        self.session.iter_mut().for_each(|session| session.on_disconnected(from));
    }

    pub fn down(
        &mut self,
        from: Server,
        now: Timestamp,
        mut down: link::Down,
        die: &mut Die,
        checker: &mut Checker,
    ) -> Result<Ups, Broken> {
        if let Some(link::down::Body::Orders(orders)) = &down.body {
            for order in &orders.items {
                checker.ordered(AttemptId(order.attempt))?;
            }
        }
        if let Some(link::down::Body::Acks(acks)) = &down.body {
            for ack in acks.items.iter().filter(|ack| ack.seq == agent::session::ENDED) {
                checker.acknowledged(AttemptId(ack.attempt))?;
            }
        }
        self.misread(&mut down);
        self.told(now, die, checker, |session, now, out| session.on_down(from, now, down, out))
    }

    /// Time passed: tasks end, heartbeats are due.
    pub fn wake(&mut self, now: Timestamp, die: &mut Die, checker: &mut Checker) -> Result<Ups, Broken> {
        let steady = self.steady(now);
        for task in self.tasks.values_mut().filter(|task| task.leash_until.is_some_and(|at| at <= steady)) {
            task.leash_until = None;
            task.ends_at = task.ends_at.min(now + Span(die.between(1, task.stop_grace.0.max(2))));
            task.verdict = Verdict::Lost;
        }
        let over: Vec<i64> = self.tasks.iter().filter(|(_, task)| task.ends_at <= now).map(|(id, _)| *id).collect();
        for attempt in over {
            let task = self.tasks.remove(&attempt).expect("just listed");
            checker.ended(AttemptId(attempt));
            let outcome = outcome(task.verdict, now);
            match &mut self.session {
                Some(session) => session.on_ended(attempt, outcome),
                None => self.unseen.push((attempt, outcome)),
            }
        }
        self.told(now, die, checker, |session, now, out| session.on_tick(now, out))
    }

    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let task = self.tasks.values().map(|task| task.ends_at).min();
        let leash = self.tasks.values().filter_map(|task| task.leash_until).min();
        let tick = self.session.as_ref().and_then(Session::next_tick);
        let counted = [leash, tick].into_iter().flatten().map(|at| self.when(at, now));
        counted.chain(task).min()
    }

    /// The planted bugs.
    fn misread(&self, down: &mut link::Down) {
        let Some(bug) = self.bug else { return };
        let known = |shard: u32, term: i64| term.max(self.disk.terms.get(&shard).copied().unwrap_or(term));
        match &mut down.body {
            Some(link::down::Body::Orders(orders)) => {
                for order in &mut orders.items {
                    order.term = known(order.shard, order.term);
                    if bug == AgentBug::LateAccepted {
                        order.start_by = i64::MAX;
                    }
                }
            }
            Some(link::down::Body::Query(query)) => query.term = known(query.shard, query.term),
            _ => {}
        }
    }

    fn told(
        &mut self,
        now: Timestamp,
        die: &mut Die,
        checker: &mut Checker,
        tell: impl FnOnce(&mut Session, Now, &mut Vec<Act>),
    ) -> Result<Ups, Broken> {
        let Some(mut session) = self.session.take() else { return Ok(Vec::new()) };
        let mut acts = Vec::new();
        let both = Now { wall: now, steady: self.steady(now) };
        tell(&mut session, both, &mut acts);
        session.flush(both, &mut acts);
        let mut ups = Vec::new();
        for act in acts {
            self.act(act, &mut session, now, die, checker, &mut ups)?;
        }
        self.session = Some(session);
        Ok(ups)
    }

    fn act(
        &mut self,
        act: Act,
        session: &mut Session,
        now: Timestamp,
        die: &mut Die,
        checker: &mut Checker,
        ups: &mut Ups,
    ) -> Result<(), Broken> {
        match act {
            Act::Persist(records) => {
                for record in records {
                    self.persist(record, checker)?;
                }
            }
            Act::Send { to, up } => ups.push((to, up)),
            Act::Beat { to, sent_at, running } => {
                *self.open.entry(to).or_default() += 1;
                if self.open.values().all(|beats| *beats >= OLD_NEWS_AFTER) {
                    self.disk.boot_seen = self.boot;
                }
                let beat = link::Beat { sent_at: sent_at.0, running, ..Default::default() };
                ups.push((to, Up { body: Some(up::Body::Beat(beat)) }));
            }
            Act::Start(start) => {
                let attempt = start.order.attempt;
                trace(now, "starts", &(self.record.id, AttemptId(attempt)));
                checker.began(AttemptId(attempt), JobId(start.task.job))?;
                let (shard, until, leash) = (start.order.shard, start.until, start.order.leash_us.map(Span));
                let taken = Taken { attempt, shard, until, started_at: Some(now), leash };
                self.disk.taken.insert(attempt, taken);
                let verdict = if die.one_in(5) { Verdict::Failed } else { Verdict::Succeeded };
                let long = die.one_in(if leash.is_some() { 2 } else { 30 });
                let lasts = if long { die.between(1_000_000, 20_000_000) } else { die.between(1_000, 900_000) };
                let (leash_until, stop_grace) = (start.leash_until, Span(start.order.stop_grace_us));
                self.tasks.insert(attempt, Task { ends_at: now + Span(lasts), verdict, leash_until, stop_grace });
                session.on_started(Now { wall: now, steady: self.steady(now) }, attempt, now);
            }
            Act::Stop { attempt, .. } => {
                if let Some(task) = self.tasks.get_mut(&attempt) {
                    task.ends_at = task.ends_at.min(now + Span(die.between(1_000, 500_000)));
                    task.verdict = Verdict::Stopped;
                }
            }
            Act::Settled { attempt } => {
                self.disk.taken.remove(&attempt);
            }
            Act::MoveLeash { attempt, until } => {
                let task = self.tasks.get_mut(&attempt);
                if let Some(leash) = task.and_then(|task| task.leash_until.as_mut()) {
                    *leash = until.max(*leash);
                }
            }
            Act::Redial { .. } | Act::Identified { .. } | Act::Servers { .. } | Act::Owner { .. } | Act::Note(_) => {}
        }
        Ok(())
    }

    fn persist(&mut self, record: Record, checker: &mut Checker) -> Result<(), Broken> {
        match record {
            Record::Term { shard, term } => {
                self.disk.terms.insert(shard, term);
            }
            Record::Ended(ending) => {
                let attempt = ending.report.attempt;
                if is_success(&ending) && !self.disk.taken.contains_key(&attempt) {
                    // A task that needs no process began and ended within the session.
                    checker.began_at_once(AttemptId(attempt))?;
                }
                self.disk.endings.insert(attempt, ending);
            }
            Record::Acked(attempts) => {
                for attempt in attempts {
                    if let Some(ending) = self.disk.endings.remove(&attempt) {
                        self.disk.graves.push((attempt, ending.until));
                    }
                }
                let keep = self.disk.graves.len().saturating_sub(5_000);
                self.disk.graves.drain(..keep);
            }
        }
        Ok(())
    }
}

fn is_success(ending: &Ending) -> bool {
    match &ending.report.body {
        Some(link::report::Body::Ended(ended)) => ended.verdict() == link::Verdict::Succeeded,
        _ => false,
    }
}

fn outcome(verdict: Verdict, at: Timestamp) -> Outcome {
    Outcome {
        verdict,
        exit_code: Some(i32::from(verdict != Verdict::Succeeded)),
        message: None,
        outputs: None,
        started_at: None,
        ended_at: at,
        usage: Usage::default(),
    }
}
