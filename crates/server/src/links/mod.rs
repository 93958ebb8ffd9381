//! The ways orders travel and reports come back: the stream our own agents dial, and whom to call instead.

mod ahead;
mod exchange;
mod hear;
mod log_quota;
mod log_rights;
mod service;
mod stream;
mod switchboard;
mod tasks;
mod uptime;
mod values;

pub(crate) use exchange::Exchange;
pub use log_quota::LogQuota;
pub use log_rights::log_rights;
pub use service::LinkService;
pub use stream::order_message;
pub use switchboard::{Switchboard, Word};
pub use tasks::Tasks;
pub use uptime::Uptime;
pub use values::{Needs, Values};
