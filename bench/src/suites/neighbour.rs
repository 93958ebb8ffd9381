//! A tenant whose neighbour floods the server and the agent they share: how late its runs start, beside how late they
//! start when it is alone.

use std::time::Duration;

use model::Timestamp;
use wire::Time;
use wire::api::SharingBody;
use wire::job::{EveryForm, EveryMap, JobBody, OnceForm};

use super::{Bench, say};
use crate::figure::{Figure, Target};
use crate::fixture::Fixture;
use crate::measure;
use crate::product::{Product, set_up};
use crate::runs::{Runs, Window, quantile};

const SUITE: &str = "neighbour";
const FLOOD: u32 = 50_000;
const STEADY: u32 = 50;
const SLOTS: u32 = 100;
const SECOND: i64 = 1_000_000;
/// What is started while the server is still warming up does not count.
const WARM_UP: i64 = 3 * SECOND;
const ALONE: i64 = 6 * SECOND;
/// A flood is planned that long before its time.
const PLANNED_AHEAD: i64 = 2 * SECOND;
const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let figure = |what: &str| Figure::new(SUITE, format!("{what} beside a flood of {FLOOD}, and alone"), "us");
    let mut p50 = figure("lateness p50");
    let mut p99 = figure("lateness p99").target(Target::TimesAtMost(3.0));
    let mut max = figure("latest");
    let mut missing =
        Figure::new(SUITE, "planned beside the flood and not started", "runs").target(Target::AtMost(0.0));
    let mut lasted = Figure::new(SUITE, "the flood lasts", "s");
    for round in 0..bench.rounds {
        let told = one(bench)?;
        let at = |late: &[f64]| [0.5, 0.99, 1.0].map(|share| quantile(late, share));
        let (flooded, alone) = (at(&told.flooded), at(&told.alone));
        say(
            SUITE,
            round,
            &format!(
                "p50 {:.0} p99 {:.0} max {:.0} beside the flood, {:.0} {:.0} {:.0} us alone; p99 {:.1} times",
                flooded[0],
                flooded[1],
                flooded[2],
                alone[0],
                alone[1],
                alone[2],
                flooded[1] / alone[1]
            ),
        );
        p50.both(flooded[0], alone[0]);
        p99.both(flooded[1], alone[1]);
        max.both(flooded[2], alone[2]);
        missing.ours.push(told.missing);
        lasted.ours.push(told.lasted);
    }
    Ok(vec![p50, p99, max, missing, lasted])
}

struct Told {
    alone: Vec<f64>,
    flooded: Vec<f64>,
    /// Runs that never started would make the others look punctual.
    missing: f64,
    lasted: f64,
}

fn one(bench: &Bench) -> anyhow::Result<Told> {
    let dir = bench.fresh("neighbour")?;
    let data = dir.join("data");
    let token = set_up(&bench.duly, &dir, &data)?;
    let begin = (measure::now_us() / SECOND + 1) * SECOND;
    // Filling the store and starting on it take a while; the flood's time must not have passed by then.
    let flood_at = begin + 15 * SECOND + ALONE;
    let (steady, flood) = {
        let mut fixture = Fixture::open(&data)?;
        let steady = fixture.tenant("steady")?;
        fixture.jobs((0..STEADY).map(|n| every_second(n, begin)))?;
        let flood = fixture.tenant("flood")?;
        fixture.jobs((0..FLOOD).map(|n| once(n, flood_at)))?;
        (steady.0, flood.0)
    };
    let product = Product::up_again(&bench.duly, &dir, token, SLOTS)?;
    let agents = product.call(|client| async move { client.agents().await })?;
    let (agent, sharing) = (agents.items[0].id, SharingBody { everyone: true, tenants: vec![] });
    product.call(|client| async move { client.share_agent(agent, &sharing).await })?;
    let ready = measure::now_us() + WARM_UP;
    anyhow::ensure!(ready + ALONE / 2 < flood_at - PLANNED_AHEAD, "the server took too long to start");
    let alone = Window { from: ready.max(flood_at - PLANNED_AHEAD - ALONE), until: flood_at - PLANNED_AHEAD };
    // Nobody reads while it happens.
    std::thread::sleep(Duration::from_micros((flood_at - measure::now_us()).max(0) as u64) + Duration::from_secs(4));
    let database = product.database();
    let mut last = 0;
    measure::wait_for("the end of the flood", PATIENCE, || {
        std::thread::sleep(Duration::from_secs(1));
        let (count, at) = Runs::open(&database)?.ended_of(flood)?;
        last = at;
        Ok(count == i64::from(FLOOD))
    })?;
    drop(product);
    let runs = Runs::open(&database)?;
    let flooded = Window { from: flood_at - PLANNED_AHEAD, until: last };
    let late = runs.lateness_of(steady, flooded)?;
    // Those of the last second may not have started when the server was ended.
    let planned = i64::from(STEADY) * ((flooded.until - flooded.from) / SECOND - 1);
    Ok(Told {
        alone: runs.lateness_of(steady, alone)?,
        missing: (planned - late.len() as i64).max(0) as f64,
        flooded: late,
        lasted: (last - flood_at) as f64 / SECOND as f64,
    })
}

fn every_second(n: u32, begin: i64) -> JobBody {
    let start = Timestamp(begin + i64::from(n) * SECOND / i64::from(STEADY));
    let every = EveryMap { every: "1s".into(), start: Some(Time::from(start).to_string()), ..EveryMap::default() };
    JobBody { job: format!("steady_{n}"), every: Some(EveryForm::Long(every)), noop: Some(true), ..JobBody::default() }
}

fn once(n: u32, at: i64) -> JobBody {
    let once = Some(OnceForm::Short(Time::from(Timestamp(at)).to_string()));
    JobBody { job: format!("flood_{n}"), once, noop: Some(true), ..JobBody::default() }
}
