//! What runs, as people write it: one key per kind of task.

use model::TaskSort;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::JobBody;
use super::call::check_call;
use super::check;
use super::executor::write_executor;
use super::faults::{Faults, clip};
use super::form::form;
use super::values::check_texts;
use crate::errors::Code;
use crate::fill::Uses;
use crate::task::{ExitCodes, HttpCall, Lang, LogCaps, TaskBody, TaskKind};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptMap {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// A file beside the job file; the command line puts its text in place of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// `${name}` stands for a parameter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
}

form! {
    /// The source of a script, or a map.
    ScriptForm = String | ScriptMap, "the source of a script or a map with source or file, and args";
    /// A URL to GET, or a map.
    HttpForm = String | HttpCall, "a URL or a map with url, method, headers, body, expect_status, expect_body, redirects";
}

/// A program with its arguments. A list only: splitting a string would need a shell's rules, and `sh` has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Argv(pub Vec<String>);

impl<'de> Deserialize<'de> for Argv {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Argv, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Argv;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list: the program, then its arguments")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Argv, E> {
                let words: Vec<&str> = text.split_whitespace().take(4).collect();
                Err(E::custom(format!(
                    "command takes a list, such as {words:?}; for a line with shell syntax use sh: {:?}",
                    clip(text)
                )))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Argv, A::Error> {
                let mut argv = Vec::new();
                while let Some(word) = seq.next_element()? {
                    argv.push(word);
                }
                Ok(Argv(argv))
            }
        }
        from.deserialize_any(List)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogMap {
    /// Bytes of output kept per attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lines: Option<u64>,
}

/// Every kind of script with its key.
const SCRIPTS: [(&str, Lang); 5] = [
    ("sh", Lang::Shell),
    ("python", Lang::Python),
    ("node", Lang::Node),
    ("php", Lang::Php),
    ("powershell", Lang::Powershell),
];

impl JobBody {
    pub(super) fn to_task(&self, faults: &mut Faults) -> TaskBody {
        let given = self.tasks_given();
        match given.len() {
            1 => {}
            0 => {
                let hint = "add one of noop: true, sh, python, node, php, powershell, command, http, executor";
                faults.add_hint(Code::BadTask, "", "nothing says what to run", hint);
            }
            _ => {
                let message = format!("{} are given together", given.join(" and "));
                faults.add_hint(Code::BadTask, given[1], message, "keep one of them");
            }
        }
        self.check_task_extras(faults);
        self.check_values(faults);
        let usual = LogCaps::default();
        let log = self.log.clone().unwrap_or_default();
        let mut task = TaskBody {
            kind: self.task_kind(faults),
            params: self.params.clone(),
            env: self.env.clone(),
            env_pass: self.env_pass.clone(),
            cwd: self.cwd.clone(),
            run_as: self.run_as.clone(),
            log: LogCaps {
                max_bytes: faults.number("log.max_bytes", log.max_bytes.unwrap_or(usual.max_bytes), 0, 16 << 30),
                max_lines: faults.number("log.max_lines", log.max_lines.unwrap_or(usual.max_lines), 0, 1 << 32),
            },
            exit: self.exit.clone().unwrap_or_default(),
            variables: self.variables.clone(),
            secrets: self.secrets.clone(),
            uses: None,
        };
        check_texts(&task, matches!(self.http, Some(HttpForm::Short(_))), faults);
        task.uses = Uses::of(&task);
        task
    }

