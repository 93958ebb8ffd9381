//! A deterministic world around the real engine, the real shard loop and the real agent session: one virtual clock,
//! one seeded die, a network that cuts streams, machines that die, a store that refuses, stalls, loses answers and
//! goes back. Nothing here sleeps, and a failure names the seed that repeats it.
//!
//! Ring one has faults of the store and of the server only: many fires, cheap. Ring two adds streams that are cut with
//! messages under way, agents that die while their tasks go on, and machines that restart.

pub mod agent_node;
pub mod checker;
pub mod cluster;
pub mod die;
mod drafts;
mod epilogue;
pub mod line;
mod misfortune;
pub mod scenario;
pub mod server_node;
pub mod world;

pub use checker::{Broken, Promise};
pub use scenario::{Faults, Mutant, Scenario};
pub use world::{Failure, Outcome, run};
