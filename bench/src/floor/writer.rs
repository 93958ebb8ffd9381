//! One thread, one connection: the inserts and updates that gathered while the last commit was under way are the next
//! commit. Orders and acknowledgements leave after it.

use std::collections::HashMap;
use std::path::Path;

use crossbeam_channel::Receiver;
use rusqlite::{Connection, params};
use tokio::sync::mpsc;
use wire::link::{self, Down, Report, down, report};

use super::log_mover::LogMover;
use crate::{measure, short_slice};

/// Rows of one commit.
const ROWS_MAX: usize = 2_000;
/// Orders of one message, as in the product.
const ORDERS_MAX: usize = 500;

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

pub(super) enum Word {
    Due(Vec<Due>),
    Ended(Vec<Report>),
}

/// A run to be made.
#[derive(Clone, Copy)]
pub(super) struct Due {
    pub(super) job: i64,
    pub(super) planned: i64,
}

pub(super) type Downs = mpsc::Sender<Result<Down, tonic::Status>>;

pub(super) struct Writer {
    conn: Connection,
    log: LogMover,
    words: Receiver<Word>,
    downs: Downs,
    /// Jobs are due again as soon as they end.
    again: bool,
    /// Which job an open attempt is of.
    open: HashMap<i64, i64>,
    next_id: i64,
}

impl Writer {
    pub(super) fn open(path: &Path, words: Receiver<Word>, downs: Downs, again: bool) -> anyhow::Result<Writer> {
        let mut conn = connect(path)?;
        conn.execute_batch(SCHEMA)?;
        let log = LogMover::start(&mut conn, connect(path)?)?;
        Ok(Writer { conn, log, words, downs, again, open: HashMap::new(), next_id: 1 })
    }

    /// Until nobody is left to say that anything is due.
    pub(super) fn run(mut self) -> anyhow::Result<()> {
        short_slice::ask();
        let (mut due, mut ended) = (Vec::new(), Vec::new());
        loop {
            if due.is_empty() {
                let Ok(word) = self.words.recv() else { return Ok(()) };
                gather(word, &mut due, &mut ended);
            }
            while due.len() + ended.len() < ROWS_MAX {
                let Ok(word) = self.words.try_recv() else { break };
                gather(word, &mut due, &mut ended);
            }
            let later = due.split_off(due.len().min(ROWS_MAX));
            let first = self.commit(&due, &ended)?;
            self.order(&due, first);
            due = later;
            due.extend(self.acknowledge(&std::mem::take(&mut ended)));
            self.log.committed(&self.conn)?;
        }
    }

    /// Gives back the id of the first run made.
    fn commit(&mut self, due: &[Due], ended: &[Report]) -> rusqlite::Result<i64> {
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
        Ok(first)
    }

    fn order(&mut self, due: &[Due], first: i64) {
        self.open.extend((first..).zip(due).map(|(id, run)| (id, run.job)));
        for (chunk, runs) in due.chunks(ORDERS_MAX).enumerate() {
            let first = first + (chunk * ORDERS_MAX) as i64;
            let items = (first..).zip(runs).map(|(id, run)| order(id, run)).collect();
            self.say(down::Body::Orders(link::Orders { items }));
        }
    }

    /// Gives back what is due again.
    fn acknowledge(&mut self, ended: &[Report]) -> Vec<Due> {
        if ended.is_empty() {
            return Vec::new();
        }
        let items = ended.iter().map(|report| link::Ack { attempt: report.attempt, seq: report.seq }).collect();
        self.say(down::Body::Acks(link::Acks { items }));
        let planned = measure::now_us();
        let jobs = ended.iter().filter_map(|report| self.open.remove(&report.attempt));
        let again: Vec<Due> = jobs.map(|job| Due { job, planned }).collect();
        if self.again { again } else { Vec::new() }
    }

    /// An agent that is gone is the end of the measurement, which the driver sees.
    fn say(&self, body: down::Body) {
        let _ = self.downs.blocking_send(Ok(Down { body: Some(body) }));
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

fn gather(word: Word, due: &mut Vec<Due>, ended: &mut Vec<Report>) {
    match word {
        Word::Due(runs) => due.extend(runs),
        Word::Ended(reports) => ended.extend(reports),
    }
}

fn order(id: i64, run: &Due) -> link::Order {
    link::Order {
        term: 1,
        attempt: id,
        attempt_no: 1,
        instance: id,
        version: run.job,
        planned: run.planned,
        start_by: run.planned + 60_000_000,
        stop_grace_us: 10_000_000,
        ..link::Order::default()
    }
}
