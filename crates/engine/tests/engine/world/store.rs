//! The store's contract in plain maps: what a commit may say, and what a shard is loaded from. A change that a real
//! store would refuse is an error here.

use std::collections::{BTreeMap, BTreeSet};

use duly_engine::change::{Answer, Change, ClaimAnswer, ClaimName, Commit, Created, Ended, Gap, Note, Retried, Row};
use duly_engine::{Compiled, Ends, HeldJob, Loaded, LoadedJob};
use model::*;

use super::commons::Shared;

#[derive(Default)]
pub struct Store {
    pub shard: ShardId,
    pub commons: Shared,
    pub followers: BTreeMap<(JobId, JobId), Ends>,
    pub term: i64,
    batch: i64,
    pub horizon: Timestamp,
    next_id: i64,
    pub rows: BTreeMap<InstanceId, Kept>,
    ledger: BTreeMap<(JobId, Timestamp, u32), InstanceId>,
    pub gaps: Vec<Gap>,
    pub jobs: BTreeMap<JobId, JobRecord>,
    versions: BTreeMap<VersionId, ContentId>,
    /// A rule's content id is its place here, counted from 1.
    rules: Vec<Rule>,
    pub claims: BTreeMap<ClaimName, i64>,
    pub held: BTreeMap<JobId, HeldJob>,
    pub agents: BTreeMap<AgentId, AgentRecord>,
    pub pools: BTreeMap<String, PoolRecord>,
    pub tenants: BTreeMap<TenantId, TenantRecord>,
    pub global_limit: Option<u32>,
    pub attempts: BTreeMap<AttemptId, InstanceId>,
    pub ended: BTreeSet<AttemptId>,
    pub orphans: BTreeSet<AttemptId>,
    pub notes: Vec<Note>,
    /// What every job was, and from when to when.
    pub intervals: Vec<Interval>,
}

pub struct Kept {
    pub instance: Instance,
    pub ending: Option<Ending>,
}

pub struct Interval {
    pub job: JobId,
    pub since: Timestamp,
    pub until: Option<Timestamp>,
    pub rule: ContentId,
    pub mode: JobMode,
}

type Applied = Result<(), String>;

fn must(yes: bool, otherwise: impl FnOnce() -> String) -> Applied {
    if yes { Ok(()) } else { Err(otherwise()) }
}

impl Store {
    pub fn of(shard: ShardId, commons: Shared) -> Store {
        let tenants = BTreeMap::from([(TenantId::DEFAULT, TenantRecord::first(Timestamp(0)))]);
        Store { shard, commons, tenants, ..Store::default() }
    }

    pub fn intern(&mut self, rule: &Rule) -> ContentId {
        let at = self.rules.iter().position(|known| known == rule).unwrap_or_else(|| {
            self.rules.push(rule.clone());
            self.rules.len() - 1
        });
        ContentId(at as i64 + 1)
    }

    pub fn rule(&self, id: ContentId) -> &Rule {
        &self.rules[id.0 as usize - 1]
    }

    pub fn rule_of(&self, version: VersionId) -> &Rule {
        self.rule(self.versions[&version])
    }

    pub fn job_named(&self, name: &str) -> Option<JobId> {
        self.jobs.values().find(|job| job.name == name).map(|job| job.id)
    }

    pub fn take_ids(&mut self, count: i64) -> std::ops::Range<i64> {
        self.commons.borrow_mut().take_ids(count)
    }

    pub fn commit(&mut self, commit: &Commit) -> Result<Vec<Answer>, String> {
        must(commit.term.0 == self.term, || "the term is another's".into())?;
        must(commit.batch.0 == self.batch + 1, || "a batch is missing".into())?;
        must(commit.horizon >= self.horizon, || "the horizon goes back".into())?;
        (self.batch, self.horizon, self.next_id) = (commit.batch.0, commit.horizon, commit.next_id);
        for change in &commit.changes {
            self.apply(change).map_err(|what| format!("{what}, by {change:?}"))?;
        }
        let answer = |claim: &duly_engine::Claim, holder: i64| ClaimAnswer {
            name: claim.name.clone(),
            wanted: claim.holder,
            holder,
        };
        let claims = commit
            .claims
            .iter()
            .map(|claim| answer(claim, *self.claims.entry(claim.name.clone()).or_insert(claim.holder)));
        let claims: Vec<_> = claims.map(Answer::Claim).collect();
        let granted = self.commons.borrow_mut().grant(commit);
        Ok(granted.into_iter().map(Answer::Granted).chain(claims).collect())
    }

