//! Variables and secrets as rows. A secret arrives here sealed: nothing in this seam ever sees a value, or the key to
//! one. Not part of any shard: written by whoever serves the request, read by whoever sends an order.

use model::{TenantId, Timestamp};

use crate::StoreError;

/// Where variables of the whole installation are kept.
pub const PLATFORM: TenantId = TenantId(0);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub tenant: TenantId,
    /// Empty: for all of the tenant.
    pub folder: String,
    pub name: String,
    pub value: String,
    pub changed_at: Timestamp,
    pub changed_by: String,
}

#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecret {
    pub tenant: TenantId,
    /// Unique in the tenant.
    pub name: String,
    /// Jobs in and below it may use it; all of the tenant if empty.
    pub folder: String,
    /// Counts its values, from 1.
    pub version: i64,
    /// Which key wraps the one the value is sealed with.
    pub key_id: String,
    pub wrapped: Vec<u8>,
    pub sealed: Vec<u8>,
    pub changed_at: Timestamp,
    pub changed_by: String,
}

impl std::fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "secret {} of tenant {}, version {}, key {}", self.name, self.tenant, self.version, self.key_id)
    }
}

pub trait Values {
    fn put_variable(&mut self, variable: &Variable) -> Result<(), StoreError>;
    /// False: there was none.
    fn remove_variable(&mut self, tenant: TenantId, folder: &str, name: &str) -> Result<bool, StoreError>;

    /// The first version makes it, each later one takes the place of the one before. False: that is not there (any
    /// more), and nothing was written.
    fn put_secret(&mut self, secret: &SealedSecret) -> Result<bool, StoreError>;
    fn secret(&mut self, tenant: TenantId, name: &str) -> Result<Option<SealedSecret>, StoreError>;
    fn remove_secret(&mut self, tenant: TenantId, name: &str) -> Result<bool, StoreError>;

    /// Some of the secrets of all tenants whose keys are not wrapped by this one.
    fn not_under(&mut self, key_id: &str, limit: usize) -> Result<Vec<SealedSecret>, StoreError>;
    /// Keeps `wrapped` and `key_id` of a secret that still has this version and was under `before`. False: it has
    /// not, and stays as it is.
    fn rewrap(&mut self, secret: &SealedSecret, before: &str) -> Result<bool, StoreError>;
}

/// A job and the task it runs, encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsingJob {
    pub name: String,
    pub folder: String,
    pub task: Vec<u8>,
}
