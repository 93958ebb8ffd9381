//! The same comparison on a PostgreSQL of its own: the store beside two bare statements over arrays.

use std::time::{Duration, Instant};

use duly_store::Store;
use duly_store::postgres::{Options, PgStore};
use model::{ShardId, Span};
use tokio_postgres::NoTls;

use super::cluster::{Cluster, Database};
use super::{JOBS, MESSAGE, Outcome, RUNS, commit, cpu, median, planned};

const ROUNDS: usize = 3;

pub(super) fn compare() -> Outcome<()> {
    let cluster = Cluster::start();
    for batch in [100, 1000] {
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bare.push(measure(&cluster, batch, run_bare)?);
            ours.push(measure(&cluster, batch, run_ours)?);
        }
        let of = |rounds: &[(f64, f64)], which: fn(&(f64, f64)) -> f64| median(rounds.iter().map(which).collect());
        let (b, o) = (of(&bare, |r| r.0), of(&ours, |r| r.0));
        let rates = (of(&bare, |r| r.1), of(&ours, |r| r.1));
        println!(
            "batch {batch}: bare {b:.1} µs/run, store {o:.1} µs/run, ratio {:.2}; runs/s {:.0} and {:.0}",
            o / b,
            rates.0,
            rates.1
        );
    }
    Ok(())
}

/// CPU microseconds per run, the database's included, and runs per second.
fn measure(cluster: &Cluster, batch: i64, run: fn(&Database, i64) -> Outcome<()>) -> Outcome<(f64, f64)> {
    let database = cluster.database();
    database.run("checkpoint");
    let (before, begun) = (cpu()? + cluster.cpu(), Instant::now());
    run(&database, batch)?;
    let (spent, took) = (cpu()? + cluster.cpu() - before, begun.elapsed());
    Ok((spent.as_secs_f64() * 1e6 / RUNS as f64, RUNS as f64 / took.as_secs_f64()))
}

fn run_ours(database: &Database, batch: i64) -> Outcome<()> {
    let mut store = PgStore::open(&database.address, &Options::default())?;
    let term = store.take_over(ShardId(0))?.term;
    for n in 0..=RUNS / batch {
        store.commit(&commit(term, n, batch))?;
    }
    std::thread::sleep(Duration::from_millis(100));
    Ok(())
}

const TABLE: &str = "create table run (
    id int8 primary key, job int8, planned int8, tenant int8, version int8, attempt int8, created_at int8, parent int8,
    cause_ref int8, params int8, target int8, ordered_at int8, started_at int8, ended_at int8, retry_at int8,
    cpu_us int8, peak_kb int8, log_bytes int8, shard int4, part int4, parts int4, attempt_no int4, exit_code int4,
    state int2, cause int2, verdict int2, reason int2, message text, outputs text, why text) with (fillfactor = 45);
    create unique index run_ledger on run (job, planned, part);
    set jit = off; set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_hashjoin = off;
    set enable_mergejoin = off";
const INSERT: &str =
    "insert into run (id, job, planned, tenant, version, attempt, created_at, target, shard, part, parts,
    attempt_no, state, cause) select i, i % 20000, p, 1, i % 20000, i, p, 7, 0, 0, 0, 1, 2, 1
    from unnest($1::int8[], $2::int8[]) as r(i, p)";
const UPDATE: &str = "update run set state = 10, target = 7, ordered_at = at, started_at = at, ended_at = at, verdict = 1,
    exit_code = 0, message = said, cpu_us = 900, peak_kb = 1800, log_bytes = 80
    from unnest($1::int8[], $2::int8[], $3::text[]) as r(i, at, said) where id = i and attempt = i and ended_at is null";

fn run_bare(database: &Database, batch: i64) -> Outcome<()> {
    assert_eq!(JOBS, 20_000, "as in the statement");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&database.address, NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(TABLE).await?;
        let (insert, update) = (client.prepare(INSERT).await?, client.prepare(UPDATE).await?);
        for n in 0..=RUNS / batch {
            let first = 1 + n * batch;
            let new: Vec<i64> = (first..first + batch).filter(|id| *id <= RUNS).collect();
            let due: Vec<i64> = new.iter().map(|id| planned(*id).0).collect();
            let over: Vec<i64> = (first - batch..first).filter(|id| *id > 0).collect();
            let at: Vec<i64> = over.iter().map(|id| planned(*id).0 + Span::SECOND.0).collect();
            let said = vec![MESSAGE; over.len()];
            client.batch_execute("begin").await?;
            client.execute(&insert, &[&new, &due]).await?;
            client.execute(&update, &[&over, &at, &said]).await?;
            client.batch_execute("commit").await?;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(())
    })
}
