//! Fifty thousand jobs due at one and the same instant, with a slot for each: how long until the last one is started.

use std::time::{Duration, Instant};

use model::Timestamp;
use wire::Time;
use wire::job::{JobBody, OnceForm};

use super::{Bench, say};
use crate::figure::{Figure, Target};
use crate::floor::{Floor, Load};
use crate::measure;
use crate::product::Product;
use crate::runs::{Runs, Window, quantile};

const SUITE: &str = "burst";
const JOBS: u32 = 50_000;
const SECOND: i64 = 1_000_000;
/// Both sides have settled by the instant.
const QUIET: i64 = 3 * SECOND;
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let name = format!("{JOBS} due at once, last started");
    let mut last = Figure::new(SUITE, name, "ms").target(Target::AtMost(1_000.0)).target(Target::TimesAtMost(1.5));
    let mut half = Figure::new(SUITE, "half of them started", "ms");
    // Guessed generously at first, then known.
    let mut making = 30 * SECOND;
    for round in 0..bench.rounds {
        let (ours, floor) = (ours(bench, &mut making)?, floor(bench)?);
        let at = |late: &[f64], share: f64| quantile(late, share) / 1_000.0;
        say(SUITE, round, &format!("{:.0} ms beside {:.0} ms", at(&ours, 1.0), at(&floor, 1.0)));
        last.both(at(&ours, 1.0), at(&floor, 1.0));
        half.both(at(&ours, 0.5), at(&floor, 0.5));
    }
    Ok(vec![last, half])
}

fn ours(bench: &Bench, making: &mut i64) -> anyhow::Result<Vec<f64>> {
    for _ in 0..3 {
        let dir = bench.fresh("burst-ours")?;
        let product = Product::up(&bench.duly, &dir, 2 * JOBS)?;
        let at = in_a_while(*making + QUIET);
        let began = Instant::now();
        product.apply(&(0..JOBS).map(|n| job(n, at)).collect::<Vec<_>>())?;
        let left = at - measure::now_us();
        *making = began.elapsed().as_micros() as i64 * 3 / 2;
        if left < QUIET / 2 {
            continue;
        }
        return wait(at, &product.database());
    }
    anyhow::bail!("making {JOBS} jobs never took the same time twice")
}

fn floor(bench: &Bench) -> anyhow::Result<Vec<f64>> {
    let dir = bench.fresh("burst-floor")?;
    let at = in_a_while(QUIET);
    let floor = Floor::start(&dir, Load::Burst { runs: JOBS, at })?;
    wait(at, &floor.database())
}

fn wait(at: i64, database: &std::path::Path) -> anyhow::Result<Vec<f64>> {
    // Nobody reads while it happens.
    std::thread::sleep(Duration::from_micros((at - measure::now_us()).max(0) as u64) + Duration::from_secs(2));
    let (runs, window) = (Runs::open(database)?, Window { from: at, until: at + 1 });
    measure::wait_for("the last of the burst", PATIENCE, || {
        std::thread::sleep(Duration::from_millis(200));
        Ok(runs.planned(window)? == (i64::from(JOBS), i64::from(JOBS)))
    })?;
    runs.lateness(window)
}

fn in_a_while(span: i64) -> i64 {
    ((measure::now_us() + span) / SECOND + 1) * SECOND
}

fn job(n: u32, at: i64) -> JobBody {
    let once = Some(OnceForm::Short(Time::from(Timestamp(at)).to_string()));
    JobBody { job: format!("burst_{n}"), once, noop: Some(true), ..JobBody::default() }
}
