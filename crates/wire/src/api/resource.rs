//! What instances share: who holds it and who waits.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::time::Time;

/// A mutex or a counted resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResourceView {
    pub kind: ResourceKindWord,
    pub name: String,
    /// How much there is of it; 1 for a mutex.
    pub units: u32,
    /// How much of it is held. More than there is only while units were taken away from under their holders.
    pub held: u64,
    /// How many instances wait for some of it.
    pub waiting: u64,
    /// The first hundred in line: holders, then those who wait, in their order.
    pub line: Vec<TicketView>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResourceKindWord {
    /// Held by one instance at a time; needs no set-up.
    Mutex,
    /// Has as many units as it was given.
    Counted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TicketView {
    pub instance: i64,
    /// The instance's job.
    pub job: String,
    pub units: u32,
    pub held: bool,
    /// When the instance could have started otherwise.
    pub since: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceBody {
    /// How much there is of it from now on. Nobody who holds some loses it.
    pub units: u32,
}

impl From<model::ResourceKind> for ResourceKindWord {
    fn from(kind: model::ResourceKind) -> ResourceKindWord {
        match kind {
            model::ResourceKind::Mutex => ResourceKindWord::Mutex,
            model::ResourceKind::Counted => ResourceKindWord::Counted,
        }
    }
}

impl std::fmt::Display for ResourceKindWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            ResourceKindWord::Mutex => "mutex",
            ResourceKindWord::Counted => "counted",
        })
    }
}
