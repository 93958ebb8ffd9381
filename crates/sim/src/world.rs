//! The world: moves the one clock from event to event, lets faults happen, and has the checker look at everything.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use agent::session::Server;
use engine::{Command, Compiled, Input};
use model::{AgentId, JobId, JobRecord, Span, Term, Timestamp, VersionId};
use store::memory::MemoryStore;
use store::{Reads, Standing, Store};

use crate::agent_node::{AgentNode, Ups};
use crate::checker::{Broken, Checker, Promise};
use crate::die::Die;
use crate::drafts;
use crate::epilogue::check_ledger;
use crate::line::Line;
use crate::scenario::{Mutant, Scenario};
use crate::server_node::{SHARD, Sent, ServerNode};

/// 2026-11-15, because every history needs a day.
pub(crate) const BEGIN: Timestamp = Timestamp::from_secs(1_794_700_800);

/// There is one in this world.
pub(crate) const SERVER: Server = Server(0);

#[derive(Debug)]
pub struct Outcome {
    pub fires: u64,
    pub runs: u64,
    pub crashes: u64,
}

/// A broken promise, with what repeats it.
#[derive(Debug)]
pub struct Failure {
    pub seed: u64,
    pub after: Span,
    pub broken: Broken,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seed {} after {}: {}", self.seed, self.after, self.broken)
    }
}

/// Lives through one history.
pub fn run(scenario: Scenario) -> Result<Outcome, Failure> {
    let seed = scenario.seed;
    let mut world = World::new(scenario);
    match world.live() {
        Ok(()) => Ok(Outcome { fires: world.checker.fires, runs: world.checker.runs, crashes: world.crashes }),
        Err(broken) => Err(Failure { seed, after: world.now - BEGIN, broken }),
    }
}

pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) die: Die,
    pub(crate) now: Timestamp,
    pub(crate) store: MemoryStore,
    pub(crate) checker: Checker,
    pub(crate) server: Option<ServerNode>,
    pub(crate) server_back: Option<Timestamp>,
    /// Servers that stand still; they wake and do not know that they were replaced.
    pub(crate) zombies: Vec<(Timestamp, ServerNode)>,
    pub(crate) agents: Vec<AgentNode>,
    pub(crate) lines: Vec<Option<Line>>,
    pub(crate) agent_back: Vec<Option<Timestamp>>,
    pub(crate) reconnect: Vec<Option<Timestamp>>,
    pub(crate) rules: BTreeMap<JobId, std::sync::Arc<Compiled>>,
    pub(crate) next_dice: Timestamp,
    pub(crate) calm: bool,
    pub(crate) crashes: u64,
}

impl World {
    fn new(scenario: Scenario) -> World {
        let die = Die::new(scenario.seed);
        let agents: Vec<_> =
            (0..scenario.agents).map(|n| AgentNode::new(1_000_000_000 + n as i64, scenario.slots)).collect();
        let count = agents.len();
        World {
            die,
            now: BEGIN,
            store: MemoryStore::new(),
            checker: Checker::default(),
            server: None,
            server_back: Some(BEGIN),
            zombies: Vec::new(),
            lines: (0..count).map(|_| None).collect(),
            agent_back: vec![Some(BEGIN); count],
            reconnect: vec![None; count],
            agents,
            rules: BTreeMap::new(),
            next_dice: BEGIN + Span::SECOND,
            calm: true,
            crashes: 0,
            scenario,
        }
    }

    fn live(&mut self) -> Result<(), Broken> {
        self.settle_in()?;
        self.calm = false;
        let end = self.now + Span::secs(self.scenario.seconds);
        while self.now < end {
            self.step()?;
        }
        self.calm = true;
        self.wind_down()?;
        check_ledger(&self.store, &self.rules, self.now)
    }

