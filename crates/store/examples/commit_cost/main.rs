//! What a run costs in this store beside the same rows written by the bare driver: CPU microseconds per run, medians of
//! interleaved rounds. `cargo run --release -p duly-store --example commit_cost`, and the same with ` -- postgres`, which
//! counts the database's processes as well; ` -- shards` compares batches of many shards there, apart and together.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use duly_store::Store;
use duly_store::sqlite::{Options, SqliteStore};
use engine::change::{Change, Commit, Created, Ended, Row};
use model::*;
use nix::time::{ClockId, clock_gettime};
use rusqlite::{Connection, params};

#[path = "../../tests/support/cluster.rs"]
mod cluster;
mod on_postgres;
mod on_shards;

type Outcome<T> = Result<T, Box<dyn Error>>;

const RUNS: i64 = 200_000;
const ROUNDS: usize = 7;
const JOBS: i64 = 20_000;

fn main() -> Outcome<()> {
    match std::env::args().nth(1).as_deref() {
        Some("postgres") => return on_postgres::compare(),
        Some("shards") => return on_shards::compare(),
        _ => {}
    }
    for batch in [500, 2000] {
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bare.push(measure(batch, run_bare)?);
            ours.push(measure(batch, run_ours)?);
        }
        let (bare, ours) = (median(bare), median(ours));
        println!("batch {batch}: bare {bare:.2} µs/run, store {ours:.2} µs/run, ratio {:.2}", ours / bare);
    }
    Ok(())
}

fn measure(batch: i64, run: fn(&Path, i64) -> Outcome<Duration>) -> Outcome<f64> {
    let dir = tempfile::tempdir()?;
    let cpu = run(dir.path(), batch)?;
    Ok(cpu.as_secs_f64() * 1e6 / RUNS as f64)
}

fn cpu() -> Outcome<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Thousands of jobs a second, as they would be planned.
fn planned(id: i64) -> Timestamp {
    Timestamp(20_000 * Span::DAY.0 + id / 5_000 * 1_000_000)
}

const MESSAGE: &str = "done, 3 rows";

fn run_ours(dir: &Path, batch: i64) -> Outcome<Duration> {
    let mut store = SqliteStore::open(dir, &Options { cache_mb: 512, ..Options::default() })?;
    let term = store.take_over(ShardId(0))?.term;
    let mut spent = Duration::ZERO;
    for n in 0..=RUNS / batch {
        let commit = commit(term, n, batch);
        let before = cpu()?;
        store.commit(&commit)?;
        spent += cpu()? - before;
    }
    Ok(spent)
}

/// Creates one batch of runs and ends the one before.
fn commit(term: Term, n: i64, batch: i64) -> Commit {
    let first = 1 + n * batch;
    let created = (first..first + batch).filter(|id| *id <= RUNS).map(|id| Change::Created(create(id)));
    let ended = (first - batch..first).filter(|id| *id > 0).map(|id| Change::Ended(end(id)));
    Commit {
        shard: ShardId(0),
        term,
        batch: Batch(n + 1),
        horizon: planned(first),
        next_id: first + batch,
        changes: created.chain(ended).collect(),
        claims: vec![],
    }
}

fn create(id: i64) -> Created {
    Created {
        row: Row { id: InstanceId(id), job: JobId(id % JOBS), planned: planned(id) },
        tenant: TenantId(1),
        version: VersionId(id % JOBS),
        part: Part::WHOLE,
        parent: None,
        cause: Cause::Planned,
        params: None,
        state: State::Dispatched,
        attempt: AttemptId(id),
        target: Some(AgentId(7)),
        at: planned(id),
    }
}

fn end(id: i64) -> Ended {
    let at = planned(id) + Span::SECOND;
    Ended {
        row: Row { id: InstanceId(id), job: JobId(id % JOBS), planned: planned(id) },
        attempt: AttemptId(id),
        ending: Ending::Succeeded,
        target: Some(AgentId(7)),
        ordered_at: Some(at),
        at,
        outcome: Some(Box::new(model::Outcome {
            verdict: Verdict::Succeeded,
            exit_code: Some(0),
            message: Some(MESSAGE.into()),
            outputs: None,
            started_at: Some(at),
            ended_at: at,
            usage: Usage { cpu_us: Some(900), peak_kb: Some(1800), log_bytes: Some(80) },
        })),
        why: None,
    }
}

/// The same columns, values and unique index, with nothing around them.
fn run_bare(dir: &Path, batch: i64) -> Outcome<Duration> {
    let conn = Connection::open(dir.join("bare.db"))?;
    conn.execute_batch(
        "pragma page_size = 8192; pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -524288;
         pragma wal_autocheckpoint = 2048;
         create table run (
            id integer primary key, shard integer, tenant integer, job integer, version integer, planned integer,
            part integer, parts integer, parent integer, cause integer, cause_ref integer, cause_by text,
            params integer, state integer, attempt integer, attempt_no integer, target integer, created_at integer,
            ordered_at integer, started_at integer, ended_at integer, retry_at integer, verdict integer,
            reason integer, ended_by text, exit_code integer, message text, outputs text, cpu_us integer,
            peak_kb integer, log_bytes integer, why text, stopping_by text, stopping_at integer,
            uncertain_since integer, uncertain_why text);
         create unique index run_ledger on run (job, planned, part);",
    )?;
    let before = cpu()?;
    for n in 0..=RUNS / batch {
        conn.execute_batch("begin immediate")?;
        let mut insert = conn.prepare_cached(
            "insert into run (id, shard, tenant, job, version, planned, part, parts, cause, state, attempt, attempt_no,
             target, created_at) values (?1, 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1, ?11, ?12)",
        )?;
        let first = 1 + n * batch;
        for id in (first..first + batch).filter(|id| *id <= RUNS) {
            let at = planned(id).0;
            insert.execute(params![id, 1, id % JOBS, id % JOBS, at, 0, 0, 1, 2, id, 7, at])?;
        }
        let mut update = conn.prepare_cached(
            "update run set state = ?3, target = ?4, ordered_at = ?5, started_at = ?6, ended_at = ?7, verdict = ?8,
             exit_code = ?9, message = ?10, cpu_us = ?11, peak_kb = ?12, log_bytes = ?13
             where id = ?1 and attempt = ?2 and ended_at is null",
        )?;
        for id in (first - batch..first).filter(|id| *id > 0) {
            let at = planned(id).0 + 1_000_000;
            update.execute(params![id, id, 10, 7, at, at, at, 1, 0, MESSAGE, 900, 1800, 80])?;
        }
        conn.execute_batch("commit")?;
    }
    Ok(cpu()? - before)
}
