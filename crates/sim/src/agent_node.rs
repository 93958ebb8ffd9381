//! A machine with an agent: the real session, a disk that keeps what it was told to keep, and tasks that go on when
//! the agent dies and die when the machine does.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::session::{Act, Ending, Now, Profile, Record, Recovered, Server, Session, Taken};
use model::{AgentId, AgentRecord, AttemptId, JobId, Outcome, PoolRef, Span, TenantId, Timestamp, Usage, Verdict};
use wire::link::{self, Up, up};

use crate::checker::{Broken, Checker};
use crate::die::Die;

/// There is one in this world.
const SERVER: Server = Server(0);

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
}

#[derive(Default)]
struct Disk {
    terms: BTreeMap<u32, i64>,
    endings: BTreeMap<i64, Ending>,
    graves: Vec<(i64, Timestamp)>,
    taken: BTreeMap<i64, Taken>,
    boot_seen: u64,
    beats: u32,
}

struct Task {
    ends_at: Timestamp,
    verdict: Verdict,
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
            kind: model::AgentKind::Agent,
        });
        AgentNode { record, session: None, disk: Disk::default(), tasks: BTreeMap::new(), unseen: Vec::new(), boot: 0 }
    }

    pub fn is_up(&self) -> bool {
        self.session.is_some()
    }

    /// The agent starts on what its disk has.
    pub fn start(&mut self) {
        let rebooted = self.disk.boot_seen != self.boot;
        self.disk.beats = 0;
        let running = self.disk.taken.values().filter(|taken| !self.disk.endings.contains_key(&taken.attempt));
        let recovered = Recovered {
            terms: self.disk.terms.iter().map(|(shard, term)| (*shard, *term)).collect(),
            running: running.copied().collect(),
            unacked: self.disk.endings.values().cloned().collect(),
            graves: self.disk.graves.clone(),
            rebooted,
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
    pub fn reboot(&mut self, die: &mut Die, checker: &mut Checker) {
        self.session = None;
        self.boot += 1;
        for attempt in std::mem::take(&mut self.tasks).into_keys() {
            checker.ended(AttemptId(attempt));
        }
        self.unseen.clear();
        while die.one_in(2) && self.disk.endings.pop_last().is_some() {}
        while die.one_in(2) && self.disk.taken.pop_last().is_some() {}
    }

    pub fn connected(&mut self, now: Timestamp, die: &mut Die, checker: &mut Checker) -> Result<Vec<Up>, Broken> {
        self.told(now, die, checker, |session, now, out| session.on_connected(SERVER, now, out))
    }

    pub fn disconnected(&mut self) {
        self.session.iter_mut().for_each(|session| session.on_disconnected(SERVER));
    }

    pub fn down(
        &mut self,
        now: Timestamp,
        down: link::Down,
        die: &mut Die,
        checker: &mut Checker,
    ) -> Result<Vec<Up>, Broken> {
        if let Some(link::down::Body::Acks(acks)) = &down.body {
            for ack in acks.items.iter().filter(|ack| ack.seq == agent::session::ENDED) {
                checker.acknowledged(AttemptId(ack.attempt))?;
            }
        }
        self.told(now, die, checker, |session, now, out| session.on_down(SERVER, now, down, out))
    }

    /// Time passed: tasks end, heartbeats are due.
    pub fn wake(&mut self, now: Timestamp, die: &mut Die, checker: &mut Checker) -> Result<Vec<Up>, Broken> {
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

    pub fn next(&self) -> Option<Timestamp> {
        let task = self.tasks.values().map(|task| task.ends_at).min();
        [task, self.session.as_ref().and_then(Session::next_tick)].into_iter().flatten().min()
    }

    fn told(
        &mut self,
        now: Timestamp,
        die: &mut Die,
        checker: &mut Checker,
        tell: impl FnOnce(&mut Session, Now, &mut Vec<Act>),
    ) -> Result<Vec<Up>, Broken> {
        let Some(mut session) = self.session.take() else { return Ok(Vec::new()) };
        let mut acts = Vec::new();
        tell(&mut session, Now::both(now), &mut acts);
        session.flush(Now::both(now), &mut acts);
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
        ups: &mut Vec<Up>,
    ) -> Result<(), Broken> {
        match act {
            Act::Persist(records) => {
                for record in records {
                    self.persist(record, checker)?;
                }
            }
            Act::Send { up, .. } => ups.push(up),
            Act::Beat { sent_at, running, .. } => {
                self.disk.beats += 1;
                if self.disk.beats == 15 {
                    self.disk.boot_seen = self.boot;
                }
                let beat = link::Beat { sent_at: sent_at.0, running, ..Default::default() };
                ups.push(Up { body: Some(up::Body::Beat(beat)) });
            }
            Act::Start(start) => {
                let attempt = start.order.attempt;
                checker.began(AttemptId(attempt), JobId(start.task.job))?;
                let taken =
                    Taken { attempt, shard: start.order.shard, until: start.until, started_at: Some(now), leash: None };
                self.disk.taken.insert(attempt, taken);
                let verdict = if die.one_in(5) { Verdict::Failed } else { Verdict::Succeeded };
                let lasts =
                    if die.one_in(30) { die.between(1_000_000, 20_000_000) } else { die.between(1_000, 900_000) };
                self.tasks.insert(attempt, Task { ends_at: now + Span(lasts), verdict });
                session.on_started(Now::both(now), attempt, now);
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
            Act::MoveLeash { .. }
            | Act::Redial { .. }
            | Act::Identified { .. }
            | Act::Servers { .. }
            | Act::Owner { .. }
            | Act::Note(_) => {}
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
