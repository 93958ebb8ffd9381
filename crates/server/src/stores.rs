//! Which store a server keeps everything in: the file in its data directory, or a database it is given. Nothing else in
//! the server knows the difference.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use model::ServerId;
use store::access::Access;
use store::leases::{Leases, Wakes};
use store::postgres::PgStore;
use store::sqlite::{Options, SqliteStore};
use store::{AuditLog, Reads, Store, StoreError};

/// Connections that write to a shared store: while one waits for its commit, the other fills its own.
const LANES: usize = 2;

#[derive(Clone, Default, PartialEq, Eq)]
pub enum StorePlace {
    /// A file in the data directory.
    #[default]
    Embedded,
    /// An address like `postgres://user@host/database`.
    Postgres(String),
}

pub(crate) struct Opened {
    /// One for each lane.
    pub stores: Vec<Box<dyn Store>>,
    pub reads: Arc<dyn Reads>,
    pub access: Box<dyn Access + Send>,
    pub audit: OpenedAudit,
    /// Where other servers may be, too.
    pub shared: Option<Shared>,
}

/// Two ways to the audit, so that a long read delays no entry.
pub(crate) struct OpenedAudit {
    pub writes: Box<dyn AuditLog>,
    pub reads: Box<dyn AuditLog>,
}

/// A store that several servers share.
pub(crate) struct Shared(PgStore);

impl Shared {
    pub(crate) fn installation(&mut self) -> Result<String, StoreError> {
        self.0.installation()
    }

    pub(crate) fn leases(&self) -> Result<Box<dyn Leases>, StoreError> {
        Ok(Box::new(self.0.leases()?))
    }

    pub(crate) fn wakes(&self, me: ServerId) -> Result<Box<dyn Wakes>, StoreError> {
        Ok(Box::new(self.0.wakes(me)?))
    }
}

impl StorePlace {
    pub(crate) fn open(&self, data: &Path, cache_mb: u32) -> Result<Opened, StoreError> {
        match self {
            StorePlace::Embedded => {
                let store = SqliteStore::open(data, &Options { cache_mb, ..Options::default() })?;
                let (reads, access) = (Arc::new(store.reads()?), Box::new(store.access()?));
                let audit = OpenedAudit { writes: Box::new(store.audit()?), reads: Box::new(store.audit()?) };
                Ok(Opened { stores: vec![Box::new(store)], reads, access, audit, shared: None })
            }
            StorePlace::Postgres(address) => {
                let open = || PgStore::open(address, &store::postgres::Options::default());
                let shared = open()?;
                tracing::info!(place = shared.place(), "the store is in PostgreSQL");
                let mut stores: Vec<Box<dyn Store>> = Vec::with_capacity(LANES);
                for _ in 0..LANES {
                    stores.push(Box::new(open()?));
                }
                let (reads, access) = (Arc::new(shared.reads()?), Box::new(shared.access()?));
                let audit = OpenedAudit { writes: Box::new(shared.audit()?), reads: Box::new(shared.audit()?) };
                Ok(Opened { stores, reads, access, audit, shared: Some(Shared(shared)) })
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
