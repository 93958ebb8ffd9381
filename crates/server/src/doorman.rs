//! Who is who: agents by the secret they got when they joined, people and programs by token or session. Answers are
//! kept for a moment, so that a request costs no disk; a revoked one is forgotten at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use engine::Command;
use model::rights::Rights;
use model::{Actor, AgentId, AgentKind, AgentRecord, PoolRef, Span, TaskSorts, TenantId, Timestamp};
use parking_lot::RwLock;
use store::StoreError;
use store::access::{Access, SecretHash};
use tokio::sync::watch;
use tonic::Status;
use wire::api::AgentPolicy;
use wire::link::{Hello, JoinReply, JoinRequest};

use crate::access::AccessHandle;
use crate::agent_port::Credentials;
use crate::secret;
use crate::shard::{AskError, Lane, Shards};

/// A token is looked up in the store again after this long.
const REMEMBER: Duration = Duration::from_secs(30);
/// A session that nobody used for so long has ended.
pub(crate) const SESSION_IDLE: Span = Span::HOUR.saturating_mul(2);
/// Of an agent's name, in characters.
const AGENT_NAME_MAX: usize = 128;
/// That it was used is written at most so often.
const TOUCH_AFTER: Span = Span::MINUTE;

pub struct Doorman {
    access: AccessHandle,
    writer: Lane,
    agents: RwLock<BTreeMap<AgentId, Known>>,
    /// Who was removed here: what was read of them before that is not believed. Numbers are never given twice.
    removed: RwLock<BTreeSet<AgentId>>,
    /// One look at the store after the other: an older one never has the last word.
    looking: tokio::sync::Mutex<()>,
    /// Who vouches for the agents' port, if it speaks TLS.
    shown: Option<Arc<Credentials>>,
    tokens: moka::sync::Cache<SecretHash, Remembered>,
    /// Raised by everything that may make what is remembered wrong.
    changes: watch::Sender<u64>,
}

/// Whom a secret belongs to, as of a change: what was read before the latest one is not believed.
#[derive(Clone)]
struct Remembered {
    changes: u64,
    who: Option<Principal>,
}

struct Known {
    secret: SecretHash,
    record: Arc<AgentRecord>,
    /// As it said when it last connected here.
    policy: Option<Arc<AgentPolicy>>,
}

/// Somebody who passed the door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    pub name: String,
    pub by: Credential,
    /// What they may do with what they came with.
    pub rights: Arc<Rights>,
    /// Where they act if they do not say.
    pub tenant: TenantId,
    /// Somebody else knows their password: they may do nothing but set another one.
    pub must_change: bool,
    pub expires_at: Option<Timestamp>,
}

/// With what somebody came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// Narrowed: it carries only some of its owner's rights.
    Token {
        id: i64,
        name: String,
        narrowed: bool,
    },
    Session {
        id: String,
    },
}

/// As the audit tells it: numbers, which open nothing.
impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credential::Token { id, .. } => write!(f, "token {id}"),
            Credential::Session { id } => write!(f, "session {id}"),
        }
    }
}

impl Principal {
    pub fn actor(&self) -> Actor {
        Actor(self.name.clone())
    }
}

impl Doorman {
    pub async fn new(access: AccessHandle, writer: Lane, records: Vec<AgentRecord>) -> Result<Doorman, StoreError> {
        let secrets: BTreeMap<AgentId, SecretHash> =
            access.run(|access| access.agent_secrets()).await?.into_iter().collect();
        let known = records.into_iter().filter_map(|record| {
            let secret = *secrets.get(&record.id)?;
            Some((record.id, Known { secret, record: Arc::new(record), policy: None }))
        });
        let tokens = moka::sync::Cache::builder().max_capacity(10_000).time_to_live(REMEMBER).build();
        Ok(Doorman {
            access,
            writer,
            agents: RwLock::new(known.collect()),
            removed: RwLock::default(),
            looking: tokio::sync::Mutex::default(),
            shown: None,
            tokens,
            changes: watch::Sender::new(0),
        })
    }

    pub(crate) fn vouched_by(self, shown: Option<Arc<Credentials>>) -> Doorman {
        Doorman { shown, ..self }
    }

    // ---- agents

    /// A join token as it is shown: with what proves the server to the agent, as the rest proves the agent to the server.
    pub(crate) fn join_text(&self, token: &str) -> String {
        match &self.shown {
            Some(shown) => format!("{token}@{}", shown.fingerprint),
            None => token.to_string(),
        }
    }

