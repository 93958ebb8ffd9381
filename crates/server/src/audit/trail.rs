//! Reads the chain from end to end, page by page, while it grows: to check it, or to write it out.

use axum::body::Bytes;
use futures::{Stream, stream};
use model::TenantId;
use model::audit::{Link, Mark, Noted, Sum, Walk, Walked};
use store::StoreError;
use store::audit::{AuditLog, Recorded};
use wire::audit::{AuditEntry, export_head, export_line, signs_off};

use super::{Audit, label};

const PAGE: usize = 1_000;
/// How often a walk begins again because old entries were dropped meanwhile.
const TRIES: usize = 3;

impl Audit {
    pub(crate) async fn verify(&self, noted: Option<Noted>) -> Result<Walked, StoreError> {
        for _ in 1..TRIES {
            if let Some(walked) = self.walk(noted).await? {
                return Ok(walked);
            }
        }
        let busy = || StoreError::Busy("entries are being dropped; try again".into());
        self.walk(noted).await?.ok_or_else(busy)
    }

    /// None: what it began with is gone by now.
    async fn walk(&self, noted: Option<Noted>) -> Result<Option<Walked>, StoreError> {
        let (base, _) = self.read(|log| log.ends()).await?;
        let (mut walk, mut at) = (Walk::new(base, noted), base.seq);
        loop {
            let step = self.read(move |log| {
                let step = step(log, &mut walk, at)?;
                Ok((walk, step))
            });
            let (walked, step) = step.await?;
            if step.base != base {
                return Ok(None);
            }
            match step.end {
                Some(head) => return Ok(Some(walked.end(head))),
                None => (walk, at) = (walked, step.at),
            }
        }
    }
}

struct Step {
    base: Mark,
    at: i64,
    /// The head, if this was the last page.
    end: Option<Mark>,
}

/// The head is read before and after the entries: what it knew before must be there, and what is there it must know after.
fn step(log: &mut dyn AuditLog, walk: &mut Walk, after: i64) -> Result<Step, StoreError> {
    let (_, known) = log.ends()?;
    let page = log.after(after, PAGE)?;
    let (base, head) = log.ends()?;
    for row in &page {
        look(walk, row);
    }
    let at = page.iter().map(|row| row.mark.seq).max().unwrap_or(after);
    let end = match page.len() == PAGE {
        true => None,
        false if at < known.seq => Some(known),
        false => (at >= head.seq).then_some(head),
    };
    Ok(Step { base, at, end })
}

fn look(walk: &mut Walk, row: &Recorded) {
    let value = serde_json::from_str(&row.text).ok();
    let signs_off = value.as_ref().and_then(signs_off);
    walk.step(&Link { mark: row.mark, digest: Sum::of(&row.text), signs_off });
    let entry = value.and_then(|value| serde_json::from_value::<AuditEntry>(value).ok());
    if entry.is_none_or(|entry| label(&entry) != row.label) {
        walk.mislabelled(row.mark.seq);
    }
}

/// The audit as lines, for whoever may see all of it or what is of one tenant.
pub(crate) async fn export(
    audit: &Audit,
    of: Option<TenantId>,
) -> Result<impl Stream<Item = Result<Bytes, StoreError>> + use<>, StoreError> {
    let (base, head) = audit.read(|log| log.ends()).await?;
    let first = stream::iter([Ok(Bytes::from(export_head(base, head)))]);
    let rest = stream::try_unfold((audit.clone(), base.seq), move |(audit, after)| async move {
        let mut page = audit.read(move |log| log.after(after, PAGE)).await?;
        page.retain(|row| row.mark.seq <= head.seq);
        let Some(last) = page.last().map(|row| row.mark.seq) else { return Ok(None) };
        let shown = |row: &Recorded| of.is_none_or(|of| row.label.tenant == Some(of));
        let lines: String = page.iter().map(|row| export_line(row.mark, &row.text, shown(row))).collect();
        Ok(Some((Bytes::from(lines), (audit, last))))
    });
    Ok(futures::StreamExt::chain(first, rest))
}
