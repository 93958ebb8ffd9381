//! Small batches of 64 shards on a PostgreSQL of its own: each in its transaction, and all of them in one.

use std::sync::Arc;
use std::time::Instant;

use duly_store::Store;
use duly_store::postgres::{Options, PgStore};
use engine::change::{Change, Commit};
use model::{Batch, ShardId, Term};

use super::cluster::{Cluster, Database};
use super::{Outcome, cpu, create, end, median, planned};

const SHARDS: i64 = 64;
const TURNS: i64 = 150;
const ROUNDS: usize = 3;

pub(super) fn compare() -> Outcome<()> {
    let cluster = Cluster::start();
    for each in [1, 5, 20] {
        let (mut apart, mut together) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            apart.push(measure(&cluster, each, false)?);
            together.push(measure(&cluster, each, true)?);
        }
        let of = |rounds: &[(f64, f64)], which: fn(&(f64, f64)) -> f64| median(rounds.iter().map(which).collect());
        println!(
            "64 shards, {each} runs in each batch: apart {:.1} µs/run, {:.0} runs/s; together {:.1} µs/run, {:.0} runs/s",
            of(&apart, |r| r.0),
            of(&apart, |r| r.1),
            of(&together, |r| r.0),
            of(&together, |r| r.1),
        );
    }
    Ok(())
}

/// CPU microseconds per run, the database's included, and runs per second, on one connection.
fn measure(cluster: &Cluster, each: i64, together: bool) -> Outcome<(f64, f64)> {
    let database = cluster.database();
    database.run("checkpoint");
    let (mut store, terms) = owner(&database)?;
    let (before, begun) = (cpu()? + cluster.cpu(), Instant::now());
    for n in 0..TURNS {
        let commits: Vec<_> = (0..SHARDS).map(|shard| Arc::new(batch(shard, terms[shard as usize], n, each))).collect();
        if together {
            for answer in store.commit_all(&commits) {
                answer?;
            }
        } else {
            for commit in &commits {
                store.commit(commit)?;
            }
        }
    }
    let (spent, took) = (cpu()? + cluster.cpu() - before, begun.elapsed());
    let runs = (SHARDS * TURNS * each) as f64;
    Ok((spent.as_secs_f64() * 1e6 / runs, runs / took.as_secs_f64()))
}

fn owner(database: &Database) -> Outcome<(PgStore, Vec<Term>)> {
    let mut store = PgStore::open(&database.address, &Options { shards: SHARDS as u32, ..Options::default() })?;
    let terms = (0..SHARDS).map(|shard| Ok(store.take_over(ShardId(shard))?.term)).collect::<Outcome<_>>()?;
    Ok((store, terms))
}

/// Creates some runs of one shard and ends those of the batch before.
fn batch(shard: i64, term: Term, n: i64, each: i64) -> Commit {
    // Each shard has a range of ids of its own.
    let first = (shard << 20) + n * each;
    let created = (first..first + each).map(|id| Change::Created(create(id)));
    let ended = (first - each..first).filter(|_| n > 0).map(|id| Change::Ended(end(id)));
    Commit {
        shard: ShardId(shard),
        term,
        batch: Batch(n + 1),
        horizon: planned(first),
        next_id: first + each,
        changes: created.chain(ended).collect(),
        claims: vec![],
    }
}
