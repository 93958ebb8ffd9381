//! The jobs of a history as somebody applies them, and as the store has them.

use std::sync::Arc;

use engine::Compiled;
use engine::input::JobDraft;
use model::{JobMode, JobRecord, TenantId};
use store::memory::MemoryStore;
use store::read::JobFilter;
use store::{Reads, Store};
use wire::task::{Lang, LogCaps, TaskBody, TaskKind};

use crate::world::soon;

/// The n-th job: every fourth needs no process.
pub(crate) fn draft(store: &MemoryStore, n: usize, rule: Arc<Compiled>) -> JobDraft {
    let kind = if n.is_multiple_of(4) {
        TaskKind::Noop
    } else {
        TaskKind::Script { lang: Lang::Shell, source: format!("# {n}"), args: Vec::new() }
    };
    let task = TaskBody {
        kind,
        params: Default::default(),
        env: Default::default(),
        env_pass: Vec::new(),
        cwd: None,
        run_as: None,
        log: LogCaps::default(),
        exit: Default::default(),
        variables: Default::default(),
        secrets: Default::default(),
        uses: None,
    };
    let task = serde_json::to_vec(&task).expect("plain data");
    let bodies = [wire::rule::encode(&rule.rule), task, format!("source {n}").into_bytes()];
    let ids = store.clone().intern(&bodies).expect("memory interns");
    JobDraft {
        id: None,
        tenant: TenantId::DEFAULT,
        name: format!("job-{n}"),
        folder: String::new(),
        labels: Default::default(),
        rule,
        rule_content: ids[0],
        task: ids[1],
        source: ids[2],
        mode: JobMode::Enabled,
        alias: 0,
    }
}

pub(crate) fn jobs(store: &MemoryStore) -> Vec<JobRecord> {
    let filter = JobFilter { limit: usize::MAX, ..JobFilter::default() };
    store.jobs(&filter, soon()).expect("memory reads")
}

pub(crate) fn rule_of(store: &MemoryStore, job: &JobRecord) -> Arc<Compiled> {
    let body = store.content(job.rule, soon()).expect("memory reads").expect("interned");
    Compiled::new(wire::rule::decode(&body).expect("encoded by us")).expect("compiled before")
}
