//! The installation as a whole: is it well, what does it do, does its ledger agree with its triggers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::StateWord;
use crate::time::{Length, Time};

/// Alive means: the loop makes progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HealthView {
    pub ok: bool,
    pub uptime: Length,
    pub shards: Vec<ShardView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShardView {
    pub id: i64,
    pub term: i64,
    pub batch: i64,
    /// Every planned time up to here is decided.
    pub horizon: Time,
    /// How long ago the loop last came round.
    pub idle: Length,
    /// What it waits for, if it is stuck: a full disk, a busy store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadyView {
    pub ready: bool,
    /// What is still to come before work is taken.
    pub missing: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionView {
    pub version: String,
    /// Of the agent link.
    pub protocol: u32,
    /// Of the bundled time-zone data.
    pub tzdata: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StatsQuery {
    /// Planned at or after; a day ago if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    /// Planned before; now if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatsView {
    pub from: Time,
    pub to: Time,
    /// Instances planned in the window, by state.
    pub instances: BTreeMap<String, u64>,
    pub jobs: JobCounts,
    pub agents: u32,
    pub agents_online: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobCounts {
    pub enabled: u64,
    pub paused: u64,
    pub disabled: u64,
    pub held: u64,
}

impl StatsView {
    pub fn count(&self, state: StateWord) -> u64 {
        self.instances.get(&state.to_string()).copied().unwrap_or(0)
    }
}

/// How safe the installation is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HardenView {
    /// Of a hundred; what is found takes points away.
    pub score: u32,
    /// How many things were looked at.
    pub checks: u32,
    pub findings: Vec<HardenFinding>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HardenFinding {
    #[schema(example = "agents-plain")]
    pub id: String,
    pub weight: FindingWeight,
    pub what: String,
    /// Where, or how many.
    pub seen: String,
    /// What to do about it.
    pub fix: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingWeight {
    Serious,
    Middling,
    Slight,
}

impl FindingWeight {
    pub fn word(self) -> &'static str {
        match self {
            FindingWeight::Serious => "serious",
            FindingWeight::Middling => "middling",
            FindingWeight::Slight => "slight",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VerifyQuery {
    /// From this planned time; an hour ago if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    /// Before this planned time; what is decided so far if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Time>,
    /// One job only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
}

/// Every planned time of the window, computed anew by brute force and compared with the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerifyView {
    pub ok: bool,
    pub from: Time,
    pub to: Time,
    pub jobs: u64,
    /// Planned times looked at.
    pub times: u64,
    pub fired: u64,
    pub skipped: u64,
    pub merged: u64,
    pub missed: u64,
    pub lateness: LatenessView,
    /// What disagrees; nothing, if all is well.
    pub findings: Vec<FindingView>,
    /// There are more findings than are listed.
    pub truncated: bool,
    pub tzdata: String,
}

/// From the planned time to the start of the first attempt. Late is no disagreement: the ledger says what happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LatenessView {
    /// Planned instances that started.
    pub starts: u64,
    pub p50: Length,
    pub p99: Length,
    pub longest: Length,
    /// Those that started later than their job's jitter and grace allow.
    pub late: u64,
    /// Their jobs, the latest first; at most a hundred.
    pub jobs: Vec<LateView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LateView {
    pub job: String,
    /// How many of its starts were late.
    pub starts: u64,
    /// How late they might have been.
    pub grace: Length,
    pub longest: Length,
    /// The latest of them.
    pub instance: i64,
    pub planned_at: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FindingView {
    pub kind: FindingKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<i64>,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A planned time without an entry.
    Lost,
    /// A planned time with two entries.
    Doubled,
    /// An entry for a time the trigger does not name.
    Unplanned,
    /// A report about an attempt the store has never heard of.
    Orphan,
    /// A mutex or resource of which more is held than there is, or that somebody holds who has ended.
    Overheld,
    /// An instance that should have ended long ago.
    Stuck,
}

impl std::fmt::Display for FindingKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            FindingKind::Lost => "lost",
            FindingKind::Doubled => "doubled",
            FindingKind::Unplanned => "unplanned",
            FindingKind::Orphan => "orphan",
            FindingKind::Overheld => "overheld",
            FindingKind::Stuck => "stuck",
        })
    }
}

/// An input that made the engine fail, kept for a person to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuarantineView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<i64>,
    pub at: Time,
    pub input: String,
    pub error: String,
}
