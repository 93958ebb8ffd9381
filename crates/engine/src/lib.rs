//! Every scheduling decision, pure: a `Shard` is told what happened and when, edits its memory, and answers with what
//! must be written and what happens after. It has no clock, no randomness, no async, no SQL and no log.

mod agents;
mod alarm;
mod audit;
mod between;
mod cancel;
pub mod change;
mod claims;
mod command;
pub mod cron;
mod due;
mod edit;
pub mod effect;
mod executors;
mod explain;
mod fence;
mod fire;
mod ids;
pub mod input;
mod jobs;
mod launch;
mod make;
mod missed;
mod open;
mod place;
pub mod plan;
mod queue;
mod revive;
mod route;
mod settle;
mod shard;
mod share;
mod slices;
mod tenants;
mod turns;
mod wheel;

pub use between::{EndOf, Ends, Message, MessageId};
pub use change::{Answer, Change, Claim, ClaimAnswer, ClaimName, Commit, Draw, Grant, Row, TicketId};
pub use effect::{Ask, Decisions, Effect, Inspected, Order, Question, Refusal, Reply, WhyReply};
pub use ids::FIRST_BLOCK;
pub use input::{Caller, Command, Input, Scope};
pub use jobs::{HeldJob, LoadedJob};
pub use missed::FIRE_ALL_MAX;
pub use place::ORDER_LIFE;
pub use plan::{Compiled, PlanError};
pub use queue::AGEING;
pub use shard::{AHEAD, Census, Loaded, Shard};
pub use share::LoadedTicket;

/// A job of this priority makes `step` panic: only in test builds, to show that one bad job stops nothing else.
#[cfg(feature = "faults")]
pub const PANICKING_PRIORITY: i32 = -66_666;
