//! Opens a database's store: makes it if need be, checks that it is ours and not newer than we are.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::address::Door;
use super::conn::Conn;
use super::day::Days;
use super::error::Fault;
use super::lane::Lane;
use super::{PATIENCE, PgStore, copy, migrate};
use crate::StoreError;

/// Statements of the writer go by index, whatever the planner thinks of a table nobody has counted yet: a day that is
/// empty when its statements are prepared holds millions of rows in the evening. A transaction that nobody drives any
/// more gives its locks back by itself.
pub(super) const WRITER: &str = "
    set search_path = duly;
    set client_min_messages = warning;
    set default_transaction_isolation = 'read committed';
    set plan_cache_mode = force_generic_plan;
    set jit = off;
    set enable_seqscan = off;
    set enable_hashjoin = off;
    set enable_mergejoin = off;
    set lock_timeout = '5s';
    set statement_timeout = '25s';
    set idle_in_transaction_session_timeout = '10s';
    select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'";

/// A migration may take as long as it takes.
const MIGRATE_WITHIN: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug)]
pub struct Options {
    /// Connections for reading, made when they are needed.
    pub readers: usize,
    /// Fixed when the store is made; ignored later.
    pub shards: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options { readers: 3, shards: 64 }
    }
}

impl PgStore {
    /// Opens the store in the database of this address, making it if it is not there.
    pub fn open(address: &str, options: &Options) -> Result<PgStore, StoreError> {
        let mut lane = Lane::new(Door::of(address)?, WRITER)?;
        lane.again(MIGRATE_WITHIN, async |conn: &Conn| migrate::migrate(conn, migrate::STEPS).await)
            .map_err(|fault| name(fault, lane.door()))?;
        let unfinished = lane.again(PATIENCE, async |conn: &Conn| copy::under_way(conn).await);
        if unfinished.map_err(|fault| name(fault, lane.door()))?.is_some() {
            return Err(StoreError::Failed(format!(
                "PostgreSQL at {}: an embedded store was to be moved here and it was cut short; run duly migrate-store \
                 again",
                lane.door()
            )));
        }
        PgStore::open_any(lane, options)
    }

    /// Also one that is being filled.
    pub(super) fn open_any(mut lane: Lane, options: &Options) -> Result<PgStore, StoreError> {
        let shards = lane
            .again(PATIENCE, async |conn: &Conn| settle_shards(conn, options.shards).await)
            .map_err(|fault| name(fault, lane.door()))?;
        Ok(PgStore {
            lane,
            options: options.clone(),
            shards,
            days: Days::default(),
            low_water: FxHashMap::default(),
            marks: FxHashMap::default(),
            terms: FxHashMap::default(),
        })
    }
}

/// The number of shards is written once, when the store is made.
async fn settle_shards(conn: &Conn, wanted: u32) -> Result<i64, Fault> {
    let put = "insert into meta (key, value) values ('shards', $1) on conflict do nothing";
    conn.execute(put, &[&wanted.max(1).to_string()]).await?;
    let row = conn.first("select value::int8 from meta where key = 'shards'", &[]).await?;
    let missing = || StoreError::Corrupt("the number of shards is missing".into());
    let shards: i64 = row.map(|row| row.get(0)).ok_or_else(missing)?;
    let leases = "insert into lease (shard) select generate_series(0, $1::int8 - 1) on conflict do nothing";
    conn.execute(leases, &[&shards]).await?;
    Ok(shards)
}

/// Says which database.
fn name(fault: Fault, door: &Door) -> StoreError {
    match StoreError::from(fault) {
        StoreError::Failed(what) => StoreError::Failed(format!("PostgreSQL at {door}: {what}")),
        other => other,
    }
}
