//! What can go wrong with a call, and what to do about it.

use wire::{Code, Problem};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot reach {url}")]
    Unreachable { url: String, source: reqwest::Error },
    /// The server said no, with its reasons.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    #[error("the answer of {url} was not understood: {what}")]
    Strange { url: String, what: String },
}

#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    #[error("{0:?} is not the address of a server; write it like http://127.0.0.1:7070")]
    Url(String),
    #[error("no tenant has such a name")]
    Tenant,
    #[error("the token has characters no token has; was it copied whole?")]
    Token,
    #[error("cannot make an HTTP client")]
    Http(#[source] reqwest::Error),
}

impl Error {
    pub fn code(&self) -> &str {
        match self {
            Error::Unreachable { .. } => Code::Unreachable.as_str(),
            Error::Refused(problem) => &problem.code,
            Error::Strange { .. } => Code::StrangeAnswer.as_str(),
        }
    }

    pub fn help(&self) -> Option<&str> {
        match self {
            Error::Unreachable { .. } => Some(Code::Unreachable.entry().advice),
            Error::Refused(problem) => problem.help.as_deref(),
            Error::Strange { .. } => Some(Code::StrangeAnswer.entry().advice),
        }
    }

    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Error::Refused(problem) => Some(problem),
            Error::Unreachable { .. } | Error::Strange { .. } => None,
        }
    }

    pub fn is(&self, code: Code) -> bool {
        self.code() == code.as_str()
    }
}
