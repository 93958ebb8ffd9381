//! The world of several servers: moves the one true clock from event to event, carries what is said, starts what is to
//! come back, and has the checker look at everything.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent::session::Server;
use cluster::Terms;
use engine::{Command, Compiled};
use model::{JobId, JobMode, ServerId, ShardId, Span, Timestamp, shard_of, shard_of_name};
use store::memory::MemoryStore;
use store::{Reads, Wakes};

use super::desk::Desk;
use super::network::{Cuts, Place, Stream};
use super::postman::Postman;
use super::process::{Bits, Process};
use super::{Mutant, Scenario, sharing};
use crate::agent_node::{AgentBug, AgentNode, Ups};
use crate::checker::{Broken, Checker, Promise};
use crate::die::Die;
use crate::drafts;
use crate::epilogue::{PATIENCE, check_ledger, never_ended, open_instances};
use crate::world::{BEGIN, soon};

/// An agent that has had no contact for so long takes its stream for dead.
const AGENT_PATIENCE: Span = Span::secs(15);

#[derive(Debug)]
pub struct Outcome {
    pub fires: u64,
    pub runs: u64,
    /// How often a shard got another owner.
    pub takeovers: u64,
    pub misfortunes: u64,
}

/// A broken promise, with what repeats it.
#[derive(Debug)]
pub struct Failure {
    pub seed: u64,
    pub mutant: Option<Mutant>,
    pub after: Span,
    pub broken: Broken,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Failure { seed, mutant, .. } = self;
        write!(f, "seed {seed} after {}: {} (planted bug: {mutant:?})", self.after, self.broken)?;
        write!(f, "\nrepeat it with DULY_SEED={seed} cargo test -p duly-sim --test servers")
    }
}

/// Lives through one history.
pub fn run(scenario: Scenario) -> Result<Outcome, Failure> {
    let mut world = World::new(scenario);
    match world.live() {
        Ok(()) => {
            let takeovers = (0..world.scenario.shards).map(|shard| world.term(ShardId(shard)) as u64).sum();
            let (fires, runs) = (world.checker.fires, world.checker.runs);
            Ok(Outcome { fires, runs, takeovers, misfortunes: world.count })
        }
        Err(broken) => {
            let Scenario { seed, mutant, .. } = world.scenario;
            Err(Failure { seed, mutant, after: world.now - BEGIN, broken })
        }
    }
}

/// Where a server is installed: what outlives its processes.
pub(super) struct Host {
    pub id: ServerId,
    pub drift: i64,
    pub shift: Span,
    pub lives: u64,
    pub process: Option<Process>,
    pub back: Option<Timestamp>,
}

pub(super) struct World {
    pub scenario: Scenario,
    pub die: Die,
    pub now: Timestamp,
    pub store: MemoryStore,
    pub desk: Desk,
    pub checker: Checker,
    pub cuts: Cuts,
    pub streams: Vec<Stream>,
    pub hosts: Vec<Host>,
    pub agents: Vec<AgentNode>,
    pub agent_back: Vec<Option<Timestamp>>,
    /// When each agent next dials each server it has no stream to.
    pub redial: BTreeMap<(usize, usize), Timestamp>,
    pub rules: BTreeMap<JobId, Arc<Compiled>>,
    pub next_dice: Timestamp,
    pub calm: bool,
    pub count: u64,
}

impl World {
    fn new(scenario: Scenario) -> World {
        let mut die = Die::new(scenario.seed);
        let store = MemoryStore::with_shards(scenario.shards);
        let most = scenario.misfortunes.drift;
        let mut drift = || if most > 0 { die.between(-most, most + 1) } else { 0 };
        let hosts = (0..scenario.servers).map(|n| Host {
            id: ServerId(500_000_000 + n as i64),
            drift: drift(),
            shift: Span::secs(drift() / 100),
            lives: 0,
            process: None,
            // The last of them joins later.
            back: Some(if n > 0 && n + 1 == scenario.servers { BEGIN + Span::secs(10) } else { BEGIN }),
        });
        let hosts: Vec<Host> = hosts.collect();
        let bug = match scenario.mutant {
            Some(Mutant::FenceIgnored) => Some(AgentBug::TermIgnored),
            Some(Mutant::LateOrderAccepted) => Some(AgentBug::LateAccepted),
            _ => None,
        };
        let agent = |n: usize| AgentNode::new(1_000_000_000 + n as i64, scenario.slots).with(drift(), bug);
        let agents: Vec<AgentNode> = (0..scenario.agents).map(agent).collect();
        World {
            desk: Desk::new(store.clone(), scenario.mutant, scenario.misfortunes.slow_calls),
            now: BEGIN,
            store,
            checker: Checker::default(),
            cuts: Cuts::default(),
            streams: Vec::new(),
            hosts,
            agent_back: vec![None; agents.len()],
            agents,
            redial: BTreeMap::new(),
            rules: BTreeMap::new(),
            next_dice: BEGIN + Span::SECOND,
            calm: true,
            count: 0,
            die,
            scenario,
        }
    }