    /// As a store stands that was filled by a move.
    pub fn forget_commits(&mut self) {
        self.batch = 0;
    }

    pub fn batch(&self) -> i64 {
        self.batch
    }

    fn apply(&mut self, change: &Change) -> Applied {
        match change {
            Change::Created(created) => self.created(created),
            Change::Withdrawn { row } => {
                let instance = &self.open(*row, None)?.instance;
                must(instance.state == State::Scheduled, || "what is under way cannot be taken back".into())?;
                let entry = (instance.job, row.planned, instance.part.number);
                self.ledger.remove(&entry);
                self.rows.remove(&row.id);
                Ok(())
            }
            Change::Placed { row, attempt, target, note } => {
                let instance = &mut self.open(*row, Some(*attempt))?.instance;
                if note.is_some() {
                    instance.why.clone_from(note);
                }
                instance.target = *target;
                if target.is_some() {
                    instance.state = State::Dispatched;
                }
                Ok(())
            }
            Change::Progress(p) => {
                must(p.state.is_open(), || "progress is no ending".into())?;
                let instance = &mut self.open(p.row, Some(p.attempt))?.instance;
                (instance.state, instance.target) = (p.state, p.target);
                (instance.ordered_at, instance.started_at) = (p.ordered_at, p.started_at);
                (instance.why, instance.uncertain) = (p.why.clone(), p.uncertain.clone());
                Ok(())
            }
            Change::Retried(retried) => self.retried(retried),
            Change::Ended(ended) => self.end(ended),
            Change::Reopened { row, attempt, attempt_no, .. } => self.reopened(*row, *attempt, *attempt_no),
            Change::Stopping { row, by, .. } => {
                self.open(*row, None)?.instance.stopping = Some(by.clone());
                Ok(())
            }
            Change::Gap(gap) => {
                must(gap.first <= gap.last && gap.count > 0, || "an empty gap".into())?;
                self.gaps.push(gap.clone());
                Ok(())
            }
            Change::Quarantined { job, error, at, decided, .. } => {
                if let Some(job) = *job {
                    let held = HeldJob { job, error: error.clone(), since: Some((*at, *decided)) };
                    self.held.entry(job).or_insert(held);
                }
                Ok(())
            }
            Change::Unquarantined { job, .. } => {
                self.held.remove(job);
                Ok(())
            }
            Change::AgentPut(agent) => {
                self.agents.insert(agent.id, (**agent).clone());
                Ok(())
            }
            Change::AgentRemoved { agent } => must(self.agents.remove(agent).is_some(), || "no such agent".into()),
            Change::PoolPut(pool) => {
                self.pools.insert(pool.name.clone(), pool.clone());
                Ok(())
            }
            Change::TenantPut(tenant) => {
                self.tenants.insert(tenant.id, (**tenant).clone());
                Ok(())
            }
            Change::TenantRemoved { tenant } => must(self.tenants.remove(tenant).is_some(), || "no such tenant".into()),
            Change::GlobalLimit { limit } => {
                self.global_limit = *limit;
                Ok(())
            }
            Change::Orphan { attempt, .. } => {
                let known = self.attempts.contains_key(attempt);
                self.orphans.extend(Some(*attempt).filter(|_| !known));
                Ok(())
            }
            Change::Note(note) => {
                self.notes.push(note.clone());
                Ok(())
            }
            Change::Told { .. }
            | Change::Took { .. }
            | Change::Drawn(_)
            | Change::Returned(_)
            | Change::ResourcePut { .. } => self.commons.borrow_mut().apply(self.shard, change),
            Change::Follower { job, follower, ends } => {
                match ends {
                    Some(ends) => drop(self.followers.insert((*job, *follower), *ends)),
                    None => drop(self.followers.remove(&(*job, *follower))),
                }
                must(self.jobs.contains_key(job), || format!("job {job} is followed and not here"))
            }
            Change::Released { claim } => {
                self.claims.remove(claim);
                Ok(())
            }
            Change::JobPut(_) | Change::JobMode { .. } | Change::JobRemoved { .. } | Change::JobCounted { .. } => {
                self.apply_job(change)
            }
        }
    }

