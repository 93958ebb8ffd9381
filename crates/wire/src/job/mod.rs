//! The job file: one flat body, short for small jobs, with more keys (never more ceremony) for big ones. Reads it,
//! says everything that is wrong with it, turns it into what the engine and the agent need, and back.

mod call;
pub mod check;
mod executor;
mod faults;
mod form;
mod lines;
mod policy;
mod retry;
mod task;
mod text;
mod trigger;
mod values;
mod when;

use std::collections::BTreeMap;

use model::{JobId, JobMode, Rule, Trigger};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use self::executor::ExecutorForm;
use self::faults::Faults;
pub use self::policy::{
    ExclusiveForm, ExclusiveMap, ExclusiveWord, LimitsMap, OverlapForm, OverlapMap, OverlapWord, PoolForm, PoolMap,
    RouteForm, RouteMap, RouteWord,
};
pub use self::retry::{RetryForm, RetryMap};
pub use self::task::{Argv, HttpForm, LogMap, ScriptForm, ScriptMap};
pub use self::text::{Read, export, locate, parse_json, parse_yaml, read_file, read_yaml_unchecked};
pub(crate) use self::trigger::words;
pub use self::trigger::{
    AfterForm, AfterMap, Afters, AnyAfter, CronForm, CronMap, DelayForm, DelayMap, Dialect, DstForm, DstMap, DstWord,
    EveryForm, EveryMap, FoldWord, GapWord, MisfireForm, MisfireMap, MisfireWord, OnWord, OnceForm, OnceMap,
};
use crate::problem::Fault;
use crate::task::{ExitCodes, TaskBody};

/// One job. At most one trigger (none: it runs only when somebody asks), exactly one task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobBody {
    /// Its name, unique in the tenant.
    #[schema(example = "nightly_export", max_length = 128)]
    pub job: String,
    /// Where people find it: `billing/nightly`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Left out, a new job is enabled and an existing one stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeWord>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<CronForm>,
    /// Fixed rate: planned times so far apart, however long an instance takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<EveryForm>,
    /// Fixed delay: so long after the previous instance ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub once: Option<OnceForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<AnyAfter>)]
    pub after: Option<Afters>,
    /// Says aloud that it runs only when somebody asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manual: Option<bool>,

    /// A task that ends at once, well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noop: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sh: Option<ScriptForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<ScriptForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<ScriptForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub php: Option<ScriptForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powershell: Option<ScriptForm>,
    /// A program and its arguments, without a shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Argv>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpForm>,
    /// A handler of the pool's executors, or a script they are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor: Option<ExecutorForm>,

    /// Reach the task as environment and, where `args` name them, as arguments.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[schema(value_type = Object)]
    pub params: serde_json::Map<String, serde_json::Value>,
    /// The environment starts empty plus this.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Variables of the agent to pass on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_pass: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The user of the agent's machine it runs as; only one that the agent's policy allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
    /// What `${name}` stands for in this job, before folder, tenant and installation are asked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// Environment variables that hold secrets, each with the name of its secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogMap>,
    /// Exit codes that mean something else than 0 = well, other = failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<ExitCodes>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclusive: Option<ExclusiveForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryForm>,
    /// An attempt that runs longer is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// Between asking a task to end and ending it; 10s if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_grace: Option<String>,
    /// Higher goes first; waiting raises it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsMap>,
    /// While an instance runs, no other that names one of these does, of whatever job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutex: Vec<String>,
    /// How many units of each counted resource an instance holds while it runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, u32>,
    /// An event is raised when an instance has not started so long after its planned time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_started_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_finished_by: Option<String>,
    /// How long an attempt may be uncertain before it counts as lost; 5m if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_after: Option<String>,
    /// A failure is kept for replay even without retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<bool>,
}

words! {
    ModeWord for JobMode {
        Enabled = JobMode::Enabled,
        /// Nothing planned fires; manual triggers do.
        Paused = JobMode::Paused,
        /// Nothing fires at all.
        Disabled = JobMode::Disabled,
    }
}

/// What a job is to the engine and to the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    pub rule: Rule,
    pub task: TaskBody,
}

/// What a job is to people beside its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub name: String,
    pub folder: Option<String>,
    pub description: Option<String>,
    pub owner: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub mode: Option<ModeWord>,
}

impl JobBody {
    /// Everything wrong with it that can be seen without a server; paths are relative to the job.
    pub fn check(&self) -> Vec<Fault> {
        self.to_parts(|_| Some(JobId(0))).err().unwrap_or_default()
    }

    /// Both parts, or every fault there is. `resolve` finds the job that `after` names.
    pub fn to_parts(&self, resolve: impl Fn(&str) -> Option<JobId>) -> Result<Parts, Vec<Fault>> {
        let mut faults = Faults::default();
        self.check_head(&mut faults);
        let mut rule = Rule { trigger: self.to_trigger(&resolve, &mut faults), ..Rule::default() };
        self.set_policies(&mut rule, &mut faults);
        let task = self.to_task(&mut faults);
        if faults.list.is_empty() { Ok(Parts { rule, task }) } else { Err(faults.list) }
    }

    /// Its trigger alone, if that is well: the rest may have faults of its own.
    pub fn trigger(&self) -> Option<Trigger> {
        let mut faults = Faults::default();
        let trigger = self.to_trigger(&|_: &str| Some(JobId(0)), &mut faults);
        faults.list.is_empty().then_some(trigger)
    }

    /// The body in its shortest form that says the same.
    pub fn from_parts(head: Head, parts: &Parts, name_of: impl Fn(JobId) -> String) -> JobBody {
        let mut body = JobBody {
            job: head.name,
            folder: head.folder.filter(|folder| !folder.is_empty()),
            description: head.description,
            owner: head.owner,
            labels: head.labels,
            mode: head.mode,
            ..JobBody::default()
        };
        body.set_trigger(&parts.rule.trigger, &name_of);
        body.write_policies(&parts.rule);
        body.write_task(&parts.task);
        body
    }

    pub fn head(&self) -> Head {
        Head {
            name: self.job.clone(),
            folder: self.folder.clone(),
            description: self.description.clone(),
            owner: self.owner.clone(),
            labels: self.labels.clone(),
            mode: self.mode,
        }
    }

    /// The same job as one always writes it, so that two ways of saying one thing compare equal.
    pub fn normal(&self) -> Result<JobBody, Vec<Fault>> {
        let follows: Vec<String> = self.follows().into_iter().map(str::to_owned).collect();
        let number = |name: &str| follows.iter().position(|leader| leader == name).map(|n| JobId(n as i64));
        let parts = self.to_parts(number)?;
        Ok(JobBody::from_parts(self.head(), &parts, |leader| follows[leader.0 as usize].clone()))
    }

    /// The bytes kept as a job's source: JSON with keys in one order.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a body is plain data")
    }

    pub fn decode(bytes: &[u8]) -> Result<JobBody, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

#[cfg(test)]
mod tests;
