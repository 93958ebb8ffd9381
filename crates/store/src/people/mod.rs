//! Accounts of persons and programs, the groups they are in, the roles people name, and who has which role where.
//! Read and written in the same words on every store. Says who holds what; never decides who may.

mod change;
mod read;
mod session;
mod sign_in;
mod token;

use std::collections::BTreeMap;

use model::rights::{Permission, Permissions};
use model::{TenantId, Timestamp};

pub(crate) use self::change::change;
pub(crate) use self::read::{account, accounts, grants, grants_in, groups, held_by, rights_of, roles};
pub(crate) use self::session::*;
pub use self::session::{OidcLogin, Session, Way};
pub(crate) use self::sign_in::*;
pub use self::sign_in::{Counting, Tries, TriesOf};
pub use self::token::Token;
pub(crate) use self::token::*;
use crate::access::SecretHash;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountKind {
    Person,
    /// A program: it has no password and comes with tokens only.
    Service,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub kind: AccountKind,
    /// As the password hasher wrote it, parameters and salt included.
    pub password: Option<String>,
    /// Somebody else knows it: nothing is allowed before another one is set.
    pub must_change: bool,
    pub subject: Option<Subject>,
    pub disabled_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub created_by: String,
}

/// Who somebody is for the identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Whoever comes from there first with the name of the account.
    Awaited,
    /// Issuer and subject.
    Known(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    /// In order.
    pub members: Vec<String>,
    pub created_at: Timestamp,
    pub created_by: String,
}

/// A role that people named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRole {
    pub name: String,
    pub permissions: Permissions,
    pub created_at: Timestamp,
    pub created_by: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    Person(String),
    Group(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Somebody gave it.
    Given,
    /// A group of the identity provider stands for it.
    Mapped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// 0 until it is kept.
    pub id: i64,
    pub holder: Holder,
    pub role: String,
    /// None: everywhere.
    pub tenant: Option<TenantId>,
    pub folder: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub origin: Origin,
    pub created_at: Timestamp,
    pub created_by: String,
}

/// One change to who there is and who may do what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeopleChange {
    /// Makes an account, or gives the one that has the name this password, with the right to do everything everywhere.
    Administrator(Account),
    Made(Account),
    /// Ends their sessions, but for one, and if it is said until when, their tokens.
    PasswordSet {
        name: String,
        password: String,
        must_change: bool,
        keep: Option<SecretHash>,
        tokens_until: Option<Timestamp>,
    },
    SubjectSet {
        name: String,
        subject: Option<Subject>,
    },
    /// None: enabled again. Ends their sessions.
    Disabled {
        name: String,
        at: Option<Timestamp>,
    },
    /// With all they hold: what they made stays, under their name.
    Removed {
        name: String,
        at: Timestamp,
    },
    GroupMade {
        name: String,
        at: Timestamp,
        by: String,
    },
    /// With the grants it has.
    GroupRemoved {
        name: String,
    },
    Joined {
        group: String,
        person: String,
    },
    Left {
        group: String,
        person: String,
    },
    RolePut(NamedRole),
    RoleRemoved {
        name: String,
    },
    Granted(Grant),
    GrantRemoved {
        id: i64,
    },
    /// What the identity provider's groups stand for, instead of what they stood for before.
    Mapped {
        person: String,
        grants: Vec<Grant>,
    },
    /// A tenant is gone.
    TenantLeft {
        tenant: TenantId,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The number of what was made, where it has one.
    Done(i64),
    /// What it is about is not there.
    NoSuch,
    Taken,
    /// Grants still name it.
    InUse,
    /// Nobody who can sign in could administrate the installation any more.
    LastAdministrator,
}

/// `job.run`, one word for each.
pub fn words(permissions: Permissions) -> Vec<String> {
    permissions.iter().map(|(kind, action)| Permission::May(kind, action).to_string()).collect()
}

/// What a later version named and we do not know gives nothing.
pub(crate) fn of_words(words: &[String]) -> Permissions {
    let known = words.iter().filter_map(|word| Permissions::parse(word));
    known.fold(Permissions::NONE, Permissions::either)
}
