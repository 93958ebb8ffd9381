//! Changes who there is and who may do what. Whatever is changed, somebody is left who can administrate the installation.

use model::rights::Role;

use super::read::one;
use super::{Account, AccountKind, Changed, Grant, Holder, NamedRole, Origin, PeopleChange, Subject, words};
use crate::StoreError;
use crate::access::SecretHash;
use crate::cell::Cell;
use crate::errand::Statements;
use crate::json;

/// What is answered with anything but `Done` is to be undone.
pub(crate) fn change(tables: &mut dyn Statements, change: &PeopleChange) -> Result<Changed, StoreError> {
    let before = administrators(tables)?;
    let changed = apply(tables, change)?;
    let lost = matches!(changed, Changed::Done(_)) && before > 0 && administrators(tables)? == 0;
    Ok(if lost { Changed::LastAdministrator } else { changed })
}

fn apply(tables: &mut dyn Statements, change: &PeopleChange) -> Result<Changed, StoreError> {
    match change {
        PeopleChange::Administrator(account) => administrator(tables, account),
        PeopleChange::Made(account) => make(tables, account),
        PeopleChange::PasswordSet { name, password, must_change, keep, tokens_until } => {
            let text = "update person set password = $1, must_change = $2 where name = $3 and kind = 1";
            let rows = tables.run(text, &[password.into(), i64::from(*must_change).into(), name.into()])?;
            end_sessions(tables, name, keep.as_ref())?;
            if let Some(at) = tokens_until {
                let text = "update api_token set revoked_at = coalesce(revoked_at, $1) where person = $2";
                tables.run(text, &[at.0.into(), name.into()])?;
            }
            Ok(found(rows))
        }
        PeopleChange::SubjectSet { name, subject } => {
            let text = "update person set subject = $1 where name = $2";
            Ok(found(tables.run(text, &[subject_cell(subject.as_ref()), name.into()])?))
        }
        PeopleChange::Disabled { name, at } => {
            let at = at.map(|at| at.0);
            let rows = tables.run("update person set disabled_at = $1 where name = $2", &[at.into(), name.into()])?;
            end_sessions(tables, name, None)?;
            Ok(found(rows))
        }
        PeopleChange::Removed { name, at } => remove(tables, name, at.0),
        PeopleChange::GroupMade { name, at, by } => {
            let text = "insert into access_group (name, created_at, created_by) values ($1, $2, $3)
                        on conflict (name) do nothing";
            Ok(made(tables.run(text, &[name.into(), at.0.into(), by.into()])?))
        }
        PeopleChange::GroupRemoved { name } => {
            tables.run("delete from access_member where member_of = $1", &[name.into()])?;
            tables.run("delete from access_grant where member_of = $1", &[name.into()])?;
            Ok(found(tables.run("delete from access_group where name = $1", &[name.into()])?))
        }
        PeopleChange::Joined { group, person } => join(tables, group, person),
        PeopleChange::Left { group, person } => {
            let text = "delete from access_member where member_of = $1 and person = $2";
            Ok(found(tables.run(text, &[group.into(), person.into()])?))
        }
        PeopleChange::RolePut(role) => put_role(tables, role),
        PeopleChange::RoleRemoved { name } => {
            if count(tables, "select count(*) from access_grant where role = $1", &[name.into()])? > 0 {
                return Ok(Changed::InUse);
            }
            Ok(found(tables.run("delete from access_role where name = $1", &[name.into()])?))
        }
        PeopleChange::Granted(grant) => put_grant(tables, grant),
        PeopleChange::GrantRemoved { id } => {
            Ok(found(tables.run("delete from access_grant where id = $1", &[(*id).into()])?))
        }
        PeopleChange::Mapped { person, grants } => {
            tables.run("delete from access_grant where person = $1 and origin = 2", &[person.into()])?;
            for grant in grants {
                put_grant(tables, grant)?;
            }
            Ok(Changed::Done(0))
        }
        PeopleChange::TenantLeft { tenant } => {
            tables.run("delete from access_grant where tenant = $1", &[tenant.0.into()])?;
            tables.run("delete from api_token where tenant = $1", &[tenant.0.into()])?;
            Ok(Changed::Done(0))
        }
    }
}

/// Persons who can sign in and may do everything everywhere.
fn administrators(tables: &mut dyn Statements) -> Result<i64, StoreError> {
    let text = "select count(*) from person where kind = 1 and disabled_at is null and name in (
        select person from access_grant
        where person is not null and role = $1 and tenant is null and folder is null and labels = '{}'
        union select m.person from access_member m join access_grant g on g.member_of = m.member_of
        where g.role = $1 and g.tenant is null and g.folder is null and g.labels = '{}')";
    count(tables, text, &[Role::PlatformAdmin.name().into()])
}

fn administrator(tables: &mut dyn Statements, account: &Account) -> Result<Changed, StoreError> {
    if let Changed::Taken = make(tables, account)? {
        let text = "update person set password = $1, kind = 1, must_change = 0, disabled_at = null where name = $2";
        tables.run(text, &[account.password.as_deref().unwrap_or_default().into(), (&account.name).into()])?;
        end_sessions(tables, &account.name, None)?;
    }
    put_grant(
        tables,
        &Grant {
            id: 0,
            holder: Holder::Person(account.name.clone()),
            role: Role::PlatformAdmin.name().into(),
            tenant: None,
            folder: None,
            labels: Default::default(),
            origin: Origin::Given,
            created_at: account.created_at,
            created_by: account.created_by.clone(),
        },
    )
}

