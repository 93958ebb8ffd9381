//! The shell around the engine: gathers inputs, steps, commits, releases. It has no opinions.

mod complaint;
mod driver;
pub mod keeper;
mod load;
mod release;
mod writer;

pub use driver::{AskError, ShardHandle, Started, revive, start};
pub use release::{Answers, Outlets, Parcel, Stop, release};
pub use writer::WriterHandle;
