//! What becomes of announcements without an entry, and of entries whose time is over.

use model::{Span, Timestamp};
use store::StoreError;
use store::audit::{Begun, UNKNOWN};
use wire::Time;
use wire::audit::AuditEntry;

use super::appender::Write;
use super::{Audit, draft};

/// An announcement older than this belongs to nobody who is still at it.
pub(crate) const ABANDONED_AFTER: Span = Span::MINUTE.saturating_mul(20);
const PAGE: usize = 500;
/// Rows deleted between two writes of others.
const ROWS_MAX: u32 = 2_000;

impl Audit {
    /// Makes entries of what was begun before this moment and never recorded: its server died before it could say.
    pub(crate) async fn settle_abandoned(&self, before: Timestamp) -> Result<(), StoreError> {
        loop {
            let begun = self.read(move |log| log.begun(before, PAGE)).await?;
            let last = begun.len() < PAGE;
            if !begun.is_empty() {
                let entries = begun.iter().map(|one| draft(abandoned(one), Vec::new())).collect();
                let settled = begun.into_iter().map(|one| one.id).collect();
                self.write(Write { entries, settled, ..Write::default() }).await;
            }
            // Whatever could not be written waits for the next round.
            if last || self.check().is_err() {
                return Ok(());
            }
        }
    }

    /// Drops entries older than this moment. One entry says so, and the chain goes on from it.
    pub(crate) async fn drop_older_than(&self, moment: Timestamp) -> Result<(), StoreError> {
        if let Some(until) = self.read(move |log| log.older_than(moment)).await? {
            let entry = AuditEntry::checkpoint(self.now().into(), until);
            let entries = vec![draft(self.signed(entry), Vec::new())];
            self.write(Write { entries, drop_until: Some(until), ..Write::default() }).await;
        }
        while self.read(|log| log.sweep(ROWS_MAX)).await? {
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

fn abandoned(begun: &Begun) -> AuditEntry {
    match serde_json::from_str::<AuditEntry>(&begun.text) {
        Ok(entry) => AuditEntry { outcome: UNKNOWN.into(), ..entry },
        // Nobody of ours wrote that; it is not dropped in silence.
        Err(_) => AuditEntry::new(Time::from(begun.at), "audit_unreadable", UNKNOWN),
    }
}
