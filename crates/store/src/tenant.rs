//! A tenant's row, the same in every database: what its quotas and servers are as columns, and back.

use model::{Exported, Quotas, ShardId, TenantRecord, Timestamp};

use crate::json;

/// The columns from `id` to `own_shards`, in this order.
pub(crate) const SELECT: &str = "select id, name, weight, jobs_max, running_max, starts_per_second, log_bytes_max,
    history_days, private_network, state, created_at, created_by, exported_at, exported,
    servers, own_shards from tenant order by id";

/// `jobs_max, running_max, starts_per_second, log_bytes_max, history_days`
pub(crate) fn columns(quotas: &Quotas) -> [Option<i64>; 5] {
    let small = |quota: Option<u32>| quota.map(i64::from);
    let bytes = quotas.log_bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    [small(quotas.jobs), small(quotas.running), small(quotas.per_second), bytes, small(quotas.history_days)]
}

pub(crate) fn quotas([jobs, running, per_second, log_bytes, history_days]: [Option<i64>; 5]) -> Quotas {
    let small = |column: Option<i64>| column.map(|number| u32::try_from(number.max(0)).unwrap_or(u32::MAX));
    Quotas {
        jobs: small(jobs),
        running: small(running),
        per_second: small(per_second),
        log_bytes: log_bytes.map(|bytes| bytes.max(0).unsigned_abs()),
        history_days: small(history_days),
    }
}

pub(crate) fn exported(at: Option<i64>, digest: Option<String>) -> Option<Exported> {
    Some(Exported { at: Timestamp(at?), digest: digest? })
}

/// `servers, own_shards`: null where there are none.
pub(crate) fn reserved(tenant: &TenantRecord) -> [Option<String>; 2] {
    let servers = (!tenant.servers.is_empty()).then(|| json::list(&tenant.servers));
    let own = (!tenant.own.is_empty()).then(|| json::numbers(tenant.own.iter().map(|shard| shard.0)));
    [servers, own]
}

/// What cannot be read names nobody: it must not open to all what was kept for some.
pub(crate) fn servers(column: Option<&str>) -> Vec<String> {
    column.map_or_else(Vec::new, |text| json::read_list(text).unwrap_or_else(|| vec![text.into()]))
}

pub(crate) fn own_shards(column: Option<&str>) -> Vec<ShardId> {
    column.and_then(json::read_numbers).unwrap_or_default().into_iter().map(ShardId).collect()
}
