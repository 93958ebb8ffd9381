//! What must be true of every history. It watches from outside: what tasks really did, what was committed, what was
//! acknowledged; and at the end it holds the ledger against the plan.

use engine::change::{Change, Commit};
use model::{AttemptId, InstanceId, JobId, Overlap, ResourceName, ShardId, Term, Timestamp, Verdict};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a task really did, whatever anybody believes.
#[derive(Debug, Default, Clone)]
struct Truth {
    started: u32,
    running: bool,
    ended: bool,
}

#[derive(Debug, Default)]
pub struct Checker {
    truth: FxHashMap<AttemptId, Truth>,
    job_of: FxHashMap<AttemptId, JobId>,
    running: FxHashMap<JobId, u32>,
    allowed: FxHashMap<JobId, u32>,
    /// What each job needs of what is shared, how much there is, and how much is in use.
    needs: FxHashMap<JobId, Vec<(ResourceName, u32)>>,
    units: FxHashMap<ResourceName, u32>,
    in_use: FxHashMap<ResourceName, u32>,
    settled: FxHashSet<AttemptId>,
    ended_instances: FxHashSet<InstanceId>,
    /// Attempts that are on disk.
    written: FxHashSet<AttemptId>,
    /// Under which term each shard was last decided for.
    begun: FxHashMap<ShardId, (Term, u64)>,
    pub fires: u64,
    pub runs: u64,
}

/// What Duly promises, as far as a history can show that it was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// One entry in the books for every planned time.
    OneEntryPerTime,
    /// One ending per attempt and instance.
    OneEnding,
    /// A task runs at most once per attempt.
    StartedOnce,
    /// What is recorded of a task is what the task did.
    TrueResults,
    /// Exclusive means exclusive.
    Exclusive,
    /// Of what is shared no more is in use than there is.
    Shared,
    /// Whoever has ended holds nothing.
    GivenBack,
    DurableBeforeSent,
    DurableBeforeAcknowledged,
    /// Nobody decides for a shard once another has begun to.
    OneOwner,
    /// Once nothing goes wrong any more, everything ends.
    ComesToItsEnd,
}

/// A promise that was broken.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    pub promise: Promise,
    pub what: String,
}

impl Broken {
    pub fn new(promise: Promise, what: impl Into<String>) -> Broken {
        Broken { promise, what: what.into() }
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} is broken: {}", self.promise, self.what)
    }
}

type Checked = Result<(), Broken>;

fn broken(promise: Promise, what: impl Into<String>) -> Checked {
    Err(Broken::new(promise, what))
}

impl Checker {
    /// How many instances of a job may run at once, over all agents.
    pub fn job(&mut self, id: JobId, rule: &model::Rule) {
        let most = match rule.overlap {
            _ if rule.exclusive.is_some() => 1,
            Overlap::Allow { max } => max.unwrap_or(u32::MAX).min(rule.limits.job.unwrap_or(u32::MAX)),
            Overlap::Queue { .. } | Overlap::Skip | Overlap::Replace => 1,
        };
        // A broadcast runs everywhere at once by design.
        let most = if rule.pool.route == model::Route::Broadcast { u32::MAX } else { most };
        self.allowed.insert(id, most);
        if rule.pool.route != model::Route::Broadcast {
            let tenant = model::TenantId::DEFAULT;
            self.needs.insert(id, rule.needs.iter().map(|need| (need.of(tenant), need.units)).collect());
        }
    }

    /// So many units of it; of a mutex there is one.
    pub fn there_are(&mut self, of: ResourceName, units: u32) {
        self.units.insert(of, units);
    }

    /// A task began for real.
    pub fn began(&mut self, attempt: AttemptId, job: JobId) -> Checked {
        let truth = self.truth.entry(attempt).or_default();
        truth.started += 1;
        truth.running = true;
        self.runs += 1;
        if truth.started > 1 {
            return broken(Promise::StartedOnce, format!("attempt {attempt} ran twice"));
        }
        self.job_of.insert(attempt, job);
        let running = self.running.entry(job).or_default();
        *running += 1;
        let most = self.allowed.get(&job).copied().unwrap_or(u32::MAX);
        if *running > most {
            return broken(Promise::Exclusive, format!("{running} tasks of job {job} run at once, {most} may"));
        }
        for (of, units) in self.needs.get(&job).into_iter().flatten() {
            let (used, most) = (self.in_use.entry(of.clone()).or_default(), self.units.get(of).copied().unwrap_or(1));
            *used += units;
            if *used > most {
                let what = format!("attempt {attempt} of job {job} uses {units} of {}: {used} of {most}", of.name);
                return broken(Promise::Shared, what);
            }
        }
        Ok(())
    }

