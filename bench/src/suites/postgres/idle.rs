//! Ten thousand jobs on one server and nothing to do: what server, agent and database take meanwhile. A server on
//! PostgreSQL runs sixty-four shards, renews its leases and listens for others.

use std::time::Duration;

use wire::job::{CronForm, JobBody};

use super::SUITE;
use crate::cluster::Cluster;
use crate::database::{OURS, Postgres};
use crate::figure::{Figure, Target};
use crate::measure;
use crate::suites::{Bench, say};

const JOBS: u32 = 10_000;
const SLOTS: u32 = 64;
/// Until nothing is left of what happened before.
const SETTLE: Duration = Duration::from_secs(5);
const SPAN: Duration = Duration::from_secs(15);

pub(super) fn run(bench: &Bench, postgres: &Postgres) -> anyhow::Result<Vec<Figure>> {
    let dir = bench.fresh("postgres-idle")?;
    let database = postgres.fresh("idle", OURS)?;
    let mut cluster = Cluster::up(&bench.duly, &dir, &database, 1, SLOTS)?;
    cluster.any()?.apply(&(0..JOBS).map(job).collect::<Vec<_>>())?;
    // Loaded by a start, as it would be found.
    cluster.kill(0);
    cluster.start(0)?;
    cluster.settle()?;
    cluster.wait_for_agent()?;
    std::thread::sleep(SETTLE);
    let pids = [cluster.any()?.server_pid(), cluster.agent_pid()?];
    let look = || anyhow::Ok((measure::cpu_of_threads(pids[0])? + measure::cpu_of_threads(pids[1])?, postgres.cpu()?));
    let before = look()?;
    std::thread::sleep(SPAN);
    let after = look()?;
    let percent = |seconds: f64| seconds / SPAN.as_secs_f64() * 100.0;
    let (ours, database) = (percent(after.0 - before.0), percent(after.1 - before.1));
    let [server, agent] = pids.map(|pid| measure::pss_kb(pid).map(|kb| kb / 1024.0));
    let (server, agent) = (server?, agent?);
    say(SUITE, 0, &format!("idle: {ours:.2} %, database {database:.2} %, {server:.1} and {agent:.1} MB"));

    let one = |name: &str, unit, value: f64| Figure { ours: vec![value], ..Figure::new(SUITE, name, unit) };
    let both = server + agent;
    Ok(vec![
        one("idle: CPU, server and agent, 10000 jobs loaded", "%", ours).target(Target::AtMost(0.5)),
        one("idle: CPU, database", "%", database),
        one("idle: PSS, server and agent", "MB", both).target(Target::AtMost(80.0)),
        one("idle: PSS, server alone", "MB", server),
    ])
}

fn job(n: u32) -> JobBody {
    let cron = Some(CronForm::Short("0 0 3 1 1 ?".into()));
    JobBody { job: format!("idle_{n}"), cron, noop: Some(true), ..JobBody::default() }
}
