//! What goes wrong, and what people do meanwhile: one throw of the dice per second.

use engine::input::Triggering;
use engine::{Command, Input};
use model::{JobId, JobMode, Span};
use store::Reads;
use store::memory::Fault;
use store::read::InstanceFilter;

use crate::checker::Broken;
use crate::world::{SERVER, World, soon};

impl World {
    pub(crate) fn throw_dice(&mut self) -> Result<(), Broken> {
        if self.calm {
            return Ok(());
        }
        let faults = self.scenario.faults;
        if self.die.one_in(faults.commit_refused) {
            let times = self.die.between(1, 6) as usize;
            self.store.plan(std::iter::repeat_n(Some(Fault::Retry), times));
        }
        if self.die.one_in(faults.commit_unknown) {
            let fault = *self.die.pick(&[Fault::AppliedUnknown, Fault::DroppedUnknown]);
            self.store.plan([Some(fault)]);
        }
        if self.die.one_in(faults.owner_lost) {
            self.store.plan([Some(Fault::LoseOwner)]);
        }
        if self.die.one_in(faults.server_crash)
            && let Some(server) = self.server.take()
        {
            let reached = self.die.one_in(2);
            server.crash(reached, &mut self.checker)?;
            self.lose_server(None);
        }
        if self.die.one_in(faults.zombie)
            && let Some(server) = self.server.take()
        {
            let most = *self.die.pick(&[600_000, 8_000_000]);
            let sleep = Span(self.die.between(1_000, most));
            let successor_in = Span(self.die.between(1_000, 500_000));
            self.zombies.push((self.now + sleep, server));
            self.lose_server(Some(successor_in));
        }
        self.throw_agents_dice(faults)?;
        if self.die.one_in(faults.people) {
            self.people()?;
        }
        Ok(())
    }

    fn throw_agents_dice(&mut self, faults: crate::scenario::Faults) -> Result<(), Broken> {
        for n in 0..self.agents.len() {
            let crash = self.die.one_in(faults.agent_crash);
            let reboot = self.die.one_in(faults.agent_reboot);
            if (crash || reboot) && self.agents[n].is_up() {
                if reboot {
                    self.agents[n].reboot(self.now, &mut self.die, &mut self.checker);
                } else {
                    self.agents[n].crash();
                }
                self.crashes += 1;
                self.cut(n)?;
                self.reconnect[n] = None;
                self.agent_back[n] = Some(self.now + Span(self.die.between(50_000, 5_000_000)));
            } else if self.die.one_in(faults.cut) && self.lines[n].is_some() {
                self.cut(n)?;
            }
        }
        Ok(())
    }

    /// A stream breaks: what is under way on it is gone, and both ends notice.
    fn cut(&mut self, n: usize) -> Result<(), Broken> {
        if self.lines[n].take().is_some() {
            self.agents[n].disconnected(SERVER);
            self.reconnect[n] = Some(self.now + Span(self.die.between(20_000, 3_000_000)));
            let agent = self.agents[n].record.id;
            if let Some(server) = &mut self.server {
                server.tell(self.now, Input::AgentGone { agent }, &mut self.checker)?;
            }
        }
        Ok(())
    }

    pub(crate) fn lose_server(&mut self, back_in: Option<Span>) {
        self.crashes += 1;
        self.server = None;
        let back_in = back_in.unwrap_or(Span(self.die.between(50_000, 4_000_000)));
        self.server_back = Some(self.now + back_in);
        for n in 0..self.agents.len() {
            if self.lines[n].take().is_some() {
                self.agents[n].disconnected(SERVER);
                self.reconnect[n] = Some(self.now + Span(self.die.between(20_000, 2_000_000)));
            }
        }
    }

    /// People pause, resume, trigger, stop and rerun.
    fn people(&mut self) -> Result<(), Broken> {
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
                None => return Ok(()),
            },
            _ => match self.some_instance(job, false) {
                Some(instance) => {
                    let rule = std::sync::Arc::clone(&self.rules[&job]);
                    Command::Rerun { instance: Box::new(instance), rule }
                }
                None => return Ok(()),
            },
        };
        self.command(command)
    }

    fn some_instance(&mut self, job: JobId, open: bool) -> Option<model::Instance> {
        let filter = InstanceFilter { job: Some(job), limit: 20, ..InstanceFilter::default() };
        let all = self.store.instances(&filter, soon()).expect("memory reads");
        all.into_iter().find(|instance| instance.state.is_open() == open)
    }
}
