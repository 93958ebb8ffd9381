//! The roles that every installation has; others are sets of permissions that people name.

use super::{Action, Kind, Permissions};

/// Roles that every installation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Viewer,
    Operator,
    Developer,
    TenantAdmin,
    PlatformAdmin,
}

impl Role {
    pub const ALL: [Role; 5] = [Role::Viewer, Role::Operator, Role::Developer, Role::TenantAdmin, Role::PlatformAdmin];

    pub fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Developer => "developer",
            Role::TenantAdmin => "tenant_admin",
            Role::PlatformAdmin => "platform_admin",
        }
    }

    /// Each has what the one before it has, and more.
    pub fn permissions(self) -> Permissions {
        use Action::{Code, Edit, Run, See};
        match self {
            Role::Viewer => {
                let seen =
                    [Kind::Job, Kind::Instance, Kind::Log, Kind::Pool, Kind::Resource, Kind::Agent, Kind::Variable];
                seen.into_iter().map(|kind| (kind, See)).collect()
            }
            Role::Operator => Role::Viewer.permissions().with(Kind::Job, Run).with(Kind::Instance, Run),
            Role::Developer => {
                let more = [(Kind::Job, Edit), (Kind::Job, Code), (Kind::Variable, Edit), (Kind::Secret, See)];
                Role::Operator.permissions().either(more.into_iter().collect())
            }
            Role::TenantAdmin => Permissions::all().iter().filter(|(kind, _)| !kind.is_of_installation()).collect(),
            Role::PlatformAdmin => Permissions::all(),
        }
    }
}
