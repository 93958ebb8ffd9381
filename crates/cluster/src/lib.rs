//! Several servers on one store: who should own which shard, how long an owner may trust its lease, and what to do about
//! the difference. Decides from rows everybody can read; never talks to a database or another server itself.

pub mod lend;
pub mod round;
pub mod served;
pub mod spread;
pub mod tenure;

pub use lend::Lender;
pub use round::{Round, decide, may_have};
pub use served::{Served, served};
pub use spread::{Keep, Member, spread};
pub use tenure::{Stretch, Tenure, Terms};
