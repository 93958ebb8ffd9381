//! Signing in by the identity provider: whom its word is about here, and what their groups stand for.

use std::collections::BTreeSet;
use std::net::IpAddr;

use model::Span;
use store::access::SecretHash;
use store::people::{Account, AccountKind, Changed, Grant, Holder, OidcLogin, Origin, PeopleChange, Subject, Way};
use wire::api::SessionView;
use wire::{Code, Problem};

use super::sessions::Visitor;
use super::{Desk, Done, Refused};
use crate::audit::Facts;
use crate::oidc::{Identity, Provider, ProviderError, Sent, own_path};
use crate::secret;

/// Whoever takes longer at the provider begins again.
pub(crate) const AWAY: Span = Span::MINUTE.saturating_mul(10);
/// So many may be away at once: a flood of beginnings must not fill the store.
const AWAY_MAX: i64 = 10_000;

/// Somebody who leaves for the provider.
pub(crate) struct Leaving {
    pub url: String,
    /// What their browser keeps meanwhile: nobody else can come back in their place.
    pub browser: String,
}

impl Desk {
    fn provider(&self) -> Done<&Provider> {
        match &self.oidc {
            Some(Ok(provider)) => Ok(provider),
            Some(Err(wrong)) => Err(Problem::new(Code::NoProvider, wrong.clone()).into()),
            None => Err(Problem::new(Code::NoProvider, "no identity provider is configured").into()),
        }
    }

    pub(crate) async fn leave_for_provider(&self, back: Option<&str>) -> Done<Leaving> {
        let Sent { url, state, nonce, verifier } = self.provider()?.send().await.map_err(told)?;
        let browser = secret::make("oidc");
        let login = OidcLogin {
            state: secret::hash(&state),
            browser: secret::hash(&browser),
            nonce,
            verifier,
            back: own_path(back).to_owned(),
            expires_at: self.clock.now() + AWAY,
        };
        if !self.access.run(move |access| access.put_oidc_login(&login, AWAY_MAX)).await? {
            return Err(Problem::new(Code::TooMany, "too many are signing in at once").into());
        }
        Ok(Leaving { url, browser })
    }

    /// They are back. Answers their session, and where they wanted to go.
    pub(crate) async fn back_from_provider(
        &self,
        code: String,
        state: &str,
        browser: Option<&str>,
        from: Visitor,
    ) -> Done<(SessionView, String)> {
        let provider = self.provider()?;
        let (state, now): (SecretHash, _) = (secret::hash(state), self.clock.now());
        // Taken first: whoever shows it from the wrong browser has used it up.
        let login = self.access.run(move |access| access.use_oidc_login(&state, now)).await?;
        let login = login.ok_or_else(|| refused("this sign-in is not known, took too long or was used already"))?;
        if !browser.is_some_and(|shown| secret::same(&secret::hash(shown), &login.browser)) {
            return Err(refused("this sign-in was begun in another browser"));
        }
        let identity = provider.receive(code, login.verifier, login.nonce).await.map_err(told)?;
        // What cannot be recorded is not done.
        self.audit.check()?;
        let name = self.account_of(&identity, provider, from.address).await?;
        let session = self.begin_session(name, Way::Provider, from).await?;
        Ok((session, login.back))
    }

    /// The account of whoever the provider means, made or bound if that is so configured; with the rights their groups
    /// stand for today.
    async fn account_of(&self, identity: &Identity, provider: &Provider, from: IpAddr) -> Done<String> {
        let (wanted, now) = (identity.clone(), self.clock.now());
        let known_only = provider.config.known_only;
        let found = self.access.run(move |access| {
            let accounts = access.accounts()?;
            let ours = Subject::Known(wanted.subject.clone());
            Ok(whose(&accounts, &wanted, &ours, known_only, now))
        });
        let (name, change) = found.await?.map_err(|why| Refused::from(Problem::new(Code::NoAccount, why)))?;
        if let Some(change) = change {
            let operation = if matches!(change, PeopleChange::Made(_)) { "person_create" } else { "person_bind" };
            self.change_people(change, || refused("the account is gone")).await?;
            let after = Facts::new().put("subject", &identity.subject);
            self.audit.changed_by_provider(operation, &name, None, after, from).await;
        }
        self.map_groups(&name, identity, provider, from).await?;
        Ok(name)
    }

    /// Replaces what their groups stood for by what they stand for now.
    async fn map_groups(&self, name: &str, identity: &Identity, provider: &Provider, from: IpAddr) -> Done<()> {
        let tenant = |name: &str| self.tenants.by_name(name);
        let grants = identity.grants(name, &provider.config.map, tenant, self.clock.now());
        let after = self.mapped_facts(name, &grants);
        let mapped = PeopleChange::Mapped { person: name.to_owned(), grants };
        let change = self.access.run(move |access| Ok((access.grants()?, access.change(&mapped)?)));
        let (held, changed) = change.await?;
        let before = self.mapped_facts(name, &held);
        if changed == Changed::LastAdministrator {
            tracing::warn!(name, "kept the rights of the last administrator, although the provider does not name them");
        } else if before != after {
            self.audit.changed_by_provider("person_mapped", name, Some(before), after, from).await;
        }
        self.doorman.forget_all();
        Ok(())
    }

