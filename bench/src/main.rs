//! Measures Duly beside bare floors in the same run: interleaved rounds, medians, CPU per run, a table and JSON. Says
//! which promises were met and never fails over speed: a busy machine is no defect.

mod cluster;
mod commits;
mod database;
mod figure;
mod fixture;
mod floor;
mod measure;
mod product;
mod runs;
mod short_slice;
mod suites;
mod table;
mod xxl;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use serde_json::json;
use suites::Bench;

/// The product's allocator, for the floor as well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "duly-bench", version)]
struct Cli {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Every suite, one after the other.
    All(Options),
    /// Only these suites.
    Run {
        #[arg(required = true)]
        suites: Vec<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Names the suites.
    List,
    /// The floor's server; started by a suite.
    #[command(hide = true)]
    FloorServer {
        #[arg(long)]
        dir: PathBuf,
        #[arg(long)]
        load: floor::Load,
        #[arg(long)]
        database: Option<String>,
    },
    /// The floor's agent; started by a suite.
    #[command(hide = true)]
    FloorAgent {
        #[arg(long)]
        dir: PathBuf,
    },
    /// An executor that runs nothing; started by a suite.
    #[command(hide = true)]
    XxlStub {
        #[arg(long)]
        dir: PathBuf,
        #[arg(long)]
        admin: String,
        #[arg(long)]
        ack_ms: u64,
    },
    /// The bare admin; started by a suite.
    #[command(hide = true)]
    XxlBare {
        #[arg(long)]
        dir: PathBuf,
        #[arg(long)]
        load: floor::Load,
    },
    /// Starts shells and nothing else.
    #[command(hide = true)]
    FloorSpawn {
        #[arg(long)]
        seconds: f64,
    },
    /// Reads the rows of all jobs and nothing else.
    #[command(hide = true)]
    FloorSelect {
        #[arg(long)]
        database: PathBuf,
    },
}

#[derive(Args)]
struct Options {
    /// The binary to measure; a release build.
    #[arg(long, default_value = "target/release/duly")]
    duly: PathBuf,
    /// A Python with playwright, which drives the browser of the suite `console`.
    #[arg(long, default_value = "target/venv/bin/python")]
    python: PathBuf,
    /// Where both sides keep their data meanwhile.
    #[arg(long, default_value = "target/bench-data")]
    dir: PathBuf,
    /// Rounds of each side, in turn.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Seconds each side is measured in each round.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Where to write everything as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().role {
        Role::All(options) => measure_all(suites::ALL.iter().map(|(name, _)| (*name).into()).collect(), options),
        Role::Run { suites, options } => measure_all(suites, options),
        Role::List => {
            suites::ALL.iter().for_each(|(name, _)| println!("{name}"));
            Ok(())
        }
        Role::FloorServer { dir, load, database } => floor::server::run(&dir, load, database.as_deref()),
        Role::FloorAgent { dir } => floor::agent::run(&dir),
        Role::XxlStub { dir, admin, ack_ms } => xxl::stub::run(&dir, &admin, std::time::Duration::from_millis(ack_ms)),
        Role::XxlBare { dir, load } => xxl::bare::run(&dir, load),
        Role::FloorSpawn { seconds } => suites::processes::bare_spawn(seconds),
        Role::FloorSelect { database } => suites::schedules::bare_select(&database),
    }
}

fn measure_all(wanted: Vec<String>, options: Options) -> anyhow::Result<()> {
    let suites: Vec<_> = suites::ALL.iter().filter(|(name, _)| wanted.iter().any(|w| w == name)).collect();
    anyhow::ensure!(suites.len() == wanted.len(), "a suite is not known; `duly-bench list` names them");
    let bench = Bench {
        duly: std::path::absolute(options.duly)?,
        python: options.python,
        dir: options.dir,
        rounds: options.rounds.max(1),
        seconds: options.seconds,
    };
    product::adopt_orphans();
    let before = measure::machine();
    let (mut figures, mut failures) = (Vec::new(), Vec::new());
    for (name, suite) in suites {
        let (busy, stolen) = measure::machine_cpu();
        let began = std::time::Instant::now();
        match suite(&bench) {
            Ok(found) => figures.extend(found),
            Err(error) => {
                eprintln!("{name} could not be measured: {error:#}");
                failures.push(json!({ "suite": name, "error": format!("{error:#}") }));
            }
        }
        let (now_busy, now_stolen) = measure::machine_cpu();
        let passed = began.elapsed().as_secs_f64();
        let (busy, stolen) = ((now_busy - busy) / passed, (now_stolen - stolen) / passed);
        eprintln!("{name}: {passed:.0} s, {busy:.2} cores busy in all, {stolen:.2} taken by the host");
    }
    table::print(&figures);
    if let Some(path) = options.json {
        let all = json!({
            "machine": before,
            "load_average_after": measure::machine()["load_average"],
            "rounds": bench.rounds,
            "seconds": bench.seconds,
            "figures": figures.iter().map(figure::Figure::json).collect::<Vec<_>>(),
            "failures": failures,
        });
        std::fs::write(&path, serde_json::to_string_pretty(&all)?)?;
        eprintln!("written to {}", path.display());
    }
    Ok(())
}
