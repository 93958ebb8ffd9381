//! What executors call, and what their token must allow for it.

use model::rights::{Action, Kind, Permission, Permissions};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// I am here.
    Registry,
    /// I am going.
    RegistryRemove,
    /// This came of what I was given.
    Callback,
}

impl Call {
    pub const ALL: [Call; 3] = [Call::Registry, Call::RegistryRemove, Call::Callback];

    pub fn name(self) -> &'static str {
        match self {
            Call::Registry => "registry",
            Call::RegistryRemove => "registryRemove",
            Call::Callback => "callback",
        }
    }

    pub fn parse(name: &str) -> Option<Call> {
        Call::ALL.into_iter().find(|call| call.name() == name)
    }

    pub fn permission(self) -> Permission {
        match self {
            Call::Registry | Call::RegistryRemove => Permission::May(Kind::Agent, Action::Serve),
            Call::Callback => Permission::May(Kind::Instance, Action::Serve),
        }
    }

    /// What a token of executors holds, in its tenant.
    pub fn permissions() -> Permissions {
        Permissions::NONE.with(Kind::Agent, Action::Serve).with(Kind::Instance, Action::Serve)
    }
}