    /// Trades a one-time token for an identity.
    pub async fn join(&self, request: JoinRequest, shards: &Shards, now: Timestamp) -> Result<JoinReply, Status> {
        // Before the token is used up: whoever mends what they say may show it again.
        check_joining(&request)?;
        let hash = secret::hash(&request.token);
        let used = self.access.run(move |access| access.use_join_token(&hash, now)).await.map_err(unavailable)?;
        let token = used.ok_or_else(|| {
            Status::permission_denied(
                "this join token is unknown, used up or expired; make a new one with `duly join-token`",
            )
        })?;
        let ids = self.writer.run(|store| store.take_ids(None, 1)).await.map_err(unavailable)?;
        let (id, key) = (AgentId(ids.start), secret::make("dulyagent"));
        let mut labels = request.labels;
        labels.extend(token.labels);
        let pools = if token.pools.is_empty() { request.pools } else { token.pools };
        let record = AgentRecord {
            id,
            tenant: token.tenant,
            name: request.name,
            pools: if pools.is_empty() { vec![PoolRef::DEFAULT.to_string()] } else { pools },
            labels: labels.into_iter().collect(),
            slots: request.slots.clamp(1, 1_000_000),
            drained: false,
            joined_at: now,
            seen_at: Some(now),
            version: request.version,
            serves: token.serves,
            runs: model::TaskSorts::ALL,
            kind: AgentKind::Agent,
        };
        self.admit(record, &key, shards).await?;
        let ca = self.shown.as_ref().map(|shown| shown.ca.clone()).unwrap_or_default();
        Ok(JoinReply { agent: id.0, secret: key, ca })
    }

    /// Makes an agent known: its record in the shard, its secret in the store.
    pub async fn admit(&self, record: AgentRecord, key: &str, shards: &Shards) -> Result<(), Status> {
        let (id, hash) = (record.id, secret::hash(key));
        self.access.run(move |access| access.put_agent_secret(id, &hash)).await.map_err(unavailable)?;
        let command = Command::PutAgent { agent: Box::new(record.clone()) };
        shards.ask(Actor::system(), command).await.map_err(|error| match error {
            AskError::Refused(refusal) => Status::failed_precondition(refusal.to_string()),
            AskError::Gone | AskError::Stalled(_) | AskError::Unserved(_) => Status::unavailable(error.to_string()),
        })?;
        self.agents.write().insert(id, Known { secret: hash, record: Arc::new(record), policy: None });
        Ok(())
    }

    /// Takes in who joined, left or was changed elsewhere, and answers who is gone. What connected agents say of themselves
    /// stays.
    pub async fn refresh(&self, records: &[AgentRecord]) -> Result<Vec<AgentId>, StoreError> {
        let _alone = self.looking.lock().await;
        // Only of these it says something that their secret is not there: others may join meanwhile.
        let before: Vec<AgentId> = self.agents.read().keys().copied().collect();
        let secrets: BTreeMap<AgentId, SecretHash> =
            self.access.run(|access| access.agent_secrets()).await?.into_iter().collect();
        let mut agents = self.agents.write();
        let removed = self.removed.read();
        let gone: Vec<AgentId> = before.into_iter().filter(|id| !secrets.contains_key(id)).collect();
        gone.iter().for_each(|id| drop(agents.remove(id)));
        for record in records.iter().filter(|record| !removed.contains(&record.id)) {
            let Some(secret) = secrets.get(&record.id).copied() else { continue };
            let mut record = record.clone();
            let policy = agents.get(&record.id).and_then(|known| known.policy.clone());
            if let Some(known) = agents.get(&record.id) {
                record.runs = known.record.runs;
                record.slots = known.record.slots;
                record.version.clone_from(&known.record.version);
                record.seen_at = known.record.seen_at.max(record.seen_at);
            }
            agents.insert(record.id, Known { secret, record: Arc::new(record), policy });
        }
        Ok(gone)
    }

    pub fn has_heard_of(&self, agent: AgentId) -> bool {
        self.agents.read().contains_key(&agent)
    }

    pub fn knows_agent(&self, agent: AgentId, key: &str) -> bool {
        let hash = secret::hash(key);
        self.agents.read().get(&agent).is_some_and(|known| secret::same(&known.secret, &hash))
    }

    /// The agent's record with what it says of itself today. None: it was removed meanwhile.
    pub fn record_of(&self, agent: AgentId, hello: &Hello, now: Timestamp) -> Option<Arc<AgentRecord>> {
        let mut agents = self.agents.write();
        let known = agents.get_mut(&agent)?;
        let mut record = (*known.record).clone();
        record.slots = hello.slots.clamp(1, 1_000_000);
        record.version.clone_from(&hello.version);
        record.seen_at = Some(now);
        record.runs = match hello.tasks.as_slice() {
            [] => TaskSorts::ALL,
            keys => TaskSorts::of_keys(keys.iter().map(String::as_str)),
        };
        known.policy = serde_json::from_str(&hello.policy).ok().map(Arc::new);
        known.record = Arc::new(record);
        Some(Arc::clone(&known.record))
    }

    pub fn agent(&self, agent: AgentId) -> Option<Arc<AgentRecord>> {
        self.agents.read().get(&agent).map(|known| Arc::clone(&known.record))
    }

    /// What the agent's machine lets tasks do, as it last said to this server.
    pub fn policy(&self, agent: AgentId) -> Option<Arc<AgentPolicy>> {
        self.agents.read().get(&agent)?.policy.clone()
    }

