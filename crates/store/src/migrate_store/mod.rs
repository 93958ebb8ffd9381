//! Moves an embedded installation into an empty PostgreSQL store: everything but the servers' own doings, row by row, in
//! bounded batches, and then holds both sides against each other. A copy that was cut short is begun again; until it is
//! whole no server starts on it. The embedded store is then put aside, so that no two servers run the same jobs.

mod tables;

use std::collections::BTreeSet;
use std::path::Path;

use engine::Ends;
use model::{Follow, JobId, shard_of};

use crate::StoreError;
use crate::cell::Cell;
use crate::postgres::{Begun, PgCopy};
use crate::sqlite::Source;

pub(crate) use self::tables::{Kind, Table};

/// So much is in memory at once, about.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_ROWS: usize = 5_000;

/// What was moved, for the person who asked for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Rows of each table, in the order they were copied; instances of all days are one.
    pub tables: Vec<(String, u64)>,
    pub days: usize,
    pub open: u64,
    pub shards: i64,
    /// Where the embedded store is now.
    pub aside: String,
}

/// Whom a job follows, by its rule as it is kept. Jobs that were in one shard are in many from now on, and each must know
/// who follows it from elsewhere before the first of them ends.
pub type Follows<'a> = &'a dyn Fn(&[u8]) -> Vec<Follow>;

/// Nobody else may use the data directory meanwhile: the caller holds its lock.
pub fn migrate_store(data_dir: &Path, address: &str, follows: Follows) -> Result<Moved, StoreError> {
    let source = Source::open(data_dir)?;
    let origin = source.installation()?;
    let (mut copy, begun) = PgCopy::begin(address, &origin)?;
    let mut moved = Moved { shards: copy.shards(), ..Moved::default() };
    if begun == Begun::Anew {
        fill(&source, &mut copy, follows, &mut moved)?;
        copy.finish(&origin)?;
    }
    moved.aside = source.put_aside()?;
    Ok(moved)
}

fn fill(source: &Source, copy: &mut PgCopy, follows: Follows, moved: &mut Moved) -> Result<(), StoreError> {
    let (days, all, instances) = (source.days()?, tables::all(), tables::instances());
    for table in &all {
        let rows = move_table(source, copy, table, None)?;
        moved.tables.push((table.name.into(), rows));
    }
    let mut after = 0;
    while let Some((last, rules)) = copy.rules_after(after)? {
        after = last;
        copy.put_followers(&followers(&rules, follows, copy.shards()))?;
    }
    let mut count = 0;
    for day in &days {
        copy.make_day(*day)?;
        count += move_table(source, copy, &instances, Some(*day))?;
        copy.index_day(*day)?;
    }
    moved.tables.push((instances.name.into(), count));
    moved.days = days.len();
    moved.open = copy.settle(&source.counters()?)?;
    for table in &all {
        compare(source, copy, table, None)?;
    }
    for day in &days {
        compare(source, copy, &instances, Some(*day))?;
    }
    let open = source.open_count(&days)?;
    if open != moved.open {
        return Err(different("instance", &format!("{open} are open here and {} there", moved.open)));
    }
    Ok(())
}

/// `job, follower, shard of the job, ends`, of those whose shards are not the same.
fn followers(rules: &[(JobId, Vec<u8>)], follows: Follows, shards: i64) -> Vec<[i64; 4]> {
    let mut rows = Vec::new();
    for (follower, rule) in rules {
        let follows = follows(rule);
        let leaders: BTreeSet<JobId> = follows.iter().map(|follow| follow.job).collect();
        for job in leaders {
            let shard = shard_of(job, shards);
            if shard != shard_of(*follower, shards) {
                rows.push([job.0, follower.0, shard.0, Ends::of(&follows, job).0.into()]);
            }
        }
    }
    rows
}

fn move_table(source: &Source, copy: &mut PgCopy, table: &Table, day: Option<i64>) -> Result<u64, StoreError> {
    let (mut batch, mut bytes, mut count) = (Vec::new(), 0, 0);
    let shards = copy.shards();
    source.each(table, day, |mut row| {
        bytes += as_it_shall_be(&mut row, table, shards);
        batch.push(row);
        count += 1;
        if batch.len() >= BATCH_ROWS || bytes >= BATCH_BYTES {
            bytes = 0;
            copy.put(table, day, &std::mem::take(&mut batch))?;
        }
        Ok(())
    })?;
    copy.put(table, day, &batch)?;
    Ok(count)
}

/// Row by row, in the order of the key; the first difference is told.
fn compare(source: &Source, copy: &mut PgCopy, table: &Table, day: Option<i64>) -> Result<(), StoreError> {
    let shards = copy.shards();
    copy.look_through(table, day)?;
    let mut there = Vec::new().into_iter();
    source.each(table, day, |mut row| {
        as_it_shall_be(&mut row, table, shards);
        if there.len() == 0 {
            there = copy.look(table)?.into_iter();
        }
        match there.next() {
            Some(same) if same == row => Ok(()),
            Some(other) => Err(different(table.name, &format!("{row:?} became {other:?}"))),
            None => Err(different(table.name, &format!("{row:?} is missing"))),
        }
    })?;
    let more = there.next().or(copy.look(table)?.into_iter().next());
    copy.looked()?;
    match more {
        Some(row) => Err(different(table.name, &format!("{row:?} came from nowhere"))),
        None => Ok(()),
    }
}

/// A shard follows from the job, a text holds no NUL. Answers about how many bytes the row is.
fn as_it_shall_be(row: &mut [Cell], table: &Table, shards: i64) -> usize {
    if let Some(column) = table.job {
        let shard = match row[table.position(column)] {
            Cell::Int(job) => shard_of(JobId(job), shards).0,
            Cell::Null | Cell::Text(_) | Cell::Bytes(_) => 0,
        };
        row[table.position("shard")] = Cell::Int(shard);
    }
    let mut bytes = 0;
    for cell in row {
        bytes += 16;
        match cell {
            Cell::Text(text) => {
                bytes += text.len();
                if text.contains('\0') {
                    *text = text.replace('\0', "\u{fffd}");
                }
            }
            Cell::Bytes(body) => bytes += body.len(),
            Cell::Null | Cell::Int(_) => {}
        }
    }
    bytes
}

fn different(table: &str, what: &str) -> StoreError {
    // A row may hold a secret's hash or a long text: the beginning is enough to find it by.
    let what: String = what.chars().take(600).collect();
    StoreError::Failed(format!("the copy of {table} is not what it was copied from: {what}; run it again"))
}
