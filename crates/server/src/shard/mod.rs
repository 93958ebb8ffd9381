//! The shell around the engine: gathers inputs, steps, commits, releases. It has no opinions.

mod driver;
pub mod keeper;
mod load;
mod release;
mod writer;

pub use driver::{AskError, ShardHandle, Started, start};
pub use release::{Outlets, Parcel};
pub use writer::WriterHandle;
