//! Who may come in: people, tokens, agents' identities, settings. Secrets arrive here hashed already; nothing in this
//! seam ever sees one. Not part of any shard: written by whoever serves the request.

use std::collections::BTreeMap;

use model::rights::Held;
use model::{AgentId, Serves, TenantId, Timestamp};

use crate::StoreError;
use crate::errand::{Manner, Statements, Tables};
use crate::people::{self, Account, Changed, Counting, Grant, Group, NamedRole, OidcLogin, PeopleChange, Tries};
pub use crate::people::{Session, Token};
use crate::values::Values;

/// SHA-256 of a secret of high entropy (tokens, sessions, agent secrets).
pub type SecretHash = [u8; 32];

pub trait Access: Tables + Values {
    fn account(&mut self, name: &str) -> Result<Option<Account>, StoreError> {
        look(self, |tables| people::account(tables, name))
    }

    fn accounts(&mut self) -> Result<Vec<Account>, StoreError> {
        look(self, people::accounts)
    }

    fn groups(&mut self) -> Result<Vec<Group>, StoreError> {
        look(self, people::groups)
    }

    /// Those that people named; the others are always there.
    fn roles(&mut self) -> Result<Vec<NamedRole>, StoreError> {
        look(self, people::roles)
    }

    fn grants(&mut self) -> Result<Vec<Grant>, StoreError> {
        look(self, people::grants)
    }

    /// What holds in a tenant; what holds everywhere, too, if `everywhere`.
    fn grants_in(&mut self, tenant: TenantId, everywhere: bool) -> Result<Vec<Grant>, StoreError> {
        look(self, |tables| people::grants_in(tables, tenant, everywhere))
    }

    /// What grants to the person and to their groups amount to. None: there is no such account, or it is disabled.
    fn rights_of(&mut self, person: &str) -> Result<Option<Vec<Held>>, StoreError> {
        look(self, |tables| people::rights_of(tables, person))
    }

    /// The same, of an account that may be disabled.
    fn held_by(&mut self, person: &str) -> Result<Vec<Held>, StoreError> {
        look(self, |tables| people::held_by(tables, person))
    }

    /// Done and told to all servers, or nothing is changed.
    fn change(&mut self, change: &PeopleChange) -> Result<Changed, StoreError> {
        let mut changed = Changed::NoSuch;
        self.errand(Manner::Told, &mut |tables| {
            changed = people::change(tables, change)?;
            Ok(matches!(changed, Changed::Done(_)))
        })?;
        Ok(changed)
    }

    /// What is remembered of tries to sign in under a name from an address.
    fn tries(&mut self, name: &str, address: &str) -> Result<Tries, StoreError> {
        look(self, |tables| people::tries(tables, name, address))
    }

    /// Adds to what went wrong.
    fn note_failed(&mut self, name: &str, address: &str, at: Timestamp, counting: Counting) -> Result<(), StoreError> {
        write(self, Manner::Quiet, |tables| people::note_failed(tables, name, address, at, counting))
    }

    fn note_succeeded(&mut self, name: &str, address: &str, at: Timestamp) -> Result<(), StoreError> {
        write(self, Manner::Quiet, |tables| people::note_succeeded(tables, name, address, at))
    }

    /// False: there was nothing to forget.
    fn forget_tries(&mut self, name: &str) -> Result<bool, StoreError> {
        write(self, Manner::Quiet, |tables| people::forget_tries(tables, name))
    }

    fn put_session(&mut self, session: &Session) -> Result<(), StoreError> {
        write(self, Manner::Quiet, |tables| people::put_session(tables, session))
    }

    fn session(&mut self, hash: &SecretHash) -> Result<Option<Session>, StoreError> {
        look(self, |tables| people::session(tables, hash))
    }

    /// By person and age.
    fn sessions(&mut self) -> Result<Vec<Session>, StoreError> {
        look(self, people::sessions)
    }

    /// By age.
    fn sessions_of(&mut self, person: &str) -> Result<Vec<Session>, StoreError> {
        look(self, |tables| people::sessions_of(tables, person))
    }

    fn touch_session(&mut self, hash: &SecretHash, at: Timestamp) -> Result<(), StoreError> {
        write(self, Manner::Quiet, |tables| people::touch_session(tables, hash, at))
    }

    /// False: there is no such session.
    fn remove_session(&mut self, hash: &SecretHash) -> Result<bool, StoreError> {
        write(self, Manner::Told, |tables| people::remove_session(tables, hash))
    }

    /// All of a person's, but for one. Answers how many.
    fn remove_sessions(&mut self, person: &str, keep: Option<&SecretHash>) -> Result<u64, StoreError> {
        write(self, Manner::Told, |tables| people::end_all(tables, person, keep))
    }

    /// Forgets sessions, join tokens and the like that ended before `now`, and tries to sign in before `tries`.
    fn forget_expired(&mut self, now: Timestamp, tries: Timestamp) -> Result<(), StoreError> {
        write(self, Manner::Quiet, |tables| people::forget_expired(tables, now, tries))
    }

    /// False: `most` are on their way already.
    fn put_oidc_login(&mut self, login: &OidcLogin, most: i64) -> Result<bool, StoreError> {
        write(self, Manner::Quiet, |tables| people::put_oidc_login(tables, login, most))
    }

    /// Takes it for good: a second call finds nothing.
    fn use_oidc_login(&mut self, state: &SecretHash, now: Timestamp) -> Result<Option<OidcLogin>, StoreError> {
        write(self, Manner::Quiet, |tables| people::use_oidc_login(tables, state, now))
    }

    /// Gives the token its number.
    fn put_token(&mut self, token: &Token) -> Result<i64, StoreError> {
        write(self, Manner::Quiet, |tables| people::put_token(tables, token))
    }

    fn token(&mut self, hash: &SecretHash) -> Result<Option<Token>, StoreError> {
        look(self, |tables| people::token(tables, hash))
    }

    fn tokens(&mut self) -> Result<Vec<Token>, StoreError> {
        look(self, people::tokens)
    }

    fn tokens_of(&mut self, person: &str) -> Result<Vec<Token>, StoreError> {
        look(self, |tables| people::tokens_of(tables, person))
    }

    /// False: there is no such token.
    fn revoke_token(&mut self, id: i64, at: Timestamp) -> Result<bool, StoreError> {
        write(self, Manner::Told, |tables| people::revoke_token(tables, id, at))
    }

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

fn look<A: Access + ?Sized, T>(
    access: &mut A,
    mut look: impl FnMut(&mut dyn Statements) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    write(access, Manner::Look, &mut look)
}

fn write<A: Access + ?Sized, T>(
    access: &mut A,
    manner: Manner,
    mut work: impl FnMut(&mut dyn Statements) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut done = None;
    access.errand(manner, &mut |tables| {
        done = Some(work(tables)?);
        Ok(true)
    })?;
    done.ok_or_else(|| StoreError::Failed("work on the accounts was not begun".into()))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinToken {
    pub hash: SecretHash,
    pub tenant: TenantId,
    /// Whose runs the agent takes besides.
    pub serves: Serves,
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
