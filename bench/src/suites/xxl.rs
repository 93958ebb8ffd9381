//! XXL-JOB: many jobs each firing every second on one executor, beside a bare admin; and five things people ask about:
//! what a run costs, how late it is, what a kill loses, what a slow executor slows, how fast many triggers by hand go.

use std::time::Duration;

use wire::api::VerifyQuery;
use wire::job::{CronForm, ExecutorForm, JobBody, OverlapForm, OverlapWord, PoolForm};

use super::{Bench, say};
use crate::figure::{Figure, Target};
use crate::measure;
use crate::product::{Product, set_up};
use crate::runs::Window;
use crate::xxl::{APP, Bare, Seen, Stub, TOKEN};

const SUITE: &str = "xxl";
const SECOND: i64 = 1_000_000;
/// What is planned while jobs are still being made does not count.
const WARM_UP: i64 = 3 * SECOND;
/// For what is due at the very end to arrive.
const AFTERWARDS: Duration = Duration::from_secs(3);
/// Rates that are tried, one after the other.
const RATES: [u32; 8] = [2_500, 5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 40_000];
/// What is held for three minutes.
const SUSTAINED: u32 = 25_000;
const TRIGGERS: usize = 50_000;
const TRIGGERING: usize = 64;

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut figures = at_a_thousand(bench)?;
    figures.push(highest(bench)?);
    figures.extend(sustained(bench)?);
    figures.push(killed(bench)?);
    figures.push(slow(bench)?);
    figures.push(by_hand(bench)?);
    Ok(figures)
}

/// One side in one round.
struct Side {
    seen: Seen,
    cpu_us: f64,
}

fn at_a_thousand(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut p50 = Figure::new(SUITE, "1000 at each second p50", "ms");
    let mut p99 = Figure::new(SUITE, "1000 at each second p99", "ms")
        .target(Target::TimesAtMost(3.0))
        .target(Target::AtMost(20.0));
    let mut cpu = Figure::new(SUITE, "CPU per run, server", "us").target(Target::AtMost(40.0));
    for round in 0..bench.rounds {
        let (ours, bare) = (ours(bench, 1_000, bench.span().max(Duration::from_secs(5)))?, bare(bench, 1_000)?);
        let ms = |us: f64| us / 1_000.0;
        say(SUITE, round, &format!("p99 {:.1} ms beside {:.1} ms", ms(ours.seen.p99), ms(bare.seen.p99)));
        p50.both(ms(ours.seen.p50), ms(bare.seen.p50));
        p99.both(ms(ours.seen.p99), ms(bare.seen.p99));
        cpu.both(ours.cpu_us, bare.cpu_us);
    }
    Ok(vec![p50, p99, cpu])
}

/// The highest rate with nothing missing and p99 under a second, beside what the bare admin does when it may do all.
fn highest(bench: &Bench) -> anyhow::Result<Figure> {
    let mut figure =
        Figure::new(SUITE, "runs a second, none missing, p99 < 1 s", "/s").target(Target::TimesAtLeast(0.4));
    let mut best = 0;
    for rate in RATES {
        let side = ours(bench, rate, Duration::from_secs(10))?;
        let expected = i64::from(rate) * 10;
        let missing = expected - side.seen.runs;
        say(
            SUITE,
            0,
            &format!("{rate}/s: {missing} missing, p99 {:.0} ms, {:.0} us CPU a run", side.seen.p99 / 1e3, side.cpu_us),
        );
        if missing != 0 || side.seen.doubled != 0 || side.seen.p99 >= 1e6 {
            break;
        }
        best = rate;
    }
    let dir = bench.fresh("xxl-bare")?;
    let admin = Bare::start(&dir, "saturate:2000")?;
    let stub = Stub::start(&dir, &admin.url, Duration::ZERO)?;
    std::thread::sleep(Duration::from_secs(2));
    let from = measure::now_us();
    std::thread::sleep(Duration::from_secs(5));
    let window = Window { from, until: measure::now_us() };
    let bare = stub.seen(window)?.runs as f64 / window.seconds();
    say(SUITE, 0, &format!("bare admin: {bare:.0}/s"));
    figure.both(f64::from(best), bare);
    Ok(figure)
}

/// A rate that people would be glad of, for as long as it takes to trust it.
fn sustained(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let name = |what: &str| format!("{SUSTAINED} a second for three minutes, {what}");
    let mut missing = Figure::new(SUITE, name("missing or doubled"), "").target(Target::AtMost(0.0));
    let mut p99 = Figure::new(SUITE, name("p99"), "ms").target(Target::AtMost(1_000.0));
    let span = Duration::from_secs(180);
    let side = ours(bench, SUSTAINED, span)?;
    let lost = i64::from(SUSTAINED) * span.as_secs() as i64 - side.seen.runs + side.seen.doubled;
    say(
        SUITE,
        0,
        &format!("three minutes at {SUSTAINED}/s: {lost} missing or doubled, p99 {:.0} ms", side.seen.p99 / 1e3),
    );
    missing.ours.push(lost as f64);
    p99.ours.push(side.seen.p99 / 1e3);
    Ok(vec![missing, p99])
}

