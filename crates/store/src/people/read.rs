//! Who there is and who holds what.

use model::rights::{Held, Permissions, Place, Role};
use model::{TenantId, Timestamp};

use super::{Account, AccountKind, Grant, Group, Holder, NamedRole, Origin, Subject, of_words};
use crate::StoreError;
use crate::cell::{Cell, Cells};
use crate::errand::Statements;
use crate::json;

const ACCOUNT: &str =
    "select name, kind, password, must_change, subject, disabled_at, created_at, created_by from person";
const GRANT: &str =
    "select id, person, member_of, role, tenant, folder, labels, origin, created_at, created_by from access_grant";

pub(crate) fn account(tables: &mut dyn Statements, name: &str) -> Result<Option<Account>, StoreError> {
    one(tables, &format!("{ACCOUNT} where name = $1"), &[name.into()], read_account)
}

pub(crate) fn accounts(tables: &mut dyn Statements) -> Result<Vec<Account>, StoreError> {
    all(tables, &format!("{ACCOUNT} order by name"), &[], read_account)
}

pub(crate) fn groups(tables: &mut dyn Statements) -> Result<Vec<Group>, StoreError> {
    let text = "select name, created_at, created_by from access_group order by name";
    let mut groups = all(tables, text, &[], |mut row| {
        Ok(Group { name: row.text()?, members: Vec::new(), created_at: Timestamp(row.int()?), created_by: row.text()? })
    })?;
    let text = "select member_of, person from access_member order by member_of, person";
    for (group, person) in all(tables, text, &[], |mut row| Ok((row.text()?, row.text()?)))? {
        if let Ok(at) = groups.binary_search_by(|known| known.name.cmp(&group)) {
            groups[at].members.push(person);
        }
    }
    Ok(groups)
}

pub(crate) fn roles(tables: &mut dyn Statements) -> Result<Vec<NamedRole>, StoreError> {
    let text = "select name, permissions, created_at, created_by from access_role order by name";
    all(tables, text, &[], |mut row| {
        Ok(NamedRole {
            name: row.text()?,
            permissions: read_permissions(&row.text()?)?,
            created_at: Timestamp(row.int()?),
            created_by: row.text()?,
        })
    })
}

pub(crate) fn grants(tables: &mut dyn Statements) -> Result<Vec<Grant>, StoreError> {
    all(tables, &format!("{GRANT} order by id"), &[], read_grant)
}

/// What holds in a tenant; what holds everywhere, too, if `everywhere`.
pub(crate) fn grants_in(
    tables: &mut dyn Statements,
    tenant: TenantId,
    everywhere: bool,
) -> Result<Vec<Grant>, StoreError> {
    let also = if everywhere { "or tenant is null" } else { "" };
    all(tables, &format!("{GRANT} where tenant = $1 {also} order by id"), &[tenant.0.into()], read_grant)
}

/// Everything that grants to the person and to their groups amount to. None: there is no such account, or it is disabled.
pub(crate) fn rights_of(tables: &mut dyn Statements, person: &str) -> Result<Option<Vec<Held>>, StoreError> {
    if account(tables, person)?.is_none_or(|account| account.disabled_at.is_some()) {
        return Ok(None);
    }
    held_by(tables, person).map(Some)
}

/// What somebody would hold if they could come in.
pub(crate) fn held_by(tables: &mut dyn Statements, person: &str) -> Result<Vec<Held>, StoreError> {
    let text = format!(
        "{GRANT} where person = $1 or member_of in (select member_of from access_member where person = $1) order by id"
    );
    let grants = all(tables, &text, &[person.into()], read_grant)?;
    let named = match grants.iter().all(|grant| built_in(&grant.role).is_some()) {
        true => Vec::new(),
        false => roles(tables)?,
    };
    Ok(grants.iter().filter_map(|grant| grant.held(&named)).collect())
}

impl Grant {
    /// What it amounts to. A role that is gone gives nothing.
    pub fn held(&self, named: &[NamedRole]) -> Option<Held> {
        let of_name = || named.iter().find(|role| role.name == self.role).map(|role| role.permissions);
        let permissions = built_in(&self.role).or_else(of_name)?;
        let place = Place { folder: self.folder.clone(), labels: self.labels.clone() };
        Some(Held { permissions, tenant: self.tenant, place })
    }
}

fn built_in(name: &str) -> Option<Permissions> {
    Role::ALL.into_iter().find(|role| role.name() == name).map(Role::permissions)
}

pub(super) fn all<T>(
    tables: &mut dyn Statements,
    text: &str,
    values: &[Cell],
    read: impl Fn(Cells) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    tables.rows(text, values)?.into_iter().map(|row| read(Cells::of(row))).collect()
}

pub(super) fn one<T>(
    tables: &mut dyn Statements,
    text: &str,
    values: &[Cell],
    read: impl Fn(Cells) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    Ok(all(tables, text, values, read)?.into_iter().next())
}

fn read_account(mut row: Cells) -> Result<Account, StoreError> {
    Ok(Account {
        name: row.text()?,
        kind: if row.int()? == 2 { AccountKind::Service } else { AccountKind::Person },
        password: Some(row.text()?).filter(|kept| !kept.is_empty()),
        must_change: row.int()? != 0,
        subject: row.maybe_text()?.map(|text| if text.is_empty() { Subject::Awaited } else { Subject::Known(text) }),
        disabled_at: row.maybe_int()?.map(Timestamp),
        created_at: Timestamp(row.int()?),
        created_by: row.text()?,
    })
}

fn read_grant(mut row: Cells) -> Result<Grant, StoreError> {
    let damaged = || StoreError::Corrupt("a grant cannot be read".into());
    let id = row.int()?;
    let holder = match (row.maybe_text()?, row.maybe_text()?) {
        (Some(person), None) => Holder::Person(person),
        (None, Some(group)) => Holder::Group(group),
        (Some(_), Some(_)) | (None, None) => return Err(damaged()),
    };
    Ok(Grant {
        id,
        holder,
        role: row.text()?,
        tenant: row.maybe_int()?.map(TenantId),
        folder: row.maybe_text()?,
        labels: json::read_map(&row.text()?).ok_or_else(damaged)?,
        origin: if row.int()? == 2 { Origin::Mapped } else { Origin::Given },
        created_at: Timestamp(row.int()?),
        created_by: row.text()?,
    })
}

pub(super) fn read_permissions(text: &str) -> Result<Permissions, StoreError> {
    let words = json::read_list(text).ok_or_else(|| StoreError::Corrupt("a set of permissions cannot be read".into()));
    Ok(of_words(&words?))
}
