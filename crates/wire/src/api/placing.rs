//! Where an instance was to go, and how its target was chosen: its scheduling note.

use std::collections::BTreeMap;

use model::PoolRef;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::job::RouteForm;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlacingView {
    pub pool: String,
    /// Only agents carrying all of these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    pub route: RouteForm,
    /// What each executor answered that the route asked first, in the order they were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
}

impl PlacingView {
    pub fn new(pool: &PoolRef, asked: Option<String>) -> PlacingView {
        PlacingView { pool: pool.name.clone(), labels: pool.labels.clone(), route: (&pool.route).into(), asked }
    }
}
