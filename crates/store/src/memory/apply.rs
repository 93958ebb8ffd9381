//! Each change to an instance, with the guards the SQL statements have in their `where`.

use engine::change::{Change, Commit, Created, Ended, Progress, Retried, Row};
use model::{Actor, AttemptId, Ending, Failure, Instance, InstanceId, Outcome, Timestamp, Usage};

use super::state::{Kept, State};
use crate::read::{AttemptRecord, QuarantineRecord};
use crate::settled::verdict_of;

pub(super) type Applied = Result<(), String>;

impl State {
    pub(super) fn apply(&mut self, commit: &Commit, change: &Change) -> Applied {
        match change {
            Change::Created(created) => self.created(commit, created),
            Change::Withdrawn { row } => self.withdrawn(*row),
            Change::Placed { row, attempt, target, note } => self.edit_open(*row, Some(*attempt), |kept| {
                kept.instance.target = *target;
                if note.is_some() {
                    kept.instance.why.clone_from(note);
                }
                if target.is_some() {
                    kept.instance.state = model::State::Dispatched;
                }
            }),
            Change::Progress(progress) => self.progressed(progress),
            Change::Retried(retried) => self.retried(retried),
            Change::Ended(ended) => self.ended(ended),
            Change::Reopened { row, attempt, attempt_no, by, at } => {
                self.reopened(*row, *attempt, *attempt_no, by, *at)
            }
            Change::Stopping { row, by, .. } => {
                self.edit_open(*row, None, |kept| kept.instance.stopping = Some(by.clone()))
            }
            Change::Gap(gap) => self.gap(commit.shard, gap),
            Change::JobPut(job) => self.job_put(commit.shard, job),
            Change::JobMode { job, mode, since, fired, by } => self.job_mode(*job, *mode, *since, *fired, by),
            Change::JobRemoved { job, tenant, at, .. } => self.job_removed(*job, *tenant, *at),
            Change::JobCounted { job, fired } => self.job_counted(*job, *fired),
            Change::Quarantined { job, input, error, at, decided } => {
                let record = QuarantineRecord { job: *job, input: input.clone(), error: error.clone(), at: *at };
                self.quarantined(commit.shard, record, *decided)
            }
            Change::Unquarantined { job, .. } => self.unquarantined(*job),
            Change::AgentPut(agent) => {
                self.agents.put(agent.id.0, (**agent).clone());
                Ok(())
            }
            Change::AgentRemoved { agent } => found(self.agents.delete(&agent.0), || format!("no agent {agent}")),
            Change::PoolPut(pool) => {
                self.pools.put((pool.tenant, pool.name.clone()), pool.clone());
                Ok(())
            }
            Change::TenantPut(tenant) => {
                self.tenants.put(tenant.id, (**tenant).clone());
                Ok(())
            }
            Change::TenantRemoved { tenant } => self.tenant_removed(*tenant),
            Change::GlobalLimit { limit } => {
                self.global_limit.put((), *limit);
                Ok(())
            }
            Change::Orphan { agent, attempt, kind, at } => self.orphan(*agent, *attempt, kind, *at),
            Change::Note(note) => self.note(note),
            Change::Told { to, message } => self.told(commit.shard, *to, message),
            Change::Took { id } => self.took(commit.shard, *id),
            Change::Follower { job, follower, ends } => self.follower(commit.shard, *job, *follower, *ends),
            Change::Drawn(draw) => self.drawn(commit.shard, draw),
            Change::Returned(draw) => self.returned(commit.shard, draw),
            Change::ResourcePut { name, units } => self.resource_put(name, *units),
            Change::Released { claim } => {
                self.claims.delete(claim);
                Ok(())
            }
        }
    }

