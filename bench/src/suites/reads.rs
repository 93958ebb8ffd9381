//! What people ask for, at a million instances: the newest, one job's history, what failed, one instance. Ours is the
//! whole way over HTTP; the floor is a bare select of as many of the same rows.

use std::path::Path;
use std::time::Instant;

use model::{JobRecord, Span, Timestamp};
use rusqlite::{Connection, OpenFlags};
use wire::api::InstanceQuery;
use wire::job::JobBody;

use super::{Bench, say};
use crate::figure::{Figure, Target};
use crate::fixture::Fixture;
use crate::measure;
use crate::product::{self, Product};
use crate::runs::quantile;

const SUITE: &str = "reads";
const JOBS: usize = 1_000;
const EACH: i64 = 1_000;
const APART: Span = Span::secs(120);
/// One in so many failed.
const FAILED: i64 = 200;
/// Questions of each kind in a round.
const ASKED: usize = 100;
/// "In milliseconds": a page is there before a person notices.
const PAGE_MS: f64 = 10.0;

#[derive(Clone, Copy)]
enum Question {
    Newest,
    OfJob,
    Failed,
    One,
}

const QUESTIONS: [(Question, &str); 4] = [
    (Question::Newest, "newest 50"),
    (Question::OfJob, "history of a job, 50"),
    (Question::Failed, "failed, 50"),
    (Question::One, "one instance"),
];

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let dir = bench.fresh("reads")?;
    let (token, jobs) = fill(bench, &dir)?;
    let product = Product::server(&bench.duly, &dir, token)?;
    let conn = Connection::open_with_flags(product.database(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let ids = ids(&conn)?;
    let figure = |name: &str, what: &str| Figure::new(SUITE, format!("{name}, {what}"), "ms");
    let middle = QUESTIONS.map(|(_, name)| figure(name, "p50").target(Target::AtMost(PAGE_MS)));
    let tail = QUESTIONS.map(|(_, name)| figure(name, "p99"));
    let mut figures: Vec<(Figure, Figure)> = middle.into_iter().zip(tail).collect();
    for round in 0..bench.rounds {
        for ((question, name), (middle, tail)) in QUESTIONS.iter().zip(&mut figures) {
            let ours = times(|n| ask(&product, *question, &jobs[n % JOBS], ids[n * 37 % ids.len()]))?;
            let floor = times(|n| select(&conn, *question, &jobs[n % JOBS], ids[n * 37 % ids.len()]))?;
            say(SUITE, round, &format!("{name} {:.2} ms beside {:.2} ms", quantile(&ours, 0.5), quantile(&floor, 0.5)));
            middle.both(quantile(&ours, 0.5), quantile(&floor, 0.5));
            tail.both(quantile(&ours, 0.99), quantile(&floor, 0.99));
        }
    }
    drop(product);
    std::fs::remove_dir_all(dir)?;
    Ok(figures.into_iter().flat_map(|(middle, tail)| [middle, tail]).collect())
}

fn fill(bench: &Bench, dir: &Path) -> anyhow::Result<(String, Vec<JobRecord>)> {
    let data = dir.join("data");
    let token = product::set_up(&bench.duly, dir, &data)?;
    let began = Instant::now();
    let mut fixture = Fixture::open(&data)?;
    let body = |n: usize| JobBody { job: format!("read_{n}"), noop: Some(true), ..JobBody::default() };
    let jobs = fixture.jobs((0..JOBS).map(body))?;
    let begin = Timestamp(measure::now_us()) - APART.saturating_mul(EACH);
    for turn in 0..EACH {
        for (n, job) in jobs.iter().enumerate() {
            // Spread over the interval, as a real plan would be.
            let planned = begin + APART.saturating_mul(turn) + Span(APART.0 / JOBS as i64 * n as i64);
            fixture.instance(job, planned, (turn * JOBS as i64 + n as i64) % FAILED != 0)?;
        }
    }
    fixture.commit()?;
    eprintln!("{SUITE}: {} instances made in {:.0} s", EACH * JOBS as i64, began.elapsed().as_secs_f64());
    Ok((token, jobs))
}

/// Milliseconds of each, ascending.
fn times(mut ask: impl FnMut(usize) -> anyhow::Result<usize>) -> anyhow::Result<Vec<f64>> {
    let mut all = Vec::with_capacity(ASKED);
    for n in 0..ASKED {
        let began = Instant::now();
        let rows = ask(n)?;
        all.push(began.elapsed().as_secs_f64() * 1_000.0);
        anyhow::ensure!(rows > 0, "an empty answer");
    }
    all.sort_by(f64::total_cmp);
    Ok(all)
}

fn ask(product: &Product, question: Question, job: &JobRecord, id: i64) -> anyhow::Result<usize> {
    let query = match question {
        Question::Newest => InstanceQuery::default(),
        Question::OfJob => InstanceQuery { job: Some(job.name.clone()), ..InstanceQuery::default() },
        Question::Failed => InstanceQuery { state: Some("failed".into()), ..InstanceQuery::default() },
        Question::One => {
            let found = product.call(|client| async move { client.instance(id).await })?;
            return Ok(usize::from(found.id == id));
        }
    };
    Ok(product.call(|client| async move { client.instances(&query).await })?.items.len())
}

/// As a program would that knows the newest day's table and needs nothing else.
fn select(conn: &Connection, question: Question, job: &JobRecord, id: i64) -> anyhow::Result<usize> {
    let (tables, order) = (tables(conn)?, "order by planned desc, id desc limit 50");
    let newest = tables.first().ok_or_else(|| anyhow::anyhow!("no instances"))?;
    match question {
        Question::Newest => drain(conn, &format!("select * from {newest} order by id desc limit 50"), []),
        Question::OfJob => drain(conn, &format!("select * from {newest} where job = ?1 {order}"), [job.id.0]),
        Question::Failed => {
            let ids = "select id from unwell where state = 12 order by planned desc limit 50";
            drain(conn, &format!("select * from {newest} where id in ({ids})"), [])
        }
        Question::One => {
            let found = tables.iter().map(|t| drain(conn, &format!("select * from {t} where id = ?1"), [id]));
            found.sum()
        }
    }
}

fn drain<const N: usize>(conn: &Connection, sql: &str, values: [i64; N]) -> anyhow::Result<usize> {
    let mut select = conn.prepare_cached(sql)?;
    let columns = select.column_count();
    let mut rows = select.query(rusqlite::params_from_iter(values))?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            std::hint::black_box(row.get_ref(column)?);
        }
        count += 1;
    }
    Ok(count)
}

/// Newest day first.
fn tables(conn: &Connection) -> anyhow::Result<Vec<String>> {
    let mut select = conn.prepare_cached("select 'instance_d' || day from day order by day desc")?;
    Ok(select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Instances from all over the store.
fn ids(conn: &Connection) -> anyhow::Result<Vec<i64>> {
    let mut all = Vec::new();
    for table in tables(conn)? {
        let mut select = conn.prepare(&format!("select id from {table} where id % 997 = 0"))?;
        all.extend(select.query_map([], |row| row.get::<_, i64>(0))?.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(all)
}
