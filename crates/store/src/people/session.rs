//! Sessions, and who has gone to the identity provider and is not back yet.

use model::Timestamp;

use super::read::{all, one};
use crate::StoreError;
use crate::access::SecretHash;
use crate::cell::{Cell, Cells};
use crate::errand::Statements;

/// How somebody signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Password,
    Provider,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub hash: SecretHash,
    pub user: String,
    pub way: Way,
    /// From where, and with what, as the caller said.
    pub address: String,
    pub program: String,
    pub created_at: Timestamp,
    /// To within a minute or so.
    pub used_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Session {
    /// What it is called where people see it: some of the hash of a secret nobody can guess says nothing about it.
    pub fn id(&self) -> String {
        self.hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Somebody who was sent to the identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcLogin {
    /// What the provider gives back, hashed.
    pub state: SecretHash,
    /// What the browser keeps meanwhile, hashed.
    pub browser: SecretHash,
    pub nonce: String,
    pub verifier: String,
    /// Where they wanted to go.
    pub back: String,
    pub expires_at: Timestamp,
}

const SESSION: &str = "select hash, person, way, address, program, created_at, used_at, expires_at from session";

pub(crate) fn put_session(tables: &mut dyn Statements, session: &Session) -> Result<(), StoreError> {
    let way: i64 = match session.way {
        Way::Password => 1,
        Way::Provider => 2,
    };
    let text = "insert into session (hash, person, way, address, program, created_at, used_at, expires_at)
                values ($1, $2, $3, $4, $5, $6, $7, $8)";
    let values = [
        (&session.hash).into(),
        (&session.user).into(),
        way.into(),
        (&session.address).into(),
        (&session.program).into(),
        session.created_at.0.into(),
        session.used_at.0.into(),
        session.expires_at.0.into(),
    ];
    tables.run(text, &values).map(drop)
}

pub(crate) fn session(tables: &mut dyn Statements, hash: &SecretHash) -> Result<Option<Session>, StoreError> {
    one(tables, &format!("{SESSION} where hash = $1"), &[hash.into()], read)
}

pub(crate) fn sessions(tables: &mut dyn Statements) -> Result<Vec<Session>, StoreError> {
    all(tables, &format!("{SESSION} order by person, created_at, hash"), &[], read)
}

pub(crate) fn sessions_of(tables: &mut dyn Statements, person: &str) -> Result<Vec<Session>, StoreError> {
    all(tables, &format!("{SESSION} where person = $1 order by created_at, hash"), &[person.into()], read)
}

pub(crate) fn touch_session(tables: &mut dyn Statements, hash: &SecretHash, at: Timestamp) -> Result<(), StoreError> {
    tables.run("update session set used_at = $1 where hash = $2", &[at.0.into(), hash.into()]).map(drop)
}

pub(crate) fn remove_session(tables: &mut dyn Statements, hash: &SecretHash) -> Result<bool, StoreError> {
    Ok(tables.run("delete from session where hash = $1", &[hash.into()])? > 0)
}

pub(crate) fn end_all(tables: &mut dyn Statements, person: &str, keep: Option<&SecretHash>) -> Result<u64, StoreError> {
    match keep {
        None => tables.run("delete from session where person = $1", &[person.into()]),
        Some(keep) => tables.run("delete from session where person = $1 and hash <> $2", &[person.into(), keep.into()]),
    }
}

/// False: too many are on their way already.
pub(crate) fn put_oidc_login(tables: &mut dyn Statements, login: &OidcLogin, most: i64) -> Result<bool, StoreError> {
    let waiting = one(tables, "select count(*) from oidc_login", &[], |mut row| row.int())?;
    if waiting.is_some_and(|waiting| waiting >= most) {
        return Ok(false);
    }
    let text = "insert into oidc_login (state, browser, nonce, verifier, back, expires_at)
                values ($1, $2, $3, $4, $5, $6)";
    let values: [Cell; 6] = [
        (&login.state).into(),
        (&login.browser).into(),
        (&login.nonce).into(),
        (&login.verifier).into(),
        (&login.back).into(),
        login.expires_at.0.into(),
    ];
    tables.run(text, &values)?;
    Ok(true)
}

/// Takes it for good: a second call finds nothing.
pub(crate) fn use_oidc_login(
    tables: &mut dyn Statements,
    state: &SecretHash,
    now: Timestamp,
) -> Result<Option<OidcLogin>, StoreError> {
    let text = "delete from oidc_login where state = $1 and expires_at > $2
                returning state, browser, nonce, verifier, back, expires_at";
    one(tables, text, &[state.into(), now.0.into()], |mut row| {
        Ok(OidcLogin {
            state: row.hash()?,
            browser: row.hash()?,
            nonce: row.text()?,
            verifier: row.text()?,
            back: row.text()?,
            expires_at: Timestamp(row.int()?),
        })
    })
}

fn read(mut row: Cells) -> Result<Session, StoreError> {
    Ok(Session {
        hash: row.hash()?,
        user: row.text()?,
        way: if row.int()? == 2 { Way::Provider } else { Way::Password },
        address: row.text()?,
        program: row.text()?,
        created_at: Timestamp(row.int()?),
        used_at: Timestamp(row.int()?),
        expires_at: Timestamp(row.int()?),
    })
}
