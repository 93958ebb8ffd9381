//! Who did what, and what was refused: every change and every refused attempt becomes an entry of one chain in the store.
//! A change is announced before it is done and recorded after it; while that cannot be written, nothing is changed. What
//! nobody asked for (fires by schedule, agents' reports) is not here. Never decides whether something may be done.

mod appender;
mod doors;
mod facts;
mod flood;
mod keep;
mod note;
mod offline;
mod trail;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use model::{TenantId, Timestamp};
use parking_lot::Mutex;
use store::StoreError;
use store::audit::{AuditLog, Begun, DONE, Draft, Label};
use tokio::sync::oneshot;
use wire::audit::AuditEntry;
use wire::{Code, Problem};

use self::appender::{Appender, Order, Write};
use self::flood::Flood;
use crate::clock::Clock;
use crate::ops::Refused;
use crate::secret;
use crate::stores::OpenedAudit;

pub(crate) use self::facts::{Facts, changed_fields};
pub(crate) use self::keep::ABANDONED_AFTER;
pub(crate) use self::note::{Finished, Note, after, before, begin, item, known_as, named, nothing_changed, of_tenant};
pub(crate) use self::offline::recorded_offline;
pub(crate) use self::trail::export;

/// Nobody waits longer for a line of the audit.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Audit(Arc<Inner>);

struct Inner {
    appender: Appender,
    /// For reading, so that a long walk delays no entry.
    reads: Mutex<Box<dyn AuditLog>>,
    flood: Mutex<Flood>,
    clock: Clock,
    /// What this server is called among several.
    server: Option<String>,
}

/// Something that was announced and has no entry yet.
#[derive(Clone, Debug)]
pub(crate) struct Ticket(String);

/// An entry, and what it can be found by beside the values of its address.
pub(crate) struct Entry {
    pub(crate) entry: AuditEntry,
    pub(crate) about: Vec<String>,
}

impl From<AuditEntry> for Entry {
    fn from(entry: AuditEntry) -> Entry {
        Entry { entry, about: Vec::new() }
    }
}

impl Audit {
    pub(crate) fn start(
        OpenedAudit { writes, reads }: OpenedAudit,
        clock: Clock,
        server: Option<String>,
    ) -> std::io::Result<Audit> {
        let (appender, reads, flood) = (Appender::start(writes)?, Mutex::new(reads), Mutex::default());
        Ok(Audit(Arc::new(Inner { appender, reads, flood, clock, server })))
    }

    /// Whether what is about to be changed could be recorded, as far as is known.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        self.0.appender.trouble().map_or(Ok(()), |why| Err(unwritten(&why)))
    }

    /// Announces a change. Whoever gets a ticket records what became of it; whoever gets none changes nothing.
    pub(crate) async fn announce(&self, entry: &AuditEntry) -> Result<Ticket, Refused> {
        self.check()?;
        let id = secret::make("begun");
        let begun = Begun { id: id.clone(), at: entry.at.into(), text: self.signed(entry.clone()).text() };
        let (told, answer) = oneshot::channel();
        self.0.appender.order(Order::Begin(begun, told));
        match tokio::time::timeout(WRITTEN_WITHIN, answer).await {
            Ok(Ok(Ok(()))) => Ok(Ticket(id)),
            Ok(Ok(Err(why))) => Err(unwritten(&why)),
            Ok(Err(_)) => Err(unwritten("the server is stopping")),
            Err(_) => {
                // If it gets there after all, nothing has begun.
                self.0.appender.order(Order::Write(Write { settled: vec![id], ..Write::default() }));
                Err(unwritten(&format!("it took longer than {} s", WRITTEN_WITHIN.as_secs())))
            }
        }
    }

    /// Returns when it is on disk, or will be as soon as the store can write again.
    pub(crate) async fn record(&self, entries: Vec<Entry>, ticket: Option<Ticket>) {
        let settled = ticket.into_iter().map(|Ticket(id)| id).collect();
        self.write(Write { settled, entries: self.drafts(entries), ..Write::default() }).await;
    }

    async fn write(&self, write: Write) {
        let (told, answer) = oneshot::channel();
        self.0.appender.order(Order::Write(Write { told: Some(told), ..write }));
        let _ = tokio::time::timeout(WRITTEN_WITHIN, answer).await;
    }

    /// Nobody waits for it: many of them share one write.
    pub(crate) fn record_soon(&self, entries: Vec<Entry>) {
        self.0.appender.order(Order::Write(Write { entries: self.drafts(entries), ..Write::default() }));
    }

    /// A refused attempt, unless there have been too many of them from there.
    pub(crate) fn refused(&self, entry: AuditEntry, from: Option<IpAddr>) {
        if self.admits(&entry, from) {
            self.record_soon(vec![entry.into()]);
        }
    }

    /// Whether a refused attempt is to be written; otherwise it is counted.
    pub(crate) fn admits(&self, entry: &AuditEntry, from: Option<IpAddr>) -> bool {
        self.0.flood.lock().admit(from, entry.who.as_deref(), entry.at.into())
    }

    /// Tells how many refused attempts were only counted, once their minute is over.
    pub(crate) fn tell_counted(&self, now: Timestamp) {
        for counted in self.0.flood.lock().turn(now) {
            let entry = AuditEntry {
                from: counted.from,
                who: counted.who,
                more: Some(counted.count),
                ..AuditEntry::new(now.into(), "refused_more", "refused")
            };
            self.record_soon(vec![entry.into()]);
        }
    }

    fn drafts(&self, entries: Vec<Entry>) -> Vec<Draft> {
        entries.into_iter().map(|Entry { entry, about }| draft(self.signed(entry), about)).collect()
    }

    fn signed(&self, entry: AuditEntry) -> AuditEntry {
        AuditEntry { server: self.0.server.clone(), ..entry }
    }

    /// A read on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn AuditLog) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let audit = self.clone();
        let read = tokio::task::spawn_blocking(move || read(&mut **audit.0.reads.lock()));
        read.await.unwrap_or_else(|panic| Err(StoreError::Failed(format!("reading the audit failed: {panic}"))))
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// The server's own coming and going: a start without a stop before it follows a crash.
    pub(crate) fn of_server(&self, operation: &str) {
        let facts = Facts::new().put("version", env!("CARGO_PKG_VERSION"));
        let entry = AuditEntry {
            by: Some("server".into()),
            after: Some(facts.into()),
            ..AuditEntry::new(self.now().into(), operation, DONE)
        };
        self.record_soon(vec![entry.into()]);
    }

    /// Writes what is left to be written and lets the store go.
    pub(crate) async fn close(&self) {
        let (told, answer) = oneshot::channel();
        self.0.appender.order(Order::Close(told));
        let _ = tokio::time::timeout(WRITTEN_WITHIN, answer).await;
    }
}

fn unwritten(why: &str) -> Refused {
    Problem::new(Code::AuditStuck, format!("the audit cannot be written: {why}; nothing was changed")).into()
}

/// As the store keeps it.
fn draft(entry: AuditEntry, mut about: Vec<String>) -> Draft {
    about.extend(entry.about.values().cloned());
    Draft { label: label(&entry), about, text: entry.text() }
}

/// What an entry is listed as; whoever checks the chain compares it.
fn label(entry: &AuditEntry) -> Label {
    Label {
        at: entry.at.into(),
        tenant: entry.tenant.map(TenantId),
        actor: entry.who.clone(),
        operation: entry.operation.clone(),
        outcome: entry.outcome.clone(),
    }
}