    fn live(&mut self) -> Result<(), Broken> {
        self.settle_in()?;
        self.calm = false;
        self.run_for(Span::secs(self.scenario.seconds))?;
        self.calm = true;
        self.wind_down()?;
        self.nothing_is_held()?;
        check_ledger(&self.store, &self.rules, self.now)
    }

    /// Servers share the shards out, agents join and jobs are applied before anything goes wrong.
    fn settle_in(&mut self) -> Result<(), Broken> {
        self.run_for(Span::secs(3))?;
        for n in 0..self.agents.len() {
            let agent = Box::new((*self.agents[n].record).clone());
            self.command(ShardId(0), &Command::PutAgent { agent });
        }
        self.run_for(Span::secs(3))?;
        // Nobody is let in whom not all servers know.
        self.agent_back.fill(Some(self.now));
        self.run_for(Span::SECOND)?;
        if self.scenario.sharing {
            let (name, units) = sharing::seats();
            self.checker.there_are(name.clone(), units);
            self.command(ShardId(0), &Command::PutResource { name, units });
        }
        for n in 0..self.scenario.jobs {
            let rule = self.scenario.rule(n, &mut self.die);
            let draft = drafts::draft(&self.store, n, rule);
            let shard = shard_of_name(draft.tenant, &draft.name, self.scenario.shards);
            self.command(shard, &Command::ApplyJob(Box::new(draft)));
        }
        self.run_for(Span::secs(2))?;
        let jobs = drafts::jobs(&self.store);
        assert_eq!(jobs.len(), self.scenario.jobs, "every job was applied");
        for job in jobs {
            let rule = drafts::rule_of(&self.store, &job);
            self.checker.job(job.id, &rule.rule);
            self.rules.insert(job.id, rule);
        }
        Ok(())
    }

    /// Whoever has ended has given back what it held, and all shards have heard what they were told.
    fn nothing_is_held(&mut self) -> Result<(), Broken> {
        let all = self.store.resources(soon()).expect("memory reads");
        if let Some(kept) = all.iter().find(|one| one.held > 0 || one.waiting > 0) {
            let what = format!("everything has ended, and {kept:?} is not free");
            return Err(Broken::new(Promise::GivenBack, what));
        }
        let shards: Vec<ShardId> = (0..self.scenario.shards).map(ShardId).collect();
        let end = self.now + PATIENCE;
        while !self.store.outbox(&shards, 1, soon()).expect("memory reads").is_empty() {
            if self.now > end {
                return Err(Broken::new(Promise::ComesToItsEnd, "a shard never heard what it was told"));
            }
            self.run_for(Span::SECOND)?;
        }
        Ok(())
    }

    /// Nothing goes wrong any more: jobs are paused, and everything that is open must end.
    fn wind_down(&mut self) -> Result<(), Broken> {
        self.make_peace();
        let end = self.now + PATIENCE;
        loop {
            let enabled: Vec<JobId> =
                drafts::jobs(&self.store).iter().filter(|job| job.mode == JobMode::Enabled).map(|job| job.id).collect();
            let open = open_instances(&self.store);
            if enabled.is_empty() && open.is_empty() {
                return Ok(());
            }
            if self.now > end && open.is_empty() {
                let what = format!("{} jobs could not be paused", enabled.len());
                return Err(Broken::new(Promise::ComesToItsEnd, what));
            }
            if self.now > end {
                return Err(never_ended(&open));
            }
            for job in enabled {
                self.command(self.shard_of(job), &Command::SetMode { job, mode: JobMode::Paused });
            }
            self.run_for(Span::secs(2))?;
        }
    }

    pub(super) fn shard_of(&self, job: JobId) -> ShardId {
        shard_of(job, self.scenario.shards)
    }

    /// To whoever runs the shard and can be reached.
    pub(super) fn command(&mut self, shard: ShardId, command: &Command) {
        let now = self.now;
        let awake = self.hosts.iter_mut().filter_map(|host| host.process.as_mut()).filter(|p| p.is_awake(now));
        for process in awake {
            if process.command(shard, command) {
                return;
            }
        }
    }

    fn run_for(&mut self, span: Span) -> Result<(), Broken> {
        let end = self.now + span;
        while self.now < end {
            self.step()?;
        }
        Ok(())
    }

