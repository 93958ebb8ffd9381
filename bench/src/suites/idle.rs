//! Ten thousand jobs and nothing to do: what server and agent take meanwhile.

use std::time::Duration;

use wire::job::{CronForm, JobBody};

use super::{Bench, say};
use crate::figure::{Figure, Target};
use crate::measure;
use crate::product::Product;

const SUITE: &str = "idle";
const JOBS: u32 = 10_000;
/// Until nothing is left of having made the jobs.
const SETTLE: Duration = Duration::from_secs(4);
const SPAN: Duration = Duration::from_secs(20);

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let dir = bench.fresh("idle")?;
    let product = Product::up(&bench.duly, &dir, 64)?;
    product.apply(&(0..JOBS).map(job).collect::<Vec<_>>())?;
    std::thread::sleep(SETTLE);
    let (server, agent) = (product.server_pid(), product.agent_pid()?);
    let cpu = || anyhow::Ok((measure::cpu(server)?.own, measure::cpu(agent)?.own));
    let (server_before, agent_before) = cpu()?;
    std::thread::sleep(SPAN);
    let (server_after, agent_after) = cpu()?;
    let percent = |seconds: f64| seconds / SPAN.as_secs_f64() * 100.0;
    let (of_server, of_agent) = (percent(server_after - server_before), percent(agent_after - agent_before));
    let (server_mb, agent_mb) = (measure::pss_kb(server)? / 1024.0, measure::pss_kb(agent)? / 1024.0);
    say(SUITE, 0, &format!("server {of_server:.2} % {server_mb:.1} MB, agent {of_agent:.2} % {agent_mb:.1} MB"));

    let one = |figure: Figure, value: f64| Figure { ours: vec![value], ..figure };
    let cpu = Figure::new(SUITE, format!("CPU, server and agent, {JOBS} jobs"), "%").target(Target::AtMost(0.5));
    let memory = Figure::new(SUITE, "PSS, server and agent", "MB").target(Target::AtMost(80.0));
    Ok(vec![
        one(cpu, of_server + of_agent),
        one(Figure::new(SUITE, "CPU, server", "%"), of_server),
        one(memory, server_mb + agent_mb),
        one(Figure::new(SUITE, "PSS, server", "MB"), server_mb),
    ])
}

fn job(n: u32) -> JobBody {
    let cron = Some(CronForm::Short("0 0 3 1 1 ?".into()));
    JobBody { job: format!("idle_{n}"), cron, noop: Some(true), ..JobBody::default() }
}
