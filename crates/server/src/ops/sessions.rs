//! Signing in and out, and who is signed in. Guessing is made slow; a session is made anew at each sign-in.

use std::net::IpAddr;
use std::time::Duration;

use model::{Span, Timestamp};
use store::access::{SecretHash, Session};
use store::people::{Account, Way};
use wire::api::{Page, SessionBody, SessionInfoView, SessionView, SessionWay};
use wire::{Code, Problem};

use super::{Desk, Done, Refused};
use crate::audit;
use crate::doorman::{Credential, Principal};
use crate::sign_in::Wait;
use crate::{password, secret, sign_in};

/// A session ends then, however much it is used.
pub(crate) const SESSION_LIFE: Span = Span::HOUR.saturating_mul(12);
const PROGRAM_MAX: usize = 200;
/// Somebody's time may be up.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// From where somebody comes, and with what, as they say.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub address: IpAddr,
    pub program: String,
    /// The session they came with, which ends when another begins.
    pub before: Option<SecretHash>,
}

impl Desk {
    pub(crate) async fn open_session(&self, body: SessionBody, from: Visitor) -> Done<SessionView> {
        self.prove(&body.name, body.password, from.address, "name or password is wrong").await?;
        self.begin_session(body.name, Way::Password, from).await
    }

    /// Somebody shows that they know a password, for the first time or again.
    pub(super) async fn prove(&self, name: &str, password: String, from: IpAddr, otherwise: &str) -> Done<()> {
        let turn = password::wait_in_line()
            .ok_or_else(|| Problem::new(Code::TooMany, "too many people are signing in at once"))?;
        let account = self.try_to_sign_in(name, from).await?;
        let kept = account.filter(|account| account.disabled_at.is_none()).and_then(|account| account.password);
        // People type passwords into the wrong field: a name that nobody has is not repeated.
        if kept.is_some() {
            audit::named("name", name);
        }
        if !password::verify(password, kept, turn).await {
            return Err(Problem::new(Code::WrongPassword, otherwise).into());
        }
        audit::known_as(name, "password");
        let (name, address, now) = (name.to_owned(), sign_in::address(from), self.clock.now());
        Ok(self.access.run(move |access| access.note_succeeded(&name, &address, now)).await?)
    }

    /// The try counts as a wrong one until it has proved right: many at once are no way around the count. What comes
    /// too early is not looked at, and does not count.
    async fn try_to_sign_in(&self, name: &str, from: IpAddr) -> Done<Option<Account>> {
        let (name, counted) = (name.to_owned(), sign_in::name(name));
        let (address, now) = (sign_in::address(from), self.clock.now());
        let tried = self.access.run(move |access| {
            if let Some(wait) = sign_in::wait(&access.tries(&counted, &address)?, now) {
                return Ok(Err(wait));
            }
            access.note_failed(&counted, &address, now, sign_in::counting(now))?;
            // A text with what no name has may be more than a store can look for.
            Ok(Ok(if crate::setup::is_name(&name) { access.account(&name)? } else { None }))
        });
        tried.await?.map_err(too_many)
    }

    /// Somebody has shown who they are.
    pub(crate) async fn begin_session(&self, user: String, way: Way, from: Visitor) -> Done<SessionView> {
        let (token, now) = (secret::make("session"), self.clock.now());
        let expires_at = now + SESSION_LIFE;
        let session = Session {
            hash: secret::hash(&token),
            user: user.clone(),
            way,
            address: from.address.to_canonical().to_string(),
            program: from.program.chars().filter(|c| !c.is_control()).take(PROGRAM_MAX).collect(),
            created_at: now,
            used_at: now,
            expires_at,
        };
        self.access
            .run(move |access| {
                if let Some(before) = from.before {
                    access.remove_session(&before)?;
                }
                access.put_session(&session)
            })
            .await?;
        if from.before.is_some() {
            self.doorman.forget_all();
        }
        Ok(SessionView { user, token, expires_at: expires_at.into() })
    }

    /// Only what was signed in with ends; an API token stays.
    pub(crate) async fn close_session(&self, key: SecretHash) -> Done<()> {
        self.access.run(move |access| access.remove_session(&key)).await?;
        self.doorman.forget_all();
        Ok(())
    }

    /// Until the server stops, or whoever came with this may no longer do just what they could when they came: what
    /// stays open ends as soon as it could not be begun.
    pub(crate) async fn until_unwelcome(self, key: Option<SecretHash>, who: Principal) {
        let mut changes = self.doorman.changes();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                _ = changes.changed() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
            let Some(key) = key else { continue };
            // A store that does not answer ends nothing.
            if let Ok(found) = self.doorman.recall(key, self.clock.now()).await
                && found.is_none_or(|found| found.rights != who.rights)
            {
                return;
            }
        }
    }

    pub(crate) async fn list_sessions(&self, of: &str, who: &Principal) -> Done<Page<SessionInfoView>> {
        let of = of.to_owned();
        let (mut sessions, now) = (self.access.run(move |access| access.sessions_of(&of)).await?, self.clock.now());
        sessions.retain(|session| alive(session, now));
        let current = |session: &Session| match &who.by {
            Credential::Session { id } => *id == session.id(),
            Credential::Token { .. } => false,
        };
        let views = sessions.into_iter().map(|session| SessionInfoView {
            id: session.id(),
            current: current(&session),
            way: match session.way {
                Way::Password => SessionWay::Password,
                Way::Provider => SessionWay::Provider,
            },
            created_at: session.created_at.into(),
            last_used_at: session.used_at.into(),
            expires_at: session.expires_at.into(),
            user: session.user,
            address: session.address,
            program: session.program,
        });
        Ok(Page::whole(views.collect()))
    }

    pub(crate) async fn end_session(&self, of: &str, id: &str) -> Done<()> {
        let (of, wanted) = (of.to_owned(), id.to_owned());
        let ended = self.access.run(move |access| {
            let theirs = access.sessions_of(&of)?;
            match theirs.iter().find(|session| session.id() == wanted) {
                Some(session) => access.remove_session(&session.hash),
                None => Ok(false),
            }
        });
        let ended = ended.await;
        self.doorman.forget_all();
        if ended? { Ok(()) } else { Err(Problem::new(Code::NoSuchSession, format!("there is no session {id}")).into()) }
    }

    pub(crate) async fn end_sessions(&self, of: &str, by: &Principal) -> Done<()> {
        self.not_above(by, of).await?;
        let person = of.to_owned();
        let ended = self.access.run(move |access| access.remove_sessions(&person, None)).await;
        self.doorman.forget_all();
        Ok(ended.map(drop)?)
    }
}

fn alive(session: &Session, now: Timestamp) -> bool {
    session.expires_at > now && session.used_at + crate::doorman::SESSION_IDLE > now
}

fn too_many(wait: Wait) -> Refused {
    let seconds = (wait.left.0 + Span::SECOND.0 - 1) / Span::SECOND.0;
    let problem = Problem::new(Code::TooMany, wait.why);
    problem.with_help(format!("Try again in {seconds} s.")).into()
}
