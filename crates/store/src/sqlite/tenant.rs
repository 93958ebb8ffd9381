//! Tenants' rows.

use model::{Actor, TenantId, TenantRecord, TenantState, Timestamp};
use rusqlite::{Row, params};

use super::apply::{Applying, expect};
use super::error::Fault;
use super::sql;
use crate::code::Code;
use crate::tenant;

impl Applying<'_> {
    pub(super) fn tenant_put(&self, record: &TenantRecord) -> Result<(), Fault> {
        let [jobs, running, per_second, log_bytes, history_days] = tenant::columns(&record.quotas);
        let [servers, own] = tenant::reserved(record);
        self.conn.prepare_cached(sql::body(sql::PUT_TENANT))?.execute(params![
            record.id.0,
            record.name,
            record.weight,
            jobs,
            running,
            per_second,
            log_bytes,
            history_days,
            record.private_network,
            record.state.code(),
            record.created_at.0,
            record.created_by.0,
            record.exported.as_ref().map(|exported| exported.at.0),
            record.exported.as_ref().map(|exported| &exported.digest),
            servers,
            own,
        ])?;
        Ok(())
    }

    /// Its limits and what is counted for it go with it; what its jobs did is history.
    pub(super) fn tenant_removed(&self, id: TenantId) -> Result<(), Fault> {
        for of_tenant in ["pool", "executor_token", "join_token", "variable", "secret"] {
            self.conn.prepare_cached(&format!("delete from {of_tenant} where tenant = ?1"))?.execute([id.0])?;
        }
        let idle = "delete from resource where tenant = ?1 and not exists (select 1 from ticket t
            where t.tenant = resource.tenant and t.kind = resource.kind and t.name = resource.name)";
        self.conn.prepare_cached(idle)?.execute([id.0])?;
        let rows = self.conn.prepare_cached("delete from tenant where id = ?1")?.execute([id.0])?;
        expect(rows, || "there is no such tenant".into())
    }
}

/// `tenant::SELECT`
pub(super) fn tenant(row: &Row) -> rusqlite::Result<TenantRecord> {
    let quotas = [row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?];
    Ok(TenantRecord {
        id: TenantId(row.get(0)?),
        name: row.get(1)?,
        weight: row.get(2)?,
        quotas: tenant::quotas(quotas),
        private_network: row.get(8)?,
        state: TenantState::decode(row.get(9)?).unwrap_or_default(),
        created_at: Timestamp(row.get(10)?),
        created_by: Actor(row.get(11)?),
        exported: tenant::exported(row.get(12)?, row.get(13)?),
        servers: tenant::servers(row.get::<_, Option<String>>(14)?.as_deref()),
        own: tenant::own_shards(row.get::<_, Option<String>>(15)?.as_deref()),
    })
}
