//! Reads a whole embedded store, table by table, for whoever moves it elsewhere.

use std::path::{Path, PathBuf};

use model::Span;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::day::table as day_table;
use super::{FILE, Options, SqliteStore, backup};
use crate::StoreError;
use crate::cell::Cell;
use crate::migrate_store::Table;

/// Beside the file's own name once it has been moved.
const MOVED: &str = ".moved";

pub(crate) struct Source {
    conn: Connection,
    path: PathBuf,
}

/// What stands in rows that are not tables of their own on the other side.
pub(crate) struct Counters {
    pub next_id: i64,
    pub term: i64,
    pub horizon: i64,
    /// Of `meta`, as texts.
    pub kept: Vec<(String, Option<String>)>,
}

impl Source {
    /// Brings the store up to date first. One snapshot from then on.
    pub(crate) fn open(data_dir: &Path) -> Result<Source, StoreError> {
        let path = data_dir.join(FILE);
        if !path.exists() {
            return Err(StoreError::Failed(format!("there is no embedded store in {}", data_dir.display())));
        }
        drop(SqliteStore::open(data_dir, &Options { readers: 0, ..Options::default() })?);
        let conn =
            Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        conn.execute_batch("begin")?;
        Ok(Source { conn, path })
    }

    pub(crate) fn installation(&self) -> Result<String, StoreError> {
        Ok(self.conn.query_row("select value from meta where key = 'installation'", [], |row| row.get(0))?)
    }

    pub(crate) fn days(&self) -> Result<Vec<i64>, StoreError> {
        let mut select = self.conn.prepare("select day from day where dropping = 0 order by day")?;
        Ok(select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    pub(crate) fn counters(&self) -> Result<Counters, StoreError> {
        let next_id = self.conn.query_row("select next from counter", [], |row| row.get(0))?;
        let shard = "select coalesce(max(term), 0), coalesce(min(horizon), 0) from shard";
        let (term, horizon) = self.conn.query_row(shard, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let meta = "select key, cast(value as text) from meta
                    where key in ('installation', 'next_alias', 'global_limit', 'revision')";
        let mut kept = self.conn.prepare(meta)?;
        let kept = kept.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let kept = kept.collect::<Result<_, _>>()?;
        Ok(Counters { next_id, term, horizon, kept })
    }

    /// How many instances have not ended.
    pub(crate) fn open_count(&self, days: &[i64]) -> Result<u64, StoreError> {
        let mut open = 0_u64;
        for day in days {
            let text = format!("select count(*) from {} where ended_at is null", day_table(*day));
            open += self.conn.query_row(&text, [], |row| row.get::<_, i64>(0))?.unsigned_abs();
        }
        Ok(open)
    }

    /// Tells every row of a table, or of one of its days, in the order of its key.
    pub(crate) fn each(
        &self,
        table: &Table,
        day: Option<i64>,
        mut take: impl FnMut(Vec<Cell>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let column = |name: &str| match (table.name, name) {
            // Known from the planned time here, a column of its own there.
            ("unwell", "day") => format!("planned / {} as day", Span::DAY.0),
            _ => format!("\"{name}\""),
        };
        let columns: Vec<_> = table.columns.iter().map(|(name, _)| column(name)).collect();
        let name = day.map_or(table.name.to_string(), day_table);
        // What belongs to a day that is being dropped goes with it.
        let kept = match table.columns.iter().any(|(name, _)| *name == "day") {
            true => "where day in (select day from day where dropping = 0)",
            false => "",
        };
        let text = format!(
            "select * from (select {} from {name}) {kept} order by {}",
            columns.join(", "),
            table.key.iter().map(|key| format!("\"{key}\"")).collect::<Vec<_>>().join(", ")
        );
        let mut select = self.conn.prepare(&text)?;
        let mut rows = select.query([])?;
        while let Some(found) = rows.next()? {
            let cells = (0..table.columns.len()).map(|at| cell(found.get_ref(at)?));
            take(cells.collect::<Result<_, StoreError>>()?)?;
        }
        Ok(())
    }

    /// Nobody starts on it by mistake: its jobs run elsewhere now. Answers where it is.
    pub(crate) fn put_aside(self) -> Result<String, StoreError> {
        let Source { conn, path } = self;
        drop(conn);
        let aside = backup::beside(&path, MOVED);
        let failed = |error: std::io::Error| {
            StoreError::Failed(format!("everything is moved, but {} cannot be put aside: {error}", path.display()))
        };
        // The log goes into the file, so that it is one file.
        let whole = Connection::open(&path)?;
        whole.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))?;
        drop(whole);
        for ending in ["-wal", "-shm"] {
            backup::remove(&backup::beside(&path, ending)).map_err(failed)?;
        }
        std::fs::rename(&path, &aside).map_err(failed)?;
        Ok(aside.display().to_string())
    }
}

pub(super) fn cell(value: ValueRef) -> Result<Cell, StoreError> {
    let unknown = |what: &str| StoreError::Corrupt(format!("a row holds {what}"));
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Text(text) => {
            Cell::Text(std::str::from_utf8(text).map_err(|_| unknown("a text that is none"))?.to_string())
        }
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
        ValueRef::Real(_) => return Err(unknown("a fraction")),
    })
}
