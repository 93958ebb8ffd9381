//! One thread, one connection: the inserts and updates that gathered while the last commit was under way are the next
//! commit. Orders and acknowledgements leave after it.

use std::path::Path;

use crossbeam_channel::Receiver;
use rusqlite::{Connection, params};
use wire::link::{Report, report};

use super::Due;
use super::desk::{Desk, Gathered, Word};
use super::log_mover::LogMover;
use crate::{measure, short_slice};

/// As wide as the product's row of a plain run, when it is made and when it has ended; `rest` stands for the columns a
/// plain run leaves empty.
pub(crate) const SCHEMA: &str = "
    create table run (
        id integer primary key, job integer not null, version integer not null, planned integer not null,
        part integer not null, state integer not null, attempt integer not null, target integer,
        created_at integer not null, ordered_at integer, started_at integer, ended_at integer,
        verdict integer, exit_code integer, rest blob, room blob
    ) strict;
    create unique index run_ledger on run (job, planned, part);";
pub(crate) const INSERT: &str = "
    insert into run (id, job, version, planned, part, state, attempt, target, created_at, rest, room)
    values (?1, ?2, ?2, ?3, 0, 2, ?1, 1, ?4, zeroblob(25), zeroblob(48))";
pub(crate) const UPDATE: &str = "
    update run set state = 10, ordered_at = created_at, ended_at = ?2, started_at = ?3, verdict = ?4, exit_code = ?5,
        room = null
    where id = ?1 and attempt = ?1 and ended_at is null";

pub(super) struct Writer {
    conn: Connection,
    log: LogMover,
    words: Receiver<Word>,
    desk: Desk,
    next_id: i64,
}

impl Writer {
    pub(super) fn open(path: &Path, words: Receiver<Word>, desk: Desk) -> anyhow::Result<Writer> {
        let mut conn = connect(path)?;
        conn.execute_batch(SCHEMA)?;
        let log = LogMover::start(&mut conn, connect(path)?)?;
        Ok(Writer { conn, log, words, desk, next_id: 1 })
    }

    /// Until nobody is left to say that anything is due.
    pub(super) fn run(mut self) -> anyhow::Result<()> {
        short_slice::ask();
        let mut next = Gathered::default();
        loop {
            let Some(later) = next.fill(&self.words) else { return Ok(()) };
            let ids = self.commit(&next.due, &next.ended)?;
            self.desk.order(&next.due, &ids);
            let again = self.desk.acknowledge(&next.ended);
            next = Gathered { due: later, ended: Vec::new() };
            next.due.extend(again);
            self.log.committed(&self.conn)?;
        }
    }

    /// Gives back the ids of the runs made.
    fn commit(&mut self, due: &[Due], ended: &[Report]) -> rusqlite::Result<Vec<i64>> {
        let (first, now) = (self.next_id, measure::now_us());
        self.conn.prepare_cached("begin immediate")?.execute([])?;
        let mut insert = self.conn.prepare_cached(INSERT)?;
        for (id, run) in (first..).zip(due) {
            insert.execute(params![id, run.job, run.planned, now])?;
        }
        let mut update = self.conn.prepare_cached(UPDATE)?;
        for report in ended {
            let Some(report::Body::Ended(ended)) = &report.body else { continue };
            update.execute(params![report.attempt, now, ended.started_at, ended.verdict, ended.exit_code])?;
        }
        self.conn.prepare_cached("commit")?.execute([])?;
        self.next_id += due.len() as i64;
        Ok((first..self.next_id).collect())
    }
}

/// Set up as the product's store is.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let conn = Connection::open(path)?;
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    let options = store::sqlite::Options::default();
    conn.pragma_update(None, "page_size", 8192)?;
    conn.pragma_update(None, "journal_mode", "wal")?;
    conn.pragma_update(None, "synchronous", "full")?;
    conn.pragma_update(None, "cache_size", -i64::from(options.cache_mb) * 1024)?;
    conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(conn)
}
