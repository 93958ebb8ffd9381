//! Instances and their attempts as they are shown.

use model::{Cause, CauseKind, Instance, State};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::PlacingView;
use crate::errors::Code;
use crate::problem::{Fault, Problem};
use crate::time::Time;

crate::job::words! {
    StateWord for State {
        Scheduled = State::Scheduled,
        Ready = State::Ready,
        Dispatched = State::Dispatched,
        Running = State::Running,
        RetryWait = State::RetryWait,
        Succeeded = State::Succeeded,
        Warned = State::Warned,
        Failed = State::Failed,
        Dead = State::Dead,
        Skipped = State::Skipped,
        Stopped = State::Stopped,
        Forced = State::Forced,
    }
}

crate::job::words! {
    CauseWord for CauseKind {
        Planned = CauseKind::Planned,
        Misfire = CauseKind::Misfire,
        Manual = CauseKind::Manual,
        After = CauseKind::After,
        Shard = CauseKind::Shard,
    }
}

impl StateWord {
    pub fn is_open(self) -> bool {
        State::from(self).is_open()
    }

    /// Ended, and not as hoped.
    pub fn is_bad(self) -> bool {
        match self {
            StateWord::Failed | StateWord::Dead | StateWord::Stopped => true,
            StateWord::Scheduled
            | StateWord::Ready
            | StateWord::Dispatched
            | StateWord::Running
            | StateWord::RetryWait
            | StateWord::Succeeded
            | StateWord::Warned
            | StateWord::Skipped
            | StateWord::Forced => false,
        }
    }
}

