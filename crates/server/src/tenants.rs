//! The tenants there are, as this server knows them: read at the start, after each change here, and when another
//! server has changed something. Never asks the store by itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{TenantId, TenantRecord};
use parking_lot::RwLock;

#[derive(Default)]
pub struct Tenants(RwLock<Known>);

#[derive(Default)]
struct Known {
    by_id: BTreeMap<TenantId, Arc<TenantRecord>>,
    by_name: BTreeMap<String, TenantId>,
}

impl Tenants {
    pub fn new(records: Vec<TenantRecord>) -> Tenants {
        let tenants = Tenants::default();
        tenants.replace(records);
        tenants
    }

    pub fn replace(&self, records: Vec<TenantRecord>) {
        let by_name = records.iter().map(|record| (record.name.clone(), record.id)).collect();
        let by_id = records.into_iter().map(|record| (record.id, Arc::new(record))).collect();
        *self.0.write() = Known { by_id, by_name };
    }

    pub fn by_name(&self, name: &str) -> Option<TenantId> {
        self.0.read().by_name.get(name).copied()
    }

    pub fn get(&self, id: TenantId) -> Option<Arc<TenantRecord>> {
        self.0.read().by_id.get(&id).map(Arc::clone)
    }

    /// By their numbers.
    pub fn all(&self) -> Vec<Arc<TenantRecord>> {
        self.0.read().by_id.values().map(Arc::clone).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::{Actor, Timestamp};

    use super::*;

    #[test]
    fn a_tenant_is_found_by_name_and_number_until_it_is_gone() {
        let records = vec![
            TenantRecord::first(Timestamp(1)),
            TenantRecord::new(TenantId(70), "acme", Timestamp(2), Actor("ann".into())),
        ];
        let tenants = Tenants::new(records.clone());
        assert_eq!((tenants.by_name("default"), tenants.by_name("acme")), (Some(TenantId(1)), Some(TenantId(70))));
        assert_eq!(tenants.get(TenantId(70)).map(|tenant| tenant.name.clone()), Some("acme".into()));
        tenants.replace(records[..1].to_vec());
        assert_eq!((tenants.by_name("acme"), tenants.get(TenantId(70)), tenants.all().len()), (None, None, 1));
    }
}