    /// To the next event, whatever it is.
    fn step(&mut self) -> Result<(), Broken> {
        self.now = self.now.max(self.next_event());
        if self.now >= self.next_dice {
            self.next_dice = self.now + Span::SECOND;
            self.sweep();
            self.throw_dice();
        }
        self.come_back()?;
        self.answer()?;
        self.carry()?;
        self.wake_agents()?;
        for n in 0..self.hosts.len() {
            self.turn(n)?;
        }
        self.streams.retain(|stream| !stream.is_over());
        Ok(())
    }

    fn next_event(&self) -> Timestamp {
        let now = self.now;
        let asleep = |n: usize| self.asleep(n);
        let agents = self.agents.iter().filter_map(|agent| agent.next(now));
        let hosts = self.hosts.iter().filter_map(|host| host.process.as_ref().map(|p| p.next(now)).or(host.back));
        let ups = self.streams.iter().filter_map(|s| s.next_up(&self.cuts).map(|at| at.max(self.ears(s.server))));
        let downs = self.streams.iter().filter_map(|stream| stream.next_down(&self.cuts));
        let back = self.agent_back.iter().flatten().chain(self.redial.values()).copied();
        let all = agents.chain(hosts).chain(ups).chain(downs).chain(back).chain(self.desk.next(&self.cuts, &asleep));
        all.min().unwrap_or(self.next_dice).min(self.next_dice)
    }

    fn asleep(&self, n: usize) -> Timestamp {
        self.hosts[n].process.as_ref().map_or(Timestamp::MIN, |process| process.asleep_until)
    }

    fn ears(&self, n: usize) -> Timestamp {
        self.hosts[n].process.as_ref().map_or(Timestamp::MIN, |process| process.asleep_until.max(process.ears_from))
    }

    /// What the store answers reaches whoever asked, and wakes whom it concerns.
    fn answer(&mut self) -> Result<(), Broken> {
        let hosts = &self.hosts;
        let asleep = |n: usize| hosts[n].process.as_ref().map_or(Timestamp::MIN, |process| process.asleep_until);
        let answers = self.desk.step(self.now, &self.cuts, &asleep, &mut self.die, &mut self.checker)?;
        let (now, mutant) = (self.now, self.scenario.mutant);
        for host in &mut self.hosts {
            let rung = self.store.wakes(host.id).wait(Duration::ZERO).expect("memory waits");
            // A wake-up may be lost.
            if rung && !self.die.one_in(8) {
                host.process.iter_mut().for_each(|process| process.steward.ring(now));
            }
        }
        for (asker, answer) in answers {
            let process = self.hosts[asker.server].process.as_mut().filter(|process| process.life == asker.life);
            let (die, checker, desk) = (&mut self.die, &mut self.checker, &mut self.desk);
            let mut bits = Bits { now, die, checker, desk, mutant };
            if let Some(process) = process {
                process.hears(asker, answer, &mut bits);
            }
        }
        Ok(())
    }

    /// Messages that have arrived by now, in both directions.
    fn carry(&mut self) -> Result<(), Broken> {
        let mut at = 0;
        while at < self.streams.len() {
            while self.streams[at].next_down(&self.cuts).is_some_and(|due| due <= self.now) {
                let (n, from) = (self.streams[at].agent, self.streams[at].server);
                match self.streams[at].take_down() {
                    Some(down) => {
                        let from = Server(from as u32);
                        let ups = self.agents[n].down(from, self.now, down, &mut self.die, &mut self.checker)?;
                        self.send_up(n, ups);
                    }
                    None => self.agent_hangs_up(at),
                }
            }
            while self.streams[at].next_up(&self.cuts).is_some_and(|due| due <= self.now)
                && self.ears(self.streams[at].server) <= self.now
            {
                let stream = &mut self.streams[at];
                let up = stream.take_up();
                let host = &mut self.hosts[stream.server];
                let Some(process) = host.process.as_mut().filter(|process| process.life == stream.life) else {
                    stream.close_server_end(self.now, true, &mut self.die);
                    continue;
                };
                let record = Arc::clone(&self.agents[stream.agent].record);
                let (die, checker, desk) = (&mut self.die, &mut self.checker, &mut self.desk);
                let mut bits = Bits { now: self.now, die, checker, desk, mutant: self.scenario.mutant };
                process.listen(stream, up, &record, &mut bits);
            }
            at += 1;
        }
        Ok(())
    }

    pub(super) fn send_up(&mut self, n: usize, ups: Ups) {
        for (to, up) in ups {
            let stream = self.streams.iter_mut().find(|s| s.agent == n && s.server == to.0 as usize && s.agent_end);
            stream.into_iter().for_each(|stream| stream.send_up(self.now, Some(up.clone()), &mut self.die));
        }
    }

