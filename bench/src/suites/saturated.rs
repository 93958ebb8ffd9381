//! Durable no-op runs, as many as there can be: ten thousand jobs that are due again as soon as they have ended.

use std::path::Path;
use std::time::Duration;

use wire::job::{DelayForm, JobBody};

use super::{Bench, say};
use crate::figure::{Figure, Target};
use crate::floor::{Floor, Load};
use crate::measure;
use crate::product::Product;
use crate::runs::{Runs, Window};

const SUITE: &str = "saturated";
const JOBS: u32 = 10_000;
/// Before anything is counted: caches fill, the first log is moved.
const WARM_UP: Duration = Duration::from_secs(2);

/// One side in one round.
struct Round {
    per_second: f64,
    server_us: f64,
    agent_us: f64,
    bytes_per_row: f64,
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut speed = Figure::new(SUITE, "runs", "/s").target(Target::TimesAtLeast(0.5));
    let mut cpu = Figure::new(SUITE, "CPU per run, both", "us").target(Target::TimesAtMost(2.2));
    let mut server = Figure::new(SUITE, "CPU per run, server", "us");
    let mut agent = Figure::new(SUITE, "CPU per run, agent", "us");
    let mut width = Figure::new(SUITE, "bytes per run on disk", "B");
    for round in 0..bench.rounds {
        let (ours, floor) = (ours(bench)?, floor(bench)?);
        say(SUITE, round, &format!("{:.0}/s beside {:.0}/s", ours.per_second, floor.per_second));
        speed.both(ours.per_second, floor.per_second);
        cpu.both(ours.server_us + ours.agent_us, floor.server_us + floor.agent_us);
        server.both(ours.server_us, floor.server_us);
        agent.both(ours.agent_us, floor.agent_us);
        width.both(ours.bytes_per_row, floor.bytes_per_row);
    }
    Ok(vec![speed, cpu, server, agent, width])
}

fn ours(bench: &Bench) -> anyhow::Result<Round> {
    let dir = bench.fresh("saturated-ours")?;
    let product = Product::up(&bench.duly, &dir, 2 * JOBS)?;
    product.apply(&(0..JOBS).map(job).collect::<Vec<_>>())?;
    let counted = count(bench, product.server_pid(), product.agent_pid()?)?;
    let database = product.database();
    drop(product);
    counted.judge(&database)
}

fn floor(bench: &Bench) -> anyhow::Result<Round> {
    let dir = bench.fresh("saturated-floor")?;
    let floor = Floor::start(&dir, Load::Saturate { jobs: JOBS })?;
    let counted = count(bench, floor.server_pid(), floor.agent_pid())?;
    let database = floor.database();
    drop(floor);
    counted.judge(&database)
}

fn job(n: u32) -> JobBody {
    let delay = Some(DelayForm::Short("0s".into()));
    JobBody { job: format!("busy_{n}"), delay, noop: Some(true), ..JobBody::default() }
}

struct Counted {
    window: Window,
    server_s: f64,
    agent_s: f64,
}

fn count(bench: &Bench, server: i32, agent: i32) -> anyhow::Result<Counted> {
    std::thread::sleep(WARM_UP);
    let (from, server_from, agent_from) = (measure::now_us(), measure::cpu(server)?.own, measure::cpu(agent)?.own);
    std::thread::sleep(bench.span());
    let (until, server_until, agent_until) = (measure::now_us(), measure::cpu(server)?.own, measure::cpu(agent)?.own);
    Ok(Counted {
        window: Window { from, until },
        server_s: server_until - server_from,
        agent_s: agent_until - agent_from,
    })
}

impl Counted {
    fn judge(&self, database: &Path) -> anyhow::Result<Round> {
        let runs = Runs::open(database)?;
        let ended = runs.ended(self.window)?;
        Ok(Round {
            per_second: ended / self.window.seconds(),
            server_us: self.server_s * 1e6 / ended,
            agent_us: self.agent_s * 1e6 / ended,
            bytes_per_row: runs.bytes_per_row()?,
        })
    }
}
