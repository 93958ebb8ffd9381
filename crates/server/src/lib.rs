//! The control plane: shard loop, operations, API, agent links. Decisions are the engine's, rows are the store's; here
//! is everything that has a clock, a socket or a thread.

mod access;
mod agent_port;
pub mod api;
pub mod app;
pub mod authority;
pub mod clock;
mod closing;
pub mod config;
mod doorman;
pub mod events;
mod harden;
mod levels;
pub mod links;
mod lock;
pub mod logs;
mod membership;
mod metrics;
mod ops;
mod password;
mod peers;
mod postman;
mod roster;
mod secret;
pub mod setup;
pub mod shard;
mod short_slice;
mod steward;
mod stores;
mod supervise;
mod tenants;
mod upkeep;
mod vault;
pub mod verify;
pub mod xxl;

pub use agent_port::endpoint as agent_endpoint;
pub use app::{App, Running, ServerError, own_directory, start};
pub use config::{LocalAgent, ServerConfig};
pub use lock::DirLock;
pub use stores::StorePlace;
pub use tenants::Tenants;
pub use vault::SecretKeys;
pub use xxl::{Pace, TokenRules};
