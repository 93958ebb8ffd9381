//! The other side of a store that is moved here: an empty store is filled, looked through, and then declared whole. Until
//! then a mark keeps servers away.

use std::time::Duration;

use futures::future::join;
use model::{JobId, Term};
use tokio_postgres::Row;

use super::address::Door;
use super::conn::{Conn, Value};
use super::day::{Days, table as day_table};
use super::error::Fault;
use super::lane::Lane;
use super::open::Options;
use super::{PgStore, migrate};
use crate::StoreError;
use crate::cell::Cell;
use crate::migrate_store::{Kind, Table};
use crate::sqlite::Counters;

/// One batch, one page, one index.
const WITHIN: Duration = Duration::from_secs(600);
const PAGE: &str = "fetch 2000 from looked";
/// Agents remember the highest term they have seen of a shard, and the embedded store had but one shard.
const TERM_STEP: i64 = 1_000;

const COPIER: &str = "
    set search_path = duly;
    set client_min_messages = warning;
    set jit = off;
    set lock_timeout = '5s';
    set statement_timeout = 0;
    select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'";

pub(crate) struct PgCopy {
    lane: Lane,
    shards: i64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    Anew,
    /// It was done already, and only what follows was not.
    Before,
}

/// From where a store is being filled, if it is.
pub(super) async fn under_way(conn: &Conn) -> Result<Option<String>, Fault> {
    mark(conn, "copying_from").await
}

async fn mark(conn: &Conn, key: &str) -> Result<Option<String>, Fault> {
    let found = conn.first("select value from meta where key = $1", &[&key]).await?;
    Ok(found.and_then(|row| row.get(0)))
}

impl PgCopy {
    /// A store in which nobody has done anything, or the beginning of our own copy, which is thrown away.
    pub(crate) fn begin(address: &str, origin: &str) -> Result<(PgCopy, Begun), StoreError> {
        let mut lane = Lane::new(Door::of(address)?, COPIER)?;
        let place = lane.door().to_string();
        let prepare = async |conn: &Conn| migrate::migrate(conn, migrate::STEPS).await;
        lane.once(WITHIN, prepare)?;
        let marks = lane.once(WITHIN, async |conn: &Conn| {
            Ok((under_way(conn).await?, mark(conn, "copied_from").await?, is_used(conn).await?))
        })?;
        let begun = match marks {
            (Some(from), ..) if from == origin => {
                lane.once(WITHIN, async |conn: &Conn| conn.batch("drop schema duly cascade").await)?;
                lane.once(WITHIN, prepare)?;
                Begun::Anew
            }
            (None, Some(from), _) if from == origin => Begun::Before,
            (None, _, false) => Begun::Anew,
            _ => {
                return Err(StoreError::Failed(format!(
                    "the store in PostgreSQL at {place} is not empty; name a database without a schema duly"
                )));
            }
        };
        let opened = PgStore::open_any(Lane::new(Door::of(address)?, COPIER)?, &Options::default())?;
        let mut copy = PgCopy { lane, shards: opened.shards };
        if begun == Begun::Anew {
            let put = "insert into meta (key, value) values ('copying_from', $1)";
            copy.run(async |conn: &Conn| {
                // The tenant every store is made with comes from there, as it is there.
                conn.batch("delete from tenant").await?;
                conn.execute(put, &[&origin]).await
            })?;
        }
        Ok((copy, begun))
    }

    pub(crate) fn shards(&self) -> i64 {
        self.shards
    }

    fn run<T>(&mut self, work: impl AsyncFnOnce(&Conn) -> Result<T, Fault>) -> Result<T, StoreError> {
        Ok(self.lane.once(WITHIN, work)?)
    }

    pub(crate) fn make_day(&mut self, day: i64) -> Result<(), StoreError> {
        self.run(async |conn: &Conn| Days::default().make(conn, day).await)
    }

