//! API tokens: whose they are, and what of their rights they carry.

use model::rights::Permissions;
use model::{TenantId, Timestamp};

use super::read::{all, one, read_permissions};
use super::words;
use crate::StoreError;
use crate::access::SecretHash;
use crate::cell::Cells;
use crate::errand::Statements;
use crate::json;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// 0 until it is kept.
    pub id: i64,
    pub name: String,
    pub hash: SecretHash,
    pub user: String,
    /// No more than these, if it says so.
    pub scope: Option<Permissions>,
    /// Only there, if it says so.
    pub tenant: Option<TenantId>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

const TOKEN: &str = "select id, name, hash, person, scope, tenant, created_at, expires_at, revoked_at from api_token";

/// Gives the token its number.
pub(crate) fn put_token(tables: &mut dyn Statements, token: &Token) -> Result<i64, StoreError> {
    let text = "insert into api_token (name, hash, person, scope, tenant, created_at, expires_at, revoked_at)
                values ($1, $2, $3, $4, $5, $6, $7, $8) returning id";
    let values = [
        (&token.name).into(),
        (&token.hash).into(),
        (&token.user).into(),
        token.scope.map(|scope| json::list(&words(scope))).into(),
        token.tenant.map(|tenant| tenant.0).into(),
        token.created_at.0.into(),
        token.expires_at.map(|at| at.0).into(),
        token.revoked_at.map(|at| at.0).into(),
    ];
    Ok(one(tables, text, &values, |mut row| row.int())?.unwrap_or_default())
}

pub(crate) fn token(tables: &mut dyn Statements, hash: &SecretHash) -> Result<Option<Token>, StoreError> {
    one(tables, &format!("{TOKEN} where hash = $1"), &[hash.into()], read)
}

pub(crate) fn tokens(tables: &mut dyn Statements) -> Result<Vec<Token>, StoreError> {
    all(tables, &format!("{TOKEN} order by id"), &[], read)
}

pub(crate) fn tokens_of(tables: &mut dyn Statements, person: &str) -> Result<Vec<Token>, StoreError> {
    all(tables, &format!("{TOKEN} where person = $1 order by id"), &[person.into()], read)
}

/// The first revocation is the one that counts.
pub(crate) fn revoke_token(tables: &mut dyn Statements, id: i64, at: Timestamp) -> Result<bool, StoreError> {
    let text = "update api_token set revoked_at = coalesce(revoked_at, $1) where id = $2";
    Ok(tables.run(text, &[at.0.into(), id.into()])? > 0)
}

fn read(mut row: Cells) -> Result<Token, StoreError> {
    Ok(Token {
        id: row.int()?,
        name: row.text()?,
        hash: row.hash()?,
        user: row.text()?,
        scope: row.maybe_text()?.as_deref().map(read_permissions).transpose()?,
        tenant: row.maybe_int()?.map(TenantId),
        created_at: Timestamp(row.int()?),
        expires_at: row.maybe_int()?.map(Timestamp),
        revoked_at: row.maybe_int()?.map(Timestamp),
    })
}
