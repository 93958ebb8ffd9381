//! How often a password was wrong, for names that exist and names that do not: for all servers alike.

use model::{Span, Timestamp};

use super::read::all;
use crate::StoreError;
use crate::cell::Cells;
use crate::errand::Statements;

/// What is remembered about tries to sign in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TriesOf {
    /// Wrong ones since it last went well.
    pub failed: u32,
    pub failed_at: Timestamp,
    pub succeeded_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// For this name from this address.
    pub here: TriesOf,
    /// For this name from everywhere.
    pub everywhere: TriesOf,
    /// For whatever name from this address: wrong ones, less those that have run off since.
    pub anybody: TriesOf,
}

/// How wrong tries add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    /// For a name, those before this count no more.
    pub since: Timestamp,
    /// For an address, one of them runs off each time this has passed: people behind one address mistype all day.
    pub one_runs_off: Span,
}

/// Stands for every address.
const EVERYWHERE: &str = "";
/// Stands for every name.
const ANYBODY: &str = "";

pub(crate) fn tries(tables: &mut dyn Statements, name: &str, address: &str) -> Result<Tries, StoreError> {
    let text = "select name, address, failed, failed_at, succeeded_at from sign_in
                where (name = $1 and address in ($2, $3)) or (name = $4 and address = $2)";
    let values = [name.into(), address.into(), EVERYWHERE.into(), ANYBODY.into()];
    let found = all(tables, text, &values, |mut row: Cells| {
        let of = (row.text()?, row.text()?);
        let tries = TriesOf {
            failed: u32::try_from(row.int()?).unwrap_or(u32::MAX),
            failed_at: Timestamp(row.int()?),
            succeeded_at: row.maybe_int()?.map(Timestamp),
        };
        Ok((of, tries))
    })?;
    let of = |name: &str, address: &str| {
        let found = found.iter().find(|((of, from), _)| (of.as_str(), from.as_str()) == (name, address));
        found.map(|(_, tries)| *tries).unwrap_or_default()
    };
    Ok(Tries { here: of(name, address), everywhere: of(name, EVERYWHERE), anybody: of(ANYBODY, address) })
}

/// Adds to what went wrong.
pub(crate) fn note_failed(
    tables: &mut dyn Statements,
    name: &str,
    address: &str,
    at: Timestamp,
    counting: Counting,
) -> Result<(), StoreError> {
    let text = "insert into sign_in (name, address, failed, failed_at) values ($1, $2, 1, $3)
                on conflict (name, address) do update set failed_at = excluded.failed_at,
                failed = case when sign_in.failed_at >= $4 then sign_in.failed + 1 else 1 end";
    for address in [address, EVERYWHERE] {
        tables.run(text, &[name.into(), address.into(), at.0.into(), counting.since.0.into()])?;
    }
    let text = "insert into sign_in (name, address, failed, failed_at) values ($1, $2, 1, $3)
                on conflict (name, address) do update set failed_at = excluded.failed_at,
                failed = 1 + case when sign_in.failed > (excluded.failed_at - sign_in.failed_at) / $4
                then sign_in.failed - (excluded.failed_at - sign_in.failed_at) / $4 else 0 end";
    let values = [ANYBODY.into(), address.into(), at.0.into(), counting.one_runs_off.0.into()];
    tables.run(text, &values).map(drop)
}

pub(crate) fn note_succeeded(
    tables: &mut dyn Statements,
    name: &str,
    address: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    let text = "insert into sign_in (name, address, failed, failed_at, succeeded_at) values ($1, $2, 0, 0, $3)
                on conflict (name, address) do update set failed = 0, succeeded_at = excluded.succeeded_at";
    for address in [address, EVERYWHERE] {
        tables.run(text, &[name.into(), address.into(), at.0.into()])?;
    }
    // Only that one was not wrong: who knows one password might guess at all the others.
    let text = "update sign_in set failed = failed - 1 where name = $1 and address = $2 and failed > 0";
    tables.run(text, &[ANYBODY.into(), address.into()]).map(drop)
}

/// What was wrong counts no more.
pub(crate) fn forget_tries(tables: &mut dyn Statements, name: &str) -> Result<bool, StoreError> {
    Ok(tables.run("update sign_in set failed = 0 where name = $1 and failed > 0", &[name.into()])? > 0)
}

pub(crate) fn forget_expired(tables: &mut dyn Statements, now: Timestamp, tries: Timestamp) -> Result<(), StoreError> {
    for text in [
        "delete from session where expires_at <= $1",
        "delete from join_token where expires_at <= $1",
        "delete from oidc_login where expires_at <= $1",
    ] {
        tables.run(text, &[now.0.into()])?;
    }
    let old = "delete from sign_in where failed_at < $1 and coalesce(succeeded_at, 0) < $1";
    tables.run(old, &[tries.0.into()]).map(drop)
}