    fn apply_job(&mut self, change: &Change) -> Applied {
        match change {
            Change::JobPut(job) => {
                let twin = self.job_named(&job.name).filter(|id| *id != job.id);
                must(twin.is_none(), || format!("job name {} is taken", job.name))?;
                self.versions.insert(job.version, job.rule);
                self.jobs.insert(job.id, (**job).clone());
                self.interval(job.id)
            }
            Change::JobMode { job, mode, since, fired, .. } => {
                let record = self.jobs.get_mut(job).ok_or("no such job")?;
                (record.mode, record.since, record.fired) = (*mode, *since, *fired);
                self.interval(*job)
            }
            Change::JobRemoved { job, tenant, at, .. } => {
                let record = self.jobs.remove(job).ok_or("no such job")?;
                self.claims.remove(&ClaimName::JobName { tenant: *tenant, name: record.name });
                self.followers.retain(|(leader, _), _| leader != job);
                self.close(*job, *at)
            }
            Change::JobCounted { job, fired } => {
                self.jobs.get_mut(job).ok_or("no such job")?.fired = *fired;
                Ok(())
            }
            other => Err(format!("not about a job: {other:?}")),
        }
    }

    fn interval(&mut self, job: JobId) -> Applied {
        let JobRecord { since, rule, mode, .. } = self.jobs[&job];
        self.close(job, since)?;
        self.intervals.push(Interval { job, since, until: None, rule, mode });
        Ok(())
    }

    fn close(&mut self, job: JobId, at: Timestamp) -> Applied {
        let open = self.intervals.iter_mut().find(|interval| interval.job == job && interval.until.is_none());
        let Some(interval) = open else { return Ok(()) };
        interval.until = Some(at);
        must(interval.since <= at, || "a job goes back in time".into())
    }

    fn created(&mut self, c: &Created) -> Applied {
        let (id, entry) = (c.row.id, (c.row.job, c.row.planned, c.part.number));
        must(id.0 < self.next_id, || format!("instance {id} was never handed out"))?;
        must(c.state.is_open(), || "made already ended".into())?;
        must(!self.rows.contains_key(&id), || format!("instance {id} made twice"))?;
        let twin = self.ledger.insert(entry, id);
        must(twin.is_none(), || format!("two instances for {entry:?}: {:?}", twin.map(|id| &self.rows[&id].instance)))?;
        must(self.attempts.insert(c.attempt, id).is_none(), || format!("attempt {} twice", c.attempt))?;
        self.rows.insert(id, Kept { instance: first(c), ending: None });
        Ok(())
    }

    fn open(&mut self, row: Row, fence: Option<AttemptId>) -> Result<&mut Kept, String> {
        let kept = self.rows.get_mut(&row.id).ok_or_else(|| format!("no instance {}", row.id))?;
        let instance = &kept.instance;
        must(instance.planned == row.planned, || "its row is elsewhere".into())?;
        must(instance.ended_at.is_none(), || format!("instance {} has ended", row.id))?;
        must(fence.is_none_or(|fence| fence == instance.attempt), || format!("{fence:?} is fenced off"))?;
        Ok(kept)
    }

    fn retried(&mut self, r: &Retried) -> Applied {
        must(self.attempts.insert(r.next, r.row.id).is_none(), || format!("attempt {} twice", r.next))?;
        must(self.ended.insert(r.attempt), || format!("attempt {} ended twice", r.attempt))?;
        let instance = &mut self.open(r.row, Some(r.attempt))?.instance;
        must(instance.attempt_no == r.attempt_no, || "attempts are miscounted".into())?;
        (instance.attempt, instance.attempt_no) = (r.next, r.attempt_no + 1);
        let step = r.retries_used.checked_sub(std::mem::replace(&mut instance.retries_used, r.retries_used));
        must(step.is_some_and(|step| step <= 1), || "retries are miscounted".into())?;
        (instance.state, instance.retry_at) = (State::RetryWait, Some(r.retry_at));
        (instance.target, instance.ordered_at, instance.started_at) = (None, None, None);
        (instance.why, instance.uncertain) = (None, None);
        Ok(())
    }