    /// Agents join and jobs are applied before anything goes wrong.
    fn settle_in(&mut self) -> Result<(), Broken> {
        self.run_for(Span::SECOND)?;
        for n in 0..self.agents.len() {
            let agent = Box::new((*self.agents[n].record).clone());
            self.command(Command::PutAgent { agent })?;
        }
        for n in 0..self.scenario.jobs {
            let rule = self.scenario.rule(n, &mut self.die);
            let draft = drafts::draft(&self.store, n, rule);
            self.command(Command::ApplyJob(Box::new(draft)))?;
        }
        self.run_for(Span::SECOND)?;
        let jobs = self.jobs();
        assert_eq!(jobs.len(), self.scenario.jobs, "every job was applied");
        for job in jobs {
            let rule = drafts::rule_of(&self.store, &job);
            self.checker.job(job.id, &rule.rule);
            self.rules.insert(job.id, rule);
        }
        Ok(())
    }

    pub(crate) fn jobs(&self) -> Vec<JobRecord> {
        drafts::jobs(&self.store)
    }

    pub(crate) fn run_for(&mut self, span: Span) -> Result<(), Broken> {
        let end = self.now + span;
        while self.now < end {
            self.step()?;
        }
        Ok(())
    }

    /// To the next event, whatever it is.
    pub(crate) fn step(&mut self) -> Result<(), Broken> {
        let nodes = self.agents.iter().filter_map(|agent| agent.next(self.now));
        let lines = self.lines.iter().flatten().filter_map(Line::next);
        let back = self.agent_back.iter().chain(&self.reconnect).flatten().copied();
        let zombies = self.zombies.iter().map(|(at, _)| *at);
        let server = self.server.as_ref().and_then(ServerNode::next);
        let next = nodes.chain(lines).chain(back).chain(zombies).chain(server).chain(self.server_back).min();
        self.now = self.now.max(next.unwrap_or(self.next_dice).min(self.next_dice));
        if self.now >= self.next_dice {
            self.next_dice = self.now + Span::SECOND;
            self.throw_dice()?;
        }
        self.come_back()?;
        self.carry()?;
        self.wake_agents()?;
        self.wake_zombies()?;
        self.turn_server()
    }

    fn turn_server(&mut self) -> Result<(), Broken> {
        let takes = Span(self.die.between(100, 4_000));
        let now = self.now;
        if let Some(server) = &mut self.server {
            if server.flight.as_ref().is_some_and(|(at, _)| *at <= now) {
                server.answer(now, &mut self.checker)?;
            }
            server.turn(now, takes, &mut self.checker)?;
            let sent = server.take_sent();
            self.post(sent)?;
            if self.server.as_ref().is_some_and(|server| server.dead.is_some()) {
                self.lose_server(None);
            }
        }
        Ok(())
    }

    fn post(&mut self, sent: Vec<Sent>) -> Result<(), Broken> {
        let (store, now) = (self.store.clone(), self.now);
        let bodies = move |version: VersionId| {
            let version = store.version(version, soon()).expect("memory reads").expect("looked up before it is sent");
            (version.job.0, store.content(version.task, soon()).expect("memory reads").expect("interned"))
        };
        for sent in sent {
            match sent {
                Sent::Parcel(agent, parcel) => {
                    let unknown = |order: &&engine::Order| {
                        self.store.version(order.version, soon()).expect("memory reads").is_none()
                    };
                    if let Some(order) = parcel.orders.iter().find(unknown) {
                        let what = format!("attempt {} was ordered before its job was on disk", order.attempt);
                        return Err(Broken::new(Promise::DurableBeforeSent, what));
                    }
                    let n = self.number(agent);
                    if let Some(line) = &mut self.lines[n] {
                        line.parcel(now, parcel, &bodies, &mut self.die);
                    }
                }
                Sent::Greet(term) => {
                    for line in self.lines.iter_mut().flatten() {
                        line.greet(now, term, &mut self.die);
                    }
                }
            }
        }
        Ok(())
    }

    /// Messages that have arrived by now, in both directions.
    fn carry(&mut self) -> Result<(), Broken> {
        for n in 0..self.agents.len() {
            while let Some(down) = self.lines[n].as_mut().and_then(|line| line.take_down(self.now)) {
                let ups = self.agents[n].down(SERVER, self.now, down, &mut self.die, &mut self.checker)?;
                self.send_up(n, ups);
            }
            while let Some(up) = self.lines[n].as_mut().and_then(|line| line.take_up(self.now)) {
                let Some(server) = &mut self.server else { continue };
                let line = self.lines[n].as_mut().expect("a message came over it");
                let inputs = line.taken_in(self.now, up, &self.agents[n].record, server.term, &mut self.die);
                for input in inputs {
                    let input = if self.scenario.mutant == Some(Mutant::FenceIgnored) {
                        unfenced(&self.store, input)
                    } else {
                        input
                    };
                    server.tell(self.now, input, &mut self.checker)?;
                }
            }
        }
        Ok(())
    }

