//! An instance because somebody asked for one.

use engine::input::Triggering;
use engine::{Command, Reply};
use model::{Actor, AgentId, AgentRecord, Cause, ContentId, Instance, InstanceId, JobRecord, Span, Targets, Timestamp};
use wire::api::{InstanceView, TriggerBody};
use wire::job::check::PARAMS_MAX;
use wire::xxl::Address;
use wire::{Code, Fault, Problem, Time};

use super::{Desk, Done, Sight};
use crate::audit::{self, Facts};

impl Desk {
    /// Answered when the instance is on disk. The same key gives the same instance, whatever happened in between.
    pub(crate) async fn trigger(
        &self,
        sight: &Sight,
        name: &str,
        body: TriggerBody,
        key: Option<String>,
        by: Actor,
    ) -> Done<InstanceView> {
        let job = self.job(sight, name).await?;
        // Who may start it may see what they started.
        let made_there = Sight::of_tenant(job.tenant);
        let params = self.keep_params(&body).await?;
        let on = match &body.on {
            Some(name) => Some(self.target(&job, name).await?),
            None => None,
        };
        let planned = body.planned_at.map(Timestamp::from);
        // Whether a past time is free is known only by looking, and holds only while nobody else takes it.
        let _past = match planned {
            Some(_) => Some(self.past.lock().await),
            None => None,
        };
        let asked = Triggering { job: job.id, params, on, planned, idempotency_key: key, adopt: None };
        if let Some(planned) = planned
            && let Some(made) = self.look_at_past(&job, planned, &asked, &by).await?
        {
            return self.show_instance(&made_there, made).await;
        }
        let reply = self.shards.ask(by.clone(), Command::Trigger(Box::new(asked.clone()))).await?;
        let id = match reply {
            Reply::Instance { made: Some(made), .. } => {
                audit::after(Facts::new().put("instance", made.id.0).put("planned_at", made.planned));
                let agent = made.target.and_then(|agent| self.anybody(agent));
                return Ok(InstanceView::new(&made, &job.name, agent.as_ref().map(|agent| agent.name.as_str())));
            }
            Reply::Instance { id, .. } => id,
            Reply::Repeated { id, .. } => self.repeated(&job, asked, id, by).await?,
            other => return Err(Problem::new(Code::Internal, format!("an unexpected reply: {other:?}")).into()),
        };
        audit::after(Facts::new().put("instance", id.0));
        self.show_row(&made_there, id).await
    }

    /// The agent of this name, or the executor of this address. Nobody else is ever called.
    async fn target(&self, job: &JobRecord, name: &str) -> Done<AgentId> {
        let rule = job.rule;
        let compiled = self.read(move |reads, by| super::jobs::compiled(reads, rule, by)).await?;
        let (pool, of) = (&compiled.rule.pool.name, compiled.rule.pool.of);
        let labels = &compiled.rule.pool.labels;
        let fits = |agent: &AgentRecord| {
            let carries = labels.iter().all(|(key, value)| agent.labels.get(key) == Some(value));
            carries && agent.kind.is_executor() == (of == Targets::Executors)
        };
        let as_address = |text: &str| Address::parse(text).map(|address| address.to_string()).ok();
        let called = |agent: &AgentRecord| {
            agent.name == name || (agent.kind.is_executor() && as_address(&agent.name) == as_address(name))
        };
        let mut agents = self.everybody().into_iter();
        let found = agents
            .find(|agent| agent.tenant == job.tenant && agent.pools.contains(pool) && called(agent) && fits(agent));
        let nobody = || {
            let detail = format!("nobody called {name:?} is in pool {pool}, which job {} runs in", job.name);
            super::Refused::from(Problem::new(Code::NotThere, detail))
        };
        found.map(|agent| agent.id).ok_or_else(nobody)
    }

    async fn keep_params(&self, body: &TriggerBody) -> Done<Option<ContentId>> {
        let bytes = match &body.text {
            Some(text) => serde_json::to_vec(text),
            None if body.params.is_empty() => return Ok(None),
            None => serde_json::to_vec(&body.params),
        };
        let bytes = bytes.expect("parameters are plain data");
        if bytes.len() > PARAMS_MAX {
            let told = format!("{} bytes of parameters; at most {PARAMS_MAX} are taken", bytes.len());
            return Err(Fault::new(Code::OverSize, "params", told).alone().into());
        }
        let ids = self.writer.run(move |store| store.intern(&[bytes])).await?;
        Ok(ids.first().copied())
    }

    /// A planned time that is still ahead belongs to the trigger; one that has an entry has it for good. Gives back the
    /// instance there if this very request made it: its key is taken, its answer was lost.
    async fn look_at_past(
        &self,
        job: &JobRecord,
        planned: Timestamp,
        asked: &Triggering,
        by: &Actor,
    ) -> Done<Option<InstanceId>> {
        let id = job.id;
        let look = self.read(move |reads, by| {
            let taken = reads.ledger(id, planned, planned + Span(1), by)?;
            let made = taken.first().map(|entry| reads.instance(entry.instance, by)).transpose()?;
            Ok(made.flatten())
        });
        let made = look.await?;
        let now = self.clock.now();
        let kept_from = self.tenants.get(job.tenant).and_then(|tenant| tenant.kept_from(now));
        let oldest = (now - Span::from(self.config.keep_history)).max(kept_from.unwrap_or(Timestamp(i64::MIN)));
        let told = |told: String| Fault::new(Code::BadTime, "planned_at", told).alone();
        if planned > now {
            return Err(
                told(format!("{} is in the future; leave it out, or use a trigger", Time::from(planned))).into()
            );
        }
        if planned < oldest {
            return Err(told(format!("history is kept back to {} only", Time::from(oldest))).into());
        }
        match made {
            None => Ok(None),
            Some(made) if asked.idempotency_key.is_some() && is_what_was_asked(&made, asked, by) => Ok(Some(made.id)),
            Some(made) => {
                let detail = format!("job {} has instance {} for {} already", job.name, made.id, Time::from(planned));
                Err(Problem::new(Code::AlreadyPlanned, detail).into())
            }
        }
    }

    /// The key was used before: for this, then here is what it made; for something else, then it must not be.
    async fn repeated(&self, job: &JobRecord, asked: Triggering, id: InstanceId, by: Actor) -> Done<InstanceId> {
        let kept = self.read(move |reads, by| reads.instance(id, by)).await?;
        match kept {
            Some(made) if made.job != job.id || made.params != asked.params => {
                let detail = format!("this Idempotency-Key made instance {id}, with another job or other parameters");
                Err(Problem::new(Code::KeyReused, detail).into())
            }
            Some(_) => Ok(id),
            None => {
                // The key was taken and the server died before the instance was made.
                let asked = Triggering { adopt: Some(id), ..asked };
                self.shards.ask(by, Command::Trigger(Box::new(asked))).await?;
                Ok(id)
            }
        }
    }
}

fn is_what_was_asked(made: &Instance, asked: &Triggering, by: &Actor) -> bool {
    made.cause == Cause::Manual(by.clone()) && made.params == asked.params
}
