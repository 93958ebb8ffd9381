//! The ways orders travel and reports come back. One so far: the stream our own agents dial.

mod service;
mod stream;
mod switchboard;
mod tasks;

pub use service::LinkService;
pub use stream::order_message;
pub use switchboard::Switchboard;
pub use tasks::Tasks;
