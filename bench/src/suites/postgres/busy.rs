//! Durable no-op runs, as many as there can be: the same ten thousand jobs on the floor, on one server and on two.

use std::time::Duration;

use wire::job::{DelayForm, JobBody};

use super::SUITE;
use crate::cluster::Cluster;
use crate::commits::Commits;
use crate::database::{Database, FLOOR, OURS, Postgres};
use crate::figure::{Figure, Target};
use crate::floor::{Floor, Load};
use crate::measure;
use crate::runs::Window;
use crate::suites::{Bench, say};

const JOBS: u32 = 10_000;
const WARM_UP: Duration = Duration::from_secs(2);

/// One side in one round; what is spent is in microseconds for each run.
struct Round {
    per_second: f64,
    servers_us: f64,
    agent_us: f64,
    database_us: f64,
    /// In milliseconds, half of the commits and 99 of 100; what the floor has is read by what the product counts in.
    commits: Commits,
    raw_commits: Vec<f64>,
}

impl Round {
    fn all_us(&self) -> f64 {
        self.servers_us + self.agent_us + self.database_us
    }
}

pub(super) fn run(bench: &Bench, postgres: &Postgres) -> anyhow::Result<Vec<Figure>> {
    let figure = |name: &str, unit| Figure::new(SUITE, name, unit);
    let mut speed = figure("runs", "/s").target(Target::TimesAtLeast(0.5));
    let mut cpu = figure("CPU per run, all processes", "us").target(Target::TimesAtMost(2.2));
    let mut parts = ["server", "agent", "database"].map(|part| figure(&format!("CPU per run, {part}"), "us"));
    let mut p50 = figure("commit p50, saturated", "ms");
    let mut p99 = figure("commit p99, saturated", "ms");
    let mut two_parts = ["servers", "agent", "database"]
        .map(|part| figure(&format!("CPU per run, two servers beside one, {part}"), "us"));
    let mut two_speed = figure("runs, two servers beside one", "/s");
    let mut two = figure("CPU per run, two servers beside one", "us").target(Target::TimesAtMost(1.15));
    for round in 0..bench.rounds {
        let (one, floor) = (ours(bench, postgres, 1)?, floor(bench, postgres)?);
        let both = ours(bench, postgres, 2)?;
        let what = format!(
            "{:.0}/s and {:.1} us beside {:.0}/s and {:.1} us; two servers {:.0}/s and {:.1} us",
            one.per_second,
            one.all_us(),
            floor.per_second,
            floor.all_us(),
            both.per_second,
            both.all_us()
        );
        say(SUITE, round, &what);
        speed.both(one.per_second, floor.per_second);
        cpu.both(one.all_us(), floor.all_us());
        parts[0].both(one.servers_us, floor.servers_us);
        parts[1].both(one.agent_us, floor.agent_us);
        parts[2].both(one.database_us, floor.database_us);
        let floors = one.commits.counted(&floor.raw_commits);
        p50.both(one.commits.quantile(0.5), floors.quantile(0.5));
        p99.both(one.commits.quantile(0.99), floors.quantile(0.99));
        two_speed.both(both.per_second, one.per_second);
        two.both(both.all_us(), one.all_us());
        two_parts[0].both(both.servers_us, one.servers_us);
        two_parts[1].both(both.agent_us, one.agent_us);
        two_parts[2].both(both.database_us, one.database_us);
    }
    Ok([speed, cpu].into_iter().chain(parts).chain([p50, p99, two_speed, two]).chain(two_parts).collect())
}

fn ours(bench: &Bench, postgres: &Postgres, servers: usize) -> anyhow::Result<Round> {
    let dir = bench.fresh("postgres-ours")?;
    let database = postgres.fresh("ours", OURS)?;
    let mut cluster = Cluster::up(&bench.duly, &dir, &database, servers, 2 * JOBS)?;
    cluster.any()?.apply(&(0..JOBS).map(job).collect::<Vec<_>>())?;
    std::thread::sleep(WARM_UP);
    let pids: Vec<i32> = cluster.servers().map(|server| server.server_pid()).collect();
    let before = Commits::of(cluster.any()?)?;
    let spent = spend(bench, postgres, &pids, cluster.agent_pid()?)?;
    let commits = Commits::of(cluster.any()?)?.since(&before);
    (0..servers).for_each(|n| cluster.kill(n));
    cluster.stop_agent();
    spent.judge(postgres, &database, commits, Vec::new())
}

fn floor(bench: &Bench, postgres: &Postgres) -> anyhow::Result<Round> {
    let dir = bench.fresh("postgres-floor")?;
    let database = postgres.fresh("floor", FLOOR)?;
    let floor = Floor::start_on(&dir, Load::Saturate { jobs: JOBS }, &database.address)?;
    std::thread::sleep(WARM_UP);
    let spent = spend(bench, postgres, &[floor.server_pid()], floor.agent_pid())?;
    let raw = floor.commits(spent.window)?;
    drop(floor);
    spent.judge(postgres, &database, Commits::default(), raw)
}

fn job(n: u32) -> JobBody {
    let delay = Some(DelayForm::Short("0s".into()));
    JobBody { job: format!("busy_{n}"), delay, noop: Some(true), ..JobBody::default() }
}

/// Processor seconds.
struct Spent {
    window: Window,
    servers: f64,
    agent: f64,
    database: f64,
}

fn spend(bench: &Bench, postgres: &Postgres, servers: &[i32], agent: i32) -> anyhow::Result<Spent> {
    let look = || {
        let servers: f64 = servers.iter().map(|pid| Ok(measure::cpu(*pid)?.own)).sum::<anyhow::Result<f64>>()?;
        anyhow::Ok((measure::now_us(), servers, measure::cpu(agent)?.own, postgres.cpu()?))
    };
    let before = look()?;
    std::thread::sleep(bench.span());
    let after = look()?;
    Ok(Spent {
        window: Window { from: before.0, until: after.0 },
        servers: after.1 - before.1,
        agent: after.2 - before.2,
        database: after.3 - before.3,
    })
}

impl Spent {
    fn judge(
        &self,
        postgres: &Postgres,
        database: &Database,
        commits: Commits,
        raw_commits: Vec<f64>,
    ) -> anyhow::Result<Round> {
        let ended = postgres.ended(database, self.window)?;
        let each = |seconds: f64| seconds * 1e6 / ended;
        Ok(Round {
            per_second: ended / self.window.seconds(),
            servers_us: each(self.servers),
            agent_us: each(self.agent),
            database_us: each(self.database),
            commits,
            raw_commits,
        })
    }
}
