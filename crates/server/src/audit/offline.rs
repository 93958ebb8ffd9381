//! Commands that write to a store on which no server runs: announced, done, recorded, as if a server had done them.

use nix::unistd::getuid;
use store::StoreError;
use store::audit::{AuditLog, Begun, DONE, Writing};
use wire::audit::AuditEntry;

use super::{Facts, draft};
use crate::clock::Clock;
use crate::secret;

/// Does `change` only if it could be announced. A command that is killed in between leaves the announcement, from which the
/// next server makes an entry.
pub(crate) fn recorded_offline<T, E: From<StoreError>>(
    log: &mut dyn AuditLog,
    operation: &str,
    after: Facts,
    change: impl FnOnce() -> Result<T, E>,
    code: impl FnOnce(&E) -> String,
) -> Result<T, E> {
    let now = Clock::new().now();
    let mut entry = AuditEntry {
        who: Some(format!("uid {}", getuid())),
        by: Some("command".into()),
        after: Some(after.into()),
        ..AuditEntry::new(now.into(), operation, "begun")
    };
    let id = secret::make("begun");
    let begun = vec![Begun { id: id.clone(), at: now, text: entry.text() }];
    log.write(&Writing { begun, ..Writing::default() })?;
    let done = change();
    entry.outcome = match &done {
        Ok(_) => DONE.into(),
        Err(error) => code(error),
    };
    let written =
        log.write(&Writing { entries: vec![draft(entry, Vec::new())], settled: vec![id], ..Writing::default() });
    if let Err(error) = written {
        tracing::error!(%error, "what was done will be in the audit as of unknown outcome");
    }
    done
}
