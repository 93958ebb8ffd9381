//! What somebody may change of the jobs of a tenant, and what of a plan they may not. All of a plan, or nothing is done.

use std::collections::BTreeMap;

use wire::api::Action;
use wire::{Code, Fault};

use super::Sight;
use super::plan::{Plan, Wish};
use super::variables::uses;

/// Where somebody may change jobs, where they may bring code of their own, and where they know of secrets.
#[derive(Clone)]
pub(crate) struct Hand {
    pub(crate) edits: Sight,
    pub(crate) codes: Option<Sight>,
    pub(crate) secrets: Option<Sight>,
}

/// Keys that say when and how often something runs, what it is told, and what people call it. Every other key, one that
/// is yet to come included, decides what runs, where, as whom and with what.
const HARMLESS: [&str; 26] = [
    "description",
    "owner",
    "mode",
    "cron",
    "every",
    "delay",
    "once",
    "after",
    "manual",
    "noop",
    "params",
    "log",
    "exit",
    "overlap",
    "exclusive",
    "retry",
    "timeout",
    "stop_grace",
    "priority",
    "limits",
    "mutex",
    "resources",
    "not_started_by",
    "not_finished_by",
    "lost_after",
    "dead_letter",
];

impl Hand {
    pub(super) fn faults(&self, plan: &Plan) -> Vec<Fault> {
        let changed = plan.wishes.iter().enumerate().filter(|(_, wish)| wish.item.action != Action::Same);
        changed.filter_map(|(n, wish)| self.fault(n, wish)).collect()
    }

    /// Secrets carry no labels: a right that is for some labels says nothing about them.
    pub(super) fn knows_secrets_of(&self, folder: &str) -> bool {
        self.secrets.as_ref().is_some_and(|secrets| secrets.covers(folder, &BTreeMap::new()))
    }

    fn fault(&self, n: usize, wish: &Wish) -> Option<Fault> {
        let body = &wish.body;
        let folder = body.folder.as_deref().unwrap_or_default();
        let not = |path: &str, told: String| Some(Fault::new(Code::NotPermitted, format!("jobs[{n}].{path}"), told));
        if wish.now.as_ref().is_some_and(|record| !self.edits.shows_job(record)) {
            return not("job", format!("there is a job {} outside of what you may change", body.job));
        }
        if !self.edits.covers(folder, &body.labels) {
            return not("folder", format!("{} would lie outside of what you may change (job.edit)", body.job));
        }
        if !runs_otherwise(wish) {
            return None;
        }
        let may_code = self.codes.as_ref().is_some_and(|codes| codes.covers(folder, &body.labels));
        if body.brings_code() && !may_code {
            return not("job", format!("{} brings code of its own, which needs job.code", body.job));
        }
        let uses_secrets = uses(body).is_some_and(|uses| !uses.secrets.is_empty());
        if uses_secrets && !self.knows_secrets_of(folder) {
            return not("job", format!("{} uses secrets, which needs secret.see", body.job));
        }
        None
    }
}

/// Whether something else would run than before, or elsewhere: another place has other variables and other people.
fn runs_otherwise(wish: &Wish) -> bool {
    let key = |path: &str| path.split(['.', '[']).next().unwrap_or_default().to_owned();
    match wish.item.action {
        Action::Create => true,
        Action::Change | Action::Delete | Action::Same => {
            wish.item.fields.iter().any(|field| !HARMLESS.contains(&key(&field.path).as_str()))
        }
    }
}
