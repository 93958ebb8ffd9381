//! From due to started, with few runs and with many: evenly spread over each second, and all at whole seconds as people
//! write them. Started is the instant the agent had the order in hand, on both sides.

use std::time::Duration;

use model::Timestamp;
use wire::Time;
use wire::job::{CronForm, EveryForm, EveryMap, JobBody};

use super::{Bench, say};
use crate::figure::{Figure, Target};
use crate::floor::{Floor, Load};
use crate::measure;
use crate::product::Product;
use crate::runs::{Runs, Window, quantile};

const SUITE: &str = "latency";
/// What is planned while jobs are still being made does not count.
const WARM_UP: i64 = 2_500_000;
/// For what is due at the very end to be started and written.
const AFTERWARDS: Duration = Duration::from_millis(700);
const SECOND: i64 = 1_000_000;

#[derive(Clone, Copy)]
enum Shape {
    Spread(u32),
    Aligned(u32),
}

/// The shape that promises were made about.
const PROMISED: u32 = 1_000;

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for shape in [Shape::Spread(100), Shape::Spread(PROMISED), Shape::Spread(5_000), Shape::Aligned(PROMISED)] {
        figures.extend(measure_shape(bench, shape)?);
    }
    Ok(figures)
}

fn measure_shape(bench: &Bench, shape: Shape) -> anyhow::Result<Vec<Figure>> {
    let figure = |what: &str| Figure::new(SUITE, format!("{} {what}", shape.name()), "us");
    let mut figures = [figure("p50"), figure("p99"), figure("max")];
    if let Shape::Spread(PROMISED) = shape {
        figures[0].targets.push(Target::TimesAtMost(2.0));
        figures[1].targets.push(Target::TimesAtMost(3.0));
    }
    let mut cpu = Figure::new(SUITE, format!("{} CPU per run, both", shape.name()), "us");
    for round in 0..bench.rounds {
        let (ours, floor) = (ours(bench, shape)?, floor(bench, shape)?);
        let at = |side: &Side| [0.5, 0.99, 1.0].map(|share| quantile(&side.late, share));
        let ([p50, p99, max], [floor_p50, floor_p99, floor_max]) = (at(&ours), at(&floor));
        let what = format!("{} p50 {p50:.0} p99 {p99:.0} beside {floor_p50:.0} and {floor_p99:.0} us", shape.name());
        say(SUITE, round, &what);
        figures[0].both(p50, floor_p50);
        figures[1].both(p99, floor_p99);
        figures[2].both(max, floor_max);
        cpu.both(ours.cpu_us, floor.cpu_us);
    }
    Ok(figures.into_iter().chain([cpu]).collect())
}

/// One side in one round.
struct Side {
    late: Vec<f64>,
    cpu_us: f64,
}

fn ours(bench: &Bench, shape: Shape) -> anyhow::Result<Side> {
    let dir = bench.fresh("latency-ours")?;
    let product = Product::up(&bench.duly, &dir, 20_000)?;
    product.apply(&shape.jobs())?;
    let (window, cpu) = wait(bench, product.server_pid(), product.agent_pid()?)?;
    let database = product.database();
    drop(product);
    judge(&Runs::open(&database)?, shape, window, cpu)
}

fn floor(bench: &Bench, shape: Shape) -> anyhow::Result<Side> {
    let dir = bench.fresh("latency-floor")?;
    let load = match shape {
        Shape::Spread(per_second) => Load::Spread { per_second },
        Shape::Aligned(per_second) => Load::Aligned { per_second },
    };
    let floor = Floor::start(&dir, load)?;
    let (window, cpu) = wait(bench, floor.server_pid(), floor.agent_pid())?;
    let database = floor.database();
    drop(floor);
    judge(&Runs::open(&database)?, shape, window, cpu)
}

/// Whole seconds, so that both shapes have the same number of runs in them.
fn wait(bench: &Bench, server: i32, agent: i32) -> anyhow::Result<(Window, f64)> {
    let cpu = || anyhow::Ok(measure::cpu(server)?.own + measure::cpu(agent)?.own);
    let from = (measure::now_us() + WARM_UP) / SECOND * SECOND;
    let until = from + bench.span().as_secs().max(1) as i64 * SECOND;
    sleep_until(from);
    let before = cpu()?;
    sleep_until(until);
    let spent = cpu()? - before;
    std::thread::sleep(AFTERWARDS);
    Ok((Window { from, until }, spent))
}

fn judge(runs: &Runs, shape: Shape, window: Window, cpu: f64) -> anyhow::Result<Side> {
    let (planned, started) = runs.planned(window)?;
    let expected = i64::from(shape.per_second()) * (window.seconds().round() as i64);
    if planned != expected || started != expected {
        eprintln!("{SUITE}: of {expected} runs {planned} were made and {started} had started");
    }
    Ok(Side { late: runs.lateness(window)?, cpu_us: cpu * 1e6 / planned.max(1) as f64 })
}

fn sleep_until(at: i64) {
    std::thread::sleep(Duration::from_micros((at - measure::now_us()).max(0) as u64));
}

impl Shape {
    fn per_second(self) -> u32 {
        match self {
            Shape::Spread(per_second) | Shape::Aligned(per_second) => per_second,
        }
    }

    fn name(self) -> String {
        match self {
            Shape::Spread(per_second) => format!("{per_second}/s"),
            Shape::Aligned(per_second) => format!("{per_second} at each second"),
        }
    }

    fn jobs(self) -> Vec<JobBody> {
        let begin = measure::now_us() / SECOND * SECOND;
        let plain = |n: u32| JobBody { job: format!("late_{n}"), noop: Some(true), ..JobBody::default() };
        match self {
            Shape::Aligned(count) => {
                let cron = Some(CronForm::Short("* * * * * ?".into()));
                (0..count).map(|n| JobBody { cron: cron.clone(), ..plain(n) }).collect()
            }
            Shape::Spread(count) => {
                let at = |n: u32| Timestamp(begin + i64::from(n) * SECOND / i64::from(count));
                let every = |n: u32| EveryMap {
                    every: "1s".into(),
                    start: Some(Time::from(at(n)).to_string()),
                    ..EveryMap::default()
                };
                (0..count).map(|n| JobBody { every: Some(EveryForm::Long(every(n))), ..plain(n) }).collect()
            }
        }
    }
}
