//! Ring three: several servers on one store, each owning shards under leases. The real keeper, the real rules of
//! ownership, tenure and spread, the real switchboard and the real agent session, between them a network that is cut one
//! way or both, servers that stand still for longer than their lease, clocks that run fast and slow, and a store that
//! stalls, refuses and loses answers.

mod desk;
mod driver;
mod links;
mod machine;
mod misfortune;
mod network;
mod postman;
mod process;
mod scenario;
mod sharing;
mod steward;
mod world;

pub use scenario::{Misfortunes, Mutant, Scenario};
pub use world::{Failure, Outcome, run};
