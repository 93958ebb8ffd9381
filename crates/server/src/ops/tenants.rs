//! Tenants as people see and set them: made, changed, and what each has of what it may have.

use std::collections::BTreeSet;

use engine::{Command, Reply};
use model::{Actor, State, TenantId, TenantRecord};
use store::read::{InstanceFilter, JobFilter};
use store::{Reads, StoreError};
use wire::api::{Page, QuotasBody, TenantBody, TenantChangeBody, TenantUsageView, TenantView};
use wire::{Code, Fault, Problem};

use super::agents::check_name;
use super::{Desk, Done, Refused};
use crate::audit::{self, Facts};

/// A page at a time, where all must be counted.
const PAGE: usize = 2_000;
/// Counted no further: who has more is told so many.
const OPEN_MAX: usize = 100_000;

impl Desk {
    pub(crate) fn list_tenants(&self) -> Page<TenantView> {
        let mut tenants = self.tenants.all();
        tenants.sort_by(|a, b| a.name.cmp(&b.name));
        Page::whole(tenants.iter().map(|tenant| TenantView::from(&**tenant)).collect())
    }

    pub(crate) async fn show_tenant(&self, name: &str) -> Done<TenantView> {
        let tenant = self.tenant_named(name)?;
        let usage = Some(self.usage(tenant.id).await?);
        Ok(TenantView { usage, ..TenantView::from(&tenant) })
    }

    pub(crate) async fn create_tenant(&self, body: TenantBody, by: Actor) -> Done<TenantView> {
        check_name(&body.name, "name")?;
        check_weight(body.weight)?;
        check_quotas(body.quotas)?;
        let mut tenant = TenantRecord::new(TenantId::default(), &body.name, self.clock.now(), by.clone());
        tenant.weight = body.weight.unwrap_or(tenant.weight);
        (tenant.quotas, tenant.private_network) = (body.quotas.into(), body.private_network);
        tenant.servers = self.servers_named(body.servers, &[])?;
        audit::named("name", &body.name);
        audit::after(facts(&tenant));
        self.put_tenant(tenant, by).await?;
        self.show_tenant(&body.name).await
    }

    pub(crate) async fn change_tenant(&self, name: &str, body: TenantChangeBody, by: Actor) -> Done<TenantView> {
        let mut tenant = self.tenant_named(name)?;
        self.still_open(&tenant)?;
        audit::before(facts(&tenant));
        if let Some(name) = &body.name {
            check_name(name, "name")?;
            tenant.name.clone_from(name);
        }
        check_weight(body.weight)?;
        check_quotas(body.quotas.unwrap_or_default())?;
        tenant.weight = body.weight.unwrap_or(tenant.weight);
        tenant.quotas = body.quotas.map_or(tenant.quotas, Into::into);
        tenant.private_network = body.private_network.unwrap_or(tenant.private_network);
        if let Some(servers) = body.servers {
            tenant.servers = self.servers_named(servers, &tenant.servers)?;
            self.can_have_servers(&tenant).await?;
        }
        let name = tenant.name.clone();
        audit::after(facts(&tenant));
        self.put_tenant(tenant, by).await?;
        self.show_tenant(&name).await
    }

    /// As they are kept: each once, in their order. One that is named already may be gone meanwhile.
    fn servers_named(&self, mut names: Vec<String>, already: &[String]) -> Done<Vec<String>> {
        names.sort();
        names.dedup();
        if names.is_empty() {
            return Ok(names);
        }
        let picture = self.membership()?.picture();
        let known: BTreeSet<&str> =
            picture.iter().flat_map(|picture| &picture.servers).map(|server| server.name.as_str()).collect();
        match names.iter().find(|name| !known.contains(name.as_str()) && !already.contains(name)) {
            None => Ok(names),
            Some(unknown) => {
                let known = known.into_iter().collect::<Vec<_>>().join(", ");
                let told = format!("no server is named {unknown:?}; there are {known}");
                Err(Fault::new(Code::NoSuchServer, "servers", told).alone().into())
            }
        }
    }

    /// Jobs never move: what was made where everyone's jobs are stays there, and any server may have that.
    async fn can_have_servers(&self, tenant: &TenantRecord) -> Done<()> {
        if tenant.servers.is_empty() || !tenant.own.is_empty() {
            return Ok(());
        }
        let id = tenant.id;
        let jobs = self.read(move |reads, by| jobs_of(reads, id, by)).await?;
        if jobs == 0 {
            return Ok(());
        }
        let detail = format!(
            "tenant {} was made for any server and has {jobs} jobs, which stay where any server may schedule them; only \
             without jobs can it be given servers",
            tenant.name
        );
        Err(Problem::new(Code::HasJobs, detail).into())
    }

    pub(crate) fn tenant_named(&self, name: &str) -> Done<TenantRecord> {
        let found = self.tenants.by_name(name).and_then(|id| self.tenants.get(id));
        found.map(|tenant| (*tenant).clone()).ok_or_else(|| no_tenant(name))
    }

    /// Nothing new is made in a tenant that is going.
    pub(crate) fn still_open(&self, tenant: &TenantRecord) -> Done<()> {
        match tenant.is_closing() {
            false => Ok(()),
            true => Err(Problem::new(Code::TenantClosing, format!("tenant {} is being deleted", tenant.name)).into()),
        }
    }

