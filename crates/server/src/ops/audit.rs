//! The audit, as people read and check it.

use model::TenantId;
use model::audit::Noted;
use store::audit::{AuditFilter, OutcomeIs, Recorded};
use wire::api::{AuditQuery, AuditVerifyQuery, AuditVerifyView, AuditView, Cursor, Page};
use wire::audit::AuditEntry;
use wire::{Code, Fault, Problem};

use super::{Desk, Done};

impl Desk {
    /// Of one tenant, or of the whole installation.
    pub(crate) async fn list_audit(&self, of: Option<TenantId>, query: AuditQuery) -> Done<Page<AuditView>> {
        let limit = Page::<AuditView>::limit(query.limit)?;
        let filter = AuditFilter {
            tenant: of,
            actor: query.who,
            operation: query.operation,
            about: query.about,
            since: query.since.map(Into::into),
            outcome: query
                .outcome
                .map(|word| if word == "refused" { OutcomeIs::Refused } else { OutcomeIs::Word(word) }),
            before: query.cursor.as_deref().map(Cursor::audit).transpose()?,
            seq: None,
            limit: limit + 1,
        };
        let rows = self.audit.read(move |log| log.list(&filter)).await?;
        Ok(Page::cut(rows.iter().map(view).collect(), limit, |last: &AuditView| Cursor::Audit(last.seq)))
    }

    pub(crate) async fn show_audit(&self, of: Option<TenantId>, seq: i64) -> Done<AuditView> {
        let filter = AuditFilter { tenant: of, seq: Some(seq), limit: 1, ..AuditFilter::default() };
        let rows = self.audit.read(move |log| log.list(&filter)).await?;
        let none = || Problem::new(Code::NoSuchEntry, format!("there is no entry {seq}"));
        Ok(rows.first().map(view).ok_or_else(none)?)
    }

    /// The whole chain, whoever asks: it says nothing of what is in it.
    pub(crate) async fn verify_audit(&self, query: AuditVerifyQuery) -> Done<AuditVerifyView> {
        let noted = query.expect.as_deref().map(noted).transpose()?;
        Ok((&self.audit.verify(noted).await?).into())
    }
}

/// `hash`, or `number:hash`.
fn noted(text: &str) -> Done<Noted> {
    let bad = || Fault::new(Code::BadQuery, "expect", "write a hash, or a number, a colon and a hash").alone();
    let (seq, hash) = match text.split_once(':') {
        Some((seq, hash)) => (Some(seq.parse().map_err(|_| bad())?), hash),
        None => (None, text),
    };
    Ok(Noted { seq, hash: hash.parse().map_err(|_| bad())? })
}

/// What somebody made unreadable is shown by its label; `verify` says what is wrong with it.
fn view(row: &Recorded) -> AuditView {
    let entry = serde_json::from_str(&row.text).unwrap_or_else(|_| AuditEntry {
        who: row.label.actor.clone(),
        tenant: row.label.tenant.map(|tenant| tenant.0),
        ..AuditEntry::new(row.label.at.into(), &row.label.operation, &row.label.outcome)
    });
    AuditView { seq: row.mark.seq, hash: row.mark.hash.to_string(), entry }
}
