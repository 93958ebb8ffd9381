//! The script: one line, one thing that happens. Machines run things by themselves (`agent x runs 5s`) or as the
//! script says (`start a#1`, `ok a#1`, `fail a#1`).

use duly_engine::input::{Resolution, Subject, Triggering};
use duly_engine::{Command, Input, Refusal, Reply};
use model::*;

use super::job::{rule, span};
use super::text::{clock, time};
use super::{Machine, World};

impl World {
    pub fn play(&mut self, script: &str) {
        for line in script.lines().flat_map(|line| line.split(';')).map(str::trim).filter(|line| !line.is_empty()) {
            self.act(line);
        }
    }

    fn act(&mut self, line: &str) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<_> = rest.split_whitespace().collect();
        match (verb, &words[..]) {
            ("hide", words) => self.hidden.extend(words.iter().map(|word| word.replace('_', " "))),
            ("agent", [name, options @ ..]) => self.agent(name, options),
            ("job", [name, ..]) => {
                let names: Vec<_> = self.store.jobs.values().map(|job| (job.name.clone(), job.id)).collect();
                let id = |name: &str| names.iter().find(|(known, _)| known == name).expect("a job made before").1;
                let rule = rule(rest[name.len()..].trim(), id);
                let mut reply = self.apply_job(name, rule.clone());
                // Whoever got no answer asks again.
                if self.store.job_named(name).is_none() {
                    reply = self.apply_job(name, rule);
                }
                self.answer(line, reply);
            }
            ("until", _) => self.until(time(rest)),
            ("wait", [how_long]) => self.until(self.now + span(how_long)),
            ("crash", []) => self.restart(),
            ("down", ["until", ..]) => {
                self.now = time(rest.trim_start_matches("until "));
                self.pass_unheard();
                self.restart();
                self.tell(Input::Tick);
                self.tell(Input::Quiet { until: self.now });
            }
            ("asked", [instance, who, trail @ ..]) => self.asked(instance, who, &trail.join(" ")),
            ("unanswered", [instance]) => {
                let (agent, attempt) = self.sent(instance);
                self.tell(Input::Unanswered { agent, attempt, why: "it hung up".into() });
            }
            ("inspect", [name]) => {
                let agent = self.agent_named(name);
                self.tell(Input::Reconcile { agent, ordered_before: self.now });
            }
            ("callback", [instance, how]) => self.called_back(instance, how, None),
            ("callback", [instance, how, "for", pool]) => self.called_back(instance, how, Some(pool)),
            ("discarded" | "lost" | "unsent", [instance]) => {
                let (agent, attempt) = self.sent(instance);
                let verdict = match verb {
                    "lost" => Verdict::Lost,
                    "unsent" => Verdict::Undelivered,
                    _ => Verdict::Discarded,
                };
                self.tell(ended(agent, attempt, verdict, self.now));
            }
            ("beat", [name]) => {
                let (agent, load) = (self.agent_named(name), model::Load::default());
                self.tell(Input::AgentBeat { agent, load });
            }
            // It had no turn, and there are messages it has not read.
            ("starved", ["until", ..]) => {
                self.now = time(rest.trim_start_matches("until "));
                self.tell(Input::Tick);
            }
            ("gone", [name]) => self.disconnect(self.agent_named(name)),
            ("back", [name, how @ ..]) => self.back(name, how),
            ("drain" | "undrain", [name]) => {
                let machine = self.machine(name);
                machine.record.drained = verb == "drain";
                let agent = Box::new(machine.record.clone());
                self.ask(Command::PutAgent { agent });
            }
            ("revoked", [name]) => self.tell(Input::AgentRemoved { agent: self.agent_named(name) }),
            ("remove", ["agent", name]) => {
                let agent = self.agent_named(name);
                self.ask(Command::RemoveAgent { agent });
            }
            ("tenant", [name, options @ ..]) => self.tenant(line, name, options),
            ("pool", [name, "limit", limit]) => {
                let pool = PoolRecord {
                    tenant: TenantId::DEFAULT,
                    name: (*name).into(),
                    limit: limit.parse().ok(),
                    addresses: Vec::new(),
                };
                self.ask(Command::PutPool { pool });
            }
            ("resource", [name, units]) => {
                let name =
                    ResourceName { tenant: TenantId::DEFAULT, kind: ResourceKind::Counted, name: (*name).into() };
                self.ask(Command::PutResource { name, units: units.parse().expect("a number of units") });
            }
            ("hear", []) => self.hear(),
            ("global", ["limit", limit]) => {
                self.ask(Command::SetGlobalLimit { limit: limit.parse().ok() });
            }
            ("break", [job]) => self.tell(Input::Quarantine {
                job: Some(self.job(job)),
                input: "a script".into(),
                error: "it broke".into(),
            }),
            ("start" | "ok" | "warn" | "fail" | "fatal" | "stopped" | "refused" | "undelivered" | "timedout", _) => {
                self.report(verb, &words);
            }
            _ => self.command(line, verb, &words),
        }
    }

    fn command(&mut self, line: &str, verb: &str, words: &[&str]) {
        let reply = match (verb, words) {
            ("pause" | "resume" | "disable", [job]) => {
                let mode = match verb {
                    "pause" => JobMode::Paused,
                    "resume" => JobMode::Enabled,
                    _ => JobMode::Disabled,
                };
                self.ask(Command::SetMode { job: self.job(job), mode })
            }
            ("delete", [job]) => self.ask(Command::DeleteJob { job: self.job(job) }),
            ("release", [job]) => self.ask(Command::Release { job: self.job(job) }),
            ("trigger", [job]) => self.trigger(self.job(job), None, None),
            ("trigger", [job, "on", name]) => {
                let (job, on) = (self.job(job), Some(self.agent_named(name)));
                let asked = Triggering { job, params: None, on, planned: None, idempotency_key: None, adopt: None };
                self.ask(Command::Trigger(Box::new(asked)))
            }
            ("trigger", [job, "for", at]) => self.trigger(self.job(job), Some(time(at)), None),
            ("trigger", [job, "key", key]) => self.trigger(self.job(job), None, Some(key)),
            ("stop", [instance]) => self.ask(Command::Stop { instance: self.instance(instance) }),
            ("rerun", [instance]) => self.rerun(self.instance(instance)),
            ("resolve", [instance, how]) => {
                let verdict = if *how == "lost" { Resolution::Lost } else { Resolution::Succeeded };
                self.ask(Command::Resolve { instance: self.instance(instance), verdict })
            }
            ("why", [what]) => {
                let subject = match what.contains('#') {
                    true => Subject::Instance(self.instance(what)),
                    false => Subject::Job(self.job(what)),
                };
                self.ask(Command::Why { subject })
            }
            _ => panic!("no such line: {line}"),
        };
        self.answer(line, reply);
    }

    /// Answers that tell more than "done" belong to the story.
    fn answer(&mut self, line: &str, reply: Option<Result<Reply, Refusal>>) {
        match reply {
            Some(Ok(Reply::Why(reply))) => {
                let why: Vec<_> = reply.why.iter().map(|why| self.plain(&why.to_string())).collect();
                let next = reply.next.map_or(String::new(), |at| format!("; next {}", clock(at)));
                self.say(format!("{line}: {}{next}", why.join("; ")));
            }
            Some(Ok(Reply::Repeated { id, .. })) => self.say(format!("{line}: repeats {}", self.label(id))),
            Some(Err(refusal)) => self.say(format!("{line}: refused, {}", self.plain(&refusal.to_string()))),
            Some(Ok(_)) | None => {}
        }
    }

    fn agent(&mut self, name: &str, options: &[&str]) {
        let id = AgentId(self.machines.len() as i64 + 1);
        let mut record = AgentRecord {
            id,
            tenant: TenantId::DEFAULT,
            name: name.into(),
            pools: vec![PoolRef::DEFAULT.into()],
            labels: Default::default(),
            slots: 100,
            drained: false,
            joined_at: self.now,
            seen_at: None,
            version: String::new(),
            serves: model::Serves::Own,
            runs: model::TaskSorts::ALL,
            kind: model::AgentKind::Agent,
        };
        let mut runs = None;
        for option in options.chunks(2) {
            match option {
                ["slots", count] => record.slots = count.parse().expect("a number of slots"),
                ["pool", pool] => record.pools = vec![(*pool).into()],
                ["label", label] => {
                    let (key, value) = label.split_once('=').expect("key=value");
                    record.labels.insert(key.into(), value.into());
                }
                ["executor", place] => {
                    let listed = place.parse().ok();
                    record.kind = AgentKind::Executor(Executor { listed, present: true, ..Executor::default() });
                }
                ["for", "everyone"] => record.serves = Serves::Everyone,
                ["for", tenant] => record.tenant = self.tenant_of(&format!("{tenant}/")),
                ["may", keys] => record.runs = model::TaskSorts::of_keys(keys.split('+')),
                ["runs", how_long] => runs = Some(span(how_long)),
                other => panic!("agent {name} {other:?}"),
            }
        }
        self.machines.insert(id, Machine { runs, ..Machine::new(record.clone()) });
        self.ask(Command::PutAgent { agent: Box::new(record) });
        self.connect(id, None);
    }

    /// `tenant b weight 3 running 2 rate 5`; `tenant b closing yes`.
    fn tenant(&mut self, line: &str, name: &str, options: &[&str]) {
        let known = self.store.tenants.values().find(|tenant| tenant.name == name).cloned();
        let new = || TenantRecord::new(TenantId(0), name, self.now, Actor("ann".into()));
        let mut tenant = known.unwrap_or_else(new);
        for option in options.chunks(2) {
            match option {
                ["weight", weight] => tenant.weight = weight.parse().expect("a weight"),
                ["running", max] => tenant.quotas.running = max.parse().ok(),
                ["rate", rate] => tenant.quotas.per_second = rate.parse().ok(),
                ["named", other] => tenant.name = (*other).into(),
                ["closing", _] => tenant.state = TenantState::Closing,
                other => panic!("tenant {name} {other:?}"),
            }
        }
        let reply = self.ask(Command::PutTenant { tenant: Box::new(tenant) });
        self.answer(line, reply);
    }

    /// Where the newest attempt of an instance is.
    fn sent(&self, instance: &str) -> (AgentId, AttemptId) {
        let row = &self.store.rows[&self.instance(instance)].instance;
        (row.target.unwrap_or_default(), row.attempt)
    }

    fn asked(&mut self, instance: &str, who: &str, trail: &str) {
        let attempt = self.sent(instance).1;
        let chosen = (who != "nobody").then(|| self.agent_named(who));
        self.tell(Input::Asked { attempt, chosen, trail: trail.into() });
    }

    fn called_back(&mut self, instance: &str, how: &str, pool: Option<&str>) {
        let attempt = self.sent(instance).1;
        let verdict = if how == "ok" { Verdict::Succeeded } else { Verdict::Failed };
        let Input::Report { report, .. } = ended(AgentId(0), attempt, verdict, self.now) else { unreachable!() };
        let scope = duly_engine::Scope { tenant: TenantId::DEFAULT, pool: pool.map(Into::into) };
        if let Some(Ok(Reply::CalledBack { ended, foreign })) =
            self.ask(Command::Callback { scope, reports: vec![report] })
        {
            self.say(format!("callback: {ended} ended, {foreign} foreign"));
        }
    }

    fn back(&mut self, name: &str, how: &[&str]) {
        let agent = self.agent_named(name);
        match how {
            [] => self.connect(agent, None),
            ["rebooted"] => self.connect(agent, Some(self.now)),
            ["rebooted", "at", when] => self.connect(agent, Some(time(when))),
            ["without", instance] => {
                let attempt = self.store.rows[&self.instance(instance)].instance.attempt;
                let machine = self.machine(name);
                machine.running.remove(&attempt);
                machine.begun.remove(&attempt);
                self.connect(agent, None);
            }
            other => panic!("back {name} {other:?}"),
        }
    }

    /// `ok a#1`, `ok a#1 from y`: the report of its current attempt, by the agent that has it or another.
    fn report(&mut self, verb: &str, words: &[&str]) {
        let instance = &self.store.rows[&self.instance(words[0])].instance;
        let (attempt, target) = (instance.attempt, instance.target);
        let ordered = self.out.get(&attempt).map(|order| order.agent).or(target);
        let agent = match words {
            [_, "from", name] => self.agent_named(name),
            _ => ordered.expect("it was ordered"),
        };
        let verdict = match verb {
            "ok" => Verdict::Succeeded,
            "warn" => Verdict::Warned,
            "fail" => Verdict::Failed,
            "fatal" => Verdict::FailedForGood,
            "stopped" => Verdict::Stopped,
            "refused" => Verdict::Refused,
            "undelivered" => Verdict::Undelivered,
            "timedout" => Verdict::TimedOut,
            _ => {
                let at = self.now;
                let running = self.machines.get_mut(&agent).and_then(|m| m.running.get_mut(&attempt));
                running.into_iter().for_each(|running| running.started_at = Some(at));
                let report = Report { attempt, seq: 1, kind: ReportKind::Started { at } };
                return self.tell(Input::Report { agent, report });
            }
        };
        self.end(agent, attempt, verdict);
    }

    /// While the server is down machines go on, and keep their reports.
    fn pass_unheard(&mut self) {
        for machine in self.machines.values_mut() {
            while let Some((at, attempt)) = machine.next_end().filter(|(at, _)| *at <= self.now) {
                machine.end(attempt, Verdict::Succeeded, at);
            }
        }
    }

    pub fn job(&self, name: &str) -> JobId {
        self.store
            .job_named(name)
            .or_else(|| self.names.iter().find(|(_, n)| *n == name).map(|(id, _)| *id))
            .unwrap_or_else(|| panic!("no job {name}"))
    }

    pub fn instance(&self, label: &str) -> InstanceId {
        let found = self.labels.iter().find(|(_, known)| *known == label);
        found.map(|(id, _)| *id).unwrap_or_else(|| panic!("no instance {label}\n{}", self.story()))
    }

    pub fn agent_named(&self, name: &str) -> AgentId {
        self.machines.values().find(|m| m.record.name == name).unwrap_or_else(|| panic!("no agent {name}")).record.id
    }

    fn machine(&mut self, name: &str) -> &mut Machine {
        let id = self.agent_named(name);
        self.machines.get_mut(&id).expect("just found")
    }
}

fn ended(agent: AgentId, attempt: AttemptId, verdict: Verdict, at: Timestamp) -> Input {
    let kind = ReportKind::Ended(Box::new(Outcome::of(verdict, "as it said", at)));
    Input::Report { agent, report: Report { attempt, seq: 9, kind } }
}
