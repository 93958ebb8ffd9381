//! Join tokens, agents' identities and settings, on a connection that accounts share that takes turns with the writer.

use std::collections::BTreeMap;

use model::{AgentId, TenantId, Timestamp};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, Row, params};

use super::open::connect;
use super::{Gate, Options, SqliteStore};
use crate::StoreError;
use crate::access::{Access, ExecutorToken, JoinToken, SecretHash};
use crate::json;

pub struct SqliteAccess {
    pub(super) conn: Connection,
    pub(super) gate: Gate,
}

impl SqliteStore {
    /// A further connection for access. It outlives this writer.
    pub fn access(&self) -> Result<SqliteAccess, StoreError> {
        let options = Options { cache_mb: 2, ..self.options.clone() };
        let conn = connect(&self.path, &options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Ok(SqliteAccess { conn, gate: self.gate.clone() })
    }
}

impl SqliteAccess {
    pub(super) fn write(&mut self, text: &str, values: impl Params) -> Result<usize, StoreError> {
        let _turn = self.gate.lock();
        Ok(self.conn.prepare_cached(text)?.execute(values)?)
    }

    fn one<T>(
        &self,
        text: &str,
        values: impl Params,
        read: impl FnOnce(&Row) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.conn.prepare_cached(text)?.query_row(values, read).optional()?)
    }

    fn all<T>(&self, text: &str, read: impl FnMut(&Row) -> rusqlite::Result<T>) -> Result<Vec<T>, StoreError> {
        Ok(self.conn.prepare_cached(text)?.query_map([], read)?.collect::<Result<_, _>>()?)
    }
}

impl Access for SqliteAccess {
    fn put_join_token(&mut self, token: &JoinToken) -> Result<(), StoreError> {
        self.write(
            "insert into join_token (hash, tenant, pools, labels, created_at, expires_at, serves)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                token.hash,
                token.tenant.0,
                json::list(&token.pools),
                json::map(&token.labels),
                token.created_at.0,
                token.expires_at.0,
                json::serves(&token.serves),
            ],
        )?;
        Ok(())
    }

    fn use_join_token(&mut self, hash: &SecretHash, now: Timestamp) -> Result<Option<JoinToken>, StoreError> {
        let _turn = self.gate.lock();
        let text = "delete from join_token where hash = ?1 and expires_at > ?2
                    returning hash, tenant, pools, labels, created_at, expires_at, serves";
        let mut delete = self.conn.prepare_cached(text)?;
        let mut rows = delete.query(params![hash, now.0])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let token = join_token(row)?;
        // Until the statement has run to its end nothing is deleted for good.
        while rows.next()?.is_some() {}
        Ok(Some(token))
    }

    fn put_executor_token(&mut self, token: &ExecutorToken) -> Result<i64, StoreError> {
        self.write(
            "insert into executor_token (token, tenant, pool, created_at, created_by) values (?1, ?2, ?3, ?4, ?5)",
            params![token.token, token.tenant.0, token.pool, token.created_at.0, token.created_by],
        )?;
        Ok(self.conn.last_insert_rowid())
    }

    fn executor_tokens(&mut self) -> Result<Vec<ExecutorToken>, StoreError> {
        let text = "select id, token, tenant, pool, created_at, created_by from executor_token order by id";
        self.all(text, |row| {
            Ok(ExecutorToken {
                id: row.get(0)?,
                token: row.get(1)?,
                tenant: TenantId(row.get(2)?),
                pool: row.get(3)?,
                created_at: Timestamp(row.get(4)?),
                created_by: row.get(5)?,
            })
        })
    }

    fn remove_executor_token(&mut self, id: i64) -> Result<bool, StoreError> {
        Ok(self.write("delete from executor_token where id = ?1", [id])? == 1)
    }

    fn put_agent_secret(&mut self, agent: AgentId, hash: &SecretHash) -> Result<(), StoreError> {
        self.write("insert or replace into agent_secret (agent, hash) values (?1, ?2)", params![agent.0, hash])?;
        Ok(())
    }

    fn agent_secrets(&mut self) -> Result<Vec<(AgentId, SecretHash)>, StoreError> {
        self.all("select agent, hash from agent_secret order by agent", |row| Ok((AgentId(row.get(0)?), row.get(1)?)))
    }

    fn remove_agent_secret(&mut self, agent: AgentId) -> Result<(), StoreError> {
        self.write("delete from agent_secret where agent = ?1", [agent.0])?;
        Ok(())
    }

    fn setting(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        self.one("select value from setting where key = ?1", [key], |row| row.get(0))
    }

    fn put_setting(&mut self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        match value {
            Some(value) => self.write("insert or replace into setting (key, value) values (?1, ?2)", [key, value])?,
            None => self.write("delete from setting where key = ?1", [key])?,
        };
        Ok(())
    }

    fn keep_setting(&mut self, key: &str, value: &str) -> Result<String, StoreError> {
        self.write("insert into setting (key, value) values (?1, ?2) on conflict (key) do nothing", [key, value])?;
        let kept = self.setting(key)?;
        kept.ok_or_else(|| StoreError::Failed(format!("setting {key} was removed meanwhile")))
    }
}

fn join_token(row: &Row) -> Result<JoinToken, StoreError> {
    let damaged = || StoreError::Corrupt("a join token cannot be read".into());
    let (pools, labels): (String, String) = (row.get(2)?, row.get(3)?);
    let labels: BTreeMap<_, _> = json::read_map(&labels).ok_or_else(damaged)?;
    Ok(JoinToken {
        hash: row.get(0)?,
        tenant: TenantId(row.get(1)?),
        serves: json::read_serves(row.get::<_, Option<String>>(6)?.as_deref()),
        pools: json::read_list(&pools).ok_or_else(damaged)?,
        labels,
        created_at: Timestamp(row.get(4)?),
        expires_at: Timestamp(row.get(5)?),
    })
}
