//! The shell around the engine: gathers inputs, steps, commits, releases. It has no opinions.

mod complaint;
mod driver;
mod handle;
pub mod keeper;
mod lane;
mod lent;
mod load;
mod place;
mod release;
mod shards;
mod start;
mod unwritten;

pub use driver::End;
pub use handle::{AskError, Progress, ShardHandle};
pub use lane::Lane;
pub use release::{Answers, Outlets, Parcel, Seat, Stop, release};
pub use shards::Shards;
pub use start::revive;

pub(crate) use driver::Surroundings;
pub(crate) use lent::Lent;
pub(crate) use place::FIRST;
