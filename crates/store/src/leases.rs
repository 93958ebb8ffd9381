//! The lease seam: which servers there are, and which of them may own which shard until when, by the store's clock. It
//! never decides who should: that is a function of the picture. What keeps two owners apart is the term, not the lease.

use std::time::Duration;

use model::{Batch, ServerId, ShardId, Span, TenantRecord, Term, Timestamp};

use crate::StoreError;

pub trait Leases: Send {
    /// Makes this server known, renews it and every lease it holds, and answers with everything, by the store's clock,
    /// in one round trip. Never takes back a lease that another has taken. Changes nothing and fails if a later life of
    /// this server is known.
    fn renew(&mut self, me: &ServerRow, lease: Span) -> Result<Picture, StoreError>;

    /// Takes those of these shards that are free, ours already, handed to us, or whose `until` is past by more than the
    /// grace. Answers which.
    fn take(&mut self, me: ServerId, shards: &[ShardId], lease: Span, grace: Span) -> Result<Vec<ShardId>, StoreError>;

    /// Gives shards we hold to the next (or to nobody): its lease begins now. Wakes it. Gives nothing after `by`, by the
    /// store's clock: whoever heard no answer may have taken them again. Nor if this server has started again since.
    fn hand_over(
        &mut self,
        me: Life,
        to: Option<ServerId>,
        shards: &[ShardId],
        lease: Span,
        by: Timestamp,
    ) -> Result<(), StoreError>;

    /// A server that stops says so: it is no longer among the living, what it still holds is free at once. Wakes the
    /// others. Does nothing if it has started again since.
    fn leave(&mut self, me: Life) -> Result<(), StoreError>;

    /// When the latest known life of this server began.
    fn started_at(&mut self, server: ServerId) -> Result<Option<Timestamp>, StoreError>;

    /// How much of all work a server should have, next to the others. False if there is no such server.
    fn set_weight(&mut self, server: ServerId, weight: u32) -> Result<bool, StoreError>;

    /// A draining server gives away what it has and takes no more. False if there is no such server.
    fn set_draining(&mut self, server: ServerId, draining: bool) -> Result<bool, StoreError>;

    /// Forgets a server that is dead and holds nothing. False if it does not qualify.
    fn forget(&mut self, server: ServerId) -> Result<bool, StoreError>;

    /// Wakes a server (all, if none is named). Carries nothing; losing it is only a delay.
    fn wake(&mut self, server: Option<ServerId>) -> Result<(), StoreError>;
}

/// One life of a server, from its start to its end. The network may keep what an earlier one said until the next one runs:
/// then it is the word of somebody who is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    pub server: ServerId,
    /// Later than that of any life before.
    pub started_at: Timestamp,
}

pub trait Wakes: Send {
    /// Blocks until somebody woke us or this long has passed. True: woken, or it cannot be told whether we were.
    fn wait(&mut self, most: Duration) -> Result<bool, StoreError>;
}

/// A server as the others see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

impl ServerRow {
    pub fn life(&self) -> Life {
        Life { server: self.id, started_at: self.started_at }
    }
}

/// Who has a shard, and how far it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// How many there are that all tenants share.
    pub shards: i64,
    /// By id; also those that are dead.
    pub servers: Vec<ServerRow>,
    /// Every shard, in order; tenants' own come after the `shards` that all share.
    pub leases: Vec<LeaseRow>,
    /// Raised by every change to agents, pools and limits.
    pub revision: i64,
    /// What only some servers may own; whatever is not here, anyone may.
    pub reserved: Vec<Reserved>,
}

/// The shards of a tenant that only servers of these names may schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved {
    pub tenant: String,
    pub servers: Vec<String>,
    pub shards: Vec<ShardId>,
}

impl Picture {
    /// For whom a shard is kept, if not for all.
    pub fn reserved(&self, shard: ShardId) -> Option<&Reserved> {
        self.reserved.iter().find(|reserved| reserved.shards.contains(&shard))
    }
}

impl Reserved {
    /// None if any server may schedule it.
    pub(crate) fn of(tenant: &TenantRecord) -> Option<Reserved> {
        let TenantRecord { name, servers, own, .. } = tenant;
        (!servers.is_empty()).then(|| Reserved { tenant: name.clone(), servers: servers.clone(), shards: own.clone() })
    }

    pub fn lets(&self, server: &ServerRow) -> bool {
        self.servers.contains(&server.name)
    }
}
