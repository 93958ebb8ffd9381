//! What instances share beyond agents: mutexes and counted resources, of which only so much is held at once.

use crate::TenantId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// Held by one at a time; needs no set-up.
    Mutex,
    /// Has as many units as a person gave it.
    Counted,
}

/// Mutexes and counted resources do not share their names: nobody can make a mutex hold two by giving it units.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceName {
    pub tenant: TenantId,
    pub kind: ResourceKind,
    pub name: String,
}

/// What an instance must hold while it runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Need {
    pub kind: ResourceKind,
    pub name: String,
    pub units: u32,
}

impl Need {
    pub fn of(&self, tenant: TenantId) -> ResourceName {
        ResourceName { tenant, kind: self.kind, name: self.name.clone() }
    }
}

impl std::fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ResourceKind::Mutex => "mutex",
            ResourceKind::Counted => "resource",
        })
    }
}