    fn created(&mut self, commit: &Commit, c: &Created) -> Applied {
        let id = c.row.id;
        let entry = (c.row.job, c.row.planned, c.part.number);
        found(id.0 < commit.next_id, || format!("instance {id} is not below {}", commit.next_id))?;
        found(c.state.is_open(), || format!("instance {id} is created as {}", c.state))?;
        found(!self.instances.contains_key(&id), || format!("there is an instance {id} already"))?;
        found(!self.ledger.contains_key(&entry), || format!("there is an instance for {entry:?} already"))?;
        if let Some(params) = c.params {
            found(self.has_content(params), || format!("there is no content {params}"))?;
        }
        if c.attempt.0 != id.0 {
            self.later_attempt(c.attempt, id)?;
        }
        self.ledger.put(entry, id);
        self.open.put((commit.shard, id), ());
        let instance = first(c);
        self.instances.put(id, Kept { shard: commit.shard, instance, ending: None, verdict: None });
        Ok(())
    }

    fn withdrawn(&mut self, row: Row) -> Applied {
        let kept = self.at(row)?;
        found(kept.instance.state == model::State::Scheduled, || format!("instance {} is under way", row.id))?;
        let entry = (kept.instance.job, row.planned, kept.instance.part.number);
        let shard = kept.shard;
        self.ledger.delete(&entry);
        self.open.delete(&(shard, row.id));
        self.instances.delete(&row.id);
        Ok(())
    }

    fn progressed(&mut self, p: &Progress) -> Applied {
        found(p.state.is_open(), || format!("progress to {} is an ending", p.state))?;
        self.edit_open(p.row, Some(p.attempt), |kept| {
            let i = &mut kept.instance;
            i.state = p.state;
            i.target = p.target;
            i.ordered_at = p.ordered_at;
            i.started_at = p.started_at;
            i.why = p.why.clone();
            i.uncertain = p.uncertain.clone();
        })
    }

    fn retried(&mut self, r: &Retried) -> Applied {
        let earlier = AttemptRecord {
            id: r.attempt,
            instance: r.row.id,
            number: r.attempt_no,
            target: r.target,
            ordered_at: r.ordered_at,
            outcome: r.outcome.clone(),
            reopened_by: None,
        };
        self.later_attempt(r.next, r.row.id)?;
        self.attempts.put((r.row.id, r.attempt_no, r.attempt.0), earlier);
        self.edit_open(r.row, Some(r.attempt), |kept| {
            let i = &mut kept.instance;
            i.attempt = r.next;
            i.attempt_no = r.attempt_no.saturating_add(1);
            i.state = model::State::RetryWait;
            i.retry_at = Some(r.retry_at);
            i.retries_used = r.retries_used;
            (i.target, i.ordered_at, i.started_at) = (None, None, None);
            (i.why, i.uncertain) = (None, None);
        })
    }

    fn ended(&mut self, e: &Ended) -> Applied {
        self.edit_open(e.row, Some(e.attempt), |kept| {
            let i = &mut kept.instance;
            i.state = e.ending.state();
            i.ended_at = Some(e.at);
            i.target = e.target;
            i.ordered_at = e.ordered_at;
            i.why = e.why.clone();
            let outcome = e.outcome.as_deref();
            i.exit_code = outcome.and_then(|o| o.exit_code);
            i.message = outcome.and_then(|o| o.message.clone());
            i.outputs = outcome.and_then(|o| o.outputs.clone());
            i.started_at = outcome.and_then(|o| o.started_at).or(i.started_at);
            i.usage = outcome.map(|o| o.usage).unwrap_or_default();
            (i.retry_at, i.uncertain) = (None, None);
            kept.verdict = outcome.map(|o| o.verdict);
            kept.ending = Some(e.ending.clone());
        })?;
        let shard = self.instances[&e.row.id].shard;
        self.open.delete(&(shard, e.row.id));
        Ok(())
    }

