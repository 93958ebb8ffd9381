//! What somebody may change of the jobs of a tenant, and what of a plan they may not. All of a plan, or nothing is done.

use wire::api::Action;
use wire::{Code, Fault};

use super::Sight;
use super::plan::{Plan, Wish};

/// Where somebody may change jobs, and where they may bring code of their own.
pub(crate) struct Hand {
    pub(crate) edits: Sight,
    pub(crate) codes: Option<Sight>,
}

/// Keys whose change can make another program run.
const CODE: [&str; 10] = ["sh", "python", "node", "php", "powershell", "command", "executor", "env", "env_pass", "cwd"];

impl Hand {
    pub(super) fn faults(&self, plan: &Plan) -> Vec<Fault> {
        let changed = plan.wishes.iter().enumerate().filter(|(_, wish)| wish.item.action != Action::Same);
        changed.filter_map(|(n, wish)| self.fault(n, wish)).collect()
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
        let may_code = self.codes.as_ref().is_some_and(|codes| codes.covers(folder, &body.labels));
        if may_code || !touches_code(wish) {
            return None;
        }
        not("job", format!("{} brings code of its own, which needs job.code", body.job))
    }
}

/// Whether the plan would make agents or executors run something else than before.
fn touches_code(wish: &Wish) -> bool {
    let key = |path: &str| path.split(['.', '[']).next().unwrap_or_default().to_owned();
    let changed = wish.item.fields.iter().map(|field| key(&field.path));
    match wish.item.action {
        Action::Create => wish.body.brings_code(),
        Action::Change | Action::Delete | Action::Same => {
            wish.body.brings_code() && changed.into_iter().any(|key| CODE.contains(&key.as_str()))
        }
    }
}
