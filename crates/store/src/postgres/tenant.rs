//! Tenants' rows.

use model::{Actor, TenantId, TenantRecord, TenantState, Timestamp};
use tokio_postgres::Row;

use super::apply::Applying;
use super::column::text;
use super::conn::Expects;
use super::sql;
use crate::code::Code;
use crate::tenant;

impl Applying<'_> {
    pub(super) fn tenant_put(&mut self, record: &TenantRecord) {
        let [jobs, running, per_second, log_bytes, history_days] = tenant::columns(&record.quotas);
        let exported = record.exported.clone();
        let [servers, own] = tenant::reserved(record);
        self.push(
            sql::PUT_TENANT,
            vec![
                Box::new(record.id.0),
                Box::new(text(&record.name).into_owned()),
                Box::new(i64::from(record.weight)),
                Box::new(jobs),
                Box::new(running),
                Box::new(per_second),
                Box::new(log_bytes),
                Box::new(history_days),
                Box::new(record.private_network),
                Box::new(record.state.code()),
                Box::new(record.created_at.0),
                Box::new(text(&record.created_by.0).into_owned()),
                Box::new(exported.as_ref().map(|exported| exported.at.0)),
                Box::new(exported.map(|exported| exported.digest)),
                Box::new(servers.map(|servers| text(&servers).into_owned())),
                Box::new(own),
            ],
            Expects::Any,
        );
        if !record.own.is_empty() {
            // From now on somebody may own them.
            let own: Vec<i64> = record.own.iter().map(|shard| shard.0).collect();
            let leases = "insert into lease (shard) select unnest($1::int8[]) on conflict do nothing";
            self.push(leases, vec![Box::new(own)], Expects::Any);
        }
    }

    /// Its limits and what is counted for it go with it; what its jobs did is history.
    pub(super) fn tenant_removed(&mut self, id: TenantId) {
        for of_tenant in [
            "delete from pool where tenant = $1",
            "delete from executor_token where tenant = $1",
            "delete from join_token where tenant = $1",
            "delete from variable where tenant = $1",
            "delete from secret where tenant = $1",
            "delete from resource r where tenant = $1 and not exists (select 1 from ticket t
                where t.tenant = r.tenant and t.kind = r.kind and t.name = r.name)",
        ] {
            self.push(of_tenant, vec![Box::new(id.0)], Expects::Any);
        }
        let gone = Expects::Rows(1, "there is no such tenant".into());
        self.push("delete from tenant where id = $1", vec![Box::new(id.0)], gone);
    }
}

/// `tenant::SELECT`
pub(super) fn tenant(row: &Row) -> TenantRecord {
    let quotas = [row.get(3), row.get(4), row.get(5), row.get(6), row.get(7)];
    TenantRecord {
        id: TenantId(row.get(0)),
        name: row.get(1),
        weight: u32::try_from(row.get::<_, i64>(2)).unwrap_or(1),
        quotas: tenant::quotas(quotas),
        private_network: row.get(8),
        state: TenantState::decode(row.get(9)).unwrap_or_default(),
        created_at: Timestamp(row.get(10)),
        created_by: Actor(row.get(11)),
        exported: tenant::exported(row.get(12), row.get(13)),
        servers: tenant::servers(row.get(14)),
        own: tenant::own_shards(row.get(15)),
    }
}