    fn reopened(&mut self, row: Row, next: AttemptId, no: u32, by: &Actor, _at: Timestamp) -> Applied {
        let kept = self.at(row)?;
        let Some(ended_at) = kept.instance.ended_at else { return Err(format!("instance {} is open", row.id)) };
        let shard = kept.shard;
        let last = last_attempt(kept, ended_at, by);
        self.attempts.put((row.id, last.number, last.id.0), last);
        self.later_attempt(next, row.id)?;
        self.open.put((shard, row.id), ());
        self.instances.edit(&row.id, |kept| {
            let i = &mut kept.instance;
            i.attempt = next;
            (i.attempt_no, i.retries_used) = (no, 0);
            i.state = model::State::Ready;
            (i.target, i.ordered_at, i.started_at, i.ended_at, i.retry_at) = (None, None, None, None, None);
            (i.exit_code, i.message, i.outputs, i.usage) = (None, None, None, Usage::default());
            (i.why, i.stopping, i.uncertain) = (None, None, None);
            (kept.ending, kept.verdict) = (None, None);
        });
        Ok(())
    }

    fn at(&self, row: Row) -> Result<&Kept, String> {
        let kept = self.instances.get(&row.id).filter(|kept| kept.instance.planned == row.planned);
        kept.ok_or_else(|| format!("there is no instance {} planned for {}", row.id, row.planned.0))
    }

    fn edit_open(&mut self, row: Row, fence: Option<AttemptId>, edit: impl FnOnce(&mut Kept)) -> Applied {
        let i = &self.at(row)?.instance;
        let open = i.ended_at.is_none() && fence.is_none_or(|fence| fence == i.attempt);
        found(open, || format!("instance {} is not open under {fence:?}", row.id))?;
        self.instances.edit(&row.id, edit);
        Ok(())
    }

    fn later_attempt(&mut self, attempt: AttemptId, of: InstanceId) -> Applied {
        found(!self.later.contains_key(&attempt.0), || format!("there is an attempt {attempt} already"))?;
        self.later.put(attempt.0, of);
        Ok(())
    }
}

pub(super) fn found(yes: bool, otherwise: impl FnOnce() -> String) -> Applied {
    if yes { Ok(()) } else { Err(otherwise()) }
}

fn first(c: &Created) -> Instance {
    Instance {
        id: c.row.id,
        tenant: c.tenant,
        job: c.row.job,
        version: c.version,
        planned: c.row.planned,
        part: c.part,
        parent: c.parent,
        cause: c.cause.clone(),
        params: c.params,
        state: c.state,
        attempt: c.attempt,
        attempt_no: 1,
        retries_used: 0,
        target: c.target,
        created_at: c.at,
        ordered_at: None,
        started_at: None,
        ended_at: None,
        retry_at: None,
        exit_code: None,
        message: None,
        outputs: None,
        usage: Usage::default(),
        why: None,
        stopping: None,
        uncertain: None,
    }
}

fn last_attempt(kept: &Kept, ended_at: Timestamp, by: &Actor) -> AttemptRecord {
    let i = &kept.instance;
    let verdict = kept.verdict.unwrap_or_else(|| verdict_of(i.state, failure(kept.ending.as_ref())));
    AttemptRecord {
        id: i.attempt,
        instance: i.id,
        number: i.attempt_no,
        target: i.target,
        ordered_at: i.ordered_at,
        outcome: Outcome {
            verdict,
            exit_code: i.exit_code,
            message: i.message.clone().or_else(|| i.why.clone()),
            outputs: i.outputs.clone(),
            started_at: i.started_at,
            ended_at,
            usage: i.usage,
        },
        reopened_by: Some(by.clone()),
    }
}

fn failure(ending: Option<&Ending>) -> Option<Failure> {
    match ending {
        Some(Ending::Failed(failure) | Ending::Dead(failure)) => Some(*failure),
        Some(Ending::Succeeded | Ending::Warned | Ending::Skipped(_) | Ending::Stopped(_) | Ending::Forced(_))
        | None => None,
    }
}
