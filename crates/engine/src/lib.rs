//! Every scheduling decision, pure: a `Shard` is told what happened and when, edits its memory, and answers with what
//! must be written and what happens after. It has no clock, no randomness, no async, no SQL and no log.

pub mod change;
pub mod cron;
pub mod effect;
pub mod input;
pub mod plan;

pub use change::{Change, Claim, ClaimAnswer, ClaimName, Commit, Row};
pub use effect::{Decisions, Effect, Order, Refusal, Reply};
pub use input::{Caller, Command, Input};
pub use plan::{Compiled, Plan};
