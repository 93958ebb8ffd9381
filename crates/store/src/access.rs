//! Who may come in: people, tokens, agents' identities, settings. Secrets arrive here hashed already; nothing in this
//! seam ever sees one. Not part of any shard: written by whoever serves the request.

use std::collections::BTreeMap;

use model::{AgentId, TenantId, Timestamp};

use crate::StoreError;

/// SHA-256 of a secret of high entropy (tokens, sessions, agent secrets).
pub type SecretHash = [u8; 32];

pub trait Access {
    fn put_user(&mut self, user: &User) -> Result<(), StoreError>;
    fn user(&mut self, name: &str) -> Result<Option<User>, StoreError>;
    fn users(&mut self) -> Result<Vec<User>, StoreError>;

    fn put_session(&mut self, session: &Session) -> Result<(), StoreError>;
    fn session(&mut self, hash: &SecretHash) -> Result<Option<Session>, StoreError>;
    fn remove_session(&mut self, hash: &SecretHash) -> Result<(), StoreError>;
    /// Forgets sessions, join tokens and the like that ended before `now`.
    fn forget_expired(&mut self, now: Timestamp) -> Result<(), StoreError>;

    /// Gives the token its number.
    fn put_token(&mut self, token: &Token) -> Result<i64, StoreError>;
    fn token(&mut self, hash: &SecretHash) -> Result<Option<Token>, StoreError>;
    fn tokens(&mut self) -> Result<Vec<Token>, StoreError>;
    /// False: there is no such token.
    fn revoke_token(&mut self, id: i64, at: Timestamp) -> Result<bool, StoreError>;

    fn put_join_token(&mut self, token: &JoinToken) -> Result<(), StoreError>;
    /// Takes a join token for good: a second call finds nothing.
    fn use_join_token(&mut self, hash: &SecretHash, now: Timestamp) -> Result<Option<JoinToken>, StoreError>;

    fn put_agent_secret(&mut self, agent: AgentId, hash: &SecretHash) -> Result<(), StoreError>;
    fn agent_secrets(&mut self) -> Result<Vec<(AgentId, SecretHash)>, StoreError>;
    fn remove_agent_secret(&mut self, agent: AgentId) -> Result<(), StoreError>;

    /// Gives the token its number.
    fn put_executor_token(&mut self, token: &ExecutorToken) -> Result<i64, StoreError>;
    fn executor_tokens(&mut self) -> Result<Vec<ExecutorToken>, StoreError>;
    /// False: there is none of that number.
    fn remove_executor_token(&mut self, id: i64) -> Result<bool, StoreError>;

    fn setting(&mut self, key: &str) -> Result<Option<String>, StoreError>;
    fn put_setting(&mut self, key: &str, value: Option<&str>) -> Result<(), StoreError>;
    /// Keeps the value unless there is one already, and gives back the one that is kept: of several servers that make
    /// something at once, all go on with the same.
    fn keep_setting(&mut self, key: &str, value: &str) -> Result<String, StoreError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    /// As the password hasher wrote it, parameters and salt included.
    pub password: String,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub hash: SecretHash,
    pub user: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// 0 until it is kept.
    pub id: i64,
    pub name: String,
    pub hash: SecretHash,
    pub user: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinToken {
    pub hash: SecretHash,
    pub tenant: TenantId,
    pub pools: Vec<String>,
    pub labels: BTreeMap<String, String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// What executors and their server show each other. Readable, because it is shown to executors too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorToken {
    pub id: i64,
    pub token: String,
    pub tenant: TenantId,
    /// Only for executors of this pool.
    pub pool: Option<String>,
    pub created_at: Timestamp,
    pub created_by: String,
}
