//! API tokens: a person's own, and those of service accounts. A token never carries more than whoever made it had.

use std::collections::HashMap;

use model::{Span, TenantId, Timestamp};
use parking_lot::Mutex;
use store::access::{SecretHash, Token};
use store::people::AccountKind;
use wire::api::{Page, TokenBody, TokenCreatedView, TokenView};
use wire::{Code, Fault, Problem};

use super::grants::permissions;
use super::people::{known_name, no_such};
use super::{Desk, Done};
use crate::audit::{self, Facts};
use crate::doorman::{Credential, Principal};
use crate::secret;

const TOKEN_LIFE_MAX: Span = Span::DAY.saturating_mul(3_660);
/// Tokens whose last use is remembered.
const REMEMBERED_MAX: usize = 50_000;

impl Desk {
    pub(crate) async fn list_tokens(&self, of: &str) -> Done<Page<TokenView>> {
        let of = of.to_owned();
        let (mut tokens, now) = (self.access.run(move |access| access.tokens_of(&of)).await?, self.clock.now());
        let works = |token: &Token| token.revoked_at.is_none() && token.expires_at.is_none_or(|at| at > now);
        tokens.retain(works);
        let views = tokens.into_iter().map(|token| TokenView {
            id: token.id,
            name: token.name,
            user: token.user,
            scope: token.scope.map(store::people::words),
            tenant: token.tenant.map(|tenant| self.tenant_name(tenant)),
            created_at: token.created_at.into(),
            last_used_at: self.used.when(&token.hash).map(Into::into),
            expires_at: token.expires_at.map(Into::into),
        });
        Ok(Page::whole(views.collect()))
    }

    /// Of a service account: whoever makes it could do what it may do.
    pub(crate) async fn create_token_of(
        &self,
        name: &str,
        tenant: TenantId,
        body: TokenBody,
        by: &Principal,
    ) -> Done<TokenCreatedView> {
        known_name(name)?;
        let wanted = name.to_owned();
        let account = self.access.run(move |access| access.account(&wanted)).await?;
        match account.ok_or_else(|| no_such(name))?.kind {
            AccountKind::Service => {}
            AccountKind::Person => {
                let told = format!("{name} is a person, and makes tokens themselves");
                return Err(Problem::new(Code::WrongAccountKind, told).into());
            }
        }
        self.not_above(by, name).await?;
        self.create_token(name, tenant, body, by).await
    }

    pub(crate) async fn create_token(
        &self,
        user: &str,
        tenant: TenantId,
        body: TokenBody,
        by: &Principal,
    ) -> Done<TokenCreatedView> {
        by.whole()?;
        if by.must_change {
            let detail = "set a password of your own before you make tokens";
            return Err(Problem::new(Code::ChangePassword, detail).into());
        }
        if body.name.is_empty() || body.name.chars().count() > 128 || body.name.chars().any(char::is_control) {
            let told = "the name has 1 to 128 characters, none of them a control character";
            return Err(Fault::new(Code::BadName, "name", told).alone().into());
        }
        let life = body.expires_in.map(|length| length.0);
        if life.is_some_and(|life| life <= Span::ZERO || life > TOKEN_LIFE_MAX) {
            let told = format!("a token lives for more than nothing and at most {TOKEN_LIFE_MAX}");
            return Err(Fault::new(Code::BadLength, "expires_in", told).alone().into());
        }
        let scope = if body.scope.is_empty() { None } else { Some(permissions(&body.scope)?) };
        let (text, now) = (secret::make("duly"), self.clock.now());
        // What a token makes does not outlive it.
        let latest = by.expires_at.filter(|_| matches!(by.by, Credential::Token { .. }));
        let expires_at = match (life.map(|life| now + life), latest) {
            (Some(wanted), Some(latest)) => Some(wanted.min(latest)),
            (wanted, latest) => wanted.or(latest),
        };
        let token = Token {
            id: 0,
            name: body.name.clone(),
            hash: secret::hash(&text),
            user: user.to_owned(),
            scope,
            tenant: body.only_here.then_some(tenant),
            created_at: now,
            expires_at,
            revoked_at: None,
        };
        let facts = self.token_facts(&token);
        let id = self.access.run(move |access| access.put_token(&token)).await?;
        audit::after(facts.put("id", id));
        Ok(TokenCreatedView { id, name: body.name, token: text, expires_at: expires_at.map(Into::into) })
    }

    pub(crate) async fn revoke_token(&self, of: &str, id: i64, by: &Principal) -> Done<()> {
        self.not_above(by, of).await?;
        let (now, of) = (self.clock.now(), of.to_owned());
        let revoked = self.access.run(move |access| {
            let theirs = access.tokens_of(&of)?.into_iter().find(|token| token.id == id);
            let revoked = theirs.is_some() && access.revoke_token(id, now)?;
            Ok(theirs.filter(|_| revoked))
        });
        let revoked = revoked.await;
        self.doorman.forget_all();
        revoked.iter().flatten().for_each(|token| audit::before(self.token_facts(token)));
        if revoked?.is_some() {
            Ok(())
        } else {
            Err(Problem::new(Code::NoSuchToken, format!("there is no token {id}")).into())
        }
    }

    /// Whatever it is known by, but not what opens doors.
    fn token_facts(&self, token: &Token) -> Facts {
        let (scope, tenant) = (token.scope.map(store::people::words), token.tenant.map(|id| self.tenant_name(id)));
        let facts = Facts::new().put("of", &token.user).put("name", &token.name).put("scope", scope.as_ref());
        facts.put("tenant", tenant).put("expires_at", token.expires_at)
    }

    /// What a tenant is called where people see it.
    pub(crate) fn tenant_name(&self, tenant: TenantId) -> String {
        self.tenants.get(tenant).map_or_else(|| tenant.0.to_string(), |record| record.name.clone())
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
