//! Tenants as the first shard keeps them for all: made, changed, removed. Never decides who goes first: that is `share`.

use model::{TenantId, TenantRecord, Timestamp, own_shards};

use crate::change::Change;
use crate::effect::{Decisions, Refusal, Reply};
use crate::shard::Shard;

impl Shard {
    /// Names are unique because one shard knows them all and decides alone.
    pub(crate) fn put_tenant(
        &mut self,
        mut tenant: TenantRecord,
        now: Timestamp,
        out: &mut Decisions,
    ) -> Result<Reply, Refusal> {
        let taken = |known: &TenantRecord| known.name == tenant.name && known.id != tenant.id;
        if self.tenants.values().any(taken) {
            return Err(Refusal::TenantNameTaken(tenant.name));
        }
        match self.tenants.get(&tenant.id) {
            None if tenant.id == TenantId::default() => {
                // A new store counts from one, and the first tenant was there before it began to count.
                while tenant.id <= TenantId::DEFAULT {
                    tenant.id = TenantId(self.ids.take());
                }
                tenant.created_at = now;
            }
            None => return Err(Refusal::NoSuchTenant(tenant.id)),
            Some(_) if tenant.id == TenantId::DEFAULT && tenant.is_closing() => return Err(Refusal::FirstTenant),
            Some(_) => {}
        }
        tenant.own = self.own_shards_of(&tenant)?;
        let id = tenant.id;
        out.change(Change::TenantPut(Box::new(tenant.clone())));
        self.queues.turns.set(&tenant);
        self.tenants.insert(id, tenant);
        self.drain_all(now, out);
        Ok(Reply::Tenant(id))
    }

    /// What it has stays, whatever the caller thought; one that is given servers for the first time gets what is nobody's.
    fn own_shards_of(&self, tenant: &TenantRecord) -> Result<Vec<model::ShardId>, Refusal> {
        let known = self.tenants.get(&tenant.id).map(|known| known.own.clone()).unwrap_or_default();
        if tenant.servers.is_empty() || !known.is_empty() {
            return Ok(known);
        }
        let taken = |shard| self.tenants.values().any(|other| other.own.contains(&shard));
        let free = own_shards(self.shards, taken).filter(|_| self.shards > 1);
        free.ok_or(Refusal::NoShardsLeft)
    }

    /// Whether a new job of the tenant may be made here: whoever sent it may not know yet that it has shards of its own.
    pub(crate) fn may_hold(&self, tenant: TenantId) -> bool {
        self.tenants.get(&tenant).is_none_or(|tenant| tenant.own.is_empty() || tenant.own.contains(&self.id))
    }

    pub(crate) fn remove_tenant(&mut self, id: TenantId, out: &mut Decisions) -> Result<Reply, Refusal> {
        let Some(tenant) = self.tenants.get(&id) else { return Err(Refusal::NoSuchTenant(id)) };
        let has_jobs = self.jobs.values().any(|job| job.tenant == id);
        if id == TenantId::DEFAULT {
            return Err(Refusal::FirstTenant);
        }
        if !tenant.is_closing() || has_jobs || self.agents.values().any(|agent| agent.record.tenant == id) {
            return Err(Refusal::TenantInUse(id));
        }
        self.tenants.remove(&id);
        self.queues.turns.set_all(self.tenants.values());
        out.change(Change::TenantRemoved { tenant: id });
        Ok(Reply::Done)
    }
}