    pub(crate) fn put(&mut self, table: &Table, day: Option<i64>, rows: &[Vec<Cell>]) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let text = insert(table, day);
        let values: Vec<Value> =
            table.columns.iter().enumerate().map(|(at, (_, kind))| column(rows, at, *kind)).collect();
        self.run(async |conn: &Conn| {
            let values: Vec<_> = values.iter().map(|value| &**value as _).collect();
            conn.execute(&text, &values).await.map(drop)
        })
    }

    /// What is found by block or as open long is found so from the beginning.
    pub(crate) fn index_day(&mut self, day: i64) -> Result<(), StoreError> {
        let name = day_table(day);
        let blocks = format!(
            "insert into block (no, day, shard, planned_from, planned_until)
             select id >> 12, $1::int8, shard, min(planned), max(planned) from {name} group by id >> 12, shard"
        );
        let open = format!(
            "insert into open_long (id, day, shard) select id, $1::int8, shard from {name} where ended_at is null"
        );
        self.run(async |conn: &Conn| {
            conn.execute(&blocks, &[&day]).await?;
            conn.execute(&open, &[&day]).await?;
            conn.batch(&format!("analyze {name}")).await
        })
    }

    /// Jobs with their rules, some of them at a time, and the last of them; none at the end.
    #[expect(clippy::type_complexity, reason = "said once")]
    pub(crate) fn rules_after(&mut self, job: i64) -> Result<Option<(i64, Vec<(JobId, Vec<u8>)>)>, StoreError> {
        let text = "select j.id, c.body from job j join content c on c.id = j.rule
            where j.id > $1 and j.removed_at is null order by j.id limit 2000";
        let rows = self.run(async |conn: &Conn| conn.query(text, &[&job]).await)?;
        let rules: Vec<_> = rows.iter().map(|row| (JobId(row.get(0)), row.get(1))).collect();
        Ok(rules.last().map(|(job, _)| job.0).map(|last| (last, rules)))
    }

    /// `job, follower, shard, ends`; of a leader that is gone nobody hears.
    pub(crate) fn put_followers(&mut self, rows: &[[i64; 4]]) -> Result<(), StoreError> {
        let text = "insert into follower (job, follower, shard, ends)
            select r.job, r.follower, r.shard, r.ends
            from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[]) as r(job, follower, shard, ends)
            join job j on j.id = r.job and j.removed_at is null";
        let column = |at: usize| rows.iter().map(|row| row[at]).collect::<Vec<_>>();
        let columns = [column(0), column(1), column(2), column(3)];
        self.run(async |conn: &Conn| {
            conn.execute(text, &[&columns[0], &columns[1], &columns[2], &columns[3]]).await.map(drop)
        })
    }

    /// Counters and shards go on where they stood. Answers how many instances are open.
    pub(crate) fn settle(&mut self, counters: &Counters) -> Result<u64, StoreError> {
        let counted = "select setval(pg_get_serial_sequence('duly.' || t, 'id'), m) from (
            select 'content' as t, max(id) as m from content union all select 'gap', max(id) from gap
            union all select 'quarantine', max(id) from quarantine union all select 'note', max(id) from note
            union all select 'api_token', max(id) from api_token
            union all select 'executor_token', max(id) from executor_token
            union all select 'access_grant', max(id) from access_grant
        ) as counted where m is not null";
        let tickets = "select setval(pg_get_serial_sequence('duly.ticket', 'number'), max(number)) from ticket
            having max(number) is not null";
        let shards = "insert into shard (id, term, batch, horizon, next_id, low_water)
            select generate_series(0, $1::int8 - 1), $2, 0, $3, $4, $4";
        let put =
            "insert into meta (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value";
        let Term(term) = Term(counters.term + TERM_STEP);
        let count = self.shards;
        self.run(async |conn: &Conn| {
            conn.query(counted, &[]).await?;
            conn.query(tickets, &[]).await?;
            conn.execute(shards, &[&count, &term, &counters.horizon, &counters.next_id]).await?;
            conn.execute("update counter set next = greatest(next, $1)", &[&counters.next_id]).await?;
            for (key, value) in &counters.kept {
                conn.execute(put, &[key, value]).await?;
            }
            let open = conn.first("select count(*) from open_long", &[]).await?;
            Ok(open.map_or(0, |row| row.get::<_, i64>(0).unsigned_abs()))
        })
    }

    /// Begins to read a table in the order of its key.
    pub(crate) fn look_through(&mut self, table: &Table, day: Option<i64>) -> Result<(), StoreError> {
        let text = format!("begin read only; declare looked no scroll cursor for {}", select(table, day));
        self.run(async |conn: &Conn| conn.batch(&text).await)
    }

    /// The next rows; none at the end.
    pub(crate) fn look(&mut self, table: &Table) -> Result<Vec<Vec<Cell>>, StoreError> {
        // A cursor's columns are known when it is opened, not when its statement is prepared: asked anew each time.
        let rows = self.run(async |conn: &Conn| conn.query_fresh(PAGE).await)?;
        Ok(rows.iter().map(|row| cells(row, table)).collect())
    }

    pub(crate) fn looked(&mut self) -> Result<(), StoreError> {
        self.run(async |conn: &Conn| conn.batch("rollback").await)
    }

    /// From here on it is a store like any other.
    pub(crate) fn finish(&mut self, origin: &str) -> Result<(), StoreError> {
        self.run(async |conn: &Conn| {
            let put = "insert into meta (key, value) values ('copied_from', $1)";
            let done = "delete from meta where key = 'copying_from'";
            let (begun, moved) = join(conn.batch("begin"), conn.execute(put, &[&origin])).await;
            begun?;
            moved?;
            conn.execute(done, &[]).await?;
            conn.batch("commit").await
        })
    }
}

