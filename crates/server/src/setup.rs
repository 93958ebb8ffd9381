//! First access: no default password. Until somebody has set a server up, it answers on loopback only and takes one
//! request: set-up with the one-time token it printed at its start.

use std::sync::atomic::{AtomicBool, Ordering};

use model::{TenantId, Timestamp};
use parking_lot::Mutex;
use store::StoreError;
use store::access::{Access, ExecutorToken, SecretHash, Token};
use store::people::{Account, AccountKind, PeopleChange};
use wire::Code;

use crate::access::AccessHandle;
use crate::audit::{Facts, recorded_offline};
use crate::stores::{Opened, StorePlace};
use crate::{password, secret};

const DONE: &str = "setup.done";
/// A set-up touches little.
const CACHE_MB: u32 = 8;

pub struct Setup {
    done: AtomicBool,
    /// The one-time token of this start, hashed; its text is printed once.
    token: Mutex<Option<SecretHash>>,
    /// Printed by whoever started the server, then forgotten.
    printed: Mutex<Option<String>>,
}

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("set-up is done already; sign in instead")]
    AlreadyDone,
    #[error("this set-up link is not valid; the server prints a new one at each start until set-up is done")]
    WrongToken,
    #[error("{0}")]
    WeakPassword(String),
    #[error("the name may have 1 to 64 letters, digits and . _ - @")]
    BadName,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SetupError {
    pub(crate) fn code(&self) -> Code {
        match self {
            SetupError::AlreadyDone => Code::SetupDone,
            SetupError::WrongToken => Code::BadSetupToken,
            SetupError::WeakPassword(_) => Code::WeakPassword,
            SetupError::BadName => Code::BadName,
            SetupError::Store(_) => Code::StoreBusy,
        }
    }
}

impl Setup {
    pub async fn load(access: &AccessHandle) -> Result<Setup, StoreError> {
        let done = access.run(|access| access.setting(DONE)).await?.is_some();
        let text = (!done).then(|| secret::make("setup"));
        Ok(Setup {
            done: AtomicBool::new(done),
            token: Mutex::new(text.as_deref().map(secret::hash)),
            printed: Mutex::new(text),
        })
    }

    /// Another server of the cluster may have been set up.
    pub async fn refresh(&self, access: &AccessHandle) -> Result<(), StoreError> {
        if !self.is_done() && access.run(|access| access.setting(DONE)).await?.is_some() {
            self.done.store(true, Ordering::Relaxed);
            *self.token.lock() = None;
        }
        Ok(())
    }

    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    /// The one-time token, for printing; only the first caller gets it.
    pub fn take_token(&self) -> Option<String> {
        self.printed.lock().take()
    }

    /// The first account, by whoever holds the one-time token. Gives back an API token.
    pub async fn finish(
        &self,
        access: &AccessHandle,
        token: &str,
        name: String,
        password: String,
        now: Timestamp,
    ) -> Result<String, SetupError> {
        if self.is_done() {
            return Err(SetupError::AlreadyDone);
        }
        let hash = secret::hash(token);
        if !self.token.lock().as_ref().is_some_and(|expected| secret::same(expected, &hash)) {
            return Err(SetupError::WrongToken);
        }
        check(&name, &password)?;
        let hashed = password::hash(password).await;
        let api_token = access.run(move |access| first_account(access, &name, hashed, now)).await?;
        self.done.store(true, Ordering::Relaxed);
        *self.token.lock() = None;
        Ok(api_token)
    }
}

/// The same without a server: for containers and scripts, on a store nobody else has open.
pub fn without_browser(
    access: &mut dyn Access,
    name: &str,
    password: &str,
    now: Timestamp,
) -> Result<String, SetupError> {
    check(name, password)?;
    if access.setting(DONE)?.is_some() {
        return Err(SetupError::AlreadyDone);
    }
    Ok(first_account(access, name, password::hash_now(password), now)?)
}

fn check(name: &str, password: &str) -> Result<(), SetupError> {
    if !is_name(name) {
        return Err(SetupError::BadName);
    }
    password::fault(password, name).map_or(Ok(()), |fault| Err(SetupError::WeakPassword(fault)))
}

/// What an account may be called.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || "._-@".contains(c);
    (1..=64).contains(&name.chars().count()) && name.chars().all(fits)
}

fn first_account(access: &mut dyn Access, name: &str, password: String, now: Timestamp) -> Result<String, StoreError> {
    let api_token = secret::make("duly");
    access.change(&PeopleChange::Administrator(Account {
        name: name.to_string(),
        kind: AccountKind::Person,
        password: Some(password),
        must_change: false,
        subject: None,
        disabled_at: None,
        created_at: now,
        created_by: name.to_string(),
    }))?;
    access.put_token(&Token {
        id: 0,
        name: "made at set-up".into(),
        hash: secret::hash(&api_token),
        user: name.to_string(),
        scope: None,
        tenant: None,
        created_at: now,
        expires_at: None,
        revoked_at: None,
    })?;
    access.put_setting(DONE, Some("yes"))?;
    Ok(api_token)
}

/// Set-up of a data directory on which no server runs.
pub fn of_directory(
    data: &std::path::Path,
    store: &StorePlace,
    name: &str,
    password: &str,
) -> Result<String, crate::ServerError> {
    let _lock = crate::own_directory(data)?;
    let Opened { mut access, mut audit, .. } = store.open(data, CACHE_MB)?;
    let now = crate::clock::Clock::new().now();
    let set_up = || without_browser(&mut *access, name, password, now);
    let told = Facts::new().put("admin", name);
    let done = recorded_offline(&mut *audit.writes, "setup", told, set_up, |error| error.code().to_string());
    done.map_err(|error| match error {
        SetupError::Store(error) => error.into(),
        other => crate::ServerError::Setup(other),
    })
}

/// Records what a command has done to a whole store on which no server runs.
pub fn record_command(data: &std::path::Path, store: &StorePlace, operation: &str) -> Result<(), crate::ServerError> {
    let mut audit = store.open(data, CACHE_MB)?.audit;
    let done = || Ok::<_, StoreError>(());
    Ok(recorded_offline(&mut *audit.writes, operation, Facts::new(), done, |_| Code::StoreBusy.to_string())?)
}

/// A token for the first tenant's executors, on a data directory on which no server runs.
pub fn executor_token(data: &std::path::Path, store: &StorePlace, by: &str) -> Result<String, crate::ServerError> {
    let _lock = crate::own_directory(data)?;
    let Opened { mut access, mut audit, .. } = store.open(data, CACHE_MB)?;
    let token = ExecutorToken {
        id: 0,
        token: secret::make("xxl"),
        tenant: TenantId::DEFAULT,
        pool: None,
        created_at: crate::clock::Clock::new().now(),
        created_by: by.to_string(),
    };
    let put = || access.put_executor_token(&token);
    let code = |_: &StoreError| Code::StoreBusy.to_string();
    recorded_offline(&mut *audit.writes, "xxl_token_create", Facts::new(), put, code)?;
    Ok(token.token)
}