impl std::fmt::Display for StateWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        State::from(*self).fmt(f)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct InstanceView {
    pub id: i64,
    pub job: String,
    pub job_id: i64,
    pub version: i64,
    pub planned_at: Time,
    pub state: StateWord,
    pub cause: CauseView,
    /// Its share of a broadcast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<PartView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<i64>,
    /// The current or last attempt: also its fence.
    pub attempt: i64,
    pub attempt_no: u32,
    #[schema(required = true)]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<i64>,
    pub created_at: Time,
    #[schema(required = true)]
    pub ordered_at: Option<Time>,
    #[schema(required = true)]
    pub started_at: Option<Time>,
    #[schema(required = true)]
    pub ended_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Time>,
    #[schema(required = true)]
    pub exit_code: Option<i32>,
    /// Why it failed or was skipped, as a word: exit, timeout, lost, overlap, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Named outputs of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Box<RawValue>>,
    /// What its task is given: the job's parameters with those of this instance laid over them; one text for an executor that
    /// takes one. Only where one instance is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub params: Option<Box<RawValue>>,
    pub usage: UsageView,
    /// Where it was to go, and how its target was chosen. Only where one instance is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placing: Option<PlacingView>,
    /// Why it waits or was skipped, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopping: Option<StoppingView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertain: Option<UncertainView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CauseView {
    /// Its trigger's planned time.
    Planned,
    /// A planned time that was missed and made up for.
    Misfire {
        missed: u64,
    },
    Manual {
        by: String,
    },
    /// An instance of the job it follows ended.
    After {
        instance: i64,
    },
    /// A share of a broadcast.
    Shard {
        instance: i64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PartView {
    pub index: u32,
    pub total: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageView {
    /// Microseconds of processor time.
    #[schema(required = true)]
    pub cpu_us: Option<i64>,
    #[schema(required = true)]
    pub peak_kb: Option<i64>,
    #[schema(required = true)]
    pub log_bytes: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoppingView {
    pub by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UncertainView {
    pub since: Time,
    pub why: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InstanceQuery {
    /// Name of a job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// One state or several with commas between; `open` and `ended` stand for all of their kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "failed,dead")]
    pub state: Option<String>,
    /// Planned at or after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    /// Planned before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Time>,
    /// Shares of this broadcast; without it, shares are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<i64>,
    /// Whose current or last attempt is with the agent of this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<i64>,
    /// What made them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub cause: Option<CauseWord>,
    /// Of jobs in this folder and those below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Of jobs with this label.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "team=billing")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl InstanceQuery {
    /// The states asked for; empty means all.
    pub fn states(&self) -> Result<Vec<State>, Box<Problem>> {
        let mut states = Vec::new();
        for word in self.state.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|w| !w.is_empty()) {
            match word {
                "open" => states.extend(State::ALL.into_iter().filter(|state| state.is_open())),
                "ended" => states.extend(State::ALL.into_iter().filter(|state| !state.is_open())),
                _ => states.push(State::named(word).ok_or_else(|| no_state(word))?),
            }
        }
        Ok(states)
    }
}

fn no_state(word: &str) -> Box<Problem> {
    let word: String = word.chars().take(64).collect();
    let names: Vec<&str> = State::ALL.iter().map(|state| state.name()).collect();
    Fault::new(Code::BadQuery, "state", format!("{word:?} is not a state"))
        .hint(format!("the states are open, ended, {}", names.join(", ")))
        .alone()
}

/// What a person says became of an attempt whose agent cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveBody {
    pub verdict: ResolveWord,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolveWord {
    Succeeded,
    /// It counts as lost; retries follow the job's policy.
    Lost,
}

/// Which dead letters to start again; all filters must fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayBody {
    /// These instances only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 500)]
    pub ids: Vec<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Time>,
    /// At most so many; 100 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayView {
    pub replayed: Vec<i64>,
    /// Instances that could not be started again, and why.
    pub refused: Vec<RefusedView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusedView {
    pub id: i64,
    pub why: String,
}

impl InstanceView {
    pub fn new(of: &Instance, job: &str, agent: Option<&str>) -> InstanceView {
        InstanceView {
            id: of.id.0,
            job: job.into(),
            job_id: of.job.0,
            version: of.version.0,
            planned_at: of.planned.into(),
            state: of.state.into(),
            cause: (&of.cause).into(),
            part: of.part.index().map(|index| PartView { index, total: of.part.total }),
            parent: of.parent.map(|parent| parent.0),
            attempt: of.attempt.0,
            attempt_no: of.attempt_no,
            agent: agent.map(String::from),
            agent_id: of.target.map(|agent| agent.0),
            created_at: of.created_at.into(),
            ordered_at: of.ordered_at.map(Time::from),
            started_at: of.started_at.map(Time::from),
            ended_at: of.ended_at.map(Time::from),
            retry_at: of.retry_at.map(Time::from),
            exit_code: of.exit_code,
            reason: None,
            message: of.message.clone(),
            outputs: raw(of.outputs.as_deref()),
            params: None,
            usage: of.usage.into(),
            placing: None,
            why: of.why.clone(),
            stopping: of.stopping.as_ref().map(|by| StoppingView { by: by.0.clone() }),
            uncertain: of.uncertain.as_ref().map(|u| UncertainView { since: u.since.into(), why: u.why.clone() }),
        }
    }
}

/// Outputs are kept as JSON text; what is not JSON after all is left out rather than breaking the answer.
pub(super) fn raw(json: Option<&str>) -> Option<Box<RawValue>> {
    RawValue::from_string(json?.to_owned()).ok()
}

impl From<&Cause> for CauseView {
    fn from(cause: &Cause) -> CauseView {
        match cause {
            Cause::Planned => CauseView::Planned,
            Cause::Misfire { missed } => CauseView::Misfire { missed: *missed },
            Cause::Manual(by) => CauseView::Manual { by: by.0.clone() },
            Cause::After(instance) => CauseView::After { instance: instance.0 },
            Cause::Shard(instance) => CauseView::Shard { instance: instance.0 },
        }
    }
}

impl From<model::Usage> for UsageView {
    fn from(usage: model::Usage) -> UsageView {
        UsageView { cpu_us: usage.cpu_us, peak_kb: usage.peak_kb, log_bytes: usage.log_bytes }
    }
}