/// Anything that a server or a person left there.
async fn is_used(conn: &Conn) -> Result<bool, Fault> {
    let text = "select exists (select 1 from shard) or exists (select 1 from job) or exists (select 1 from person)
        or exists (select 1 from content) or exists (select 1 from agent) or exists (select 1 from setting)
        or exists (select 1 from server) or exists (select 1 from day) or (select next > 1 from counter)";
    Ok(conn.first(text, &[]).await?.is_some_and(|row| row.get(0)))
}

fn name(table: &Table, day: Option<i64>) -> String {
    day.map_or(table.name.to_string(), day_table)
}

fn insert(table: &Table, day: Option<i64>) -> String {
    let names: Vec<_> = table.columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let arrays = table.columns.iter().enumerate().map(|(at, (_, kind))| {
        let of = match kind {
            Kind::Int | Kind::Bool => "int8",
            Kind::Text => "text",
            Kind::Bytes => "bytea",
        };
        format!("${}::{of}[]", at + 1)
    });
    let values = table.columns.iter().map(|(name, kind)| match kind {
        Kind::Bool => format!("r.\"{name}\" <> 0"),
        Kind::Int | Kind::Text | Kind::Bytes => format!("r.\"{name}\""),
    });
    format!(
        "insert into {} ({}) select {} from unnest({}) as r({})",
        name(table, day),
        names.join(", "),
        values.collect::<Vec<_>>().join(", "),
        arrays.collect::<Vec<_>>().join(", "),
        names.join(", "),
    )
}

fn select(table: &Table, day: Option<i64>) -> String {
    let columns = table.columns.iter().map(|(name, kind)| match kind {
        Kind::Int => format!("\"{name}\"::int8"),
        Kind::Bool => format!("\"{name}\"::int4::int8"),
        Kind::Text | Kind::Bytes => format!("\"{name}\""),
    });
    let order = table.key.iter().map(|key| match table.columns[table.position(key)].1 {
        // Byte by byte, as everywhere else.
        Kind::Text => format!("\"{key}\" collate \"C\""),
        Kind::Int | Kind::Bool | Kind::Bytes => format!("\"{key}\""),
    });
    format!(
        "select {} from {} order by {}",
        columns.collect::<Vec<_>>().join(", "),
        name(table, day),
        order.collect::<Vec<_>>().join(", ")
    )
}

fn column<'v>(rows: &'v [Vec<Cell>], at: usize, kind: Kind) -> Value<'v> {
    let cells = rows.iter().map(|row| &row[at]);
    match kind {
        Kind::Int | Kind::Bool => Box::new(
            cells.map(|cell| if let Cell::Int(number) = cell { Some(*number) } else { None }).collect::<Vec<_>>(),
        ),
        Kind::Text => Box::new(
            cells.map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None }).collect::<Vec<_>>(),
        ),
        Kind::Bytes => Box::new(
            cells
                .map(|cell| if let Cell::Bytes(body) = cell { Some(body.as_slice()) } else { None })
                .collect::<Vec<_>>(),
        ),
    }
}

fn cells(row: &Row, table: &Table) -> Vec<Cell> {
    let cell = |(at, (_, kind)): (usize, &(&str, Kind))| match kind {
        Kind::Int | Kind::Bool => row.get::<_, Option<i64>>(at).map_or(Cell::Null, Cell::Int),
        Kind::Text => row.get::<_, Option<String>>(at).map_or(Cell::Null, Cell::Text),
        Kind::Bytes => row.get::<_, Option<Vec<u8>>>(at).map_or(Cell::Null, Cell::Bytes),
    };
    table.columns.iter().enumerate().map(cell).collect()
}
