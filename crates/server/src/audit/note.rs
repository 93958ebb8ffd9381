//! What a request tells of itself while it is served: who came, what it is about, what was before and after. Kept with the
//! task that serves it, so that an operation needs no parameter for it and works the same where nobody takes notes.

use std::sync::Arc;

use model::TenantId;
use parking_lot::Mutex;
use serde_json::json;
use store::audit::DONE;
use wire::Code;
use wire::audit::AuditEntry;

use super::{Audit, Entry, Facts, Ticket};
use crate::ops::Refused;

/// Things of one call that share an entry; a call about more has several.
const ITEMS_MAX: usize = 100;

tokio::task_local! {
    static NOTE: Arc<Note>;
}

pub(crate) struct Note {
    /// Announced before it is done.
    announced: bool,
    noted: Mutex<Noted>,
}

struct Noted {
    entry: AuditEntry,
    about: Vec<String>,
    items: Vec<Facts>,
    nothing_changed: bool,
    ticket: Option<Ticket>,
}

/// What there is to record.
pub(crate) struct Finished {
    pub(crate) entries: Vec<Entry>,
    pub(crate) ticket: Option<Ticket>,
    /// Something was done, whatever the end of it was.
    pub(crate) changed: bool,
}

impl Note {
    pub(crate) fn new(entry: AuditEntry, announced: bool) -> Arc<Note> {
        let noted = Noted { entry, about: Vec::new(), items: Vec::new(), nothing_changed: false, ticket: None };
        Arc::new(Note { announced, noted: Mutex::new(noted) })
    }

    pub(crate) async fn around<T>(self: &Arc<Note>, work: impl Future<Output = T>) -> T {
        NOTE.scope(Arc::clone(self), work).await
    }

    pub(crate) fn finish(&self, outcome: &str) -> Finished {
        let mut noted = self.noted.lock();
        let (ticket, items) = (noted.ticket.take(), std::mem::take(&mut noted.items));
        let about = std::mem::take(&mut noted.about);
        let entry = AuditEntry { outcome: outcome.to_string(), ..noted.entry.clone() };
        if noted.nothing_changed && outcome != Code::NotPermitted.as_str() {
            return Finished { entries: Vec::new(), ticket, changed: false };
        }
        let changed = outcome == DONE || !items.is_empty();
        if items.is_empty() {
            return Finished { entries: vec![Entry { entry, about }], ticket, changed };
        }
        let parts = items.len().div_ceil(ITEMS_MAX);
        let part = |(n, items): (usize, &[Facts])| {
            let mut after = json!({"items": items.iter().cloned().map(serde_json::Value::from).collect::<Vec<_>>()});
            if parts > 1 {
                after["part"] = format!("{} of {parts}", n + 1).into();
            }
            let about = about.iter().skip(n * ITEMS_MAX).take(ITEMS_MAX).cloned().collect();
            Entry { entry: AuditEntry { after: Some(after), ..entry.clone() }, about }
        };
        let entries = items.chunks(ITEMS_MAX).enumerate().map(part).collect();
        Finished { entries, ticket, changed }
    }
}

fn with(note: impl FnOnce(&mut Noted)) {
    let _ = NOTE.try_with(|current| note(&mut current.noted.lock()));
}

/// Who it is, and by what they were recognised.
pub(crate) fn known_as(who: &str, by: &str) {
    with(|noted| (noted.entry.who, noted.entry.by) = (Some(who.to_string()), Some(by.to_string())));
}

/// For which tenant; none for what belongs to the whole installation.
pub(crate) fn of_tenant(tenant: Option<TenantId>) {
    with(|noted| noted.entry.tenant = tenant.map(|tenant| tenant.0));
}

/// A value that is not in the address: the name somebody signs in with.
pub(crate) fn named(key: &str, value: &str) {
    with(|noted| drop(noted.entry.about.insert(key.to_string(), value.to_string())));
}

/// What was so far.
pub(crate) fn before(facts: Facts) {
    with(|noted| noted.entry.before = Some(facts.into()));
}

/// What is from now on.
pub(crate) fn after(facts: Facts) {
    with(|noted| noted.entry.after = Some(facts.into()));
}

/// One of several things that a call has changed, and its name.
pub(crate) fn item(name: &str, facts: Facts) {
    with(|noted| {
        noted.about.push(name.to_string());
        noted.items.push(facts);
    });
}

/// It leaves everything as it is: there is nothing to record, unless somebody may not even look.
pub(crate) fn nothing_changed() {
    with(|noted| noted.nothing_changed = true);
}

/// Announces what is about to be done, if it is something that is announced. Called once the caller is known to be allowed
/// to: whoever is not can make us write nothing.
pub(crate) async fn begin(audit: &Audit) -> Result<(), Refused> {
    let Ok(note) = NOTE.try_with(Arc::clone) else { return Ok(()) };
    if !note.announced {
        return Ok(());
    }
    let entry = note.noted.lock().entry.clone();
    let ticket = audit.announce(&entry).await?;
    note.noted.lock().ticket = Some(ticket);
    Ok(())
}

#[cfg(test)]
mod tests {
    use wire::Time;

    use super::*;

    fn note() -> Arc<Note> {
        Note::new(AuditEntry::new(Time(0), "job_apply", "begun"), true)
    }

    #[tokio::test]
    async fn operations_tell_the_note_of_the_task_that_serves_them() {
        before(Facts::new().put("mode", "nobody takes notes here"));
        let note = note();
        note.around(async {
            known_as("ann", "token 7");
            of_tenant(Some(TenantId::DEFAULT));
            before(Facts::new().put("mode", "enabled"));
            after(Facts::new().put("mode", "paused"));
            named("name", "tick");
        })
        .await;
        let finished = note.finish("done");
        let [Entry { entry, .. }] = &finished.entries[..] else { panic!("one entry") };
        assert_eq!((entry.who.as_deref(), entry.by.as_deref(), entry.tenant), (Some("ann"), Some("token 7"), Some(1)));
        assert_eq!(
            (entry.before.clone(), entry.after.clone()),
            (Some(json!({"mode": "enabled"})), Some(json!({"mode": "paused"})))
        );
        assert_eq!((entry.about["name"].as_str(), entry.outcome.as_str(), finished.changed), ("tick", "done", true));
    }

    #[tokio::test]
    async fn a_call_about_very_many_has_several_entries() {
        let note = note();
        let tell = async || (0..250).for_each(|n| item(&format!("job-{n}"), Facts::new().put("n", n)));
        note.around(tell()).await;
        let finished = note.finish("E0203");
        assert!(finished.changed, "some of it was done");
        let parts: Vec<_> = finished.entries.iter().map(|part| part.entry.after.clone().unwrap()).collect();
        assert_eq!(
            parts.iter().map(|part| part["items"].as_array().unwrap().len()).collect::<Vec<_>>(),
            [100, 100, 50]
        );
        assert_eq!((&parts[2]["part"], &finished.entries[2].about[49]), (&json!("3 of 3"), &"job-249".to_string()));
    }

    #[tokio::test]
    async fn what_changed_nothing_has_no_entry_unless_it_was_not_permitted() {
        let note = note();
        note.around(async { nothing_changed() }).await;
        assert!(note.finish("done").entries.is_empty() && note.finish("E0203").entries.is_empty());
        assert_eq!(note.finish(Code::NotPermitted.as_str()).entries.len(), 1);
    }
}