    /// What somebody's groups stand for, in words.
    fn mapped_facts(&self, name: &str, grants: &[Grant]) -> Facts {
        let theirs = |grant: &&Grant| {
            grant.origin == Origin::Mapped && matches!(&grant.holder, Holder::Person(person) if person == name)
        };
        let words = |grant: &Grant| match grant.tenant {
            Some(tenant) => format!("{} in {}", grant.role, self.tenant_name(tenant)),
            None => format!("{} everywhere", grant.role),
        };
        let words: BTreeSet<String> = grants.iter().filter(theirs).map(words).collect();
        Facts::new().put("roles", &words.into_iter().collect::<Vec<_>>())
    }
}

/// The account, and what must be changed first. An account with a password is never taken over by a name alone.
fn whose(
    accounts: &[Account],
    identity: &Identity,
    ours: &Subject,
    known_only: bool,
    now: model::Timestamp,
) -> Result<(String, Option<PeopleChange>), String> {
    let active = |account: &Account| match account.disabled_at {
        None => Ok(account.name.clone()),
        Some(_) => Err(format!("the account {} is disabled", account.name)),
    };
    if let Some(account) = accounts.iter().find(|account| account.subject.as_ref() == Some(ours)) {
        return Ok((active(account)?, None));
    }
    let name = &identity.name;
    if let Some(account) = accounts.iter().find(|account| account.name == *name) {
        if account.subject != Some(Subject::Awaited) {
            return Err(format!(
                "the name {name} belongs to an account that does not sign in by the identity provider"
            ));
        }
        let bind = PeopleChange::SubjectSet { name: name.clone(), subject: Some(ours.clone()) };
        return Ok((active(account)?, Some(bind)));
    }
    if known_only {
        return Err(format!("{name} has no account here; an administrator makes it with `duly person create`"));
    }
    if !crate::setup::is_name(name) {
        return Err(format!("{name:?} cannot be the name of an account"));
    }
    let account = Account {
        name: name.clone(),
        kind: AccountKind::Person,
        password: None,
        must_change: false,
        subject: Some(ours.clone()),
        disabled_at: None,
        created_at: now,
        created_by: "identity provider".into(),
    };
    Ok((name.clone(), Some(PeopleChange::Made(account))))
}

fn told(error: ProviderError) -> Refused {
    tracing::warn!(%error, "signing in by the identity provider failed");
    let code = match &error {
        ProviderError::Misconfigured(_) => Code::NoProvider,
        ProviderError::Unreachable(_) => Code::ProviderFailed,
        ProviderError::Refused(_) => Code::ProviderRefused,
    };
    Problem::new(code, error.to_string()).into()
}

fn refused(why: &str) -> Refused {
    Problem::new(Code::ProviderRefused, why).into()
}

#[cfg(test)]
mod tests {
    use model::Timestamp;

    use super::*;

    fn account(name: &str, subject: Option<Subject>) -> Account {
        Account {
            name: name.into(),
            kind: AccountKind::Person,
            password: None,
            must_change: false,
            subject,
            disabled_at: None,
            created_at: Timestamp(0),
            created_by: "ann".into(),
        }
    }

    #[test]
    fn an_account_is_found_by_subject_bound_by_name_once_and_never_taken_over() {
        let identity = Identity { subject: "idp 7".into(), name: "bob".into(), groups: vec![] };
        let ours = Subject::Known("idp 7".into());
        let of = |accounts: &[Account], known_only| {
            whose(accounts, &identity, &ours, known_only, Timestamp(0)).map(|(name, change)| (name, change.is_some()))
        };
        assert_eq!(of(&[], false), Ok(("bob".into(), true)));
        assert!(of(&[], true).unwrap_err().contains("no account"));
        assert_eq!(of(&[account("bob", Some(Subject::Awaited))], true), Ok(("bob".into(), true)));
        // Renamed at the provider: still the same account.
        assert_eq!(of(&[account("robert", Some(ours.clone()))], true), Ok(("robert".into(), false)));
        for other in [None, Some(Subject::Known("idp 8".into()))] {
            assert!(of(&[account("bob", other)], false).unwrap_err().contains("belongs to"));
        }
        let off = Account { disabled_at: Some(Timestamp(1)), ..account("bob", Some(ours.clone())) };
        assert!(of(&[off], false).unwrap_err().contains("disabled"));
    }
}
