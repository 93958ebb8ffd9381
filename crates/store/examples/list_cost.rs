//! How long the first page of every list takes among many instances, and how long a restart loads.
//! `cargo run --release -p duly-store --example list_cost [instances]`.

use std::error::Error;
use std::time::{Duration, Instant};

use duly_store::read::{InstanceFilter, Reads};
use duly_store::sqlite::{Options, SqliteStore};
use duly_store::{Retention, Store};
use engine::change::{Change, Commit, Created, Ended, Row};
use model::*;

const DAYS: i64 = 4;
const JOBS: i64 = 10_000;
const BATCH: i64 = 2_000;
const FROM: Timestamp = Timestamp(20_000 * Span::DAY.0);

fn main() -> Result<(), Box<dyn Error>> {
    let instances: i64 = std::env::args().nth(1).map_or(Ok(1_000_000), |arg| arg.parse())?;
    let dir = tempfile::tempdir()?;
    let mut store = SqliteStore::open(dir.path(), &Options::default())?;
    fill(&mut store, instances)?;
    time("load before the mark is raised", || Ok(store.load(ShardId(0))?.open.len()))?;
    time("raising the mark", || raise(&mut store))?;
    time("load after", || Ok(store.load(ShardId(0))?.open.len()))?;
    let reads = store.reads()?;
    let middle = FROM + Span::DAY + Span::HOUR;
    let all = InstanceFilter { limit: 100, ..InstanceFilter::default() };
    let states = |states: &[State]| InstanceFilter { states: states.to_vec(), ..all.clone() };
    for (name, filter) in [
        ("newest", all.clone()),
        ("after a row in the middle", InstanceFilter { after: Some((middle, InstanceId(0))), ..all.clone() }),
        ("of a window", InstanceFilter { from: Some(middle), to: Some(middle + Span::MINUTE), ..all.clone() }),
        ("of one job", InstanceFilter { job: Some(JobId(77)), ..all.clone() }),
        ("failed", states(&[State::Failed, State::Dead])),
        ("failed, of one job", InstanceFilter { job: Some(JobId(77)), ..states(&[State::Failed]) }),
        ("open", states(&[State::Scheduled, State::Ready, State::Dispatched, State::Running])),
        ("succeeded", states(&[State::Succeeded])),
        ("failed or succeeded", states(&[State::Failed, State::Succeeded])),
        ("of another tenant (a scan)", InstanceFilter { tenant: Some(TenantId(9)), ..all.clone() }),
    ] {
        time(&format!("list {name}"), || Ok(reads.instances(&filter, soon())?.len()))?;
        time("  once more", || Ok(reads.instances(&filter, soon())?.len()))?;
    }
    time("one instance", || Ok(usize::from(reads.instance(InstanceId(instances / 2), soon())?.is_some())))?;
    time("ledger of one job", || Ok(reads.ledger(JobId(77), FROM, FROM + Span::DAY, soon())?.len()))?;
    time("counts of an hour", || Ok(reads.counts(None, middle, middle + Span::HOUR, soon())?.len()))?;
    time("counts of a day", || Ok(reads.counts(None, FROM, FROM + Span::DAY, soon())?.len()))?;
    let keep = Retention { before_day: FROM.day() + 1, keys_before: FROM, rows_max: 5_000 };
    let mut longest = Duration::ZERO;
    time("forgetting a day", || {
        let mut steps = 0;
        loop {
            let begun = Instant::now();
            let more = store.retain(&keep)?;
            longest = longest.max(begun.elapsed());
            steps += 1;
            if !more {
                return Ok(steps);
            }
        }
    })?;
    println!("{:35} {:9.2} ms", "  its longest step", longest.as_secs_f64() * 1e3);
    Ok(())
}

fn time(name: &str, mut run: impl FnMut() -> Result<usize, Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let found = run()?;
    println!("{name:35} {:9.2} ms  ({found})", begun.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn raise(store: &mut SqliteStore) -> Result<usize, Box<dyn Error>> {
    let mut steps = 0;
    for now in [FROM, FROM + Span::HOUR] {
        while store.tidy(ShardId(0), now)? {
            steps += 1;
        }
    }
    Ok(steps)
}

/// Evenly over the days; one in a thousand fails, one in two thousand of the last day never ends.
fn fill(store: &mut SqliteStore, instances: i64) -> Result<(), Box<dyn Error>> {
    let term = store.take_over(ShardId(0))?.term;
    for n in 0..=instances / BATCH {
        let first = 1 + n * BATCH;
        let mut changes = Vec::new();
        for id in (first..first + BATCH).filter(|id| *id <= instances) {
            let planned = FROM + Span(id * (DAYS * Span::DAY.0 / instances));
            let row = Row { id: InstanceId(id), job: JobId(id % JOBS), planned };
            changes.push(Change::Created(created(row)));
            if id % 2_000 != 0 || id < instances / DAYS * (DAYS - 1) {
                changes.push(Change::Ended(ended(row)));
            }
        }
        let (batch, next_id) = (Batch(n + 1), first + BATCH);
        store.commit(&Commit { shard: ShardId(0), term, batch, horizon: FROM, next_id, changes, claims: vec![] })?;
    }
    Ok(())
}

fn created(row: Row) -> Created {
    Created {
        row,
        tenant: TenantId(1),
        version: VersionId(1),
        part: Part::WHOLE,
        parent: None,
        cause: Cause::Planned,
        params: None,
        state: State::Dispatched,
        attempt: AttemptId(row.id.0),
        target: Some(AgentId(7)),
        at: row.planned,
    }
}

fn ended(row: Row) -> Ended {
    let ending = if row.id.0 % 1_000 == 77 { Ending::Failed(Failure::Exit) } else { Ending::Succeeded };
    let at = row.planned + Span::SECOND;
    Ended {
        row,
        attempt: AttemptId(row.id.0),
        ending,
        target: Some(AgentId(7)),
        ordered_at: Some(row.planned),
        at,
        outcome: Some(Box::new(Outcome::of(Verdict::Succeeded, "done", at))),
        why: None,
    }
}
