//! The same on PostgreSQL: a thread and a connection that write for some of the jobs. The inserts and updates that
//! gathered while the last commit was under way are two statements over arrays and one transaction, sent at once.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use crossbeam_channel::Receiver;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, Statement};
use wire::link::report;

use super::desk::{Desk, Gathered, Word};
use crate::{measure, short_slice};

/// As many as the product has.
pub(super) const LANES: i64 = 2;
/// Commits whose times are written down together.
const TIMES: usize = 64;

/// The columns a plain run fills in the product, as wide as there; room for the ending in the page, no index on what
/// changes.
const SCHEMA: &str = "create table run (
    id int8 not null, job int8 not null, planned int8 not null, tenant int8 not null, version int8 not null,
    attempt int8 not null, created_at int8 not null, target int8, ordered_at int8, started_at int8, ended_at int8,
    shard int4 not null, part int4 not null, parts int4 not null, attempt_no int4 not null, retries_used int4 not null,
    exit_code int4, state int2 not null, cause int2 not null, verdict int2, primary key (id)) with (fillfactor = 45);
    create unique index run_ledger on run (job, planned, part)";
/// How the product's connections are set as well.
const SESSION: &str = "set plan_cache_mode = force_generic_plan; set jit = off; set enable_seqscan = off;
    set enable_hashjoin = off; set enable_mergejoin = off";
const INSERT: &str =
    "insert into run (id, job, planned, tenant, version, attempt, created_at, target, shard, part, parts,
    attempt_no, retries_used, state, cause) select i, j, p, 1, j, i, $4, 7, 0, 0, 0, 1, 0, 2, 1
    from unnest($1::int8[], $2::int8[], $3::int8[]) as r(i, j, p)";
const UPDATE: &str = "update run set state = 10, ordered_at = created_at, started_at = s, ended_at = $5, verdict = v,
    exit_code = e from unnest($1::int8[], $2::int8[], $3::int4[], $4::int4[]) as r(i, s, v, e)
    where id = i and attempt = i and ended_at is null";

pub(super) fn make_table(address: &str) -> anyhow::Result<()> {
    let runtime = runtime()?;
    let client = connect(&runtime, address)?;
    Ok(runtime.block_on(client.batch_execute(SCHEMA))?)
}

pub(super) struct PgLane {
    runtime: Runtime,
    client: Client,
    insert: Statement,
    update: Statement,
    words: Receiver<Word>,
    desk: Desk,
    /// Every lane has numbers of its own, so that a report finds its lane.
    next_id: i64,
    times: File,
    timed: Vec<String>,
}

impl PgLane {
    pub(super) fn open(
        address: &str,
        number: i64,
        times: &Path,
        words: Receiver<Word>,
        desk: Desk,
    ) -> anyhow::Result<PgLane> {
        let runtime = runtime()?;
        let client = connect(&runtime, address)?;
        let (insert, update) = runtime.block_on(async {
            client.batch_execute(SESSION).await?;
            anyhow::Ok((client.prepare(INSERT).await?, client.prepare(UPDATE).await?))
        })?;
        let (times, timed) = (File::create(times)?, Vec::new());
        Ok(PgLane { runtime, client, insert, update, words, desk, next_id: LANES + number, times, timed })
    }

    /// Until nobody is left to say that anything is due.
    pub(super) fn run(mut self) -> anyhow::Result<()> {
        short_slice::ask();
        let mut next = Gathered::default();
        loop {
            let Some(later) = next.fill(&self.words) else { return Ok(()) };
            let begun = Instant::now();
            let ids = self.commit(&next)?;
            self.write_down(begun)?;
            self.desk.order(&next.due, &ids);
            let again = self.desk.acknowledge(&next.ended);
            next = Gathered { due: later, ended: Vec::new() };
            next.due.extend(again);
        }
    }

    /// Gives back the numbers of the runs made.
    fn commit(&mut self, next: &Gathered) -> anyhow::Result<Vec<i64>> {
        let now = measure::now_us();
        let ids: Vec<i64> = (0..next.due.len() as i64).map(|n| self.next_id + n * LANES).collect();
        self.next_id += next.due.len() as i64 * LANES;
        let jobs: Vec<i64> = next.due.iter().map(|run| run.job).collect();
        let planned: Vec<i64> = next.due.iter().map(|run| run.planned).collect();
        let (mut over, mut started, mut verdicts, mut codes) = (vec![], vec![], vec![], vec![]);
        for report in &next.ended {
            let Some(report::Body::Ended(ended)) = &report.body else { continue };
            over.push(report.attempt);
            started.push(ended.started_at);
            verdicts.push(ended.verdict);
            codes.push(ended.exit_code);
        }
        let PgLane { client, insert, update, .. } = &*self;
        let made: &[&(dyn tokio_postgres::types::ToSql + Sync)] = &[&ids, &jobs, &planned, &now];
        let done: &[&(dyn tokio_postgres::types::ToSql + Sync)] = &[&over, &started, &verdicts, &codes, &now];
        self.runtime.block_on(async {
            match (ids.is_empty(), over.is_empty()) {
                (false, true) => client.execute(insert, made).await.map(drop)?,
                (true, false) => client.execute(update, done).await.map(drop)?,
                (true, true) => {}
                (false, false) => {
                    // Polled in this order, so sent in this order, without waiting in between.
                    let (begun, made, done, committed) = futures::join!(
                        client.batch_execute("begin"),
                        client.execute(insert, made),
                        client.execute(update, done),
                        client.batch_execute("commit"),
                    );
                    begun.and(made.map(drop)).and(done.map(drop)).and(committed)?;
                }
            }
            anyhow::Ok(())
        })?;
        Ok(ids)
    }

    fn write_down(&mut self, begun: Instant) -> anyhow::Result<()> {
        self.timed.push(format!("{} {}\n", measure::now_us(), begun.elapsed().as_micros()));
        if self.timed.len() == TIMES {
            self.times.write_all(self.timed.concat().as_bytes())?;
            self.timed.clear();
        }
        Ok(())
    }
}

fn runtime() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn connect(runtime: &Runtime, address: &str) -> anyhow::Result<Client> {
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    })
}