/// Planned times without a run at the executor, after the server was killed and started again.
fn killed(bench: &Bench) -> anyhow::Result<Figure> {
    let mut figure = Figure::new(SUITE, "runs lost by a kill at 1000/s", "").target(Target::AtMost(0.0));
    let dir = bench.fresh("xxl-killed")?;
    let token = set_up(&bench.duly, &dir, &dir.join("data"))?;
    let product = up(bench, &dir, token.clone())?;
    let stub = Stub::start(&dir, &product.url(), Duration::ZERO)?;
    product.apply(&jobs(1_000, true))?;
    let from = (measure::now_us() + WARM_UP) / SECOND * SECOND;
    sleep_until(from + 3 * SECOND + 400_000);
    let url = product.url();
    drop(product);
    let product = Product::server_at(&bench.duly, &dir, token, &url, &["--xxl-token", TOKEN])?;
    let until = from + 10 * SECOND;
    sleep_until(until);
    std::thread::sleep(AFTERWARDS);
    let verified = product.call(|client| async move { client.verify(&VerifyQuery::default()).await })?;
    let seen = stub.seen(Window { from, until })?;
    say(
        SUITE,
        0,
        &format!("after a kill: {} of 10000 came, {} twice, verify {}", seen.runs, seen.doubled, verified.ok),
    );
    figure.ours.push((10_000 - seen.runs + seen.doubled) as f64);
    Ok(figure)
}

fn slow(bench: &Bench) -> anyhow::Result<Figure> {
    let mut figure = Figure::new(SUITE, "runs a second with an executor that takes 50 ms", "/s");
    let dir = bench.fresh("xxl-slow")?;
    let product = up(bench, &dir, set_up(&bench.duly, &dir, &dir.join("data"))?)?;
    let stub = Stub::start(&dir, &product.url(), Duration::from_millis(50))?;
    product.apply(&jobs(1_000, true))?;
    let window = wait(Duration::from_secs(10));
    std::thread::sleep(AFTERWARDS);
    let seen = stub.seen(window)?;
    say(SUITE, 0, &format!("50 ms: {} of 10000, p99 {:.0} ms", seen.runs, seen.p99 / 1e3));
    figure.ours.push(seen.runs as f64 / window.seconds());
    Ok(figure)
}

fn by_hand(bench: &Bench) -> anyhow::Result<Figure> {
    let mut figure = Figure::new(SUITE, "50000 triggers by hand, executed", "/s");
    let dir = bench.fresh("xxl-hand")?;
    let token = set_up(&bench.duly, &dir, &dir.join("data"))?;
    let product = up(bench, &dir, token.clone())?;
    let stub = Stub::start(&dir, &product.url(), Duration::ZERO)?;
    product.apply(&jobs(1_000, false))?;
    std::thread::sleep(Duration::from_secs(1));
    let began = measure::now_us();
    crate::xxl::trigger_many(&product.url(), &token, TRIGGERS, TRIGGERING, |n| format!("x_{}", n % 1_000))?;
    let all = Window { from: began - SECOND, until: i64::MAX };
    measure::wait_for("all triggers", Duration::from_secs(120), || {
        std::thread::sleep(Duration::from_millis(100));
        Ok(stub.seen(all)?.runs >= TRIGGERS as i64)
    })?;
    let rate = TRIGGERS as f64 * 1e6 / (stub.seen(all)?.last_at - began) as f64;
    say(SUITE, 0, &format!("by hand: {rate:.0}/s"));
    figure.ours.push(rate);
    Ok(figure)
}

fn ours(bench: &Bench, rate: u32, span: Duration) -> anyhow::Result<Side> {
    let dir = bench.fresh("xxl-ours")?;
    let product = up(bench, &dir, set_up(&bench.duly, &dir, &dir.join("data"))?)?;
    let stub = Stub::start(&dir, &product.url(), Duration::ZERO)?;
    product.apply(&jobs(rate, true))?;
    side(&stub, product.server_pid(), rate, span)
}

fn bare(bench: &Bench, rate: u32) -> anyhow::Result<Side> {
    let dir = bench.fresh("xxl-bare")?;
    let admin = Bare::start(&dir, &format!("aligned:{rate}"))?;
    let stub = Stub::start(&dir, &admin.url, Duration::ZERO)?;
    side(&stub, admin.pid(), rate, bench.span().max(Duration::from_secs(5)))
}

fn side(stub: &Stub, server: i32, rate: u32, span: Duration) -> anyhow::Result<Side> {
    let from = (measure::now_us() + WARM_UP) / SECOND * SECOND;
    let until = from + span.as_secs() as i64 * SECOND;
    // From half a second to half a second: as much work begins outside as ends outside.
    sleep_until(from - SECOND / 2);
    let before = measure::cpu(server)?.own;
    sleep_until(until - SECOND / 2);
    let spent = measure::cpu(server)?.own - before;
    std::thread::sleep(AFTERWARDS);
    let seen = stub.seen(Window { from, until })?;
    let runs = f64::from(rate) * span.as_secs() as f64;
    Ok(Side { seen, cpu_us: spent * 1e6 / runs })
}

fn wait(span: Duration) -> Window {
    let from = (measure::now_us() + WARM_UP) / SECOND * SECOND;
    let until = from + span.as_secs() as i64 * SECOND;
    sleep_until(until);
    Window { from, until }
}

fn up(bench: &Bench, dir: &std::path::Path, token: String) -> anyhow::Result<Product> {
    Product::server_at(&bench.duly, dir, token, "http://127.0.0.1:0", &["--xxl-token", TOKEN])
}

fn sleep_until(at: i64) {
    std::thread::sleep(Duration::from_micros((at - measure::now_us()).max(0) as u64));
}

fn jobs(count: u32, fires: bool) -> Vec<JobBody> {
    let cron = fires.then(|| CronForm::Short("* * * * * ?".into()));
    let job = |n: u32| JobBody {
        job: format!("x_{n}"),
        cron: cron.clone(),
        executor: Some(ExecutorForm::Short("bench".into())),
        pool: Some(PoolForm::Short(APP.into())),
        overlap: Some(OverlapForm::Short(OverlapWord::Allow)),
        ..JobBody::default()
    };
    (0..count).map(job).collect()
}
