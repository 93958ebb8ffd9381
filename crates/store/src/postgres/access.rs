//! Join tokens, agents' identities and settings, on a connection that accounts share.

use model::{AgentId, TenantId, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::conn::Conn;
use super::lane::Lane;
use super::open::WRITER;
use super::{PATIENCE, PgStore};
use crate::StoreError;
use crate::access::{Access, ExecutorToken, JoinToken, SecretHash};
use crate::json;

pub(super) type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

pub struct PgAccess {
    pub(super) lane: Lane,
}

impl PgStore {
    /// A further connection for access. It outlives this writer.
    pub fn access(&self) -> Result<PgAccess, StoreError> {
        Ok(PgAccess { lane: Lane::new(self.lane.door().clone(), WRITER)? })
    }
}

impl PgAccess {
    /// For what may be repeated when its answer is lost: writes of what shall be, not of what changes.
    pub(super) fn write(&mut self, text: &str, values: Values) -> Result<u64, StoreError> {
        Ok(self.lane.again(PATIENCE, async |conn: &Conn| conn.execute(text, values).await)?)
    }

    /// For what must not be repeated. A connection that died meanwhile is replaced before.
    pub(super) fn write_once(&mut self, text: &str, values: Values) -> Result<Option<Row>, StoreError> {
        self.lane.again(PATIENCE, async |conn: &Conn| conn.first("select 1", &[]).await)?;
        Ok(self.lane.once(PATIENCE, async |conn: &Conn| conn.first(text, values).await)?)
    }

    pub(super) fn all<T>(
        &mut self,
        text: &str,
        values: Values,
        read: impl Fn(&Row) -> T,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.lane.again(PATIENCE, async |conn: &Conn| conn.query(text, values).await)?;
        Ok(rows.iter().map(read).collect())
    }

    fn one<T>(&mut self, text: &str, values: Values, read: impl Fn(&Row) -> T) -> Result<Option<T>, StoreError> {
        Ok(self.all(text, values, read)?.into_iter().next())
    }
}

impl Access for PgAccess {
    fn put_join_token(&mut self, token: &JoinToken) -> Result<(), StoreError> {
        let text = "insert into join_token (hash, tenant, pools, labels, created_at, expires_at, serves)
                    values ($1, $2, $3, $4, $5, $6, $7)";
        let (pools, labels, serves) = (json::list(&token.pools), json::map(&token.labels), json::serves(&token.serves));
        let times = (token.created_at.0, token.expires_at.0);
        let values: Values = &[&&token.hash[..], &token.tenant.0, &pools, &labels, &times.0, &times.1, &serves];
        self.write_once(text, values)?;
        Ok(())
    }

    fn use_join_token(&mut self, hash: &SecretHash, now: Timestamp) -> Result<Option<JoinToken>, StoreError> {
        let text = "delete from join_token where hash = $1 and expires_at > $2
                    returning tenant, pools, labels, created_at, expires_at, serves";
        let Some(row) = self.write_once(text, &[&&hash[..], &now.0])? else { return Ok(None) };
        let damaged = || StoreError::Corrupt("a join token cannot be read".into());
        Ok(Some(JoinToken {
            hash: *hash,
            tenant: TenantId(row.get(0)),
            serves: json::read_serves(row.get(5)),
            pools: json::read_list(row.get(1)).ok_or_else(damaged)?,
            labels: json::read_map(row.get(2)).ok_or_else(damaged)?,
            created_at: Timestamp(row.get(3)),
            expires_at: Timestamp(row.get(4)),
        }))
    }

    fn put_executor_token(&mut self, token: &ExecutorToken) -> Result<i64, StoreError> {
        // All servers keep them in memory, and look when the revision has risen.
        let text = "with raised as (update meta set value = (value::int8 + 1)::text where key = 'revision')
                    insert into executor_token (token, tenant, pool, created_at, created_by)
                    values ($1, $2, $3, $4, $5) returning id";
        let values: Values = &[&token.token, &token.tenant.0, &token.pool, &token.created_at.0, &token.created_by];
        Ok(self.write_once(text, values)?.map_or(0, |row| row.get(0)))
    }

    fn executor_tokens(&mut self) -> Result<Vec<ExecutorToken>, StoreError> {
        let text = "select id, token, tenant, pool, created_at, created_by from executor_token order by id";
        self.all(text, &[], |row| ExecutorToken {
            id: row.get(0),
            token: row.get(1),
            tenant: TenantId(row.get(2)),
            pool: row.get(3),
            created_at: Timestamp(row.get(4)),
            created_by: row.get(5),
        })
    }

    fn remove_executor_token(&mut self, id: i64) -> Result<bool, StoreError> {
        let text = "with raised as (update meta set value = (value::int8 + 1)::text where key = 'revision')
                    delete from executor_token where id = $1";
        Ok(self.write(text, &[&id])? == 1)
    }

    fn put_agent_secret(&mut self, agent: AgentId, hash: &SecretHash) -> Result<(), StoreError> {
        self.write(
            "insert into agent_secret (agent, hash) values ($1, $2)
             on conflict (agent) do update set hash = excluded.hash",
            &[&agent.0, &&hash[..]],
        )?;
        Ok(())
    }

    fn agent_secrets(&mut self) -> Result<Vec<(AgentId, SecretHash)>, StoreError> {
        let read = |row: &Row| Ok((AgentId(row.get(0)), secret(row, 1)?));
        self.all("select agent, hash from agent_secret order by agent", &[], read)?.into_iter().collect()
    }

    fn remove_agent_secret(&mut self, agent: AgentId) -> Result<(), StoreError> {
        // All servers keep them in memory, and look when the revision has risen.
        let text = "with raised as (update meta set value = (value::int8 + 1)::text where key = 'revision')
                    delete from agent_secret where agent = $1";
        self.write(text, &[&agent.0])?;
        Ok(())
    }

    fn setting(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        self.one("select value from setting where key = $1", &[&key], |row| row.get(0))
    }

    fn put_setting(&mut self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        let put = "insert into setting (key, value) values ($1, $2)
                   on conflict (key) do update set value = excluded.value";
        match value {
            Some(value) => self.write(put, &[&key, &value])?,
            None => self.write("delete from setting where key = $1", &[&key])?,
        };
        Ok(())
    }

    fn keep_setting(&mut self, key: &str, value: &str) -> Result<String, StoreError> {
        let keep = "insert into setting (key, value) values ($1, $2) on conflict (key) do nothing";
        self.write(keep, &[&key, &value])?;
        let kept = self.setting(key)?;
        kept.ok_or_else(|| StoreError::Failed(format!("setting {key} was removed meanwhile")))
    }
}

fn secret(row: &Row, column: usize) -> Result<SecretHash, StoreError> {
    let bytes: &[u8] = row.get(column);
    bytes.try_into().map_err(|_| StoreError::Corrupt("a kept hash has the wrong length".into()))
}
