//! What an agent runs, as the server keeps it and sends it. The engine never looks inside.

use std::collections::BTreeMap;

use model::TaskSort;
use serde::{Deserialize, Serialize};

use crate::fill::Uses;

/// A task without its triggers and policies: content-addressed, so it is kept and sent once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskBody {
    #[serde(flatten)]
    pub kind: TaskKind,
    /// Reach the task as arguments and environment.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub params: serde_json::Map<String, serde_json::Value>,
    /// The environment starts empty plus this.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names of the agent's own variables to pass on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_pass: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// As whom; whoever the agent says if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
    #[serde(default)]
    pub log: LogCaps,
    #[serde(default, skip_serializing_if = "ExitCodes::is_plain")]
    pub exit: ExitCodes,
    /// The job's own variables; an order brings those that count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// Which secret each of these environment variables holds. Only an order brings the values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, String>,
    /// What its texts name; without it nothing is filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<Uses>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskKind {
    /// Ends at once, well.
    Noop,
    Script {
        lang: Lang,
        source: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
    },
    Command {
        argv: Vec<String>,
    },
    Http(Box<HttpCall>),
    /// Run by an executor, which has the handler or is sent the script.
    Executor {
        executor: Box<ExecutorTask>,
    },
}

impl TaskKind {
    /// What an agent must be allowed to run for it; none if that does not matter.
    pub fn sort(&self) -> Option<TaskSort> {
        match self {
            TaskKind::Script { lang, .. } => Some((*lang).into()),
            TaskKind::Command { .. } => Some(TaskSort::Command),
            TaskKind::Http(_) => Some(TaskSort::Http),
            TaskKind::Noop | TaskKind::Executor { .. } => None,
        }
    }
}

impl From<Lang> for TaskSort {
    fn from(lang: Lang) -> TaskSort {
        match lang {
            Lang::Shell => TaskSort::Shell,
            Lang::Python => TaskSort::Python,
            Lang::Node => TaskSort::Node,
            Lang::Php => TaskSort::Php,
            Lang::Powershell => TaskSort::Powershell,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lang {
    Shell,
    Python,
    Node,
    Php,
    Powershell,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpCall {
    pub url: String,
    #[serde(default = "get")]
    pub method: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Statuses that mean success, as numbers or ranges ("200-299"); 2xx if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect_status: Vec<String>,
    /// Text the answer must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_body: Option<String>,
    /// How many redirects to follow; each is checked like the first address.
    #[serde(default)]
    pub redirects: u8,
}

fn get() -> String {
    "GET".into()
}

impl HttpCall {
    /// A plain GET that any 2xx answers well.
    pub fn get(url: String) -> HttpCall {
        HttpCall {
            url,
            method: get(),
            headers: BTreeMap::new(),
            body: None,
            expect_status: Vec::new(),
            expect_body: None,
            redirects: 0,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorTask {
    /// A handler the executor has under this name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub handler: String,
    /// What the handler or script is given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub params: String,
    /// What the script is written in, if it is sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glue: Option<Glue>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// What an executor does with a run while it has one of the same job; only told if the job may overlap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Glue {
    Groovy,
    Shell,
    Python,
    Python2,
    Node,
    Php,
    Powershell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// One after the other.
    Serial,
    /// The later one is not taken.
    DiscardLater,
    /// The earlier one is ended.
    CoverEarly,
}

/// How much of a task's output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCaps {
    pub max_bytes: u64,
    pub max_lines: u64,
}

impl Default for LogCaps {
    fn default() -> Self {
        LogCaps { max_bytes: 64 << 20, max_lines: 1_000_000 }
    }
}

/// Exit codes that are not plain: everything else but 0 is a failure that may be retried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExitCodes {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub success: Vec<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warning: Vec<i32>,
    /// Failures that trying again will not mend.
    #[serde(default, rename = "final", skip_serializing_if = "Vec::is_empty")]
    pub final_failure: Vec<i32>,
}

impl ExitCodes {
    pub fn is_plain(&self) -> bool {
        *self == ExitCodes::default()
    }

    pub fn verdict(&self, code: i32) -> model::Verdict {
        if self.warning.contains(&code) {
            model::Verdict::Warned
        } else if self.final_failure.contains(&code) {
            model::Verdict::FailedForGood
        } else if code == 0 || self.success.contains(&code) {
            model::Verdict::Succeeded
        } else {
            model::Verdict::Failed
        }
    }
}
