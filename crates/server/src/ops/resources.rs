//! Mutexes and counted resources, as people see and set them.

use std::time::Instant;

use engine::Command;
use model::{Actor, InstanceId, ResourceKind, ResourceName, TenantId, Why};
use store::read::{ResourceRecord, TicketRecord};
use store::{Reads, StoreError};
use wire::api::{Page, ResourceBody, ResourceView, TicketView};
use wire::{Code, Fault};

use super::agents::check_name;
use super::{Desk, Done, instances};
use crate::audit::{self, Facts};

/// How many of a line are shown.
const LINE_MAX: usize = 100;
const UNITS_MAX: u32 = 1_000_000;

impl Desk {
    pub(crate) async fn list_resources(&self, tenant: TenantId) -> Done<Page<ResourceView>> {
        let views = self.read(move |reads, by| {
            let records = reads.resources(by)?.into_iter().filter(|record| record.name.tenant == tenant);
            records.map(|record| view(reads, record, by)).collect::<Result<Vec<_>, StoreError>>()
        });
        Ok(Page::whole(views.await?))
    }

    pub(crate) async fn put_resource(
        &self,
        tenant: TenantId,
        name: String,
        body: ResourceBody,
        by: Actor,
    ) -> Done<ResourceView> {
        check_name(&name, "name")?;
        if body.units > UNITS_MAX {
            let told = format!("{} units; at most {UNITS_MAX} are kept", body.units);
            return Err(Fault::new(Code::BadPolicy, "units", told).alone().into());
        }
        let name = ResourceName { tenant, kind: ResourceKind::Counted, name };
        let sought = name.clone();
        let before = self.read(move |reads, by| Ok(reads.resources(by)?.into_iter().find(|one| one.name == sought)));
        before.await?.iter().for_each(|one| audit::before(Facts::new().put("units", one.units)));
        self.shards.ask(by, Command::PutResource { name: name.clone(), units: body.units }).await?;
        audit::after(Facts::new().put("units", body.units));
        let view = self.read(move |reads, by| {
            let found = reads.resources(by)?.into_iter().find(|record| record.name == name);
            let gone = || StoreError::Corrupt(format!("resource {} is gone", name.name));
            view(reads, found.ok_or_else(gone)?, by)
        });
        Ok(view.await?)
    }

    /// What an instance waits for is known to its shard, who has it only to the store.
    pub(super) async fn complete(&self, id: InstanceId, why: Why) -> Why {
        if !matches!(why, Why::Mutex { .. } | Why::Resource { .. }) {
            return why;
        }
        let found = self.read(move |reads, by| in_the_way(reads, id, by)).await;
        found.ok().flatten().unwrap_or(why)
    }
}

/// The first thing the instance needs and does not hold.
fn in_the_way(reads: &dyn Reads, id: InstanceId, by: Instant) -> Result<Option<Why>, StoreError> {
    let Some(ticket) = reads.tickets_of(id, by)?.into_iter().find(|ticket| !ticket.held) else { return Ok(None) };
    let (name, wanted) = (ticket.of.name.clone(), ticket.units);
    Ok(Some(match ticket.of.kind {
        ResourceKind::Mutex => {
            let first = reads.line(&ticket.of, 1, by)?.into_iter().find(|first| first.held);
            Why::Mutex { name, holder: first.map(|first| first.instance) }
        }
        ResourceKind::Counted => {
            let record = reads.resources(by)?.into_iter().find(|record| record.name == ticket.of);
            let free = record.map_or(0, |record| u64::from(record.units).saturating_sub(record.held));
            Why::Resource { name, wanted, free: Some(u32::try_from(free).unwrap_or(u32::MAX)) }
        }
    }))
}

fn view(reads: &dyn Reads, record: ResourceRecord, by: Instant) -> Result<ResourceView, StoreError> {
    let tickets = reads.line(&record.name, LINE_MAX, by)?;
    let line = tickets.into_iter().map(|ticket| shown(reads, &ticket, by)).collect::<Result<_, StoreError>>()?;
    let ResourceRecord { name, units, held, waiting, .. } = record;
    Ok(ResourceView { kind: name.kind.into(), name: name.name, units, held, waiting, line })
}

fn shown(reads: &dyn Reads, ticket: &TicketRecord, by: Instant) -> Result<TicketView, StoreError> {
    let job = instances::job_name(reads, ticket.job, by)?;
    let (instance, units, held) = (ticket.instance.0, ticket.units, ticket.held);
    Ok(TicketView { instance, job, units, held, since: ticket.at.into() })
}
