//! Leases by the database's clock, on a connection of their own: neither a long commit nor a large load may keep a
//! server from saying that it is there. A call that takes long is useless, so it is given up.

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use model::{Batch, ServerId, ShardId, Span, Term, Timestamp};
use tokio_postgres::Row;

use super::conn::Conn;
use super::error::Fault;
use super::lane::Lane;
use super::{PgStore, sql};
use crate::leases::{LeaseRow, Leases, Life, Picture, Reserved, ServerRow};
use crate::{StoreError, tenant};

/// After this an answer would come too late to be of use.
const PATIENCE: Duration = Duration::from_secs(2);
/// A connection takes several round trips, and over a long way each takes long. It serves the next call too.
const CONNECT_WITHIN: Duration = Duration::from_secs(4);

pub(super) const KEEPER: &str = "
    set search_path = duly;
    set client_min_messages = warning;
    set default_transaction_isolation = 'read committed';
    set plan_cache_mode = force_generic_plan;
    set jit = off;
    set lock_timeout = '1500ms';
    set statement_timeout = '1800ms';
    set idle_in_transaction_session_timeout = '3s';
    select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'";

pub struct PgLeases {
    lane: Lane,
    shards: i64,
}

impl PgStore {
    /// A further connection, for leases. It outlives this writer.
    pub fn leases(&self) -> Result<PgLeases, StoreError> {
        Ok(PgLeases { lane: Lane::new(self.lane.door().clone(), KEEPER)?, shards: self.shards })
    }
}

impl PgLeases {
    /// Everything here may be said twice. A connection that died while nobody used it is replaced at once; whatever
    /// else goes wrong, the next call begins with a fresh one.
    fn call<T>(&mut self, work: impl AsyncFn(&Conn) -> Result<T, Fault>) -> Result<T, StoreError> {
        let end = Instant::now() + PATIENCE;
        loop {
            let fresh = !self.lane.is_connected();
            let fault = match self.lane.ready(CONNECT_WITHIN).and_then(|()| self.lane.once(PATIENCE, &work)) {
                Ok(done) => return Ok(done),
                Err(fault) => fault,
            };
            self.lane.hang_up();
            match fault {
                Fault::Lost(_) if !fresh && Instant::now() < end => {}
                Fault::Lost(what) => return Err(StoreError::Lost(what)),
                fault => {
                    return Err(match StoreError::from(fault) {
                        StoreError::Busy(what) => StoreError::Lost(what),
                        other => other,
                    });
                }
            }
        }
    }

    fn set(&mut self, text: &str, server: ServerId, value: i64) -> Result<bool, StoreError> {
        let found = self.call(async |conn: &Conn| conn.execute(text, &[&server.0, &value]).await)? == 1;
        // Everyone's share depends on it.
        if found {
            self.wake(None)?;
        }
        Ok(found)
    }
}

impl Leases for PgLeases {
    fn renew(&mut self, me: &ServerRow, lease: Span) -> Result<Picture, StoreError> {
        let shards = self.shards;
        let weight = i64::from(me.weight);
        let read = self.call(async |conn: &Conn| {
            let (begun, renewed) = ("begin", "commit");
            let server: Values = &[
                &me.id.0,
                &me.name,
                &me.api,
                &me.agents,
                &me.peer,
                &me.version,
                &weight,
                &me.draining,
                &me.started_at.0,
                &lease.0,
            ];
            // Each is sent before the one before is answered: the wait is for all of them once.
            let all: [(&str, Values); 8] = [
                (begun, &[]),
                (sql::RENEW_SERVER, server),
                (sql::RENEW_LEASES, &[&me.id.0, &lease.0, &me.started_at.0]),
                (sql::CLOCK, &[]),
                (SERVERS, &[]),
                (sql::LEASES, &[]),
                (RESERVED, &[]),
                (renewed, &[]),
            ];
            try_join_all(all.iter().map(|(text, values)| conn.query(text, values))).await
        })?;
        if read[1].is_empty() {
            return Err(StoreError::started_again());
        }
        let clock = read[3].first().ok_or_else(|| StoreError::Corrupt("the revision is missing".into()))?;
        Ok(Picture {
            now: Timestamp(clock.get(0)),
            shards,
            servers: read[4].iter().map(server).collect(),
            leases: read[5].iter().map(lease_row).collect(),
            revision: clock.get(1),
            reserved: read[6].iter().map(reserved).collect(),
        })
    }

