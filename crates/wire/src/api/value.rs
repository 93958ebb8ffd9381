//! Variables, with where their values come from, and secrets, whose values no answer ever holds.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::time::Time;

/// Where a variable is set; the nearest to a job counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LevelWord {
    /// In the whole installation.
    Platform,
    Tenant,
    /// In a folder and those below it.
    Folder,
    /// In the job's own file.
    Job,
}

impl std::fmt::Display for LevelWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            LevelWord::Platform => "platform",
            LevelWord::Tenant => "tenant",
            LevelWord::Folder => "folder",
            LevelWord::Job => "job",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VariableView {
    pub name: String,
    pub value: String,
    pub level: LevelWord,
    /// Of level `folder` only.
    #[schema(required = true)]
    pub folder: Option<String>,
    pub changed_at: Time,
    pub changed_by: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VariableBody {
    #[schema(max_length = 16384)]
    pub value: String,
    /// For jobs in and below this folder; for all of the tenant if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 256)]
    pub folder: Option<String>,
    /// For the whole installation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub platform: bool,
}

/// Which of the variables of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VariableQuery {
    /// The one of this folder; the tenant's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The one of the whole installation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub platform: bool,
}

/// What a name stands for in one job, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EffectiveView {
    pub name: String,
    pub value: String,
    pub level: LevelWord,
    #[schema(required = true)]
    pub folder: Option<String>,
    /// Whether the job names it.
    pub used: bool,
    /// How many other levels have a value of this name, too.
    pub hides: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretView {
    pub name: String,
    /// Jobs in and below it may use it; any job of the tenant if null.
    #[schema(required = true)]
    pub folder: Option<String>,
    /// Counts its values.
    pub version: i64,
    /// The id of the key it is kept under.
    pub key: String,
    pub changed_at: Time,
    pub changed_by: String,
    /// Jobs that name it.
    pub used_by: Vec<String>,
}

/// A value to be kept. No answer ever shows it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretBody {
    #[schema(min_length = 4, max_length = 16384, format = Password)]
    pub value: String,
    /// Only jobs in and below this folder may use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 256)]
    pub folder: Option<String>,
}

// Its value is not printed by accident.
impl std::fmt::Debug for SecretBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretBody").field("folder", &self.folder).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RotatedView {
    /// The id of the key everything is kept under now.
    pub key: String,
    /// How many secrets were moved to it.
    pub moved: u64,
}
