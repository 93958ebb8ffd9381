//! Turns a task and its order into what can be run, and what became of it into an outcome. Only translates: nothing
//! here starts anything.

mod arguments;
mod environment;
mod filled;
mod forms;
mod outcome;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use model::Span;
use serde_json::{Map, Value};
use wire::task::{Lang, TaskKind};

pub(crate) use filled::{Filled, masks};
pub(crate) use outcome::{of_ending, of_orphan};

use crate::process::{ScriptError, ScriptKind, Scripts};
use crate::session::StartOrder;
use crate::shim::{Secrets, ShimOrder};

/// Why the agent will not run a task. Trying again here would not help.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRunnable {
    #[error("the parameters of the instance are no JSON object")]
    Params(#[source] serde_json::Error),
    #[error("the task names no program")]
    NoProgram,
    #[error("{name:?} cannot be a variable: {why}")]
    Variable { name: String, why: &'static str },
    #[error("an argument holds a zero byte")]
    Argument,
    #[error("what the task names cannot be filled in")]
    Unfilled(#[from] wire::fill::Unfilled),
    #[error("the order came without the secret {0}, which the task needs")]
    NoSecret(String),
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// What the machine offers to every task.
#[derive(Debug)]
pub(crate) struct Runners {
    pub(crate) scripts: Scripts,
    /// Where a task starts that names no directory.
    pub(crate) work_dir: PathBuf,
    /// The limit of open files the agent was started with.
    pub(crate) open_files: Option<u64>,
    pub(crate) cgroup: Option<PathBuf>,
}

impl Runners {
    /// The order for a shim, and what it is told in confidence; only for tasks that are processes.
    pub(crate) fn prepare(&self, start: &StartOrder) -> Result<(ShimOrder, Option<Secrets>), NotRunnable> {
        let body = &start.task.body;
        let filled = Filled::of(start)?;
        let argv = self.argv(&body.kind, start, &filled)?;
        let mut order = ShimOrder::new(start.order.attempt, argv);
        order.cwd = filled.cwd.as_deref().map_or_else(|| self.work_dir.clone(), PathBuf::from);
        order.env = environment::environment(start, &filled.env, &filled.params, |name| std::env::var_os(name))?;
        order.timeout = start.order.timeout_us.map(|us| Duration::from(Span(us)));
        order.grace = Span(start.order.stop_grace_us).into();
        order.log_bytes_max = body.log.max_bytes;
        order.log_lines_max = body.log.max_lines;
        // The steady clock of a session is the boot clock a shim goes by.
        order.leash = start.leash_until.map(|until| until.0.max(0) as u64);
        order.cgroup = self.cgroup.clone();
        order.open_files = self.open_files;
        Ok((order, filled::secrets(start)?))
    }

    fn argv(&self, kind: &TaskKind, start: &StartOrder, filled: &Filled) -> Result<Vec<OsString>, NotRunnable> {
        let (mut argv, args) = match kind {
            TaskKind::Script { lang, source, args } => {
                (self.scripts.prepare(script_kind(*lang), source.as_bytes())?, &args[..])
            }
            TaskKind::Command { argv } => {
                let (program, args) = argv.split_first().ok_or(NotRunnable::NoProgram)?;
                (vec![program.into()], args)
            }
            TaskKind::Noop | TaskKind::Http(_) | TaskKind::Executor { .. } => return Err(NotRunnable::NoProgram),
        };
        let (own, variables) = (&start.task.body.params, &start.order.variables);
        argv.extend(args.iter().map(|arg| OsString::from(arguments::fill(arg, own, variables, &filled.params))));
        if argv.iter().any(|arg| arg.as_encoded_bytes().contains(&0)) {
            return Err(NotRunnable::Argument);
        }
        Ok(argv)
    }
}

/// The task's parameters with those of the instance laid over them.
#[cfg(test)]
fn params(start: &StartOrder) -> Result<Map<String, Value>, NotRunnable> {
    with_params_of(start, start.task.body.params.clone())
}

fn with_params_of(start: &StartOrder, mut params: Map<String, Value>) -> Result<Map<String, Value>, NotRunnable> {
    if !start.order.params.is_empty() {
        let own: Map<String, Value> = serde_json::from_slice(&start.order.params).map_err(NotRunnable::Params)?;
        params.extend(own);
    }
    Ok(params)
}

fn script_kind(lang: Lang) -> ScriptKind {
    match lang {
        Lang::Shell => ScriptKind::Shell,
        Lang::Python => ScriptKind::Python,
        Lang::Node => ScriptKind::Node,
        Lang::Php => ScriptKind::Php,
        Lang::Powershell => ScriptKind::PowerShell,
    }
}

/// As text where it is text, else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
