//! What a caller is told when something cannot be done: an RFC 9457 problem document with a code of ours, explained
//! in `docs/errors`. Never carries a stack, a path of the server or a secret.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::errors::Code;

/// Served as `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Names the kind of problem; the page `docs/errors/<code>.md` explains it.
    #[serde(rename = "type")]
    #[schema(example = "urn:duly:error:E0301")]
    pub kind: String,
    /// What kind of problem it is, the same for every occurrence.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened this time.
    pub detail: String,
    #[schema(example = "E0301")]
    pub code: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The path that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Every single fault found, not only the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault>,
}

/// One thing wrong with what was sent: where, what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Fault {
    #[schema(example = "E0208")]
    pub code: String,
    /// Where in what was sent.
    #[schema(example = "jobs[2].retry.delay")]
    pub path: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Line and column in the text, counted from 1, where there was a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The lines around it with a mark below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

impl Problem {
    pub const MEDIA_TYPE: &str = "application/problem+json";

    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        let entry = code.entry();
        Problem {
            kind: format!("urn:duly:error:{}", entry.code),
            title: entry.title.into(),
            status: entry.status,
            detail: detail.into(),
            code: entry.code.into(),
            help: Some(entry.advice.into()),
            instance: None,
            errors: Vec::new(),
        }
    }

    pub fn with_help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    /// All faults of one request as one problem; a single fault lends its own words.
    pub fn of_faults(code: Code, faults: Vec<Fault>) -> Problem {
        let detail = match faults.as_slice() {
            [one] if one.path.is_empty() => one.message.clone(),
            [one] => format!("{}: {}", one.path, one.message),
            many => format!("{} things are wrong", many.len()),
        };
        Problem { errors: faults, ..Problem::new(code, detail) }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.detail, self.code)
    }
}

impl std::error::Error for Problem {}

impl Fault {
    pub fn new(code: Code, path: impl Into<String>, message: impl Into<String>) -> Fault {
        Fault {
            code: code.to_string(),
            path: path.into(),
            message: message.into(),
            hint: None,
            line: None,
            column: None,
            snippet: None,
        }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }

    /// This fault alone as the whole problem.
    pub fn alone(self) -> Box<Problem> {
        let code = Code::coded(&self.code).unwrap_or(Code::WrongBody);
        Box::new(Problem::of_faults(code, vec![self]))
    }

    /// The same fault seen from further out: `retry.delay` of `jobs[2]` is `jobs[2].retry.delay`.
    pub fn below(mut self, outer: &str) -> Fault {
        self.path = match (outer.is_empty(), self.path.is_empty()) {
            (true, _) => self.path,
            (false, true) => outer.into(),
            (false, false) if self.path.starts_with('[') => format!("{outer}{}", self.path),
            (false, false) => format!("{outer}.{}", self.path),
        };
        self
    }
}
