//! What versions run, as a server told it over one stream. It is read when it is first ordered: a task told ahead of its time
//! costs nothing but room until then.

use std::collections::BTreeMap;
use std::sync::Arc;

use wire::link;
use wire::task::TaskBody;

use super::act::Task;

#[derive(Debug, Default)]
pub(super) struct Tasks {
    told: BTreeMap<i64, Told>,
}

#[derive(Debug)]
enum Told {
    AsItCame(Box<link::Task>),
    Read(Arc<Task>),
    Unreadable,
}

/// What there is to run.
pub(super) enum Known {
    Task(Arc<Task>),
    /// This agent is too old for it, or the server is broken; the first time with what is wrong.
    Unreadable(Option<String>),
    Nothing,
}

impl Tasks {
    pub(super) fn tell(&mut self, mut task: link::Task) {
        // Not as a piece of whatever else came with it, which would be kept as long.
        task.body = task.body.to_vec().into();
        self.told.insert(task.version, Told::AsItCame(Box::new(task)));
    }

    pub(super) fn forget(&mut self) {
        self.told.clear();
    }

    pub(super) fn of(&mut self, version: i64) -> Known {
        let Some(told) = self.told.get_mut(&version) else { return Known::Nothing };
        match told {
            Told::Read(task) => Known::Task(Arc::clone(task)),
            Told::Unreadable => Known::Unreadable(None),
            Told::AsItCame(task) => match serde_json::from_slice::<TaskBody>(&task.body) {
                Ok(body) => {
                    let link::Task { job, job_name, tenant, pool, .. } = std::mem::take(&mut **task);
                    let task = Arc::new(Task { job, job_name, body, tenant, pool });
                    *told = Told::Read(Arc::clone(&task));
                    Known::Task(task)
                }
                Err(error) => {
                    *told = Told::Unreadable;
                    Known::Unreadable(Some(error.to_string()))
                }
            },
        }
    }
}
