//! How much of what a tenant's tasks print is kept: so many bytes of each day, by this server's count since it started. What
//! is beyond is left out of the logs, and the run goes on. Never looks at what was printed.

use std::sync::Arc;

use model::{AttemptId, TenantId, Timestamp};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::clock::Clock;
use crate::logs::Leave;
use crate::tenants::Tenants;

/// Attempts whose log says that something was left out.
const TOLD: u64 = 100_000;

pub struct LogQuota {
    tenants: Arc<Tenants>,
    clock: Clock,
    spent: Mutex<FxHashMap<TenantId, Spent>>,
    told: moka::sync::Cache<AttemptId, ()>,
}

/// What was kept of one day.
#[derive(Clone, Copy, Default)]
struct Spent {
    day: i64,
    bytes: u64,
}

impl Spent {
    /// Counts them, unless they are more than fit into the day.
    fn take(&mut self, now: Timestamp, bytes: u64, most: Option<u64>) -> bool {
        if self.day != now.day() {
            *self = Spent { day: now.day(), bytes: 0 };
        }
        let fits = most.is_none_or(|most| self.bytes.saturating_add(bytes) <= most);
        if fits {
            self.bytes += bytes;
        }
        fits
    }
}

impl LogQuota {
    pub fn new(tenants: Arc<Tenants>, clock: Clock) -> LogQuota {
        LogQuota { tenants, clock, spent: Mutex::default(), told: moka::sync::Cache::new(TOLD) }
    }

    pub(super) fn take(&self, tenant: TenantId, attempt: AttemptId, bytes: u64) -> Leave {
        let record = self.tenants.get(tenant);
        let most = record.as_ref().and_then(|record| record.quotas.log_bytes);
        if self.spent.lock().entry(tenant).or_default().take(self.clock.now(), bytes, most) {
            return Leave::Keep;
        }
        let said = self.told.contains_key(&attempt);
        self.told.insert(attempt, ());
        let name = record.map_or_else(String::new, |record| record.name.clone());
        let line = || format!("[left out: tenant {name} may keep {} bytes of logs a day]", most.unwrap_or_default());
        Leave::Blank((!said).then(line))
    }

    /// Of today, at this server.
    pub fn spent(&self, tenant: TenantId) -> u64 {
        let today = self.clock.now().day();
        self.spent.lock().get(&tenant).filter(|spent| spent.day == today).map_or(0, |spent| spent.bytes)
    }
}

#[cfg(test)]
mod tests {
    use model::Span;

    use super::*;

    #[test]
    fn a_day_has_room_for_so_much_and_the_next_for_as_much_again() {
        let (mut spent, now) = (Spent::default(), Timestamp::from_secs(1_000_000));
        assert!(spent.take(now, 60, Some(100)) && !spent.take(now, 60, Some(100)) && spent.take(now, 40, Some(100)));
        assert!(!spent.take(now, 1, Some(100)) && spent.take(now, 0, Some(100)), "an end has no bytes");
        assert!(spent.take(now, 1, None), "the quota was taken away");
        assert!(spent.take(now + Span::DAY, 100, Some(100)) && !spent.take(now + Span::DAY, 1, Some(100)));
    }
}
