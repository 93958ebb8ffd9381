//! Who owns what: a boundary of ownership, rights and quota. Every installation has one, and most never need another.

use crate::{Actor, ShardId, Span, TenantId, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantRecord {
    pub id: TenantId,
    pub name: String,
    /// Its share beside the others' when there is not enough for all.
    pub weight: u32,
    pub quotas: Quotas,
    /// Whether its HTTP tasks may call private addresses.
    pub private_network: bool,
    pub state: TenantState,
    pub created_at: Timestamp,
    pub created_by: Actor,
    /// What it had when it was last exported.
    pub exported: Option<Exported>,
    /// The names of the servers that may schedule it; none named: any.
    pub servers: Vec<String>,
    /// The shards that all its jobs are in, and no other tenant's. It has them since it was first given servers, and
    /// keeps them: jobs never move. None: its jobs are where everyone's are.
    pub own: Vec<ShardId>,
}

/// How much a tenant may have; none: as much as there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    pub jobs: Option<u32>,
    /// Instances running at once.
    pub running: Option<u32>,
    /// Starts in a second, evenly.
    pub per_second: Option<u32>,
    /// Bytes of logs that are kept of each day.
    pub log_bytes: Option<u64>,
    /// Days for which what has ended is kept.
    pub history_days: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TenantState {
    #[default]
    Active,
    /// It is being deleted: nothing of it starts any more.
    Closing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    pub at: Timestamp,
    /// Of what was exported; another one means that something has changed.
    pub digest: String,
}

impl TenantRecord {
    pub const WEIGHT_MAX: u32 = 1_000;
    pub const DEFAULT_NAME: &'static str = "default";

    /// The tenant every installation has from its first start.
    pub fn first(created_at: Timestamp) -> TenantRecord {
        TenantRecord {
            private_network: true,
            ..TenantRecord::new(TenantId::DEFAULT, TenantRecord::DEFAULT_NAME, created_at, Actor::system())
        }
    }

    pub fn new(id: TenantId, name: impl Into<String>, created_at: Timestamp, created_by: Actor) -> TenantRecord {
        TenantRecord {
            id,
            name: name.into(),
            weight: 1,
            quotas: Quotas::default(),
            private_network: false,
            state: TenantState::Active,
            created_at,
            created_by,
            exported: None,
            servers: Vec::new(),
            own: Vec::new(),
        }
    }

    /// Before this planned time nothing of it is kept that has ended; none: as long as the installation keeps it.
    pub fn kept_from(&self, now: Timestamp) -> Option<Timestamp> {
        let days = self.quotas.history_days?;
        let day = (now - Span::DAY.saturating_mul(i64::from(days))).day();
        Some(Timestamp(day.saturating_mul(Span::DAY.0)))
    }

    pub fn is_closing(&self) -> bool {
        self.state == TenantState::Closing
    }
}
