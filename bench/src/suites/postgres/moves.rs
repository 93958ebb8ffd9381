//! Three servers and a thousand runs a second: one is killed and started again, one is drained and let back in, in turn.
//! How long the jobs of the killed one stay silent, and how late a run starts while shards are handed over.

use std::time::Duration;

use super::SUITE;
use super::paced::{jobs, sleep_until};
use crate::cluster::Cluster;
use crate::database::{Database, OURS, Postgres};
use crate::figure::{Figure, Target};
use crate::measure;
use crate::runs::Window;
use crate::suites::{Bench, say};

const SERVERS: usize = 3;
const PER_SECOND: u32 = 1_000;
const SECOND: i64 = 1_000_000;
const KILLS: u32 = 2;
/// The default lease and a second.
const SILENT_MAX_S: f64 = 4.0 + 1.0;
const LATE_MAX_MS: f64 = 200.0;
/// What it ordered in its last moment is not its successor's.
const OWN_ORDERS: i64 = 250_000;
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run(bench: &Bench, postgres: &Postgres) -> anyhow::Result<Vec<Figure>> {
    let mut first = Figure::new(SUITE, "killed server: until the first of its jobs starts", "s");
    let name = "killed server: until all of its jobs have started";
    let mut all = Figure::new(SUITE, name, "s").target(Target::AtMost(SILENT_MAX_S));
    let name = "latest start while a server drains, beside calm";
    let mut drained = Figure::new(SUITE, name, "ms").target(Target::AtMost(LATE_MAX_MS));
    let dir = bench.fresh("postgres-moves")?;
    let database = postgres.fresh("moves", OURS)?;
    let mut cluster = Cluster::up(&bench.duly, &dir, &database, SERVERS, 20_000)?;
    cluster.any()?.apply(&jobs(PER_SECOND, ""))?;
    std::thread::sleep(Duration::from_secs(3));
    for round in 0..bench.rounds {
        for kill in 0..KILLS {
            let silent = killed(&mut cluster, postgres, &database, (round * KILLS + kill) as usize % SERVERS)?;
            say(SUITE, round, &format!("killed: jobs start again after {:.2} to {:.2} s", silent.0, silent.1));
            first.ours.push(silent.0);
            all.ours.push(silent.1);
        }
        let (late, calm) = drain(&cluster, postgres, &database, round as usize % SERVERS)?;
        say(SUITE, round, &format!("drained: latest start {late:.0} ms, in calm {calm:.0} ms"));
        drained.both(late, calm);
    }
    let mut longest = Figure::new(SUITE, "the same, longest of all kills", "s").target(Target::AtMost(SILENT_MAX_S));
    longest.ours.push(all.ours.iter().copied().fold(0.0, f64::max));
    Ok(vec![first, all, longest, drained])
}

/// Seconds until the first and until the last of its jobs starts again.
fn killed(
    cluster: &mut Cluster,
    postgres: &Postgres,
    database: &Database,
    victim: usize,
) -> anyhow::Result<(f64, f64)> {
    let id = cluster.id_of(victim)?;
    let view = cluster.view()?;
    let shards: Vec<i64> = view.shards.iter().filter(|s| s.server == Some(id)).map(|s| s.id).collect();
    cluster.kill(victim);
    let at = measure::now_us();
    let mut starts: Vec<i64> = Vec::new();
    sleep_until(at + SECOND);
    measure::wait_for("a start of every job of the killed server", PATIENCE, || {
        // Reading must not be what delays them.
        std::thread::sleep(Duration::from_millis(500));
        let found = postgres.first_starts(database, &shards, at + OWN_ORDERS)?;
        starts = found.iter().copied().flatten().collect();
        Ok(!found.is_empty() && starts.len() == found.len())
    })?;
    starts.sort_unstable();
    cluster.start(victim)?;
    cluster.settle()?;
    cluster.wait_for_agent()?;
    std::thread::sleep(Duration::from_secs(2));
    let after = |at_us: Option<&i64>| at_us.map_or(f64::NAN, |us| (us - at) as f64 / 1e6);
    Ok((after(starts.first()), after(starts.last())))
}

/// Milliseconds from due to started at most, from the command until a second after the last shard was handed over; and
/// in as long a time before.
fn drain(cluster: &Cluster, postgres: &Postgres, database: &Database, n: usize) -> anyhow::Result<(f64, f64)> {
    let id = cluster.id_of(n)?;
    // Another one is asked: what is drained may be stopped next.
    let by = cluster.servers().nth((n + 1) % SERVERS).unwrap_or(cluster.any()?);
    let began = measure::now_us();
    by.call(|client| async move { client.drain_server(id).await })?;
    measure::wait_for("an empty server", PATIENCE, || {
        let view = by.call(|client| async move { client.cluster().await })?;
        Ok(view.shards.iter().all(|shard| shard.server.is_some_and(|owner| owner != id)))
    })?;
    let ended = measure::now_us() + SECOND;
    sleep_until(ended + SECOND);
    let moving = Window { from: began, until: ended };
    let calm = Window { from: began - (ended - began).min(2 * SECOND), until: began };
    let latest = |window| {
        let (late, missing) = postgres.lateness(database, window)?;
        if missing > 0 {
            eprintln!("{SUITE}: {missing} runs had not started a second after");
        }
        anyhow::Ok(late.last().map_or(f64::NAN, |us| us / 1e3))
    };
    let late = (latest(moving)?, latest(calm)?);
    by.call(|client| async move { client.undrain_server(id).await })?;
    cluster.settle()?;
    std::thread::sleep(Duration::from_secs(2));
    Ok(late)
}
