//! What goes wrong between several servers, and what people do meanwhile: one throw of the dice per second.

use engine::Command;
use engine::input::Triggering;
use model::{JobId, JobMode, Span, Timestamp};
use store::memory::Fault;
use store::read::InstanceFilter;
use store::{Leases, Reads};

use super::driver::Trip;
use super::network::Place;
use super::world::World;
use crate::world::soon;

impl World {
    pub(super) fn throw_dice(&mut self) {
        if self.calm {
            return;
        }
        let odds = self.scenario.misfortunes;
        if self.die.one_in(odds.cut_both_ways) {
            self.cut(true);
        }
        if self.die.one_in(odds.cut_one_way) {
            self.cut(false);
        }
        self.store_fails();
        self.servers_fail();
        self.agents_fail();
        if self.die.one_in(odds.people) {
            self.people();
        }
    }

    fn cut(&mut self, both_ways: bool) {
        self.count += 1;
        let server = Place::Server(self.die.between(0, self.hosts.len() as i64) as usize);
        let agent = Place::Agent(self.die.between(0, self.agents.len() as i64) as usize);
        let other = if self.die.one_in(2) { Place::Store } else { agent };
        let until = self.now + self.some_time();
        let (from, to) = if self.die.one_in(2) { (server, other) } else { (other, server) };
        self.cuts.cut(from, to, until);
        if both_ways {
            self.cuts.cut(to, from, until);
        }
    }

    /// Often a little longer than a lease.
    fn some_time(&mut self) -> Span {
        let lease = self.scenario.lease.0;
        let most = *self.die.pick(&[lease / 2, lease * 2, lease * 2, lease * 6]);
        Span(self.die.between(10_000, most))
    }

    fn store_fails(&mut self) {
        let odds = self.scenario.misfortunes;
        if self.die.one_in(odds.store_stalls) {
            self.count += 1;
            let until = self.now + self.some_time();
            self.desk.stalled_until = self.desk.stalled_until.max(until);
        }
        if self.die.one_in(odds.store_refuses) {
            self.count += 1;
            let times = self.die.between(1, 8) as usize;
            self.store.plan(std::iter::repeat_n(Some(Fault::Retry), times));
        }
        if self.die.one_in(odds.answer_lost) {
            self.count += 1;
            let fault = *self.die.pick(&[Fault::AppliedUnknown, Fault::DroppedUnknown]);
            self.store.plan([Some(fault)]);
        }
    }

    fn servers_fail(&mut self) {
        let odds = self.scenario.misfortunes;
        for n in 0..self.hosts.len() {
            let times = self.hosts.len() as u64;
            let (span, now) = (self.some_time(), self.now);
            let Some(process) = &mut self.hosts[n].process else { continue };
            if !process.is_awake(now) {
                continue;
            }
            if self.die.one_in(odds.pause * times) {
                self.count += 1;
                process.sleep(now, span, &mut self.die);
            } else if self.die.one_in(odds.trip * times) {
                self.count += 1;
                let trip = *self.die.pick(&[Trip::BeforeLook, Trip::AfterLook]);
                process.trip = Some((trip, span));
            } else if self.die.one_in(odds.starve * times) {
                self.count += 1;
                let runs: Vec<_> = process.runs.keys().copied().collect();
                match self.die.between(-1, runs.len() as i64) {
                    -1 => process.ears_from = now + span,
                    at => process.runs.get_mut(&runs[at as usize]).expect("listed").not_before = now + span,
                }
            } else if self.die.one_in(odds.server_dies * times) {
                self.count += 1;
                let (said, back_in) = (!self.die.one_in(3), Span(self.die.between(200_000, 15_000_000)));
                self.end_process(n, said, back_in);
            } else if self.die.one_in(odds.server_leaves * times) {
                self.count += 1;
                process.leave();
            } else if self.die.one_in(odds.drain * times) {
                self.count += 1;
                let (id, drain) = (self.hosts[n].id, self.die.one_in(2));
                let _ = self.store.leases().set_draining(id, drain);
            }
        }
    }

    fn agents_fail(&mut self) {
        let odds = self.scenario.misfortunes;
        for n in 0..self.agents.len() {
            let crash = self.die.one_in(odds.agent_crash);
            let reboot = self.die.one_in(odds.agent_reboot);
            if (crash || reboot) && self.agents[n].is_up() {
                self.count += 1;
                if reboot {
                    self.agents[n].reboot(self.now, &mut self.die, &mut self.checker);
                } else {
                    self.agents[n].crash();
                }
                self.hang_up_all(n);
                self.redial.retain(|(agent, _), _| *agent != n);
                self.agent_back[n] = Some(self.now + Span(self.die.between(50_000, 5_000_000)));
            } else if self.die.one_in(odds.stream_breaks) {
                self.count += 1;
                let server = self.die.between(0, self.hosts.len() as i64) as usize;
                self.break_streams(|s| (s.agent, s.server) == (n, server));
            }
        }
    }

    fn hang_up_all(&mut self, agent: usize) {
        self.break_streams(|stream| stream.agent == agent);
    }

    /// What is under way on these is gone, and both ends notice as soon as they can.
    fn break_streams(&mut self, which: impl Fn(&super::network::Stream) -> bool) {
        for at in 0..self.streams.len() {
            if which(&self.streams[at]) {
                self.agent_hangs_up(at);
            }
        }
    }

    /// Everything that was broken is whole again.
    pub(super) fn make_peace(&mut self) {
        self.cuts.heal();
        self.desk.stalled_until = Timestamp::MIN;
        self.store.forget_plan();
        let now = self.now;
        for host in &mut self.hosts {
            let _ = self.store.leases().set_draining(host.id, false);
            host.back = host.back.map(|at| at.min(now + Span::SECOND));
            if let Some(process) = &mut host.process {
                process.asleep_until = process.asleep_until.min(now);
                process.trip = None;
            }
        }
    }

    /// People pause, resume, trigger, stop and rerun.
    fn people(&mut self) {
        let jobs: Vec<JobId> = self.rules.keys().copied().collect();
        let job = *self.die.pick(&jobs);
        let command = match self.die.between(0, 6) {
            0 => Command::SetMode { job, mode: JobMode::Paused },
            1 | 2 => Command::SetMode { job, mode: JobMode::Enabled },
            3 => Command::Trigger(Box::new(Triggering {
                job,
                params: None,
                on: None,
                planned: None,
                idempotency_key: None,
                adopt: None,
            })),
            4 => match self.some_instance(job, true) {
                Some(instance) => Command::Stop { instance: instance.id },
                None => return,
            },
            _ => match self.some_instance(job, false) {
                Some(instance) => {
                    let rule = std::sync::Arc::clone(&self.rules[&job]);
                    Command::Rerun { instance: Box::new(instance), rule }
                }
                None => return,
            },
        };
        self.command(self.shard_of(job), &command);
    }

    fn some_instance(&mut self, job: JobId, open: bool) -> Option<model::Instance> {
        let filter = InstanceFilter { job: Some(job), limit: 20, ..InstanceFilter::default() };
        let all = self.store.instances(&filter, soon()).expect("memory reads");
        all.into_iter().find(|instance| instance.state.is_open() == open)
    }
}