    fn tasks_given(&self) -> Vec<&'static str> {
        let mut given = Vec::new();
        if self.noop == Some(true) {
            given.push("noop");
        }
        given.extend(SCRIPTS.iter().filter(|(_, lang)| self.script(*lang).is_some()).map(|(key, _)| *key));
        if self.command.is_some() {
            given.push("command");
        }
        if self.http.is_some() {
            given.push("http");
        }
        if self.executor.is_some() {
            given.push("executor");
        }
        given
    }

    /// What the agent that takes it must be allowed to run. Doing nothing is allowed everywhere.
    pub(super) fn sort(&self) -> Option<TaskSort> {
        let script = SCRIPTS.iter().find(|(_, lang)| self.script(*lang).is_some());
        match script {
            Some((_, lang)) => Some((*lang).into()),
            None if self.command.is_some() => Some(TaskSort::Command),
            None if self.http.is_some() => Some(TaskSort::Http),
            None => None,
        }
    }

    fn task_kind(&self, faults: &mut Faults) -> TaskKind {
        for (key, lang) in SCRIPTS {
            if let Some(form) = self.script(lang) {
                return read_script(key, lang, form, faults);
            }
        }
        if let Some(Argv(argv)) = &self.command {
            if argv.first().is_none_or(|program| program.is_empty()) {
                faults.add_hint(Code::BadTask, "command", "the program is missing", "name it first in the list");
            }
            check_args(argv, "command", faults);
            return TaskKind::Command { argv: argv.clone() };
        }
        if let Some(form) = &self.http {
            let call = match form {
                HttpForm::Short(url) => HttpCall::get(url.clone()),
                HttpForm::Long(call) => call.clone(),
            };
            check_call(&call, matches!(form, HttpForm::Short(_)), faults);
            return TaskKind::Http(Box::new(call));
        }
        if let Some(form) = &self.executor {
            return self.read_executor(form, faults);
        }
        TaskKind::Noop
    }

    fn check_task_extras(&self, faults: &mut Faults) {
        let params = serde_json::to_vec(&self.params).map_or(0, |json| json.len());
        faults.size("params", params, check::PARAMS_MAX);
        let env: usize = self.env.iter().map(|(key, value)| key.len() + value.len() + 2).sum();
        faults.size("env", env, check::ENV_MAX);
        let odd = |key: &str| key.is_empty() || key.contains(['=', '\0']);
        for key in self.env.keys().filter(|key| odd(key)) {
            faults.add(Code::BadTask, "env", format!("{:?} cannot be the name of a variable", clip(key)));
        }
        for (key, _) in self.env.iter().filter(|(_, value)| value.contains('\0')) {
            faults.add(Code::BadTask, &format!("env.{}", clip(key)), "a NUL cannot be in a variable");
        }
        for (i, key) in self.env_pass.iter().enumerate().filter(|(_, key)| odd(key)) {
            let message = format!("{:?} cannot be the name of a variable", clip(key));
            faults.add(Code::BadTask, &format!("env_pass[{i}]"), message);
        }
        faults.count("env_pass", self.env_pass.len(), 256);
        if let Some(user) = &self.run_as {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            if user.is_empty() || user.len() > 32 || !user.chars().all(plain) || user.starts_with('-') {
                faults.add(Code::BadTask, "run_as", format!("{:?} cannot be the name of a user", clip(user)));
            }
            if self.sort().is_none_or(|sort| sort == TaskSort::Http) {
                faults.add(Code::BadTask, "run_as", "only scripts and commands run as a user");
            }
        }
        if let Some(cwd) = &self.cwd {
            faults.size("cwd", cwd.len(), 4096);
            if cwd.contains('\0') {
                faults.add(Code::BadTask, "cwd", "a NUL cannot be in a path");
            }
        }
    }

    pub(super) fn write_task(&mut self, task: &TaskBody) {
        match &task.kind {
            TaskKind::Noop => self.noop = Some(true),
            TaskKind::Script { lang, source, args } => {
                *self.script_mut(*lang) = Some(match args.is_empty() {
                    true => ScriptForm::Short(source.clone()),
                    false => {
                        ScriptForm::Long(ScriptMap { source: Some(source.clone()), file: None, args: args.clone() })
                    }
                });
            }
            TaskKind::Command { argv } => self.command = Some(Argv(argv.clone())),
            TaskKind::Executor { executor } => self.executor = Some(write_executor(executor)),
            TaskKind::Http(call) => {
                let plain = **call == HttpCall::get(call.url.clone());
                self.http =
                    Some(if plain { HttpForm::Short(call.url.clone()) } else { HttpForm::Long((**call).clone()) });
            }
        }
        let usual = LogCaps::default();
        self.params = task.params.clone();
        self.env = task.env.clone();
        self.env_pass = task.env_pass.clone();
        self.cwd = task.cwd.clone();
        self.run_as.clone_from(&task.run_as);
        self.log = (task.log != usual).then(|| LogMap {
            max_bytes: (task.log.max_bytes != usual.max_bytes).then_some(task.log.max_bytes),
            max_lines: (task.log.max_lines != usual.max_lines).then_some(task.log.max_lines),
        });
        self.exit = (task.exit != ExitCodes::default()).then(|| task.exit.clone());
        self.variables = task.variables.clone();
        self.secrets = task.secrets.clone();
    }

    /// Puts the text of named script files in their place; `read` gets the key (`python.file`) and the path as written.
    pub fn inline_files<E>(&mut self, mut read: impl FnMut(&str, &str) -> Result<String, E>) -> Result<(), E> {
        for (key, lang) in SCRIPTS {
            if let Some(ScriptForm::Long(map)) = self.script_mut(lang)
                && let (None, Some(file)) = (&map.source, &map.file)
            {
                map.source = Some(read(&format!("{key}.file"), file)?);
                map.file = None;
            }
        }
        Ok(())
    }

    fn script(&self, lang: Lang) -> Option<&ScriptForm> {
        match lang {
            Lang::Shell => self.sh.as_ref(),
            Lang::Python => self.python.as_ref(),
            Lang::Node => self.node.as_ref(),
            Lang::Php => self.php.as_ref(),
            Lang::Powershell => self.powershell.as_ref(),
        }
    }

    fn script_mut(&mut self, lang: Lang) -> &mut Option<ScriptForm> {
        match lang {
            Lang::Shell => &mut self.sh,
            Lang::Python => &mut self.python,
            Lang::Node => &mut self.node,
            Lang::Php => &mut self.php,
            Lang::Powershell => &mut self.powershell,
        }
    }
}