    /// Written by the first shard's owner, and seen here when it is.
    pub(super) async fn put_tenant(&self, tenant: TenantRecord, by: Actor) -> Done<Option<TenantId>> {
        let reply = self.shards.ask(by, Command::PutTenant { tenant: Box::new(tenant) }).await?;
        self.look_at_tenants().await?;
        Ok(if let Reply::Tenant(id) = reply { Some(id) } else { None })
    }

    pub(super) async fn look_at_tenants(&self) -> Result<(), StoreError> {
        let records = self.read(|reads, by| reads.tenants(by)).await?;
        self.tenants.replace(records);
        Ok(())
    }

    pub(super) async fn usage(&self, tenant: TenantId) -> Done<TenantUsageView> {
        let (jobs, open, running) = self
            .read(move |reads, by| {
                let (open, running) = open_of(reads, tenant, by)?;
                Ok((jobs_of(reads, tenant, by)?, open, running))
            })
            .await?;
        let agents = self.everybody().iter().filter(|agent| agent.tenant == tenant).count() as u32;
        let pools = self.list_pools(tenant).await?.items.len() as u32;
        let log_bytes_today = self.log_quota.spent(tenant);
        Ok(TenantUsageView { jobs, running, open, agents, pools, log_bytes_today })
    }

    /// Refuses an apply as a whole if it would leave more jobs than the tenant may have.
    pub(super) async fn within_jobs_quota(&self, tenant: TenantId, more: usize, fewer: usize) -> Done<()> {
        let Some(record) = self.tenants.get(tenant) else { return Ok(()) };
        self.still_open(&record)?;
        let Some(max) = record.quotas.jobs.filter(|_| more > fewer) else { return Ok(()) };
        let now = self.read(move |reads, by| jobs_of(reads, tenant, by)).await?;
        let then = now + more as u64 - fewer as u64;
        if then <= u64::from(max) {
            return Ok(());
        }
        let detail = format!(
            "tenant {} may have {max} jobs and has {now}; with {more} more{} it would have {then}. Nothing was changed",
            record.name,
            if fewer > 0 { format!(" and {fewer} fewer") } else { String::new() },
        );
        Err(Problem::new(Code::JobsQuota, detail).into())
    }
}

pub(super) fn facts(tenant: &TenantRecord) -> Facts {
    let quotas = tenant.quotas;
    let facts = Facts::new().put("name", &tenant.name).put("weight", tenant.weight).put("jobs", quotas.jobs);
    let facts = facts.put("running", quotas.running).put("per_second", quotas.per_second);
    let facts = facts.put("log_bytes_per_day", quotas.log_bytes).put("history_days", quotas.history_days);
    let servers = (!tenant.servers.is_empty()).then(|| tenant.servers.join(", "));
    facts.put("private_network", tenant.private_network).put("servers", servers)
}

pub(super) fn no_tenant(name: &str) -> Refused {
    Problem::new(Code::NoSuchTenant, format!("there is no tenant {name:?}")).into()
}

pub(super) fn jobs_of(reads: &dyn Reads, tenant: TenantId, by: std::time::Instant) -> Result<u64, StoreError> {
    let (mut count, mut after) = (0, None);
    loop {
        let filter = JobFilter { tenant: Some(tenant), after: after.take(), limit: PAGE, ..JobFilter::default() };
        let page = reads.jobs(&filter, by)?;
        count += page.len() as u64;
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some((last.name.clone(), last.id)),
            _ => return Ok(count),
        }
    }
}

/// Instances that have not ended, and those of them that run.
pub(super) fn open_of(reads: &dyn Reads, tenant: TenantId, by: std::time::Instant) -> Result<(u64, u64), StoreError> {
    let states: Vec<State> = State::ALL.into_iter().filter(|state| state.is_open()).collect();
    let filter = InstanceFilter { tenant: Some(tenant), states, limit: OPEN_MAX, ..InstanceFilter::default() };
    let open = reads.instances(&filter, by)?;
    let running = open.iter().filter(|one| matches!(one.state, State::Dispatched | State::Running)).count();
    Ok((open.len() as u64, running as u64))
}

fn check_weight(weight: Option<u32>) -> Done<()> {
    match weight {
        Some(weight) if weight == 0 || weight > TenantRecord::WEIGHT_MAX => {
            let told = format!("{weight} is no weight; it is 1 to {}", TenantRecord::WEIGHT_MAX);
            Err(Fault::new(Code::BadPolicy, "weight", told).alone().into())
        }
        _ => Ok(()),
    }
}

/// None at once is a way to stop a tenant; none in a second would be for ever. What ended just now is always kept.
fn check_quotas(quotas: QuotasBody) -> Done<()> {
    if quotas.per_second == Some(0) {
        let told = "a tenant starts at least one in a second, or any number";
        return Err(Fault::new(Code::BadPolicy, "quotas.per_second", told).alone().into());
    }
    if quotas.history_days == Some(0) {
        let told = "history is kept for at least a day, or as long as the installation keeps it";
        return Err(Fault::new(Code::BadPolicy, "quotas.history_days", told).alone().into());
    }
    Ok(())
}
