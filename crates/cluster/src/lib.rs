//! Several servers on one store: who should own which shard, how long an owner may trust its lease, and what to do about
//! the difference. Decides from rows everybody can read; never talks to a database or another server itself.

pub mod round;
pub mod spread;
pub mod tenure;

pub use round::{Round, decide};
pub use spread::{Member, spread};
pub use tenure::{Stretch, Tenure, Terms};
