//! Mutexes and resources: nobody holds more than there is, and nobody holds who has ended.

use std::time::Instant;

use store::read::ResourceRecord;
use store::{Reads, StoreError};
use wire::api::{FindingKind, FindingView};

/// Tickets of one line that are looked at.
const LINE_MAX: usize = 100_000;

pub(super) fn check(reads: &dyn Reads, by: Instant, add: &mut dyn FnMut(FindingView)) -> Result<(), StoreError> {
    for record in reads.resources(by)? {
        let ResourceRecord { name, units, allowed, held, .. } = record;
        if held > allowed.max(u64::from(units)) {
            let message = format!("{} units of the {} {} are held, and there are {units}", held, name.kind, name.name);
            add(FindingView { kind: FindingKind::Overheld, job: None, planned_at: None, instance: None, message });
        }
        for ticket in reads.line(&name, LINE_MAX, by)? {
            let id = ticket.instance;
            let instance = reads.instance(id, by)?;
            if instance.as_ref().is_some_and(|instance| instance.state.is_open()) {
                continue;
            }
            // It may have ended since the line was read, and have given back what it had.
            if !reads.tickets_of(id, by)?.iter().any(|kept| kept.of == name) {
                continue;
            }
            let does = if ticket.held { "holds" } else { "waits for" };
            let message = format!("instance {id} is not open and {does} the {} {}", name.kind, name.name);
            let planned_at = instance.map(|instance| instance.planned.into());
            add(FindingView { kind: FindingKind::Overheld, job: None, planned_at, instance: Some(id.0), message });
        }
    }
    Ok(())
}
