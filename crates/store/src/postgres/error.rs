//! What PostgreSQL's refusals mean to us: repeat, reconnect, give up, or our own defect; and what a person can do.

use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};

use crate::{CommitError, StoreError};

/// Why something was not read or written.
#[derive(Debug)]
pub(super) enum Fault {
    NotOwner,
    /// A change contradicts what is stored.
    Impossible(String),
    Sql(Error),
    /// The connection is gone or cannot be made.
    Lost(String),
    Store(StoreError),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        if is_lost(&error) { Fault::Lost(words(&error)) } else { Fault::Sql(error) }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Fault::Store(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::NotOwner => StoreError::Failed("the shard is no longer ours".into()),
            Fault::Impossible(what) => StoreError::Failed(what),
            Fault::Lost(what) => StoreError::Lost(what),
            Fault::Store(error) => error,
            Fault::Sql(error) => match kind(&error) {
                Kind::Busy => StoreError::Busy(words(&error)),
                Kind::TooLong => StoreError::Busy(
                    "the read took too long and was ended; narrow it down or allow it more time".into(),
                ),
                Kind::Damaged => StoreError::Corrupt(words(&error)),
                Kind::Contradiction | Kind::Other => StoreError::Failed(words(&error)),
            },
        }
    }
}

impl Fault {
    /// The fault of a batch of which nothing was made permanent.
    pub(super) fn before_commit(self, shard: model::ShardId, index: usize, subject: &str) -> CommitError {
        match self {
            Fault::NotOwner => CommitError::NotOwner { shard },
            Fault::Impossible(what) => CommitError::Impossible { index, what: format!("{subject}: {what}") },
            Fault::Lost(what) => CommitError::Retry(what),
            Fault::Store(StoreError::Corrupt(what)) => CommitError::Fatal(what),
            Fault::Store(error) => CommitError::Retry(error.to_string()),
            Fault::Sql(error) => match kind(&error) {
                Kind::Contradiction => CommitError::Impossible { index, what: format!("{subject}: {}", words(&error)) },
                Kind::Damaged => CommitError::Fatal(words(&error)),
                // Also what nobody has thought of: a database that refuses today may be mended tomorrow, and nothing
                // is gained by ending the process, since what it holds is safe.
                Kind::Busy | Kind::TooLong | Kind::Other => CommitError::Retry(words(&error)),
            },
        }
    }

    /// Whether one of the changes is to blame.
    pub(super) fn is_contradiction(&self) -> bool {
        match self {
            Fault::Impossible(_) => true,
            Fault::Sql(error) => matches!(kind(error), Kind::Contradiction),
            Fault::NotOwner | Fault::Lost(_) | Fault::Store(_) => false,
        }
    }

    /// Somebody else holds what was wanted.
    pub(super) fn is_locked(&self) -> bool {
        matches!(self, Fault::Sql(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE))
    }

    /// What was learnt of the connection or of the days' tables may be wrong.
    pub(super) fn spoils_connection(&self) -> bool {
        match self {
            Fault::Lost(_) => true,
            Fault::Sql(error) => error.code().is_none_or(|code| {
                [
                    SqlState::READ_ONLY_SQL_TRANSACTION,
                    SqlState::INVALID_SQL_STATEMENT_NAME,
                    SqlState::FEATURE_NOT_SUPPORTED,
                    SqlState::UNDEFINED_TABLE,
                ]
                .contains(code)
            }),
            Fault::NotOwner | Fault::Impossible(_) | Fault::Store(_) => false,
        }
    }
}

/// The outcome of a `commit` that was sent and not confirmed.
pub(super) fn at_commit(error: &Error) -> CommitError {
    let refused = error.as_db_error().is_some_and(|db| db.parsed_severity() == Some(Severity::Error));
    if refused { CommitError::Retry(words(error)) } else { CommitError::Unknown(words(error)) }
}

enum Kind {
    Busy,
    TooLong,
    Damaged,
    Contradiction,
    Other,
}

fn kind(error: &Error) -> Kind {
    // A value that does not fit its statement is our own defect.
    let Some(code) = error.code() else { return Kind::Contradiction };
    match code.code() {
        "57014" => Kind::TooLong,
        "XX001" | "XX002" => Kind::Damaged,
        // Short of something, locked, in each other's way, read-only for now, a table that was just dropped.
        "25006" | "42P01" | "26000" | "0A000" | "55P03" | "55006" => Kind::Busy,
        code if ["40", "53", "57", "08", "58"].iter().any(|class| code.starts_with(class)) => Kind::Busy,
        code if ["22", "23"].iter().any(|class| code.starts_with(class)) => Kind::Contradiction,
        _ => Kind::Other,
    }
}

/// The server hung up, or told us that it is about to.
fn is_lost(error: &Error) -> bool {
    if error.is_closed() {
        return true;
    }
    match error.as_db_error() {
        Some(db) => {
            matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
                || db.code().code().starts_with("57P")
                || db.code().code().starts_with("08")
        }
        // Broken pipes and the like arrive without a code.
        None => std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>()),
    }
}

/// The whole story in one line, with what to do where we know.
pub(super) fn words(error: &Error) -> String {
    let Some(db) = error.as_db_error() else {
        let mut words = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            words = format!("{words}: {cause}");
            source = cause.source();
        }
        return words;
    };
    let said = match db.detail() {
        Some(detail) => format!("{} ({detail})", db.message()),
        None => db.message().to_string(),
    };
    match db.code().code() {
        "25006" => format!("{said}; the database is read-only, as a replica is: point the store at the primary"),
        "53100" => format!("{said}; the database's disk is full: make room on it"),
        "53300" => format!("{said}; raise max_connections, or end what holds its connections"),
        "42501" => format!("{said}; give this database user the right to create and use the schema duly"),
        "28P01" | "28000" => format!("{said}; check user and password of the store's address, and pg_hba.conf"),
        "3D000" => format!("{said}; make it with createdb, or name another one in the store's address"),
        _ => said,
    }
}
