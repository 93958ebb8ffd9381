//! Jobs as they are shown, triggered and previewed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::StateWord;
use crate::Time;
use crate::job::{CronForm, EveryForm, JobBody, ModeWord, OnceForm};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    pub id: i64,
    pub name: String,
    pub folder: String,
    pub version: i64,
    pub mode: ModeWord,
    /// When it is due, in few words.
    #[schema(example = "cron 0 30 2 ? * MON-FRI Asia/Shanghai")]
    pub trigger: String,
    /// Null if no planned time is ahead.
    #[schema(required = true)]
    pub next_fire: Option<Time>,
    /// Its newest instance.
    #[schema(required = true)]
    pub last: Option<LastView>,
    /// Its last ten instances, the newest first.
    #[serde(default)]
    #[schema(required = true)]
    pub recent: Vec<LastView>,
    pub labels: BTreeMap<String, String>,
    #[schema(required = true)]
    pub owner: Option<String>,
    #[schema(required = true)]
    pub description: Option<String>,
    /// Why it is held in quarantine, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// The number executors know it by, if it runs on executors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xxl_job_id: Option<i32>,
    /// Since when it is as it is.
    pub since: Time,
    pub changed_by: String,
    /// The whole job as applied; only when one job is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<JobBody>,
}

/// A folder that jobs lie in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FolderView {
    #[schema(example = "billing/nightly")]
    pub folder: String,
    /// How many, those of folders below it not counted.
    pub jobs: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastView {
    pub instance: i64,
    pub planned_at: Time,
    pub state: StateWord,
    #[schema(required = true)]
    pub ended_at: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobVersionView {
    pub version: i64,
    pub created_at: Time,
    pub created_by: String,
    /// Whether the job is this version now.
    pub current: bool,
    pub body: JobBody,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobQuery {
    /// This folder and those below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Part of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// With this label.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "team=billing")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub mode: Option<ModeWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteQuery {
    /// Even if other jobs follow it: nothing starts them any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// An instance now, whatever the trigger says. Send an `Idempotency-Key` to be able to repeat the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerBody {
    /// Laid over the job's own parameters for this instance only.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[schema(value_type = Object)]
    pub params: serde_json::Map<String, serde_json::Value>,
    /// What an executor's handler is given, instead of the job's own; empty is something, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Only on the agent of this name, or the executor of this address, whatever the route says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Told to the task as its planned time; now if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_at: Option<Time>,
}

/// Which times would a trigger name? Give one of `cron`, `every` and `once`, as in a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<CronForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<EveryForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub once: Option<OnceForm>,
    /// How many; 5 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub n: Option<u32>,
    /// After this instant; now if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
}

impl PreviewBody {
    /// The same trigger as a job that does nothing, so that it is read and checked like any other.
    pub fn as_job(&self) -> JobBody {
        JobBody {
            job: "preview".into(),
            cron: self.cron.clone(),
            every: self.every.clone(),
            once: self.once.clone(),
            noop: Some(true),
            ..JobBody::default()
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NextQuery {
    /// How many; 5 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub n: Option<u32>,
    /// After this instant; now if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PreviewView {
    /// The zone the trigger is judged in.
    pub zone: String,
    pub fires: Vec<FireView>,
    /// What is to be known about them: the job is paused, the times depend on how long instances take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FireView {
    pub at: Time,
    /// The same instant on the clocks of the zone.
    #[schema(example = "2026-11-16T02:30:00+08:00")]
    pub local: String,
}

impl FireView {
    /// None only if the zone is unknown.
    pub fn new(at: Time, zone: &str) -> Option<FireView> {
        let zone = jiff::tz::TimeZone::get(zone).ok()?;
        let local = jiff::Timestamp::from_microsecond(at.0).ok()?.to_zoned(zone);
        Some(FireView { at, local: local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string() })
    }
}
