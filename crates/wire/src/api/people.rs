//! Accounts, groups, roles and grants.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::apply::is_false;
use crate::time::Time;

/// A person, or a program with an account of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonKind {
    #[default]
    Person,
    /// Has no password; it comes with tokens that people make for it.
    Service,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonBody {
    /// Letters, digits and . _ - @, at most 64.
    #[schema(max_length = 64)]
    pub name: String,
    #[serde(default)]
    pub kind: PersonKind,
    /// To begin with: they must set another one before they do anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 10, max_length = 1024)]
    pub password: Option<String>,
    /// Signs in by the identity provider, under this name.
    #[serde(default)]
    pub provider: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PersonView {
    pub name: String,
    pub kind: PersonKind,
    pub groups: Vec<String>,
    pub has_password: bool,
    /// Somebody else set the password; nothing else is allowed before they set another one.
    pub must_change_password: bool,
    /// Signs in by the identity provider.
    pub provider: bool,
    #[schema(required = true)]
    pub disabled_at: Option<Time>,
    /// Too many wrong passwords: until then only from addresses they have signed in from before.
    #[schema(required = true)]
    pub locked_until: Option<Time>,
    pub created_at: Time,
    pub created_by: String,
}

/// Somebody else's password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordBody {
    #[schema(min_length = 10, max_length = 1024)]
    pub password: String,
    /// Their API tokens work no more either: for an account that somebody else may have been in.
    #[serde(default, skip_serializing_if = "is_false")]
    pub revoke_tokens: bool,
}

/// One's own password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnPasswordBody {
    #[schema(max_length = 1024)]
    pub old: String,
    #[schema(min_length = 10, max_length = 1024)]
    pub new: String,
}

/// Who is asking, and what they may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhoamiView {
    pub name: String,
    /// The name of the API token, if it is one.
    #[schema(required = true)]
    pub token: Option<String>,
    /// The session, if it is one.
    #[schema(required = true)]
    pub session: Option<String>,
    #[schema(required = true)]
    pub expires_at: Option<Time>,
    pub must_change_password: bool,
    /// Where requests act that do not say.
    pub tenant: String,
    pub rights: Vec<RightView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RightView {
    /// Everywhere, if absent.
    #[schema(required = true)]
    pub tenant: Option<String>,
    /// This folder and those below it; all, if absent.
    #[schema(required = true)]
    pub folder: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub permissions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupBody {
    #[schema(max_length = 64)]
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupView {
    pub name: String,
    pub members: Vec<String>,
    pub created_at: Time,
    pub created_by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleBody {
    /// Such as `job.see`, `job.run`, or `job.*` for all that can be done to jobs.
    #[schema(max_items = 64)]
    pub permissions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoleView {
    pub name: String,
    /// There from the beginning, and not to be changed.
    pub built_in: bool,
    pub permissions: Vec<String>,
}

/// Gives a role to a person or to a group, in the tenant of the request unless it says everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantBody {
    /// Either a person or a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub person: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub group: Option<String>,
    #[schema(max_length = 64)]
    pub role: String,
    /// In the whole installation.
    #[serde(default)]
    pub everywhere: bool,
    /// Only in this folder and those below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 512)]
    pub folder: Option<String>,
    /// Only for jobs that have all of these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrantView {
    pub id: i64,
    #[schema(required = true)]
    pub person: Option<String>,
    #[schema(required = true)]
    pub group: Option<String>,
    pub role: String,
    /// Everywhere, if absent.
    #[schema(required = true)]
    pub tenant: Option<String>,
    #[schema(required = true)]
    pub folder: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// A group of the identity provider stands for it.
    pub from_provider: bool,
    pub created_at: Time,
    pub created_by: String,
}

// Passwords are not printed by accident.
impl std::fmt::Debug for PersonBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PersonBody").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PasswordBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PasswordBody").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for OwnPasswordBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnPasswordBody").finish_non_exhaustive()
    }
}