    fn take(&mut self, me: ServerId, shards: &[ShardId], lease: Span, grace: Span) -> Result<Vec<ShardId>, StoreError> {
        let wanted = numbers(shards);
        let rows =
            self.call(async |conn: &Conn| conn.query(sql::TAKE_LEASES, &[&me.0, &wanted, &lease.0, &grace.0]).await)?;
        let mut taken: Vec<_> = rows.iter().map(|row| ShardId(row.get(0))).collect();
        taken.sort_unstable();
        Ok(taken)
    }

    fn hand_over(
        &mut self,
        me: Life,
        to: Option<ServerId>,
        shards: &[ShardId],
        lease: Span,
        by: Timestamp,
    ) -> Result<(), StoreError> {
        let given = numbers(shards);
        let to = to.map(|to| to.0);
        let Life { server, started_at } = me;
        let values: Values = &[&server.0, &given, &to, &lease.0, &by.0, &started_at.0];
        self.call(async |conn: &Conn| conn.query(sql::HAND_OVER, values).await)?;
        Ok(())
    }

    fn leave(&mut self, me: Life) -> Result<(), StoreError> {
        self.call(async |conn: &Conn| conn.query(sql::LEAVE, &[&me.server.0, &me.started_at.0]).await)?;
        Ok(())
    }

    fn started_at(&mut self, server: ServerId) -> Result<Option<Timestamp>, StoreError> {
        let text = "select started_at from server where id = $1";
        let rows = self.call(async |conn: &Conn| conn.query(text, &[&server.0]).await)?;
        Ok(rows.first().map(|row| Timestamp(row.get(0))))
    }

    fn set_weight(&mut self, server: ServerId, weight: u32) -> Result<bool, StoreError> {
        self.set("update server set weight = $2::int8 where id = $1", server, i64::from(weight))
    }

    fn set_draining(&mut self, server: ServerId, draining: bool) -> Result<bool, StoreError> {
        self.set("update server set draining = $2::int8 <> 0 where id = $1", server, i64::from(draining))
    }

    fn forget(&mut self, server: ServerId) -> Result<bool, StoreError> {
        Ok(self.call(async |conn: &Conn| conn.execute(sql::FORGET_SERVER, &[&server.0]).await)? == 1)
    }

    fn wake(&mut self, server: Option<ServerId>) -> Result<(), StoreError> {
        let text = match server {
            Some(_) => "select pg_notify('duly_' || $1::int8, '')",
            None => "select pg_notify('duly_' || id, '') from server where $1::int8 is null",
        };
        let server = server.map(|server| server.0);
        self.call(async |conn: &Conn| conn.query(text, &[&server]).await)?;
        Ok(())
    }
}

type Values<'v> = &'v [&'v (dyn tokio_postgres::types::ToSql + Sync)];

const SERVERS: &str = "select id, name, api, agents, peer, version, weight::int8, draining, started_at, until
                       from server order by id";

const RESERVED: &str = "select name, servers, own_shards from tenant where servers is not null order by id";

fn numbers(shards: &[ShardId]) -> Vec<i64> {
    shards.iter().map(|shard| shard.0).collect()
}

fn server(row: &Row) -> ServerRow {
    ServerRow {
        id: ServerId(row.get(0)),
        name: row.get(1),
        api: row.get(2),
        agents: row.get(3),
        peer: row.get(4),
        version: row.get(5),
        weight: row.get::<_, i64>(6).try_into().unwrap_or(0),
        draining: row.get(7),
        started_at: Timestamp(row.get(8)),
        until: Timestamp(row.get(9)),
    }
}

fn reserved(row: &Row) -> Reserved {
    Reserved { tenant: row.get(0), servers: tenant::servers(row.get(1)), shards: tenant::own_shards(row.get(2)) }
}

fn lease_row(row: &Row) -> LeaseRow {
    LeaseRow {
        shard: ShardId(row.get(0)),
        server: row.get::<_, Option<i64>>(1).map(ServerId),
        until: Timestamp(row.get(2)),
        term: Term(row.get(3)),
        batch: Batch(row.get(4)),
        horizon: Timestamp(row.get(5)),
    }
}