    fn send_up(&mut self, n: usize, ups: Ups) {
        if let Some(line) = &mut self.lines[n] {
            ups.into_iter().for_each(|(_, up)| line.send_up(self.now, up, &mut self.die));
        }
    }

    fn wake_agents(&mut self) -> Result<(), Broken> {
        for n in 0..self.agents.len() {
            if self.agents[n].next(self.now).is_some_and(|at| at <= self.now) {
                let ups = self.agents[n].wake(self.now, &mut self.die, &mut self.checker)?;
                self.send_up(n, ups);
            }
        }
        Ok(())
    }

    /// A server that was replaced while it stood still goes on where it was.
    fn wake_zombies(&mut self) -> Result<(), Broken> {
        let now = self.now;
        let awake: Vec<_> = self.zombies.extract_if(.., |(at, _)| *at <= now).collect();
        for (_, mut zombie) in awake {
            if self.scenario.mutant == Some(Mutant::NoTermCheck) {
                zombie.forget_term();
            }
            let stood = self.standing();
            for _ in 0..3 {
                zombie.answer(now, &mut self.checker)?;
                zombie.turn(now, Span(0), &mut self.checker)?;
            }
            // The store may take the shard from everyone at any time, which raises the term and writes nothing.
            if self.standing().batch != stood.batch && self.server_term() > Some(zombie.term) {
                let what = "a server that had been replaced wrote to the store";
                return Err(Broken::new(Promise::OneOwner, what));
            }
        }
        Ok(())
    }

    fn standing(&self) -> Standing {
        self.store.clone().standing(SHARD).expect("the memory store answers")
    }

    fn server_term(&self) -> Option<Term> {
        self.server.as_ref().map(|server| server.term)
    }

    fn come_back(&mut self) -> Result<(), Broken> {
        let now = self.now;
        if self.server_back.take_if(|at| *at <= now).is_some() {
            let hasty = self.scenario.mutant == Some(Mutant::AcknowledgeBeforeCommit);
            self.server = Some(ServerNode::start(&self.store, now, hasty));
        }
        for n in 0..self.agents.len() {
            if self.agent_back[n].take_if(|at| *at <= now).is_some() {
                self.agents[n].start(self.now);
                self.reconnect[n] = Some(now);
            }
            let due = self.reconnect[n].is_some_and(|at| at <= now);
            if due && self.agents[n].is_up() && self.server.is_some() {
                self.reconnect[n] = None;
                self.lines[n] = Some(Line::default());
                let ups = self.agents[n].connected(SERVER, now, &mut self.die, &mut self.checker)?;
                self.send_up(n, ups);
            } else if due {
                self.reconnect[n] = Some(now + Span::millis(200));
            }
        }
        Ok(())
    }

    pub(crate) fn command(&mut self, command: Command) -> Result<(), Broken> {
        match &mut self.server {
            Some(server) => server.command(self.now, command, &mut self.checker),
            None => Ok(()),
        }
    }

    fn number(&self, agent: AgentId) -> usize {
        self.agents.iter().position(|node| node.record.id == agent).expect("orders go to known agents")
    }
}

/// The planted bug: the report is taken to be about whatever attempt the instance has now.
fn unfenced(store: &MemoryStore, input: Input) -> Input {
    let Input::Report { agent, mut report } = input else { return input };
    let current = store
        .instance_of(report.attempt, soon())
        .ok()
        .flatten()
        .and_then(|id| store.instance(id, soon()).ok().flatten());
    match current {
        Some(instance) => {
            report.attempt = instance.attempt;
            Input::Report { agent: instance.target.unwrap_or(agent), report }
        }
        None => Input::Report { agent, report },
    }
}

/// Reads of the memory store take no time.
pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}
