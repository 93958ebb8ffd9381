//! Which store a server keeps everything in: the file in its data directory, or a database it is given. Nothing else in
//! the server knows the difference.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use store::access::Access;
use store::postgres::PgStore;
use store::sqlite::{Options, SqliteStore};
use store::{Reads, Store, StoreError};

#[derive(Clone, Default, PartialEq, Eq)]
pub enum StorePlace {
    /// A file in the data directory.
    #[default]
    Embedded,
    /// An address like `postgres://user@host/database`.
    Postgres(String),
}

pub(crate) struct Opened {
    pub store: Box<dyn Store>,
    pub reads: Arc<dyn Reads>,
    pub access: Box<dyn Access + Send>,
}

impl StorePlace {
    pub(crate) fn open(&self, data: &Path, cache_mb: u32) -> Result<Opened, StoreError> {
        match self {
            StorePlace::Embedded => {
                let store = SqliteStore::open(data, &Options { cache_mb, ..Options::default() })?;
                let (reads, access) = (Arc::new(store.reads()?), Box::new(store.access()?));
                Ok(Opened { store: Box::new(store), reads, access })
            }
            StorePlace::Postgres(address) => {
                let store = PgStore::open(address, &store::postgres::Options::default())?;
                tracing::info!(place = store.place(), "the store is in PostgreSQL");
                let (reads, access) = (Arc::new(store.reads()?), Box::new(store.access()?));
                Ok(Opened { store: Box::new(store), reads, access })
            }
        }
    }

    /// A consistent copy of the store in one file.
    pub(crate) fn backup(&self, data: &Path, to: &Path) -> Result<(), StoreError> {
        match self {
            StorePlace::Embedded => store::sqlite::backup(data, to),
            StorePlace::Postgres(_) => Err(StoreError::Failed(
                "this store is in PostgreSQL: back it up with pg_dump (its schema is duly), and bring it back with \
                 pg_restore"
                    .into(),
            )),
        }
    }
}

impl FromStr for StorePlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(StorePlace::Postgres(text.to_string()));
        }
        match text {
            "" | "embedded" => Ok(StorePlace::Embedded),
            _ => Err("say embedded, or an address like postgres://user@host/database".into()),
        }
    }
}

/// An address may hold a password.
impl fmt::Debug for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorePlace::Embedded => f.write_str("Embedded"),
            StorePlace::Postgres(_) => f.write_str("Postgres(…)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_and_never_shows_a_password() {
        assert_eq!("embedded".parse(), Ok(StorePlace::Embedded));
        let place: StorePlace = "postgresql://ann:s3cret@h/d".parse().unwrap();
        assert!(!format!("{place:?}").contains("s3cret"));
        assert!("mysql://h/d".parse::<StorePlace>().unwrap_err().contains("postgres://"));
    }
}
