//! Copies of the store: taken while it is written, brought back under a higher term. A restored store knows that it
//! does not know what happened since, and says so on every attempt that was open.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use model::Timestamp;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags, params};

use super::day::on_day;
use super::open::{FILE, RESTORING, create_private};
use super::{migrate, sql};
use crate::StoreError;

/// Nobody who owned the shard after the backup can have come this far.
const TERM_STEP: i64 = 1_000;
/// Nor can so many ids have been lent since.
const ID_STEP: i64 = 1 << 32;

/// How long to wait for somebody who holds the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a restore did, for the person who asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Attempts that were open in the backup and may have run since.
    pub uncertain: u64,
}

/// Copies the store of a data directory into one file, as it stands now; commits go on meanwhile.
pub fn backup(data_dir: &Path, to: &Path) -> Result<(), StoreError> {
    if to.exists() {
        return Err(StoreError::Failed(format!("{} exists already; name another file", to.display())));
    }
    let partial = beside(to, ".partial");
    let from = open_source(&data_dir.join(FILE))?;
    copy(&from, &partial)?;
    settle(&partial, to)
}

/// Makes a backup the store of a data directory in which no server runs. A store that is there already is refused, or
/// put aside if `replace` says so.
pub fn restore(from: &Path, data_dir: &Path, now: Timestamp, replace: bool) -> Result<Restored, StoreError> {
    let path = data_dir.join(FILE);
    if path.exists() && !replace {
        return Err(StoreError::Failed(format!(
            "{} exists already; restore into another data directory, or say that it is to be replaced",
            path.display()
        )));
    }
    let source = open_source(from)?;
    check(&source, from)?;
    fs::create_dir_all(data_dir).map_err(|error| failed(data_dir, error))?;
    let partial = data_dir.join(RESTORING);
    let mut copied = copy(&source, &partial)?;
    migrate::migrate(&mut copied, migrate::STEPS)?;
    let restored = mark(&mut copied, now)?;
    drop(copied);
    put_aside(&path, now).map_err(|error| failed(&path, error))?;
    settle(&partial, &path)?;
    Ok(restored)
}

fn open_source(path: &Path) -> Result<Connection, StoreError> {
    if !path.exists() {
        return Err(StoreError::Failed(format!("there is no {}", path.display())));
    }
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(PATIENCE)?;
    Ok(conn)
}

/// Whether it is a whole store that we know how to read.
fn check(source: &Connection, path: &Path) -> Result<(), StoreError> {
    let damaged = |what: String| StoreError::Corrupt(format!("{}: {what}", path.display()));
    let version = migrate::version(source).map_err(|error| damaged(error.to_string()))?;
    let known = migrate::STEPS.len() as i64;
    if version > known {
        return Err(StoreError::Newer { found: version, known });
    }
    if version == 0 {
        return Err(StoreError::Failed(format!("{} is not a backup of a store", path.display())));
    }
    let verdict: String =
        source.query_row("pragma quick_check(1)", [], |row| row.get(0)).map_err(|error| damaged(error.to_string()))?;
    if verdict == "ok" { Ok(()) } else { Err(damaged(verdict)) }
}

/// In one step: it sees one snapshot, and a writer does not make it begin again.
fn copy(from: &Connection, to: &Path) -> Result<Connection, StoreError> {
    for stale in ["", "-journal", "-wal", "-shm"] {
        remove(&beside(to, stale)).map_err(|error| failed(to, error))?;
    }
    create_private(to).map_err(|error| failed(to, error))?;
    let mut copied = Connection::open(to)?;
    let until = Instant::now() + PATIENCE;
    let backup = Backup::new(from, &mut copied)?;
    loop {
        match backup.step(-1)? {
            StepResult::Done => break,
            StepResult::Busy | StepResult::Locked if Instant::now() > until => {
                return Err(StoreError::Busy("somebody holds the store".into()));
            }
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    drop(backup);
    // One file: nothing of it is in a log beside it.
    copied.query_row("pragma journal_mode = delete", [], |_| Ok(()))?;
    Ok(copied)
}

fn mark(copied: &mut Connection, now: Timestamp) -> Result<Restored, StoreError> {
    let tx = copied.transaction()?;
    tx.execute("update shard set term = term + ?1", [TERM_STEP])?;
    tx.execute("update counter set next = next + ?1", [ID_STEP])?;
    // A session ended or a join token used since the backup must not come back.
    tx.execute_batch("delete from session; delete from join_token;")?;
    let mut uncertain = 0;
    let days: Vec<i64> =
        tx.prepare("select day from day")?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for day in days {
        uncertain += tx.execute(&on_day(sql::MARK_UNCERTAIN, day), params![now.0, "restored from backup"])? as u64;
    }
    tx.commit()?;
    Ok(Restored { uncertain })
}

/// The store that was there stays readable under another name, its log with it: a log must never meet another file.
fn put_aside(path: &Path, now: Timestamp) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let aside = beside(path, &format!(".before-{}", now.0 / 1_000_000));
    remove(&beside(path, "-shm"))?;
    let log = beside(path, "-wal");
    if log.exists() {
        fs::rename(&log, beside(&aside, "-wal"))?;
    }
    fs::rename(path, &aside)
}

/// The finished file takes its name, on disk.
fn settle(partial: &Path, to: &Path) -> Result<(), StoreError> {
    let sync = || -> io::Result<()> {
        fs::File::open(partial)?.sync_all()?;
        fs::rename(partial, to)?;
        match to.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            Some(dir) => fs::File::open(dir)?.sync_all(),
            None => fs::File::open(".")?.sync_all(),
        }
    };
    sync().map_err(|error| failed(to, error))
}

pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn failed(path: &Path, error: io::Error) -> StoreError {
    StoreError::Failed(format!("cannot write {}: {error}", path.display()))
}