    pub(super) fn agent_hangs_up(&mut self, at: usize) {
        let stream = &mut self.streams[at];
        if stream.agent_end {
            stream.close_agent_end(self.now, &mut self.die);
            let key = (stream.agent, stream.server);
            self.agents[key.0].disconnected(Server(key.1 as u32));
            self.redial.insert(key, self.now + Span(self.die.between(20_000, 2_000_000)));
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

    fn turn(&mut self, n: usize) -> Result<(), Broken> {
        let Some(process) = &mut self.hosts[n].process else { return Ok(()) };
        let (die, checker, desk) = (&mut self.die, &mut self.checker, &mut self.desk);
        let mut bits = Bits { now: self.now, die, checker, desk, mutant: self.scenario.mutant };
        process.step(&mut bits, &mut self.streams)?;
        if process.has_ended(self.now) {
            let back = Span(self.die.between(500_000, 15_000_000));
            self.end_process(n, true, back);
        }
        Ok(())
    }

    pub(super) fn end_process(&mut self, n: usize, said: bool, back_in: Span) {
        let host = &mut self.hosts[n];
        host.process = None;
        host.back = Some(self.now + back_in);
        self.desk.orphan(n, &mut self.die);
        for stream in self.streams.iter_mut().filter(|stream| stream.server == n) {
            stream.close_server_end(self.now, said, &mut self.die);
        }
    }

    fn come_back(&mut self) -> Result<(), Broken> {
        let (now, lease) = (self.now, Duration::from(self.scenario.lease));
        for (n, host) in self.hosts.iter_mut().enumerate() {
            if host.back.take_if(|at| *at <= now).is_some() {
                host.lives += 1;
                let clocks = (host.drift, host.shift);
                let mut process = Process::start(n, host.lives, host.id, Terms::of(lease), clocks, now);
                if self.scenario.sharing {
                    process.postman = Postman::Waits(now);
                }
                host.process = Some(process);
            }
        }
        for n in 0..self.agents.len() {
            if self.agent_back[n].take_if(|at| *at <= now).is_some() {
                self.agents[n].start(self.now);
                self.redial.extend((0..self.hosts.len()).map(|server| ((n, server), now)));
            }
        }
        let due: Vec<(usize, usize)> = self.redial.iter().filter(|(_, at)| **at <= now).map(|(key, _)| *key).collect();
        for (n, server) in due {
            self.dial(n, server)?;
        }
        Ok(())
    }

    fn dial(&mut self, n: usize, server: usize) -> Result<(), Broken> {
        self.redial.remove(&(n, server));
        if !self.agents[n].is_up() {
            return Ok(());
        }
        let open = self.cuts.is_open(Place::Agent(n), Place::Server(server), self.now);
        match self.hosts[server].process.as_ref().filter(|process| open && process.is_awake(self.now)) {
            Some(process) => {
                self.streams.push(Stream::dial(n, server, process.life, self.now));
                let to = Server(server as u32);
                let ups = self.agents[n].connected(to, self.now, &mut self.die, &mut self.checker)?;
                self.send_up(n, ups);
            }
            None => {
                let later = Span(self.die.between(200_000, 1_000_000));
                self.redial.insert((n, server), self.now + later);
            }
        }
        Ok(())
    }

    /// Streams whose other end has been silent for too long are given up.
    fn sweep(&mut self) {
        for at in 0..self.streams.len() {
            let stream = &mut self.streams[at];
            let (agent, server, now) = (stream.agent, stream.server, self.now);
            let process = self.hosts[server].process.as_mut().filter(|process| process.life == stream.life);
            let Some(process) = process.filter(|process| process.is_awake(now)) else {
                if now - stream.contact > AGENT_PATIENCE {
                    self.agent_hangs_up(at);
                }
                continue;
            };
            if self.cuts.is_open(Place::Agent(agent), Place::Server(server), now) {
                stream.contact = now;
            }
            let record = Arc::clone(&self.agents[agent].record);
            if process.is_silent(stream, now) && stream.next_up(&self.cuts).is_none_or(|at| at > now) {
                let (die, checker, desk) = (&mut self.die, &mut self.checker, &mut self.desk);
                let mut bits = Bits { now, die, checker, desk, mutant: self.scenario.mutant };
                process.hang_up(stream, &record, &mut bits);
            }
            if now - stream.contact > AGENT_PATIENCE {
                self.agent_hangs_up(at);
            }
        }
    }

    fn term(&self, shard: ShardId) -> i64 {
        store::Store::standing(&mut self.store.clone(), shard).expect("the memory store answers").term.0
    }
}
