//! Opens a data directory's store: makes it if need be, checks that it is ours and not newer than we are, sets the
//! connection up.

use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::hooks::Wal;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustc_hash::FxHashMap;

use super::checkpoint::{Checkpointer, Told};
use super::day::Days;
use super::{Gate, SqliteStore, migrate};
use crate::StoreError;

/// The database file's name within the data directory.
pub const FILE: &str = "duly.db";
/// A restore under way; it must not be taken for a data directory that is still empty.
pub(super) const RESTORING: &str = "duly.db.restoring";

const PAGE_SIZE: u32 = 8192;
const LOG_SIZE_MAX: u32 = 128 << 20;

#[derive(Clone, Debug)]
pub struct Options {
    /// Pages kept in memory by the writer.
    pub cache_mb: u32,
    /// Connections for reading.
    pub readers: usize,
    /// Pages kept in memory by each reader.
    pub reader_cache_mb: u32,
    /// How long to wait for another process that writes.
    pub busy_timeout: Duration,
    /// The write-ahead log is moved into the file when it is longer than this.
    pub checkpoint_mb: u32,
    /// Fixed when the store is made; ignored later.
    pub shards: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            cache_mb: 64,
            readers: 3,
            reader_cache_mb: 8,
            busy_timeout: Duration::from_secs(5),
            checkpoint_mb: 16,
            shards: 1,
        }
    }
}

impl SqliteStore {
    /// Opens the store of a data directory, making both if they are not there.
    pub fn open(data_dir: &Path, options: &Options) -> Result<SqliteStore, StoreError> {
        let path = data_dir.join(FILE);
        make_private(data_dir, &path).map_err(|error| {
            let dir = data_dir.display();
            StoreError::Failed(format!(
                "cannot use data directory {dir}: {error}; make it writable for this user, or name another one"
            ))
        })?;
        if is_somebody_elses(&path, options) {
            return Err(name_file(migrate::strange(), &path));
        }
        let mut conn = connect(&path, options, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
            .map_err(|error| explain(error, &path))?;
        migrate::migrate(&mut conn, migrate::STEPS).map_err(|error| name_file(error, &path))?;
        let shards = settle_shards(&conn, options.shards).map_err(|error| explain(error, &path))?;

        let gate = Gate::default();
        let mover = connect(&path, &Options { cache_mb: 1, ..options.clone() }, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(|error| explain(error, &path))?;
        let pages_min = u64::from(options.checkpoint_mb.max(1)) * (1 << 20) / u64::from(PAGE_SIZE);
        let (checkpointer, told) = Checkpointer::start(mover, gate.clone(), pages_min)
            .map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))?;
        watch_log(&mut conn, told)?;
        Ok(SqliteStore {
            conn,
            path,
            options: options.clone(),
            shards,
            gate,
            days: Days::default(),
            low_water: FxHashMap::default(),
            marks: FxHashMap::default(),
            _checkpointer: checkpointer,
        })
    }
}

/// Setting a connection up changes the file: whose it is must be known before, by a connection that cannot write.
fn is_somebody_elses(path: &Path, options: &Options) -> bool {
    let look = || {
        let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        conn.busy_timeout(options.busy_timeout)?;
        migrate::is_strange(&conn)
    };
    // What cannot be read this way is told by the connection that comes next.
    look().unwrap_or(false)
}

pub(super) fn connect(path: &Path, options: &Options, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(options.busy_timeout)?;
    conn.pragma_update(None, "page_size", PAGE_SIZE)?;
    conn.pragma_update(None, "journal_mode", "wal")?;
    // A commit answered is on disk.
    conn.pragma_update(None, "synchronous", "full")?;
    conn.pragma_update(None, "cache_size", -i64::from(options.cache_mb) * 1024)?;
    conn.pragma_update(None, "temp_store", "memory")?;
    conn.pragma_update(None, "foreign_keys", false)?;
    conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    // A log that grew during a long read is cut when it begins anew.
    conn.pragma_update(None, "journal_size_limit", LOG_SIZE_MAX)?;
    conn.set_prepared_statement_cache_capacity(256);
    Ok(conn)
}

fn watch_log(conn: &mut Connection, told: Told) -> rusqlite::Result<()> {
    conn.wal_hook(Some(move |_: &mut Wal, pages: std::ffi::c_int| {
        told.committed(u64::try_from(pages).unwrap_or(0));
        Ok(())
    }))
}

/// The number of shards is written once, when the store is made.
fn settle_shards(conn: &Connection, wanted: u32) -> rusqlite::Result<i64> {
    conn.execute("insert or ignore into meta (key, value) values ('shards', ?1)", [wanted.max(1)])?;
    conn.query_row("select value from meta where key = 'shards'", [], |row| row.get(0))
}

/// Only we may read what is in there.
fn make_private(data_dir: &Path, path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data_dir)?;
    if !path.exists() && data_dir.join(RESTORING).exists() {
        return Err(io::Error::other("a restore into it was interrupted, run it again"));
    }
    match create_private(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn create_private(path: &Path) -> io::Result<()> {
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

/// Says which file, and what a person can do.
fn explain(error: rusqlite::Error, path: &Path) -> StoreError {
    let file = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError::Failed(format!(
            "cannot write {file} ({error}); make the file and its directory writable for this user, or name another \
             data directory"
        )),
        _ => name_file(error.into(), path),
    }
}

fn name_file(error: StoreError, path: &Path) -> StoreError {
    let file: PathBuf = path.into();
    match error {
        StoreError::Corrupt(what) => StoreError::Corrupt(format!(
            "{}: {what}; restore a backup with `duly restore`, and keep this file for an inquiry",
            file.display()
        )),
        StoreError::Failed(what) => StoreError::Failed(format!("{}: {what}", file.display())),
        StoreError::Busy(what) => StoreError::Busy(format!("{}: {what}", file.display())),
        StoreError::Lost(_) | StoreError::Newer { .. } => error,
    }
}
