//! The lease seam: which servers there are, and which of them may own which shard until when, by the store's clock. It
//! never decides who should: that is a function of the picture. What keeps two owners apart is the term, not the lease.

use std::time::Duration;

use model::{Batch, ServerId, ShardId, Span, Term, Timestamp};

use crate::StoreError;

pub trait Leases: Send {
    /// Makes this server known, renews it and every lease it holds, and answers with everything, by the store's clock,
    /// in one round trip. Never takes back a lease that another has taken.
    fn renew(&mut self, me: &ServerRow, lease: Span) -> Result<Picture, StoreError>;

    /// Takes those of these shards that are free, ours already, handed to us, or whose `until` is past by more than the
    /// grace. Answers which.
    fn take(&mut self, me: ServerId, shards: &[ShardId], lease: Span, grace: Span) -> Result<Vec<ShardId>, StoreError>;

    /// Gives shards we hold to the next (or to nobody): its lease begins now. Wakes it. Gives nothing after `by`, by the
    /// store's clock: whoever heard no answer may have taken them again.
    fn hand_over(
        &mut self,
        me: ServerId,
        to: Option<ServerId>,
        shards: &[ShardId],
        lease: Span,
        by: Timestamp,
    ) -> Result<(), StoreError>;

    /// A server that stops says so: it is no longer among the living, what it still holds is free at once. Wakes the
    /// others. Does nothing if it has started again since.
    fn leave(&mut self, me: ServerId, started_at: Timestamp) -> Result<(), StoreError>;

    /// How much of all work a server should have, next to the others. False if there is no such server.
    fn set_weight(&mut self, server: ServerId, weight: u32) -> Result<bool, StoreError>;

    /// A draining server gives away what it has and takes no more. False if there is no such server.
    fn set_draining(&mut self, server: ServerId, draining: bool) -> Result<bool, StoreError>;

    /// Forgets a server that is dead and holds nothing. False if it does not qualify.
    fn forget(&mut self, server: ServerId) -> Result<bool, StoreError>;

    /// Wakes a server (all, if none is named). Carries nothing; losing it is only a delay.
    fn wake(&mut self, server: Option<ServerId>) -> Result<(), StoreError>;
}

pub trait Wakes: Send {
    /// Blocks until somebody woke us or this long has passed. True: woken, or it cannot be told whether we were.
    fn wait(&mut self, most: Duration) -> Result<bool, StoreError>;
}

/// A server as the others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRow {
    pub id: ServerId,
    pub name: String,
    /// Where people and programs find it.
    pub api: String,
    /// Where agents find it.
    pub agents: String,
    /// Where other servers find it.
    pub peer: String,
    pub version: String,
    /// Taken from the row when the server is first seen; after that people set it.
    pub weight: u32,
    /// Likewise.
    pub draining: bool,
    pub started_at: Timestamp,
    /// It is alive until then, unless it says so again. Written by the store.
    pub until: Timestamp,
}

/// Who has a shard, and how far it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    pub shard: ShardId,
    pub server: Option<ServerId>,
    pub until: Timestamp,
    pub term: Term,
    pub batch: Batch,
    pub horizon: Timestamp,
}

/// Everything at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// By the store's clock.
    pub now: Timestamp,
    pub shards: i64,
    /// By id; also those that are dead.
    pub servers: Vec<ServerRow>,
    /// Every shard, in order.
    pub leases: Vec<LeaseRow>,
    /// Raised by every change to agents, pools and limits.
    pub revision: i64,
}
