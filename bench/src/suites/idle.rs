//! Ten thousand jobs and nothing to do: what server and agent take meanwhile, once they were loaded by a start, and when
//! they have just been made.

use std::time::Duration;

use wire::job::{CronForm, JobBody};

use super::{Bench, say};
use crate::figure::{Figure, Target};
use crate::measure;
use crate::product::{self, Product};

const SUITE: &str = "idle";
const JOBS: u32 = 10_000;
const SLOTS: u32 = 64;
/// Until nothing is left of what happened before.
const SETTLE: Duration = Duration::from_secs(4);
const SPAN: Duration = Duration::from_secs(20);

/// Of server and agent.
struct Taken {
    percent: [f64; 2],
    megabytes: [f64; 2],
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let dir = bench.fresh("idle")?;
    let token = product::set_up(&bench.duly, &dir, &dir.join("data"))?;
    let product = Product::up_again(&bench.duly, &dir, token.clone(), SLOTS)?;
    product.apply(&(0..JOBS).map(job).collect::<Vec<_>>())?;
    let made = watch(&product, SETTLE)?;
    drop(product);
    let loaded = watch(&Product::up_again(&bench.duly, &dir, token, SLOTS)?, SPAN)?;
    say(SUITE, 0, &format!("server and agent {:?} %, {:?} MB", loaded.percent, loaded.megabytes));

    let one = |figure: Figure, value: f64| Figure { ours: vec![value], ..figure };
    let both = |two: [f64; 2]| two.iter().sum();
    let cpu = Figure::new(SUITE, format!("CPU, {JOBS} jobs loaded"), "%").target(Target::AtMost(0.5));
    let memory = Figure::new(SUITE, format!("PSS, {JOBS} jobs loaded"), "MB").target(Target::AtMost(80.0));
    Ok(vec![
        one(cpu, both(loaded.percent)),
        one(memory, both(loaded.megabytes)),
        one(Figure::new(SUITE, "PSS, agent alone", "MB"), loaded.megabytes[1]),
        one(Figure::new(SUITE, format!("PSS, {JOBS} jobs just made"), "MB"), both(made.megabytes)),
    ])
}

fn watch(product: &Product, span: Duration) -> anyhow::Result<Taken> {
    std::thread::sleep(SETTLE);
    let pids = [product.server_pid(), product.agent_pid()?];
    let before = pids.map(measure::cpu_of_threads);
    std::thread::sleep(span);
    let (mut percent, mut megabytes) = ([0.0; 2], [0.0; 2]);
    for (n, (pid, before)) in pids.into_iter().zip(before).enumerate() {
        percent[n] = (measure::cpu_of_threads(pid)? - before?) / span.as_secs_f64() * 100.0;
        megabytes[n] = measure::pss_kb(pid)? / 1024.0;
    }
    Ok(Taken { percent, megabytes })
}

fn job(n: u32) -> JobBody {
    let cron = Some(CronForm::Short("0 0 3 1 1 ?".into()));
    JobBody { job: format!("idle_{n}"), cron, noop: Some(true), ..JobBody::default() }
}
