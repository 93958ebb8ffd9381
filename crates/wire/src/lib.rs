//! Bodies that cross a process: the public API, the agent protocol, XXL-JOB. Conversions to and from the nouns live here;
//! nothing here decides or does anything.

pub mod api;
pub mod audit;
pub mod errors;
pub mod fill;
pub mod job;
pub mod lending;
pub mod link;
pub mod peer;
pub mod problem;
pub mod routes;
pub mod rule;
pub mod task;
pub mod time;
pub mod xxl;

pub use errors::Code;
pub use job::JobBody;
pub use problem::{Fault, Problem};
pub use time::{Length, Time};