    /// A task that needs no process ran within the agent.
    pub fn began_at_once(&mut self, attempt: AttemptId) -> Checked {
        let truth = self.truth.entry(attempt).or_default();
        truth.started += 1;
        truth.ended = true;
        self.runs += 1;
        if truth.started > 1 { broken(Promise::StartedOnce, format!("attempt {attempt} ran twice")) } else { Ok(()) }
    }

    /// A task ended for real, or died with its machine.
    pub fn ended(&mut self, attempt: AttemptId) {
        let truth = self.truth.entry(attempt).or_default();
        if std::mem::take(&mut truth.running) {
            let job = self.job_of[&attempt];
            *self.running.get_mut(&job).expect("it was counted") -= 1;
            for (of, units) in self.needs.get(&job).into_iter().flatten() {
                *self.in_use.get_mut(of).expect("it was counted") -= units;
            }
        }
        truth.ended = true;
    }

    /// A batch is on disk.
    pub fn committed(&mut self, commit: &Commit) -> Checked {
        for change in &commit.changes {
            match change {
                Change::Created(created) => {
                    self.fires += 1;
                    self.written.insert(created.attempt);
                }
                Change::Retried(retried) => {
                    self.written.insert(retried.next);
                    self.proven(retried.attempt, retried.outcome.verdict)?;
                    self.settled.insert(retried.attempt);
                }
                Change::Ended(ended) => {
                    if let Some(outcome) = &ended.outcome {
                        let forced = matches!(ended.ending, model::Ending::Forced(_));
                        let spread = ended.target.is_none();
                        if !forced && !spread {
                            self.proven(ended.attempt, outcome.verdict)?;
                        }
                    }
                    self.settled.insert(ended.attempt);
                    if !self.ended_instances.insert(ended.row.id) {
                        return broken(Promise::OneEnding, format!("instance {} ended twice", ended.row.id));
                    }
                }
                Change::Reopened { row, attempt, .. } => {
                    self.written.insert(*attempt);
                    self.ended_instances.remove(&row.id);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A result that only a task can have must be that task's.
    fn proven(&self, attempt: AttemptId, verdict: Verdict) -> Checked {
        let truth = self.truth.get(&attempt);
        match verdict {
            Verdict::Succeeded | Verdict::Warned | Verdict::Failed | Verdict::FailedForGood | Verdict::TimedOut => {
                if truth.is_none_or(|truth| !truth.ended) {
                    return broken(
                        Promise::TrueResults,
                        format!("attempt {attempt} is recorded as {verdict:?}, but its task has not ended"),
                    );
                }
            }
            Verdict::Undelivered if truth.is_some() => {
                return broken(
                    Promise::TrueResults,
                    format!("attempt {attempt} counts as undelivered, but its task ran"),
                );
            }
            Verdict::Lost if truth.is_some_and(|truth| truth.running) => {
                return broken(Promise::TrueResults, format!("attempt {attempt} counts as lost while its task runs"));
            }
            Verdict::Stopped | Verdict::Lost | Verdict::Undelivered | Verdict::Refused | Verdict::Discarded => {}
        }
        Ok(())
    }

    /// An agent was given an order.
    pub fn ordered(&self, attempt: AttemptId) -> Checked {
        if self.written.contains(&attempt) {
            return Ok(());
        }
        broken(Promise::DurableBeforeSent, format!("attempt {attempt} was ordered and is not on disk"))
    }

    /// Somebody decides for a shard, or writes or releases what it decided.
    pub fn decides(&mut self, shard: ShardId, term: Term, who: u64, what: &str) -> Checked {
        let (latest, by) = *self.begun.entry(shard).or_insert((term, who));
        if latest > term {
            let what = format!("server {who} {what} for shard {shard} under term {term}, but {by} has begun {latest}");
            return broken(Promise::OneOwner, what);
        }
        self.begun.insert(shard, (term, who));
        Ok(())
    }

    /// An agent was told that it may forget the ending of an attempt.
    pub fn acknowledged(&self, attempt: AttemptId) -> Checked {
        if self.settled.contains(&attempt) {
            Ok(())
        } else {
            broken(
                Promise::DurableBeforeAcknowledged,
                format!("the ending of attempt {attempt} was acknowledged and is not on disk"),
            )
        }
    }

    /// The ledger of one job against its plan, as the store has both: every planned time once, nothing else.
    pub fn ledger(job: JobId, planned: &[Timestamp], fired: &[Timestamp], in_gaps: u64) -> Checked {
        let plan: FxHashSet<Timestamp> = planned.iter().copied().collect();
        if let Some(stray) = fired.iter().find(|at| !plan.contains(at)) {
            return broken(
                Promise::OneEntryPerTime,
                format!("job {job} has an entry for {stray:?}, which was never planned"),
            );
        }
        let entries = fired.len() as u64 + in_gaps;
        if entries != planned.len() as u64 {
            return broken(
                Promise::OneEntryPerTime,
                format!("job {job}: {} times were planned, {entries} are in the ledger", planned.len()),
            );
        }
        Ok(())
    }
}
