//! A million jobs of two hundred patterns: the memory they take in a server, and the time from its start until it is
//! ready, beside a bare select of the same rows.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rusqlite::{Connection, OpenFlags};
use wire::job::{CronForm, JobBody};

use super::{Bench, say};
use crate::figure::{Figure, Target};
use crate::fixture::Fixture;
use crate::measure;
use crate::product::{self, Product};

const SUITE: &str = "schedules";
const JOBS: u32 = 1_000_000;
const PATTERNS: u32 = 200;

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let dir = bench.fresh("schedules")?;
    let token = fill(bench, &dir)?;
    let mut ready = Figure::new(SUITE, format!("{JOBS} loaded and ready"), "ms").target(Target::TimesAtMost(3.0));
    let mut memory = Figure::new(SUITE, "PSS of the server", "MB").target(Target::AtMost(512.0));
    for round in 0..bench.rounds {
        let began = Instant::now();
        let product = Product::server(&bench.duly, &dir, token.clone())?;
        let ours = began.elapsed().as_secs_f64() * 1_000.0;
        let pss = measure::pss_kb(product.server_pid())? / 1024.0;
        let database = product.database();
        drop(product);
        let floor = select(&database)?;
        say(SUITE, round, &format!("ready after {ours:.0} ms beside {floor:.0} ms, {pss:.0} MB"));
        ready.both(ours, floor);
        memory.ours.push(pss);
    }
    std::fs::remove_dir_all(dir)?;
    Ok(vec![ready, memory])
}

fn fill(bench: &Bench, dir: &Path) -> anyhow::Result<String> {
    let data = dir.join("data");
    let token = product::set_up(&bench.duly, dir, &data)?;
    let began = Instant::now();
    Fixture::open(&data)?.jobs((0..JOBS).map(job))?;
    eprintln!("{SUITE}: {JOBS} jobs made in {:.0} s", began.elapsed().as_secs_f64());
    Ok(token)
}

/// Each pattern is due once a year, in the small hours.
fn job(n: u32) -> JobBody {
    let pattern = n % PATTERNS;
    let (minute, hour, day, month) = (pattern % 60, pattern / 60, 1 + pattern % 28, 1 + pattern % 12);
    let cron = Some(CronForm::Short(format!("0 {minute} {hour} {day} {month} ?")));
    JobBody { job: format!("job_{n:07}"), cron, noop: Some(true), ..JobBody::default() }
}

/// Milliseconds of a process that reads the same rows and does nothing with them.
fn select(database: &Path) -> anyhow::Result<f64> {
    let began = Instant::now();
    let status = Command::new(std::env::current_exe()?).arg("floor-select").arg("--database").arg(database).status()?;
    anyhow::ensure!(status.success(), "the bare select failed");
    Ok(began.elapsed().as_secs_f64() * 1_000.0)
}

/// The floor's process: every job and its version, and each rule once.
pub(crate) fn bare_select(database: &Path) -> anyhow::Result<()> {
    let conn = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.pragma_update(None, "cache_size", -64 * 1024)?;
    let rows = drain(
        &conn,
        "select id, tenant, name, version, rule, task, source, folder, mode, since, fired, changed_by from job where shard = 0 and removed_at is null",
    )? + drain(&conn, "select id, job, rule, task, source from job_version")?
        + drain(&conn, "select id, body from content where id in (select distinct rule from job)")?;
    anyhow::ensure!(rows >= 2 * u64::from(JOBS), "only {rows} rows were there");
    Ok(())
}

fn drain(conn: &Connection, sql: &str) -> anyhow::Result<u64> {
    let mut select = conn.prepare(sql)?;
    let columns = select.column_count();
    let mut rows = select.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            std::hint::black_box(row.get_ref(column)?);
        }
        count += 1;
    }
    Ok(count)
}
