//! Tasks that executors run: a handler they have, or a script they are sent. What only an agent can do is refused here.

use model::{Exclusive, Route, Rule, Targets};

use super::JobBody;
use super::check;
use super::faults::Faults;
use super::form::form;
use crate::errors::Code;
use crate::task::{ExecutorTask, TaskKind};

form! {
    /// The name of a handler, or a map.
    ExecutorForm = String | ExecutorTask, "the name of a handler or a map with handler or glue and source, params, block";
}

/// As much as executors are told in one string.
const TEXT_MAX: usize = 64 << 10;

impl JobBody {
    /// Says itself what is run, rather than naming something that is there already.
    pub fn brings_code(&self) -> bool {
        let scripts = [&self.sh, &self.python, &self.node, &self.php, &self.powershell];
        let sent = self.executor.as_ref().is_some_and(|form| match form {
            ExecutorForm::Short(_) => false,
            ExecutorForm::Long(task) => task.glue.is_some(),
        });
        self.command.is_some() || sent || scripts.into_iter().any(Option::is_some)
    }

    pub(super) fn read_executor(&self, form: &ExecutorForm, faults: &mut Faults) -> TaskKind {
        let task = match form {
            ExecutorForm::Short(handler) => ExecutorTask { handler: handler.clone(), ..ExecutorTask::default() },
            ExecutorForm::Long(task) => task.clone(),
        };
        let mut wrong = |path: &str, what: &str, hint: &str| faults.add_hint(Code::BadTask, path, what, hint);
        match (&task.glue, task.source.trim().is_empty()) {
            (None, true) if task.handler.trim().is_empty() => {
                wrong("executor", "nothing says what the executor runs", "name a handler, or give glue and source");
            }
            (None, false) => wrong("executor.source", "a script needs a language", "add glue: shell, or another"),
            (Some(_), true) => wrong("executor.source", "the script is empty", "give its text as source"),
            (None, true) | (Some(_), false) => {}
        }
        if self.pool.is_none() {
            wrong("pool", "an executor is found by its application's name", "add pool: APPNAME");
        }
        if !self.params.is_empty() && !task.params.is_empty() {
            wrong("params", "the job has params, and its executor has others", "keep one of them");
        }
        let for_agents = [
            ("env", !self.env.is_empty()),
            ("env_pass", !self.env_pass.is_empty()),
            ("cwd", self.cwd.is_some()),
            ("run_as", self.run_as.is_some()),
            ("exit", self.exit.is_some()),
            ("log", self.log.is_some()),
            ("variables", !self.variables.is_empty()),
            ("secrets", !self.secrets.is_empty()),
        ];
        for (key, _) in for_agents.into_iter().filter(|(_, given)| *given) {
            wrong(key, "an executor cannot be told that", "leave it out; only tasks of agents have it");
        }
        faults.size("executor.handler", task.handler.len(), 255);
        faults.size("executor.params", task.params.len(), TEXT_MAX);
        faults.size("executor.source", task.source.len(), check::SOURCE_MAX);
        TaskKind::Executor { executor: Box::new(task) }
    }

    /// Says who of the pool runs the job, and refuses what they cannot do.
    pub(super) fn check_targets(&self, rule: &mut Rule, faults: &mut Faults) {
        if self.executor.is_some() {
            rule.pool.of = Targets::Executors;
            if matches!(rule.exclusive, Some(Exclusive::Takeover { .. })) {
                let hint = "use exclusive: wait; nothing ends a task in an executor that cannot be reached";
                faults.add_hint(Code::BadTask, "exclusive", "an executor cannot be taken over from", hint);
            }
        } else if matches!(rule.pool.route, Route::Failover | Route::BusyOver) {
            let hint = "agents are known to be there; use least_loaded";
            faults.add_hint(Code::BadTask, "pool.route", "only executors are asked before they are chosen", hint);
        }
    }
}

pub(super) fn write_executor(task: &ExecutorTask) -> ExecutorForm {
    let plain = ExecutorTask { handler: task.handler.clone(), ..ExecutorTask::default() };
    if *task == plain { ExecutorForm::Short(plain.handler) } else { ExecutorForm::Long(task.clone()) }
}
