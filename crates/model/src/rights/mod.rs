//! Who may do what: permissions, the roles that bundle them, and what somebody holds where. Deny by default: what no
//! grant names is refused. Never looks anything up; whoever knows the grants brings them.

mod permission;
mod role;

use std::collections::BTreeMap;

pub use self::permission::{Action, Kind, Permission, Permissions};
pub use self::role::Role;
use crate::TenantId;

/// Where a grant holds within a tenant: everywhere, unless it names a folder or labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// This folder and those below it.
    pub folder: Option<String>,
    /// Only what carries all of these.
    pub labels: BTreeMap<String, String>,
}

impl Place {
    pub fn is_everywhere(&self) -> bool {
        self.folder.is_none() && self.labels.is_empty()
    }

    pub fn covers(&self, folder: &str, labels: &BTreeMap<String, String>) -> bool {
        let below = self.folder.as_deref().is_none_or(|own| lies_in(folder, own));
        below && self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }

    /// What lies in both; none if nothing can.
    pub fn and(&self, other: &Place) -> Option<Place> {
        let folder = match (&self.folder, &other.folder) {
            (folder, None) | (None, folder) => folder.clone(),
            (Some(a), Some(b)) if lies_in(a, b) => Some(a.clone()),
            (Some(a), Some(b)) if lies_in(b, a) => Some(b.clone()),
            (Some(_), Some(_)) => return None,
        };
        let mut labels = self.labels.clone();
        for (key, value) in &other.labels {
            if labels.insert(key.clone(), value.clone()).is_some_and(|had| had != *value) {
                return None;
            }
        }
        Some(Place { folder, labels })
    }

    /// Whatever the other covers, this one does too.
    fn contains(&self, other: &Place) -> bool {
        let folder = match (&self.folder, &other.folder) {
            (None, _) => true,
            (Some(own), Some(folder)) => lies_in(folder, own),
            (Some(_), None) => false,
        };
        folder && self.labels.iter().all(|(key, value)| other.labels.get(key) == Some(value))
    }
}

fn lies_in(folder: &str, own: &str) -> bool {
    folder.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// One thing somebody holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub permissions: Permissions,
    /// None: in the whole installation.
    pub tenant: Option<TenantId>,
    pub place: Place,
}

impl Held {
    pub fn everywhere(role: Role) -> Held {
        Held { permissions: role.permissions(), tenant: None, place: Place::default() }
    }

    fn speaks_of(&self, kind: Kind, tenant: TenantId) -> bool {
        let tenant = match self.tenant {
            None => true,
            Some(own) => !kind.is_of_installation() && own == tenant,
        };
        tenant && (kind.has_place() || self.place.is_everywhere())
    }
}

/// How far a permission goes within a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    All,
    Within(Vec<Place>),
}

impl Reach {
    pub fn covers(&self, folder: &str, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Reach::All => true,
            Reach::Within(places) => places.iter().any(|place| place.covers(folder, labels)),
        }
    }
}

/// Everything somebody holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    held: Vec<Held>,
}

impl Rights {
    pub fn new(held: Vec<Held>) -> Rights {
        Rights { held }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Held> {
        self.held.iter()
    }

    /// Where they may do this in the tenant; none if nowhere.
    pub fn reach(&self, kind: Kind, action: Action, tenant: TenantId) -> Option<Reach> {
        let fits = |held: &&Held| held.permissions.has(kind, action) && held.speaks_of(kind, tenant);
        let mut places = self.held.iter().filter(fits).map(|held| &held.place).peekable();
        places.peek()?;
        let places: Vec<Place> = places.cloned().collect();
        let all = places.iter().any(Place::is_everywhere);
        Some(if all { Reach::All } else { Reach::Within(places) })
    }

    /// Whether they could do all of this themselves: nobody gives away more than they have.
    pub fn include(&self, wanted: &Held) -> bool {
        wanted.permissions.iter().all(|(kind, action)| {
            self.held.iter().any(|held| {
                held.permissions.has(kind, action)
                    && (held.tenant.is_none() || held.tenant == wanted.tenant)
                    && held.place.contains(&wanted.place)
            })
        })
    }

    /// No more than this: what a token with a scope of its own is left with.
    pub fn narrowed(&self, permissions: Option<Permissions>, tenant: Option<TenantId>) -> Rights {
        let narrow = |held: &Held| {
            let tenant = match (held.tenant, tenant) {
                (own, None) => own,
                (None, Some(only)) => Some(only),
                (Some(own), Some(only)) if own == only => Some(own),
                (Some(_), Some(_)) => return None,
            };
            let permissions = permissions.map_or(held.permissions, |only| held.permissions.both(only));
            (!permissions.is_empty()).then(|| Held { permissions, tenant, place: held.place.clone() })
        };
        Rights { held: self.held.iter().filter_map(narrow).collect() }
    }

    /// Has anything to do in this tenant.
    pub fn enter(&self, tenant: TenantId) -> bool {
        self.held.iter().any(|held| held.tenant.is_none_or(|own| own == tenant))
    }

    /// Where they act if they do not say.
    pub fn home(&self) -> TenantId {
        if self.enter(TenantId::DEFAULT) {
            return TenantId::DEFAULT;
        }
        self.held.iter().filter_map(|held| held.tenant).min().unwrap_or(TenantId::DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_places_have_in_common_what_lies_in_both() {
        let place = |folder: &str, label: &str| Place {
            folder: (!folder.is_empty()).then(|| folder.to_owned()),
            labels: label.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect(),
        };
        let everywhere = place("", "");
        for (a, b, both) in [
            (place("etl", ""), everywhere.clone(), Some(place("etl", ""))),
            (everywhere.clone(), place("etl", "team=x"), Some(place("etl", "team=x"))),
            (place("etl", ""), place("etl/night", ""), Some(place("etl/night", ""))),
            (place("etl/night", "team=x"), place("etl", "team=x"), Some(place("etl/night", "team=x"))),
            (place("etl", ""), place("etl-2", ""), None),
            (place("etl", "team=x"), place("etl", "team=y"), None),
        ] {
            assert_eq!(a.and(&b), both);
            assert_eq!(b.and(&a), both);
        }
    }
}
