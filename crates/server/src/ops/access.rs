//! Set-up, sessions and tokens. Guessing is made slow; nothing that is kept could be used to sign in.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use model::{Actor, Span, TenantId, Timestamp};
use parking_lot::Mutex;
use store::access::{ExecutorToken, SecretHash, Session, Token};
use store::people::Way;
use wire::api::{
    Page, SessionBody, SessionView, SetupBody, SetupView, TokenBody, TokenCreatedView, TokenView, XxlTokenBody,
    XxlTokenCreatedView, XxlTokenView,
};
use wire::job::check::pool_name_fault;
use wire::{Code, Fault, Problem};

use super::{Desk, Done};
use crate::setup::SetupError;
use crate::{password, secret};

const SESSION_LIFE: Span = Span::HOUR.saturating_mul(12);
const TOKEN_LIFE_MAX: Span = Span::DAY.saturating_mul(3_660);
/// Tries that cost nothing but themselves; each one after them doubles the wait.
const FREE_TRIES: u32 = 5;
const WAIT_MAX: Duration = Duration::from_secs(300);
const FORGET_AFTER: Duration = Duration::from_secs(900);
/// Names and addresses that are remembered; a flood of them must not take all memory.
const REMEMBERED_MAX: usize = 50_000;

impl Desk {
    pub(crate) async fn set_up(&self, body: SetupBody) -> Done<SetupView> {
        let (user, now) = (body.admin.clone(), self.clock.now());
        let done = self.setup.finish(&self.access, &body.token, body.admin, body.password, now).await;
        let token = done.map_err(|error| match error {
            SetupError::AlreadyDone => Problem::new(Code::SetupDone, error.to_string()).into(),
            SetupError::WrongToken => Problem::new(Code::BadSetupToken, error.to_string()).into(),
            SetupError::WeakPassword(_) => {
                super::Refused::from(Fault::new(Code::WeakPassword, "password", error.to_string()).alone())
            }
            SetupError::BadName => Fault::new(Code::BadName, "admin", error.to_string()).alone().into(),
            SetupError::Store(error) => error.into(),
        })?;
        Ok(SetupView { user, token })
    }

    pub(crate) async fn open_session(&self, body: SessionBody, from: IpAddr) -> Done<SessionView> {
        self.logins.admit(&body.name, from).map_err(too_many)?;
        let name = body.name.clone();
        let account = self.access.run(move |access| access.account(&name)).await?;
        let kept = account.filter(|account| account.disabled_at.is_none()).and_then(|account| account.password);
        if !password::verify(body.password, kept).await {
            self.logins.failed(&body.name, from);
            return Err(Problem::new(Code::WrongPassword, "name or password is wrong").into());
        }
        self.logins.succeeded(&body.name, from);
        let (token, now) = (secret::make("session"), self.clock.now());
        let expires_at = now + SESSION_LIFE;
        let session = Session {
            hash: secret::hash(&token),
            user: body.name.clone(),
            way: Way::Password,
            address: from.to_string(),
            program: String::new(),
            created_at: now,
            used_at: now,
            expires_at,
        };
        self.access.run(move |access| access.put_session(&session)).await?;
        Ok(SessionView { user: body.name, token, expires_at: expires_at.into() })
    }

    /// Only what was signed in with ends; an API token stays.
    pub(crate) async fn close_session(&self, key: SecretHash) -> Done<()> {
        self.access.run(move |access| access.remove_session(&key)).await?;
        self.doorman.forget_all();
        Ok(())
    }

    pub(crate) async fn list_tokens(&self, of: &str) -> Done<Page<TokenView>> {
        let (tokens, now) = (self.access.run(|access| access.tokens()).await?, self.clock.now());
        let works = |token: &Token| {
            token.user == of && token.revoked_at.is_none() && token.expires_at.is_none_or(|at| at > now)
        };
        let views = tokens.into_iter().filter(works).map(|token| TokenView {
            id: token.id,
            name: token.name,
            user: token.user,
            created_at: token.created_at.into(),
            last_used_at: self.used.when(&token.hash).map(Into::into),
            expires_at: token.expires_at.map(Into::into),
        });
        Ok(Page::whole(views.collect()))
    }

    pub(crate) async fn create_token(&self, body: TokenBody, by: Actor) -> Done<TokenCreatedView> {
        if body.name.is_empty() || body.name.chars().count() > 128 || body.name.chars().any(char::is_control) {
            let told = "the name has 1 to 128 characters, none of them a control character";
            return Err(Fault::new(Code::BadName, "name", told).alone().into());
        }
        let life = body.expires_in.map(|length| length.0);
        if life.is_some_and(|life| life <= Span::ZERO || life > TOKEN_LIFE_MAX) {
            let told = format!("a token lives for more than nothing and at most {TOKEN_LIFE_MAX}");
            return Err(Fault::new(Code::BadLength, "expires_in", told).alone().into());
        }
        let (text, now) = (secret::make("duly"), self.clock.now());
        let expires_at = life.map(|life| now + life);
        let token = Token {
            id: 0,
            name: body.name.clone(),
            hash: secret::hash(&text),
            user: by.0,
            scope: None,
            tenant: None,
            created_at: now,
            expires_at,
            revoked_at: None,
        };
        let id = self.access.run(move |access| access.put_token(&token)).await?;
        Ok(TokenCreatedView { id, name: body.name, token: text, expires_at: expires_at.map(Into::into) })
    }