fn read_script(key: &str, lang: Lang, form: &ScriptForm, faults: &mut Faults) -> TaskKind {
    let (source, args) = match form {
        ScriptForm::Short(source) => (source.clone(), Vec::new()),
        ScriptForm::Long(map) => {
            match (&map.source, &map.file) {
                (Some(_), None) => {}
                (Some(_), Some(_)) => {
                    faults.add(Code::BadTask, &format!("{key}.file"), "source and file are given together");
                }
                (None, Some(_)) => {
                    let hint = "apply the file with `duly job apply -f`, or send the text as source";
                    faults.add_hint(Code::BadTask, &format!("{key}.file"), "the server cannot read your files", hint);
                }
                (None, None) => {
                    faults.add(Code::BadTask, key, "neither source nor file is given");
                }
            }
            (map.source.clone().unwrap_or_default(), map.args.clone())
        }
    };
    faults.size(key, source.len(), check::SOURCE_MAX);
    if matches!(form, ScriptForm::Short(_)) && source.trim().is_empty() {
        faults.add_hint(Code::BadTask, key, "the script is empty", "write noop: true for a task that does nothing");
    }
    check_args(&args, &format!("{key}.args"), faults);
    TaskKind::Script { lang, source, args }
}

fn check_args(args: &[String], path: &str, faults: &mut Faults) {
    faults.count(path, args.len(), 1024);
    faults.size(path, args.iter().map(|arg| arg.len() + 1).sum(), check::PARAMS_MAX);
    if let Some(i) = args.iter().position(|arg| arg.contains('\0')) {
        faults.add(Code::BadTask, &format!("{path}[{i}]"), "a NUL cannot be in an argument");
    }
}
