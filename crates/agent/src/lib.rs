//! Runs the work that servers order: owns its processes, keeps what they print and how they end.
//! Never decides what is due, and never forgets a result before it is acknowledged.

pub mod data;
pub mod policy;
pub mod process;
mod runners;
pub mod runtime;
pub mod session;
mod slots;
pub mod spool;

pub use shim;