    pub fn agents(&self) -> Vec<Arc<AgentRecord>> {
        self.agents.read().values().map(|known| Arc::clone(&known.record)).collect()
    }

    pub fn set_drained(&self, agent: AgentId, drained: bool) -> Option<AgentRecord> {
        let mut agents = self.agents.write();
        let known = agents.get_mut(&agent)?;
        let record = AgentRecord { drained, ..(*known.record).clone() };
        known.record = Arc::new(record.clone());
        Some(record)
    }

    pub fn share(&self, agent: AgentId, serves: model::Serves) {
        if let Some(known) = self.agents.write().get_mut(&agent) {
            known.record = Arc::new(AgentRecord { serves, ..(*known.record).clone() });
        }
    }

    pub async fn forget_agent(&self, agent: AgentId) -> Result<(), StoreError> {
        self.removed.write().insert(agent);
        self.agents.write().remove(&agent);
        self.access.run(move |access| access.remove_agent_secret(agent)).await
    }

    // ---- people and programs

    /// Whom a token or session belongs to, and what they may do.
    pub async fn recognise(&self, key: &str, now: Timestamp) -> Result<Option<Principal>, StoreError> {
        self.look(secret::hash(key), now, Looking::In).await
    }

    /// The same for somebody who is here already; being looked at is no use of a session.
    pub(crate) async fn recall(&self, hash: SecretHash, now: Timestamp) -> Result<Option<Principal>, StoreError> {
        self.look(hash, now, Looking::After).await
    }

    async fn look(&self, hash: SecretHash, now: Timestamp, why: Looking) -> Result<Option<Principal>, StoreError> {
        let changes = *self.changes.borrow();
        let remembered = self.tokens.get(&hash).filter(|remembered| remembered.changes == changes);
        let who = match remembered {
            Some(remembered) => remembered.who,
            None => {
                let who = self.access.run(move |access| look_up(access, &hash, now, why)).await?;
                self.tokens.insert(hash, Remembered { changes, who: who.clone() });
                who
            }
        };
        Ok(who.filter(|who| who.expires_at.is_none_or(|at| at > now)))
    }

    /// Something was revoked or granted, here or elsewhere: from now on everybody is looked up anew.
    pub fn forget_all(&self) {
        self.changes.send_modify(|changes| *changes += 1);
        self.tokens.invalidate_all();
    }

    /// Told whenever that happens.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Looking {
    In,
    After,
}

fn look_up(
    access: &mut dyn Access,
    hash: &SecretHash,
    now: Timestamp,
    why: Looking,
) -> Result<Option<Principal>, StoreError> {
    if let Some(token) = access.token(hash)? {
        if token.revoked_at.is_some() {
            return Ok(None);
        }
        let Some(held) = access.rights_of(&token.user)? else { return Ok(None) };
        let rights = Rights::new(held).narrowed(token.scope, token.tenant);
        return Ok(Some(Principal {
            tenant: token.tenant.unwrap_or_else(|| rights.home()),
            rights: Arc::new(rights),
            name: token.user,
            by: Credential::Token {
                id: token.id,
                name: token.name,
                narrowed: token.scope.is_some() || token.tenant.is_some(),
            },
            must_change: false,
            expires_at: token.expires_at,
        }));
    }
    let Some(session) = access.session(hash)? else { return Ok(None) };
    let idle_until = session.used_at + SESSION_IDLE;
    if idle_until <= now {
        return Ok(None);
    }
    let (Some(held), Some(account)) = (access.rights_of(&session.user)?, access.account(&session.user)?) else {
        return Ok(None);
    };
    if why == Looking::In && session.used_at + TOUCH_AFTER <= now {
        access.touch_session(hash, now)?;
    }
    let rights = Rights::new(held);
    Ok(Some(Principal {
        tenant: rights.home(),
        rights: Arc::new(rights),
        by: Credential::Session { id: session.id() },
        name: session.user,
        must_change: account.must_change,
        expires_at: Some(session.expires_at.min(if why == Looking::In { now + SESSION_IDLE } else { idle_until })),
    }))
}

/// What an agent says of itself is as bounded as what a join token says of it.
fn check_joining(request: &JoinRequest) -> Result<(), Status> {
    let odd =
        |text: &str, most: usize| text.is_empty() || text.chars().count() > most || text.contains(char::is_control);
    let bad = |what: &str| Err(Status::invalid_argument(format!("this agent cannot join: {what}")));
    if odd(&request.name, AGENT_NAME_MAX) {
        return bad("its name is empty, longer than 128 characters or has control characters (--name)");
    }
    if request.version.len() > AGENT_NAME_MAX {
        return bad("what it says of its version is too long");
    }
    let labels = request.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    match crate::ops::agents::membership_fault(&request.pools, labels) {
        Some((path, wrong)) => bad(&format!("{path}: {wrong}")),
        None => Ok(()),
    }
}

fn unavailable(error: StoreError) -> Status {
    Status::unavailable(error.to_string())
}
