//! What this machine lets tasks do: which kinds of task, as whom, where, with which variables. Read from a file beside the
//! agent, which no server can change. Pure: says yes, or which rule says no; looking at disks is for those who ask.

mod file;
mod names;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::TaskSorts;
use model::egress::Egress;
use wire::Code;
use wire::api::AgentPolicy;
use wire::task::{TaskBody, TaskKind};

pub use file::{BadPolicy, read};
use names::{Names, loads_code};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// Where it was read; none if there was no file.
    pub file: Option<PathBuf>,
    /// Where tasks of other users start and find their scripts.
    pub work: Option<PathBuf>,
    pub tasks: TaskSorts,
    pub users: Users,
    /// Those in which a task may start, and all below; anywhere if none are named.
    pub directories: Option<Vec<PathBuf>>,
    /// Those in which the program of a command may be, and all below.
    pub programs: Option<Vec<PathBuf>>,
    /// Variables of the agent that may be passed on, and those a job may set.
    pass: Option<Names>,
    set: Option<Names>,
    pub http: Http,
}

/// As whom tasks run: the agent's own user, where nobody is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    pub run_as: Option<String>,
    pub pools: BTreeMap<String, String>,
    pub tenants: BTreeMap<String, String>,
    /// Whom a job may name besides.
    pub allowed: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http(pub Egress);

impl Default for Http {
    fn default() -> Http {
        Http(Egress::open())
    }
}

/// A rule that says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    /// Its name in the file.
    pub rule: &'static str,
    pub what: String,
}

impl Refusal {
    pub(crate) fn new(code: Code, rule: &'static str, what: impl Into<String>) -> Refusal {
        Refusal { code, rule, what: what.into() }
    }
}

impl Policy {
    /// Whether the agent may run it at all, and with what it says of its environment.
    pub fn judge(&self, body: &TaskBody) -> Result<(), Refusal> {
        if let Some(sort) = body.kind.sort()
            && !self.tasks.has(sort)
        {
            return Err(Refusal::new(Code::TaskForbidden, "allow.tasks", format!("tasks of kind {sort} are not run")));
        }
        match body.kind {
            TaskKind::Script { .. } | TaskKind::Command { .. } => self.judge_names(body),
            TaskKind::Noop | TaskKind::Http(_) | TaskKind::Executor { .. } => Ok(()),
        }
    }

    fn judge_names(&self, body: &TaskBody) -> Result<(), Refusal> {
        if let Some(name) = body.env.keys().chain(body.secrets.keys()).find(|name| !self.may_set(name)) {
            return Err(Refusal::new(Code::NameForbidden, "env.set", format!("a job may not set {name}")));
        }
        match body.env_pass.iter().find(|name| !self.may_pass(name)) {
            Some(name) => Err(Refusal::new(Code::NameForbidden, "env.pass", format!("{name} is not passed on"))),
            None => Ok(()),
        }
    }

    /// Whether a job may set a variable of this name, by whatever means.
    pub fn may_set(&self, name: &str) -> bool {
        match &self.set {
            Some(names) => names.has(name) || (names.covers(name) && !loads_code(name)),
            None => !loads_code(name),
        }
    }

    fn may_pass(&self, name: &str) -> bool {
        match &self.pass {
            Some(names) => names.has(name) || (names.covers(name) && !loads_code(name)),
            // What tells Duly's own programs who they are is nobody's business.
            None => !loads_code(name) && !name.starts_with("DULY_"),
        }
    }

    /// The user it runs as; none: the agent's own.
    pub fn user(&self, asked: Option<&str>, tenant: &str, pool: &str) -> Result<Option<&str>, Refusal> {
        let users = &self.users;
        let usual = users.tenants.get(tenant).or_else(|| users.pools.get(pool)).or(users.run_as.as_ref());
        let Some(asked) = asked else { return Ok(usual.map(String::as_str)) };
        let allowed = users.allowed.iter().chain(usual).find(|user| *user == asked);
        let no = || Refusal::new(Code::UserForbidden, "allow.users", format!("tasks do not run as {asked}"));
        allowed.map(|user| Some(user.as_str())).ok_or_else(no)
    }

    /// Whether a task may start in this directory, of which all links were followed.
    pub fn judge_place(&self, real: &Path) -> Result<(), Refusal> {
        let no = || format!("tasks do not start in {}", real.display());
        match &self.directories {
            Some(allowed) if !is_below(real, allowed) => {
                Err(Refusal::new(Code::PlaceForbidden, "allow.directories", no()))
            }
            _ => Ok(()),
        }
    }

    /// Whether this program, of which all links were followed, may be run as a command.
    pub fn judge_program(&self, real: &Path) -> Result<(), Refusal> {
        let no = || format!("{} is not run", real.display());
        match &self.programs {
            Some(allowed) if !is_below(real, allowed) => {
                Err(Refusal::new(Code::ProgramForbidden, "allow.programs", no()))
            }
            _ => Ok(()),
        }
    }

    /// Everybody some task may run as, other than the agent's own user.
    pub fn all_users(&self) -> impl Iterator<Item = &String> {
        let users = &self.users;
        users.run_as.iter().chain(users.pools.values()).chain(users.tenants.values()).chain(&users.allowed)
    }

    /// For people who look from elsewhere. `as_root`: the agent itself is.
    pub fn view(&self, as_root: bool) -> AgentPolicy {
        let paths = |paths: &Option<Vec<PathBuf>>| {
            paths.as_ref().map(|paths| paths.iter().map(|path| path.display().to_string()).collect())
        };
        let named = |names: &Option<Names>| names.as_ref().map(Names::texts);
        AgentPolicy {
            file: self.file.as_ref().map(|file| file.display().to_string()),
            tasks: self.tasks.iter().map(|sort| sort.key().to_string()).collect(),
            run_as: self.users.run_as.clone(),
            as_root,
            users: self.users.allowed.clone(),
            run_as_in_pools: self.users.pools.clone(),
            run_as_of_tenants: self.users.tenants.clone(),
            directories: paths(&self.directories),
            programs: paths(&self.programs),
            env_pass: named(&self.pass),
            env_set: named(&self.set),
            private_networks: self.http.0.private,
        }
    }
}

fn is_below(path: &Path, allowed: &[PathBuf]) -> bool {
    allowed.iter().any(|dir| path.starts_with(dir))
}
