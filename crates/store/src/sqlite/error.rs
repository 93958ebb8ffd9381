//! What SQLite's refusals mean to us: repeat, give up, or our own defect.

use rusqlite::ErrorCode;

use crate::{CommitError, StoreError};

/// Why a batch is not written.
#[derive(Debug)]
pub(super) enum Fault {
    NotOwner,
    /// A change contradicts what is stored.
    Impossible(String),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sql(error)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        store_error(error)
    }
}

/// SQLite's error outside a commit.
fn store_error(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OutOfMemory) => {
            StoreError::Busy(error.to_string())
        }
        Some(ErrorCode::OperationInterrupted) => {
            StoreError::Busy("the read took too long and was ended; narrow it down or allow it more time".into())
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt(error.to_string()),
        _ => StoreError::Failed(error.to_string()),
    }
}

/// SQLite's error inside a commit, before anything was made permanent.
pub(super) fn commit_error(error: rusqlite::Error, index: usize, what: impl Fn() -> String) -> CommitError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig) => {
            CommitError::Impossible { index, what: format!("{}: {error}", what()) }
        }
        _ => write_error(error),
    }
}

/// The file moved away under us: what we write is seen by nobody.
const READONLY_DBMOVED: i32 = 8 | (4 << 8);

/// SQLite's error where no single change is to blame.
pub(super) fn write_error(error: rusqlite::Error) -> CommitError {
    let moved = error.sqlite_error().is_some_and(|e| e.extended_code == READONLY_DBMOVED);
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DiskFull
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted,
        ) => CommitError::Retry(error.to_string()),
        Some(ErrorCode::ReadOnly) if !moved => CommitError::Retry(error.to_string()),
        _ => CommitError::Fatal(error.to_string()),
    }
}