    /// One's own.
    pub(crate) async fn revoke_token(&self, id: i64, of: &str) -> Done<()> {
        let (now, of) = (self.clock.now(), of.to_owned());
        let revoked = self.access.run(move |access| {
            let own = access.tokens()?.into_iter().any(|token| token.id == id && token.user == of);
            if own { access.revoke_token(id, now) } else { Ok(false) }
        });
        let revoked = revoked.await?;
        // Whoever it belongs to, nobody is recognised by it any more.
        self.doorman.forget_all();
        if revoked { Ok(()) } else { Err(Problem::new(Code::NoSuchToken, format!("there is no token {id}")).into()) }
    }
}

impl Desk {
    pub(crate) async fn list_xxl_tokens(&self, tenant: TenantId) -> Done<Page<XxlTokenView>> {
        let mut tokens = self.access.run(|access| access.executor_tokens()).await?;
        tokens.retain(|token| token.tenant == tenant);
        let views = tokens.into_iter().map(|token| XxlTokenView {
            id: token.id,
            pool: token.pool,
            created_at: token.created_at.into(),
            created_by: token.created_by,
        });
        Ok(Page::whole(views.collect()))
    }

    /// Kept readable: executors are shown it, too.
    pub(crate) async fn create_xxl_token(
        &self,
        tenant: TenantId,
        body: XxlTokenBody,
        by: Actor,
    ) -> Done<XxlTokenCreatedView> {
        if let Some(wrong) = body.pool.as_deref().and_then(pool_name_fault) {
            return Err(Fault::new(Code::BadName, "pool", format!("the name {wrong}")).alone().into());
        }
        let mut token = ExecutorToken {
            id: 0,
            token: secret::make("xxl"),
            tenant,
            pool: body.pool,
            created_at: self.clock.now(),
            created_by: by.0,
        };
        let kept = token.clone();
        token.id = self.access.run(move |access| access.put_executor_token(&kept)).await?;
        self.executors.tokens().keep(token.clone());
        Ok(XxlTokenCreatedView { id: token.id, pool: token.pool, token: token.token })
    }

    pub(crate) async fn revoke_xxl_token(&self, tenant: TenantId, id: i64) -> Done<()> {
        let gone = self.access.run(move |access| {
            let own = access.executor_tokens()?.into_iter().any(|token| token.id == id && token.tenant == tenant);
            if own { access.remove_executor_token(id) } else { Ok(false) }
        });
        let gone = gone.await?;
        if gone && let Some(token) = self.executors.tokens().forget(id) {
            self.executors.revoked(&token);
        }
        if gone { Ok(()) } else { Err(Problem::new(Code::NoSuchToken, format!("there is no token {id}")).into()) }
    }
}

fn too_many(wait: Duration) -> super::Refused {
    let seconds = wait.as_secs().max(1);
    let problem = Problem::new(Code::TooMany, "too many wrong passwords for this name from this address");
    problem.with_help(format!("Try again in {seconds} s.")).into()
}

/// Makes guessing slow, by name and address: a stranger elsewhere cannot lock anybody out.
#[derive(Default)]
pub(crate) struct Throttle {
    tries: Mutex<HashMap<(String, IpAddr), Tries>>,
}

struct Tries {
    failed: u32,
    last: Instant,
}

impl Throttle {
    /// How long to wait before another try is looked at.
    fn admit(&self, name: &str, from: IpAddr) -> Result<(), Duration> {
        let tries = self.tries.lock();
        let Some(tries) = tries.get(&(name.to_owned(), from)) else { return Ok(()) };
        let wait = pause(tries.failed).saturating_sub(tries.last.elapsed());
        if wait.is_zero() { Ok(()) } else { Err(wait) }
    }

    fn failed(&self, name: &str, from: IpAddr) {
        let mut tries = self.tries.lock();
        tries.retain(|_, tries| tries.last.elapsed() < FORGET_AFTER);
        if tries.len() >= REMEMBERED_MAX {
            tries.clear();
        }
        let tries = tries.entry((name.to_owned(), from)).or_insert(Tries { failed: 0, last: Instant::now() });
        tries.failed += 1;
        tries.last = Instant::now();
    }

    fn succeeded(&self, name: &str, from: IpAddr) {
        self.tries.lock().remove(&(name.to_owned(), from));
    }
}

fn pause(failed: u32) -> Duration {
    match failed.checked_sub(FREE_TRIES) {
        None => Duration::ZERO,
        Some(more) => Duration::from_secs(1 << more.min(9)).min(WAIT_MAX),
    }
}

/// When each token last came, since this server started.
#[derive(Default)]
pub(crate) struct LastUsed {
    by_key: Mutex<HashMap<SecretHash, Timestamp>>,
}

impl LastUsed {
    pub(crate) fn note(&self, key: SecretHash, now: Timestamp) {
        let mut by_key = self.by_key.lock();
        if by_key.len() >= REMEMBERED_MAX {
            by_key.clear();
        }
        by_key.insert(key, now);
    }

    fn when(&self, key: &SecretHash) -> Option<Timestamp> {
        self.by_key.lock().get(key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessing_gets_slow_for_one_name_and_address_only() {
        let throttle = Throttle::default();
        let (here, there) = ([127, 0, 0, 1].into(), [10, 0, 0, 1].into());
        for _ in 0..FREE_TRIES {
            assert_eq!(throttle.admit("ann", here), Ok(()));
            throttle.failed("ann", here);
        }
        assert!(throttle.admit("ann", here).is_err());
        assert_eq!((throttle.admit("ann", there), throttle.admit("bob", here)), (Ok(()), Ok(())));
        throttle.succeeded("ann", here);
        assert_eq!(throttle.admit("ann", here), Ok(()));
    }

    #[test]
    fn waits_double_up_to_a_bound() {
        let seconds = |failed| pause(failed).as_secs();
        assert_eq!([4, 5, 6, 7, 12, 13, 60].map(seconds), [0, 1, 2, 4, 128, 256, 300]);
    }
}