fn make(tables: &mut dyn Statements, account: &Account) -> Result<Changed, StoreError> {
    let text = "insert into person (name, kind, password, must_change, subject, disabled_at, created_at, created_by)
                values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (name) do nothing";
    let kind: i64 = match account.kind {
        AccountKind::Person => 1,
        AccountKind::Service => 2,
    };
    let values = [
        (&account.name).into(),
        kind.into(),
        account.password.as_deref().unwrap_or_default().into(),
        i64::from(account.must_change).into(),
        subject_cell(account.subject.as_ref()),
        account.disabled_at.map(|at| at.0).into(),
        account.created_at.0.into(),
        (&account.created_by).into(),
    ];
    Ok(made(tables.run(text, &values)?))
}

/// A name that comes back later belongs to somebody else: nothing that opens a door stays with it.
fn remove(tables: &mut dyn Statements, name: &str, at: i64) -> Result<Changed, StoreError> {
    end_sessions(tables, name, None)?;
    let revoke = "update api_token set revoked_at = $1 where person = $2 and revoked_at is null";
    tables.run(revoke, &[at.into(), name.into()])?;
    tables.run("delete from access_member where person = $1", &[name.into()])?;
    tables.run("delete from access_grant where person = $1", &[name.into()])?;
    Ok(found(tables.run("delete from person where name = $1", &[name.into()])?))
}

fn join(tables: &mut dyn Statements, group: &str, person: &str) -> Result<Changed, StoreError> {
    let both =
        "select (select count(*) from person where name = $1) + (select count(*) from access_group where name = $2)";
    if count(tables, both, &[person.into(), group.into()])? < 2 {
        return Ok(Changed::NoSuch);
    }
    let text =
        "insert into access_member (member_of, person) values ($1, $2) on conflict (member_of, person) do nothing";
    tables.run(text, &[group.into(), person.into()])?;
    Ok(Changed::Done(0))
}

fn put_role(tables: &mut dyn Statements, role: &NamedRole) -> Result<Changed, StoreError> {
    let text = "insert into access_role (name, permissions, created_at, created_by) values ($1, $2, $3, $4)
                on conflict (name) do update set permissions = excluded.permissions";
    let permissions = json::list(&words(role.permissions));
    tables
        .run(text, &[(&role.name).into(), permissions.into(), role.created_at.0.into(), (&role.created_by).into()])?;
    Ok(Changed::Done(0))
}

/// The same again is the one that is there.
fn put_grant(tables: &mut dyn Statements, grant: &Grant) -> Result<Changed, StoreError> {
    let (person, group): (Option<&String>, Option<&String>) = match &grant.holder {
        Holder::Person(name) => (Some(name), None),
        Holder::Group(name) => (None, Some(name)),
    };
    let there = match &grant.holder {
        Holder::Person(name) => count(tables, "select count(*) from person where name = $1", &[name.into()])?,
        Holder::Group(name) => count(tables, "select count(*) from access_group where name = $1", &[name.into()])?,
    };
    let is_role = Role::ALL.iter().any(|role| role.name() == grant.role)
        || count(tables, "select count(*) from access_role where name = $1", &[(&grant.role).into()])? > 0;
    if there == 0 || !is_role {
        return Ok(Changed::NoSuch);
    }
    let origin: i64 = match grant.origin {
        Origin::Given => 1,
        Origin::Mapped => 2,
    };
    let same: [Cell; 7] = [
        person.into(),
        group.into(),
        (&grant.role).into(),
        grant.tenant.map(|tenant| tenant.0).into(),
        grant.folder.as_ref().into(),
        json::map(&grant.labels).into(),
        origin.into(),
    ];
    let find = "select id from access_grant where coalesce(person, '') = coalesce($1, '')
        and coalesce(member_of, '') = coalesce($2, '') and role = $3 and coalesce(tenant, 0) = coalesce(cast($4 as bigint), 0)
        and coalesce(folder, '') = coalesce($5, '') and labels = $6 and origin = $7";
    if let Some(id) = one(tables, find, &same, |mut row| row.int())? {
        return Ok(Changed::Done(id));
    }
    let put = "insert into access_grant
        (person, member_of, role, tenant, folder, labels, origin, created_at, created_by)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning id";
    let mut values = same.to_vec();
    values.extend([grant.created_at.0.into(), (&grant.created_by).into()]);
    Ok(Changed::Done(one(tables, put, &values, |mut row| row.int())?.unwrap_or_default()))
}

fn end_sessions(tables: &mut dyn Statements, person: &str, keep: Option<&SecretHash>) -> Result<(), StoreError> {
    super::session::end_all(tables, person, keep).map(drop)
}

fn subject_cell(subject: Option<&Subject>) -> Cell {
    match subject {
        None => Cell::Null,
        Some(Subject::Awaited) => "".into(),
        Some(Subject::Known(known)) => known.into(),
    }
}

fn count(tables: &mut dyn Statements, text: &str, values: &[Cell]) -> Result<i64, StoreError> {
    Ok(one(tables, text, values, |mut row| row.int())?.unwrap_or_default())
}

fn found(rows: u64) -> Changed {
    if rows == 0 { Changed::NoSuch } else { Changed::Done(0) }
}

fn made(rows: u64) -> Changed {
    if rows == 0 { Changed::Taken } else { Changed::Done(0) }
}
