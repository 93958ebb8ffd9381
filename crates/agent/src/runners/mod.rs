//! Turns a task and its order into what can be run, and what became of it into an outcome. Only translates: nothing
//! here starts anything.

mod arguments;
mod confine;
mod environment;
mod filled;
mod forms;
mod outcome;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::Span;
use serde_json::{Map, Value};
use wire::task::{Lang, TaskKind};

pub(crate) use confine::prepare as prepare_policy;
pub(crate) use filled::{Filled, masks};
pub(crate) use outcome::{of_ending, of_orphan};

use crate::policy::{Policy, Refusal};
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
    #[error("{}: the policy of agent {agent} forbids it: {} ({}{})", .refusal.code, .refusal.what, .refusal.rule, in_file(.file))]
    Forbidden { agent: String, file: Option<PathBuf>, refusal: Refusal },
}

fn in_file(file: &Option<PathBuf>) -> String {
    match file {
        Some(file) => format!(" in {} on its machine", file.display()),
        None => "; it has no policy file, so what is harmless by itself is allowed".into(),
    }
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
    pub(crate) policy: Policy,
    /// The agent's name, as it is shown.
    pub(crate) agent: String,
    /// Where tasks of other users start and find their scripts.
    pub(crate) shared: Option<Shared>,
}

/// A place that users other than the agent's own can enter.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) dir: PathBuf,
    pub(crate) scripts: Scripts,
}

impl Runners {
    /// The order for a shim, and what it is told in confidence; only for tasks that are processes.
    pub(crate) fn prepare(&self, start: &StartOrder) -> Result<(ShimOrder, Option<Secrets>), NotRunnable> {
        let body = &start.task.body;
        let filled = Filled::of(start)?;
        let forbidden = |refusal| self.forbidden(refusal);
        let (tenant, pool) = (&start.task.tenant, &start.task.pool);
        let person = confine::person(&self.policy, body.run_as.as_deref(), tenant, pool).map_err(forbidden)?;
        let other = person.as_ref().filter(|person| person.run_as.is_some());
        let shared = other.and(self.shared.as_ref());
        let scripts = shared.map_or(&self.scripts, |shared| &shared.scripts);
        let argv = self.argv(&body.kind, scripts, start, &filled)?;
        let mut order = ShimOrder::new(start.order.attempt, argv);
        (order.cwd, order.cwd_exact) = match (&filled.cwd, shared, other) {
            (Some(asked), _, _) if self.policy.directories.is_some() => {
                (confine::place(&self.policy, Path::new(asked.as_ref())).map_err(forbidden)?, true)
            }
            (Some(asked), _, _) => (PathBuf::from(asked.as_ref()), false),
            (None, Some(shared), Some(person)) => (confine::of_user(&shared.dir, &person.name), false),
            (None, _, _) => (self.work_dir.clone(), false),
        };
        let agent = |name: &str| std::env::var_os(name);
        order.env = environment::environment(start, &filled.env, &filled.params, person.as_ref(), agent)?;
        if matches!(body.kind, TaskKind::Command { .. }) {
            let path = order.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
            confine::program(&self.policy, &order.argv[0], path, &order.cwd).map_err(forbidden)?;
        }
        order.run_as = person.and_then(|person| person.run_as);
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

    /// Whether this machine runs such a task at all.
    pub(crate) fn judge(&self, start: &StartOrder) -> Result<(), NotRunnable> {
        self.policy.judge(&start.task.body).map_err(|refusal| self.forbidden(refusal))
    }

    fn forbidden(&self, refusal: Refusal) -> NotRunnable {
        NotRunnable::Forbidden { agent: self.agent.clone(), file: self.policy.file.clone(), refusal }
    }

    fn argv(
        &self,
        kind: &TaskKind,
        scripts: &Scripts,
        start: &StartOrder,
        filled: &Filled,
    ) -> Result<Vec<OsString>, NotRunnable> {
        let (mut argv, args) = match kind {
            TaskKind::Script { lang, source, args } => {
                (scripts.prepare(script_kind(*lang), source.as_bytes())?, &args[..])
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