    fn end(&mut self, e: &Ended) -> Applied {
        must(self.ended.insert(e.attempt), || format!("attempt {} ended twice", e.attempt))?;
        let kept = self.open(e.row, Some(e.attempt))?;
        let instance = &mut kept.instance;
        (instance.state, instance.ended_at) = (e.ending.state(), Some(e.at));
        (instance.target, instance.ordered_at, instance.why) = (e.target, e.ordered_at, e.why.clone());
        (instance.retry_at, instance.uncertain) = (None, None);
        instance.started_at = e.outcome.as_ref().and_then(|outcome| outcome.started_at).or(instance.started_at);
        instance.message = e.outcome.as_ref().and_then(|outcome| outcome.message.clone());
        kept.ending = Some(e.ending.clone());
        Ok(())
    }

    fn reopened(&mut self, row: Row, attempt: AttemptId, attempt_no: u32) -> Applied {
        must(self.attempts.insert(attempt, row.id).is_none(), || format!("attempt {attempt} twice"))?;
        let kept = self.rows.get_mut(&row.id).ok_or("no such instance")?;
        must(kept.instance.ended_at.is_some(), || "it is open".into())?;
        let instance = &mut kept.instance;
        (instance.attempt, instance.attempt_no, instance.state) = (attempt, attempt_no, State::Ready);
        instance.retries_used = 0;
        (instance.target, instance.ordered_at, instance.started_at, instance.ended_at) = (None, None, None, None);
        (instance.retry_at, instance.why, instance.stopping, instance.uncertain) = (None, None, None, None);
        kept.ending = None;
        Ok(())
    }

    /// Raises the term and gives what a shard starts from.
    pub fn load(&mut self) -> Loaded {
        self.term += 1;
        let compiled: Vec<_> =
            self.rules.iter().map(|rule| Compiled::new(rule.clone()).expect("was accepted before")).collect();
        let rule = |id: ContentId| compiled[id.0 as usize - 1].clone();
        let mut open: Vec<_> = self.rows.values().filter(|kept| kept.ending.is_none()).collect();
        open.sort_by_key(|kept| (kept.instance.planned, kept.instance.id));
        let failed = |parent: &InstanceId| {
            let shards = self.rows.values().filter(|kept| kept.instance.parent == Some(*parent));
            shards.filter(|kept| matches!(kept.instance.state, State::Failed | State::Dead)).count() as u32
        };
        let spread = open.iter().map(|kept| &kept.instance).filter(|i| {
            let broadcast = self.rule_of(i.version).pool.route == Route::Broadcast;
            i.part == Part::WHOLE && broadcast && i.state == State::Running
        });
        Loaded {
            shard: self.shard,
            first: self.batch == 0,
            shards: self.commons.borrow().shards,
            tickets: self.commons.borrow().tickets_of(self.shard),
            followers: self.followers.iter().map(|((job, follower), ends)| (*job, *follower, *ends)).collect(),
            term: Term(self.term),
            horizon: self.horizon,
            ids: 0..0,
            spread_failures: spread.map(|i| (i.id, failed(&i.id))).collect(),
            open: open.iter().map(|k| (k.instance.clone(), rule(self.versions[&k.instance.version]))).collect(),
            jobs: self.jobs.values().map(|job| loaded_job(job, rule(job.rule))).collect(),
            agents: self.agents.values().cloned().collect(),
            pools: self.pools.values().cloned().collect(),
            tenants: self.tenants.values().cloned().collect(),
            global_limit: self.global_limit,
            held: self.held.values().cloned().collect(),
        }
    }
}

fn loaded_job(job: &JobRecord, rule: std::sync::Arc<Compiled>) -> LoadedJob {
    LoadedJob {
        id: job.id,
        tenant: job.tenant,
        version: job.version,
        rule,
        rule_content: job.rule,
        task: job.task,
        source: job.source,
        mode: job.mode,
        since: job.since,
        fired: job.fired,
        alias: job.alias,
    }
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
