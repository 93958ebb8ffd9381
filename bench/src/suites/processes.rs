//! Tasks that are processes: `sh` scripts that end at once, as many as there can be, beside a bare `sh -c true` with as
//! many at once; and what a shim takes beside a task that sleeps.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use wire::job::{DelayForm, JobBody, ScriptForm};

use super::{Bench, say};
use crate::figure::{Figure, Target};
use crate::measure;
use crate::product::Product;
use crate::runs::{Runs, Window};

const SUITE: &str = "processes";
const AT_ONCE: u32 = 16;
const SLEEPERS: u32 = 1_000;
const WARM_UP: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(60);

/// One side in one round.
struct Round {
    per_second: f64,
    /// Of everything on that side.
    cpu_us: f64,
    /// Of the processes started for a task only.
    children_us: f64,
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut speed = Figure::new(SUITE, format!("sh tasks, {AT_ONCE} at once"), "/s");
    let mut cpu = Figure::new(SUITE, "CPU per task, all processes", "us");
    let mut children = Figure::new(SUITE, "CPU per task, shim and task", "us");
    let mut over = Figure::new(SUITE, "CPU of a shim over sh -c", "us").target(Target::AtMost(1_000.0));
    for round in 0..bench.rounds {
        let (ours, floor) = (ours(bench)?, floor(bench)?);
        say(SUITE, round, &format!("{:.0}/s beside {:.0}/s", ours.per_second, floor.per_second));
        speed.both(ours.per_second, floor.per_second);
        cpu.both(ours.cpu_us, floor.cpu_us);
        children.both(ours.children_us, floor.children_us);
        over.ours.push(ours.children_us - floor.children_us);
    }
    let mut memory = Figure::new(SUITE, format!("PSS per shim, {SLEEPERS} asleep"), "MB").target(Target::AtMost(1.5));
    memory.ours.push(asleep(bench)?);
    Ok(vec![speed, cpu, children, over, memory])
}

fn ours(bench: &Bench) -> anyhow::Result<Round> {
    let dir = bench.fresh("processes-ours")?;
    let product = Product::up(&bench.duly, &dir, 2 * AT_ONCE)?;
    product.apply(&(0..AT_ONCE).map(|n| job(n, "true")).collect::<Vec<_>>())?;
    let (server, agent) = (product.server_pid(), product.agent_pid()?);
    std::thread::sleep(WARM_UP);
    let (from, server_from, agent_from) = (measure::now_us(), measure::cpu(server)?, measure::cpu(agent)?);
    std::thread::sleep(bench.span());
    let (until, server_until, agent_until) = (measure::now_us(), measure::cpu(server)?, measure::cpu(agent)?);
    let database = product.database();
    drop(product);
    let window = Window { from, until };
    let ended = Runs::open(&database)?.ended(window)?;
    let children = agent_until.reaped - agent_from.reaped;
    let own = server_until.own - server_from.own + agent_until.own - agent_from.own;
    let each = |seconds: f64| seconds * 1e6 / ended;
    Ok(Round { per_second: ended / window.seconds(), cpu_us: each(own + children), children_us: each(children) })
}

fn floor(bench: &Bench) -> anyhow::Result<Round> {
    let program = std::env::current_exe()?;
    let output = Command::new(program).args(["floor-spawn", "--seconds", &bench.seconds.to_string()]).output()?;
    anyhow::ensure!(output.status.success(), "the bare spawns failed: {}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout)?;
    let number = |key: &str| said[key].as_f64().with_context(|| format!("no {key} in what the floor said"));
    let (tasks, children) = (number("tasks")?, number("children_s")?);
    let each = |seconds: f64| seconds * 1e6 / tasks;
    let all = each(number("own_s")? + children);
    Ok(Round { per_second: tasks / number("seconds")?, cpu_us: all, children_us: each(children) })
}

/// The floor's process: so many threads that start a shell and wait for it.
pub(crate) fn bare_spawn(seconds: f64) -> anyhow::Result<()> {
    let began = Instant::now();
    let until = began + Duration::from_secs_f64(seconds);
    let spawn = move || {
        let mut tasks = 0;
        while Instant::now() < until && Command::new("/bin/sh").args(["-c", "true"]).status().is_ok() {
            tasks += 1;
        }
        tasks
    };
    let threads: Vec<_> = (0..AT_ONCE).map(|_| std::thread::spawn(spawn)).collect();
    let tasks: u32 = threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum();
    let cpu = measure::cpu(std::process::id() as i32)?;
    let seconds = began.elapsed().as_secs_f64();
    println!("{}", json!({ "tasks": tasks, "seconds": seconds, "own_s": cpu.own, "children_s": cpu.reaped }));
    Ok(())
}

/// Megabytes each shim takes beside its sleeping task.
fn asleep(bench: &Bench) -> anyhow::Result<f64> {
    let dir = bench.fresh("processes-asleep")?;
    let product = Product::up(&bench.duly, &dir, 2 * SLEEPERS)?;
    product.apply(&(0..SLEEPERS).map(|n| job(n, "exec sleep 600")).collect::<Vec<_>>())?;
    let agent = product.agent_pid()?;
    let asleep =
        |shim: &i32| measure::children(*shim).iter().any(|task| measure::command_line(*task).starts_with("sleep"));
    let mut shims = Vec::new();
    measure::wait_for("a thousand sleeping tasks", PATIENCE, || {
        std::thread::sleep(Duration::from_millis(500));
        shims = measure::children(agent);
        Ok(shims.len() >= SLEEPERS as usize && shims.iter().rev().take(20).all(asleep))
    })?;
    let sizes = shims.iter().map(|shim| measure::pss_kb(*shim)).collect::<anyhow::Result<Vec<_>>>()?;
    let each = sizes.iter().sum::<f64>() / sizes.len() as f64 / 1024.0;
    say(SUITE, bench.rounds, &format!("{} shims asleep, {each:.2} MB each", shims.len()));
    Ok(each)
}

fn job(n: u32, script: &str) -> JobBody {
    let delay = Some(DelayForm::Short("0s".into()));
    JobBody { job: format!("process_{n}"), delay, sh: Some(ScriptForm::Short(script.into())), ..JobBody::default() }
}
