//! What a shim costs: its memory beside a sleeping task, and the CPU of a `true` task against a bare `sh -c true`.
//! Run in release: `cargo run --release -p duly-agent --example shim_cost -- <program> [leading argument]`, where the
//! program is `duly-shim`, or the whole binary with `shim`. Files go to `TMPDIR`; they stay until the end, because ext4
//! makes new files slowly where many were just deleted.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use duly_agent::process::{Ending, Starter, Watcher, stop};
use duly_agent::shim::ShimOrder;
use nix::sys::resource::{Usage, UsageWho, getrusage};

const ROUNDS: usize = 5;
const RUNS: usize = 500;
const SLEEPERS: i64 = 100;

type Ends = Receiver<(i64, Ending)>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let program = PathBuf::from(args.next().ok_or("which program is the shim?")?).canonicalize()?;
    let starter = Starter::new(program, args);
    let data = std::env::temp_dir().join(format!("duly-shim-cost-{}", std::process::id()));
    let (tell, ends) = channel();
    let watcher = Watcher::new(move |attempt, ending| tell.send((attempt, ending)).expect("we listen to the end"))?;
    memory(&starter, &watcher, &ends, &data)?;
    // Interleaved, so that a busy moment of the machine meets all three.
    let (mut bare, mut direct, mut owned) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        bare.push(cost(|_| plain(Command::new("/bin/sh").args(["-c", "true"])))?);
        direct.push(cost(|_| plain(&mut Command::new("/bin/true")))?);
        owned.push(cost(|run| run_owned(&starter, &watcher, &ends, &data.join(format!("{}", round * RUNS + run))))?);
    }
    fs::remove_dir_all(&data)?;
    let (bare, direct, owned) = (median(bare), median(direct), median(owned));
    println!("bare true:          {:5} us CPU, {:5} us wall", direct.0, direct.1);
    println!("bare sh -c true:    {:5} us CPU, {:5} us wall", bare.0, bare.1);
    println!(
        "shim with true:     {:5} us CPU, {:5} us wall (children only; the agent's own CPU: {} us)",
        owned.0, owned.1, owned.2
    );
    println!("shim over sh -c:    {:5} us CPU", owned.0 as i64 - bare.0 as i64);
    Ok(())
}

fn plain(command: &mut Command) -> Result<(), Box<dyn Error>> {
    command.status()?;
    Ok(())
}

fn run_owned(starter: &Starter, watcher: &Watcher, ends: &Ends, dir: &Path) -> Result<(), Box<dyn Error>> {
    watcher.watch(starter.start(dir, &ShimOrder::new(1, ["/bin/true"]))?)?;
    match ends.recv()?.1 {
        Ending::Result(_) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

/// Microseconds per run: CPU of the children, wall, CPU of ourselves.
type Cost = (u64, u64, u64);

fn cost(mut run: impl FnMut(usize) -> Result<(), Box<dyn Error>>) -> Result<Cost, Box<dyn Error>> {
    let (children, own, began) = (cpu(UsageWho::RUSAGE_CHILDREN)?, cpu(UsageWho::RUSAGE_SELF)?, Instant::now());
    (0..RUNS).try_for_each(&mut run)?;
    let each = |total: Duration| (total.as_micros() / RUNS as u128) as u64;
    let children = cpu(UsageWho::RUSAGE_CHILDREN)? - children;
    Ok((each(children), each(began.elapsed()), each(cpu(UsageWho::RUSAGE_SELF)? - own)))
}

fn cpu(who: UsageWho) -> Result<Duration, Box<dyn Error>> {
    let usage: Usage = getrusage(who)?;
    let micros = [usage.user_time(), usage.system_time()].map(|time| time.tv_sec() * 1_000_000 + time.tv_usec());
    Ok(Duration::from_micros(micros.iter().sum::<i64>() as u64))
}

fn median(mut costs: Vec<Cost>) -> Cost {
    costs.sort();
    costs[costs.len() / 2]
}

fn memory(starter: &Starter, watcher: &Watcher, ends: &Ends, data: &Path) -> Result<(), Box<dyn Error>> {
    for count in [1, SLEEPERS] {
        let dirs: Vec<PathBuf> = (0..count).map(|attempt| data.join(attempt.to_string())).collect();
        for (attempt, dir) in (0..).zip(&dirs) {
            let mut order = ShimOrder::new(attempt, ["/bin/sh", "-c", "echo up; exec sleep 1000"]);
            order.grace = Duration::from_secs(1);
            watcher.watch(starter.start(dir, &order)?)?;
        }
        let up = |dir: &PathBuf| fs::metadata(dir.join("log")).is_ok_and(|log| log.len() > 0);
        while !dirs.iter().all(up) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let sizes: Vec<[u64; 3]> = dirs.iter().map(|dir| rollup(dir)).collect::<Result<_, _>>()?;
        let mean = |at: usize| sizes.iter().map(|size| size[at]).sum::<u64>() / sizes.len() as u64;
        println!("{count:3} shims: {} kB PSS, {} kB RSS, {} kB private dirty each", mean(0), mean(1), mean(2));
        for dir in &dirs {
            stop(dir, "measurement", Duration::ZERO)?;
        }
        for _ in &dirs {
            ends.recv()?;
        }
        dirs.iter().try_for_each(fs::remove_dir_all)?;
    }
    Ok(())
}

fn rollup(dir: &Path) -> Result<[u64; 3], Box<dyn Error>> {
    let signed = fs::read_to_string(dir.join("shim"))?;
    let pid = signed.lines().skip_while(|line| !line.starts_with("pid ")).nth(1).ok_or("the shim did not sign")?;
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let size = |name: &str| {
        let line = rollup.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
    };
    Ok(["Pss:", "Rss:", "Private_Dirty:"].map(size))
}
