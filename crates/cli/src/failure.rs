//! How a command ends when it does not end well: what is said, and the exit code.

use wire::{Code, Fault, Problem};

use crate::out::{self, Out, Tone};

pub(crate) type Done = Result<(), Failure>;

pub(crate) const FAILED: u8 = 1;
pub(crate) const USAGE: u8 = 2;
pub(crate) const NOT_FOUND: u8 = 3;
pub(crate) const NOT_PERMITTED: u8 = 4;
pub(crate) const UNREACHABLE: u8 = 5;
pub(crate) const VERIFY_FOUND: u8 = 6;
pub(crate) const ENDED_BADLY: u8 = 7;

#[derive(Debug)]
pub(crate) struct Failure {
    /// Boxed, because it is large and seldom.
    pub(crate) problem: Box<Problem>,
    pub(crate) exit: u8,
    /// What stood behind it, for the curious.
    cause: Option<String>,
    /// Everything was said already; only the exit code is left.
    quiet: bool,
}

impl Failure {
    pub(crate) fn new(code: Code, detail: impl Into<String>, exit: u8) -> Failure {
        Failure { problem: Box::new(Problem::new(code, detail)), exit, cause: None, quiet: false }
    }

    pub(crate) fn usage(code: Code, detail: impl Into<String>) -> Failure {
        Failure::new(code, detail, USAGE)
    }

    pub(crate) fn of_faults(code: Code, faults: Vec<Fault>, exit: u8) -> Failure {
        Failure { problem: Box::new(Problem::of_faults(code, faults)), exit, cause: None, quiet: false }
    }

    /// The command has printed what it found.
    pub(crate) fn quiet(code: Code, exit: u8) -> Failure {
        Failure { quiet: true, ..Failure::new(code, code.entry().title, exit) }
    }

    pub(crate) fn print(&self, out: &Out) {
        if self.quiet {
            return;
        }
        if out.json {
            let body = serde_json::to_string(&self.problem).expect("a problem is plain data");
            out::complain(&format!("{body}\n"));
        } else {
            out::complain(&self.render(out));
        }
    }

    /// `error[E0203]: what`, then where, then what to do.
    pub(crate) fn render(&self, out: &Out) -> String {
        let mut text = String::new();
        for fault in &self.problem.errors {
            text += &render_fault(fault, out);
        }
        // One fault says everything; several are summed up.
        if let [only] = self.problem.errors.as_slice() {
            let help = self.problem.help.as_ref().filter(|_| only.hint.is_none());
            return text + &help.map(|help| format!("  help: {help}\n")).unwrap_or_default();
        }
        text += &headline(&self.problem.code, &self.problem.detail, out);
        if let Some(cause) = &self.cause {
            text += &format!("  {cause}\n");
        }
        if let Some(help) = &self.problem.help {
            text += &format!("  help: {help}\n");
        }
        text
    }
}

fn render_fault(fault: &Fault, out: &Out) -> String {
    let mut text = headline(&fault.code, &fault.message, out);
    let line = match (fault.line, fault.column) {
        (Some(line), Some(column)) => format!(" line {line}, column {column}"),
        _ => String::new(),
    };
    let place = format!("{}{line}", fault.path);
    if !place.trim().is_empty() {
        text += &format!("  at {}\n", place.trim());
    }
    for line in fault.snippet.iter().flat_map(|snippet| snippet.lines()) {
        text += &format!("    {line}\n");
    }
    if let Some(hint) = &fault.hint {
        text += &format!("  help: {hint}\n");
    }
    text
}

fn headline(code: &str, what: &str, out: &Out) -> String {
    format!("{}: {what}\n", out.paint_err(Tone::Bad, &format!("error[{code}]")))
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Failure {
        let cause = deepest(&error);
        match error {
            client::Error::Refused(problem) => {
                let exit = match problem.status {
                    401 | 403 => NOT_PERMITTED,
                    404 => NOT_FOUND,
                    _ => FAILED,
                };
                Failure { problem, exit, cause: None, quiet: false }
            }
            client::Error::Unreachable { .. } => {
                Failure { cause, ..Failure::new(Code::Unreachable, error.to_string(), UNREACHABLE) }
            }
            client::Error::Strange { .. } => Failure::new(Code::StrangeAnswer, error.to_string(), FAILED),
        }
    }
}

/// The last of a chain of causes usually names the thing itself: "connection refused".
fn deepest(error: &dyn std::error::Error) -> Option<String> {
    let mut last = error.source()?;
    while let Some(deeper) = last.source() {
        last = deeper;
    }
    Some(last.to_string())
}
