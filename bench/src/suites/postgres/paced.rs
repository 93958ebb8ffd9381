//! A thousand runs a second, evenly spread: how long after its time each starts, and how long commits take when they are
//! not waited for in line.

use std::time::Duration;

use model::Timestamp;
use wire::job::{EveryForm, EveryMap, JobBody};
use wire::time::Time;

use super::SUITE;
use crate::cluster::Cluster;
use crate::commits::Commits;
use crate::database::{Database, FLOOR, OURS, Postgres};
use crate::figure::Figure;
use crate::floor::{Floor, Load};
use crate::measure;
use crate::runs::{Window, quantile};
use crate::suites::{Bench, say};

const PER_SECOND: u32 = 1_000;
const SECOND: i64 = 1_000_000;
/// What is planned while jobs are still being made does not count.
const WARM_UP: i64 = 3_500_000;
/// For what is due at the very end to be started and written.
const AFTERWARDS: Duration = Duration::from_millis(700);

pub(super) fn run(bench: &Bench, postgres: &Postgres) -> anyhow::Result<Vec<Figure>> {
    let figure = |what: &str, unit| Figure::new(SUITE, format!("{PER_SECOND}/s {what}"), unit);
    let mut late = ["due to started p50", "due to started p99"].map(|what| figure(what, "us"));
    let mut commit = ["commit p50", "commit p99"].map(|what| figure(what, "ms"));
    for round in 0..bench.rounds {
        let (ours, counted) = ours(bench, postgres)?;
        let (floor, took) = floor(bench, postgres)?;
        let floors = counted.counted(&took);
        for (n, share) in [0.5, 0.99].into_iter().enumerate() {
            late[n].both(quantile(&ours, share), quantile(&floor, share));
            commit[n].both(counted.quantile(share), floors.quantile(share));
        }
        let last = |figure: &Figure| [figure.ours[round as usize], figure.floor[round as usize]];
        let ([ours, floor], [took, floors]) = (last(&late[1]), last(&commit[1]));
        say(
            SUITE,
            round,
            &format!("{PER_SECOND}/s: p99 {ours:.0} beside {floor:.0} us, commits {took:.1} beside {floors:.1} ms"),
        );
    }
    Ok(late.into_iter().chain(commit).collect())
}

fn ours(bench: &Bench, postgres: &Postgres) -> anyhow::Result<(Vec<f64>, Commits)> {
    let dir = bench.fresh("postgres-ours")?;
    let database = postgres.fresh("ours", OURS)?;
    let cluster = Cluster::up(&bench.duly, &dir, &database, 1, 20_000)?;
    cluster.any()?.apply(&jobs(PER_SECOND, ""))?;
    let window = begin(bench);
    let before = Commits::of(cluster.any()?)?;
    sleep_until(window.until);
    let commits = Commits::of(cluster.any()?)?.since(&before);
    std::thread::sleep(AFTERWARDS);
    drop(cluster);
    Ok((judge(postgres, &database, window)?, commits))
}

fn floor(bench: &Bench, postgres: &Postgres) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let dir = bench.fresh("postgres-floor")?;
    let database = postgres.fresh("floor", FLOOR)?;
    let floor = Floor::start_on(&dir, Load::Spread { per_second: PER_SECOND }, &database.address)?;
    let window = begin(bench);
    sleep_until(window.until);
    std::thread::sleep(AFTERWARDS);
    let took = floor.commits(window)?;
    drop(floor);
    Ok((judge(postgres, &database, window)?, took))
}

/// Returns when it begins.
fn begin(bench: &Bench) -> Window {
    let from = (measure::now_us() + WARM_UP) / SECOND * SECOND;
    sleep_until(from);
    Window { from, until: from + bench.span().as_secs().max(1) as i64 * SECOND }
}

fn judge(postgres: &Postgres, database: &Database, window: Window) -> anyhow::Result<Vec<f64>> {
    let (late, missing) = postgres.lateness(database, window)?;
    let expected = (f64::from(PER_SECOND) * window.seconds()) as usize;
    if late.len() != expected {
        eprintln!("{SUITE}: of {expected} runs {} had started, {missing} were made only", late.len());
    }
    Ok(late)
}

/// One run of each in every second, evenly spread over it.
pub(super) fn jobs(count: u32, prefix: &str) -> Vec<JobBody> {
    let begin = measure::now_us() / SECOND * SECOND;
    let at = |n: u32| Time::from(Timestamp(begin + i64::from(n) * SECOND / i64::from(count))).to_string();
    let every = |n: u32| EveryMap { every: "1s".into(), start: Some(at(n)), ..EveryMap::default() };
    let job = |n: u32| JobBody {
        job: format!("{prefix}paced_{n}"),
        every: Some(EveryForm::Long(every(n))),
        noop: Some(true),
        ..JobBody::default()
    };
    (0..count).map(job).collect()
}

pub(super) fn sleep_until(at: i64) {
    std::thread::sleep(Duration::from_micros((at - measure::now_us()).max(0) as u64));
}
