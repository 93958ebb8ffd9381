//! What XXL-JOB executors and their admin say to each other, in every dialect from 2.2 to 3.5 at once: each body is read
//! as leniently as the sloppiest SDK needs and written as the strictest one wants. Knows no jobs and dials nobody.

mod address;
mod answer;
mod call;
mod callback;
mod lenient;
mod orders;
mod registry;

pub use address::{Address, BadAddress};
pub use answer::{Answer, BadAnswer, LogPage, refusal, success};
pub use call::Call;
pub use callback::{Callback, callbacks};
pub use orders::{Dialect, GlueType, JobQuestion, LogQuestion, Run};
pub use registry::{Registration, registration};

/// The well-known token of the sample configuration; a door that takes it is open to everyone.
pub const DEFAULT_TOKEN: &str = "default_token";
/// The only kind of registration that is looked at.
pub const EXECUTORS: &str = "EXECUTOR";

/// Codes both sides put into their bodies.
pub mod code {
    pub const SUCCESS: i64 = 200;
    pub const FAIL: i64 = 500;
    pub const TIMEOUT: i64 = 502;
}

/// A body nobody could make sense of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadBody {
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("Illegal Argument.")]
    Missing,
}
