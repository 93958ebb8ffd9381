//! A tenant's row, the same in every database: what its quotas are as columns, and back.

use model::{Exported, Quotas, Timestamp};

/// The columns from `id` to `exported`, in this order.
pub(crate) const SELECT: &str = "select id, name, weight, jobs_max, running_max, starts_per_second, log_bytes_max,
    history_days, private_network, state, created_at, created_by, exported_at, exported from tenant order by id";

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
