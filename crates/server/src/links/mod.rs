//! The ways orders travel and reports come back. One so far: the stream our own agents dial.

mod log_rights;
mod service;
mod stream;
mod switchboard;
mod tasks;

pub use log_rights::log_rights;
pub use service::LinkService;
pub use stream::order_message;
pub use switchboard::Switchboard;
pub use tasks::Tasks;
