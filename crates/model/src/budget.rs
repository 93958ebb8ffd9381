//! Limits that several shards share, and how much of one a shard may use. Which shard gets how much is decided elsewhere.

use crate::{ShardId, TenantId, Term};

/// A limit on what all shards together do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Budget {
    /// Runs at once of a pool.
    Pool(TenantId, String),
    /// Runs at once of a tenant.
    Running(TenantId),
    /// Runs at once of the installation.
    Installation,
    /// Starts of a tenant per second.
    Starts(TenantId),
}

/// What a shard is lent, all of it: a budget that is not named is not bound. A later one replaces an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slices {
    pub shard: ShardId,
    /// For the shard as it was loaded under this term, and for no other.
    pub term: Term,
    /// The first shard's term: a later lender has a higher one.
    pub lender: Term,
    /// Counted from one by each lender for each shard.
    pub seq: u64,
    pub of: Vec<Slice>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    pub budget: Budget,
    /// What all shards may have together.
    pub total: u32,
    /// So many may run in this shard; of starts: so many it may have begun since this lender lends to it.
    pub units: u32,
}

/// What a shard says about all budgets that bind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub shard: ShardId,
    pub term: Term,
    /// Which slices it has: whose, and the how manieth. Nobody's: it may start nothing that is bound.
    pub lender: Term,
    pub seq: u64,
    pub holdings: Vec<Holding>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    pub budget: Budget,
    /// The limit as the shard knows it; None: it knows of it only by what it was lent.
    pub limit: Option<u32>,
    /// What it runs; of starts: what it has begun, or let lapse, since this lender lends to it.
    pub used: u32,
    /// What could start if only there were more of this.
    pub wanted: u32,
}
