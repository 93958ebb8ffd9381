//! The state of things at a glance, and what comes next, as a dashboard shows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::time::Time;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OverviewView {
    pub at: Time,
    /// What is open now, by state.
    pub open: BTreeMap<String, u64>,
    /// What has been due for more than a minute and has not begun.
    pub late: u64,
    /// What was planned in the last 24 hours and failed, dead letters included.
    pub failed: u64,
    /// The jobs with the most of these, the worst first.
    pub failing: Vec<FailingView>,
    /// What was planned in the last five minutes and has ended, skipped ones not counted.
    pub ended: u64,
    /// How long after their planned times the latest first tries began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_delay: Option<StartDelayView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailingView {
    pub job: String,
    pub failed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StartDelayView {
    /// Of so many starts of the last five minutes.
    pub starts: u64,
    /// Microseconds by which half of them had begun.
    pub half_us: i64,
    /// Microseconds by which 95 of 100 had.
    pub most_us: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UpcomingQuery {
    /// How far to look ahead; 6 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 168)]
    pub hours: Option<u32>,
    /// How many jobs, those with the soonest times; 20 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpcomingView {
    pub from: Time,
    pub to: Time,
    /// The job with the soonest time first.
    pub jobs: Vec<UpcomingJobView>,
    /// Enabled jobs with a time in the window that are not listed.
    pub more: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpcomingJobView {
    pub job: String,
    /// Its next planned times in the window, the first few.
    pub times: Vec<Time>,
    /// Whether there are others in the window.
    pub more: bool,
}
