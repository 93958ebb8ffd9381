//! What executors show us and are shown by us. A token belongs to a tenant, and optionally to one of its pools; who shows
//! it may speak for these and for nobody else.

use engine::Scope;
use model::TenantId;
use parking_lot::RwLock;
use store::access::ExecutorToken;
use subtle::ConstantTimeEq;
use wire::xxl::DEFAULT_TOKEN;

/// What the operator said about tokens at the server's start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenRules {
    /// For all pools of the first tenant.
    pub token: Option<String>,
    /// The token of the sample configuration is taken, too, although everybody knows it.
    pub allow_default: bool,
    /// Nothing has to be shown.
    pub allow_empty: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    #[error(
        "the XXL-JOB token is the well-known {DEFAULT_TOKEN:?}, so that anybody could register executors; choose another, or say --xxl-allow-default-token"
    )]
    WellKnown,
    #[error(
        "the XXL-JOB token is empty, so that anybody could register executors; choose one, or say --xxl-allow-empty-token"
    )]
    Empty,
    #[error("the XXL-JOB token has characters that no header can carry")]
    Odd,
}

impl TokenRules {
    /// What everybody who starts such a server should read.
    pub fn warning(&self) -> Option<&'static str> {
        match (self.allow_empty, self.allow_default) {
            (true, _) => Some(
                "XXL-JOB executors need no token here (--xxl-allow-empty-token): anybody who reaches this port can register one.",
            ),
            (false, true) => Some(
                "the well-known XXL-JOB token default_token is taken here (--xxl-allow-default-token): anybody who reaches this port can register an \
                 executor.",
            ),
            (false, false) => None,
        }
    }

    pub fn check(&self) -> Result<(), BadToken> {
        match self.token.as_deref() {
            Some(DEFAULT_TOKEN) if !self.allow_default => Err(BadToken::WellKnown),
            Some(token) if token.trim().is_empty() && !self.allow_empty => Err(BadToken::Empty),
            Some(token) if token.chars().any(|c| c.is_control() || !c.is_ascii()) => Err(BadToken::Odd),
            Some(_) | None => Ok(()),
        }
    }
}

/// Every token that opens the door.
pub(crate) struct Tokens {
    rules: TokenRules,
    kept: RwLock<Vec<ExecutorToken>>,
}

/// Why somebody may not come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shut {
    /// There is no token at all, so nobody could have the right one.
    Off,
    Wrong,
}

impl Tokens {
    pub(crate) fn new(rules: TokenRules, kept: Vec<ExecutorToken>) -> Tokens {
        Tokens { rules, kept: RwLock::new(kept) }
    }

    /// As they are now, whoever made or revoked them.
    pub(crate) fn replace(&self, kept: Vec<ExecutorToken>) {
        *self.kept.write() = kept;
    }

    pub(crate) fn keep(&self, token: ExecutorToken) {
        self.kept.write().push(token);
    }

    /// Gives back what it was.
    pub(crate) fn forget(&self, id: i64) -> Option<String> {
        let mut kept = self.kept.write();
        let at = kept.iter().position(|token| token.id == id)?;
        Some(kept.remove(at).token)
    }

    /// Whom the bearer may speak for.
    pub(crate) fn open(&self, shown: Option<&str>) -> Result<Scope, Shut> {
        let everyone = || Scope { tenant: TenantId::DEFAULT, pool: None };
        let (rules, kept) = (&self.rules, self.kept.read());
        let shown = shown.unwrap_or_default();
        let mut found = None;
        // Every token is compared, so that the time taken says nothing.
        for (token, scope) in self.each(&kept) {
            if !token.is_empty() && same(token, shown) {
                found = Some(scope);
            }
        }
        let open = rules.allow_empty && rules.token.as_deref().is_none_or(|token| token.trim().is_empty());
        match found {
            Some(scope) => Ok(scope),
            None if open || (rules.allow_default && same(DEFAULT_TOKEN, shown)) => Ok(everyone()),
            None if rules.token.is_none() && kept.is_empty() && !rules.allow_default => Err(Shut::Off),
            None => Err(Shut::Wrong),
        }
    }

    /// What an executor of this pool is shown: the token nearest to it.
    pub(crate) fn shown_to(&self, tenant: TenantId, pool: &str) -> String {
        let kept = self.kept.read();
        let mut best: Option<(bool, &str)> = None;
        for (token, scope) in self.each(&kept) {
            let fits = scope.tenant == tenant && scope.pool.as_deref().is_none_or(|own| own == pool);
            let nearer = best.is_none_or(|(own, _)| scope.pool.is_some() && !own);
            if fits && nearer {
                best = Some((scope.pool.is_some(), token));
            }
        }
        match best {
            Some((_, token)) => token.to_string(),
            None if self.rules.allow_default => DEFAULT_TOKEN.to_string(),
            None => String::new(),
        }
    }

    fn each<'a>(&'a self, kept: &'a [ExecutorToken]) -> impl Iterator<Item = (&'a str, Scope)> {
        let named =
            self.rules.token.iter().map(|token| (token.as_str(), Scope { tenant: TenantId::DEFAULT, pool: None }));
        let kept =
            kept.iter().map(|kept| (kept.token.as_str(), Scope { tenant: kept.tenant, pool: kept.pool.clone() }));
        named.chain(kept)
    }
}

fn same(a: &str, b: &str) -> bool {
    crate::secret::hash(a).ct_eq(&crate::secret::hash(b)).into()
}

#[cfg(test)]
mod tests {
    use model::Timestamp;

    use super::*;

    fn of_pool(pool: &str) -> ExecutorToken {
        ExecutorToken {
            id: 1,
            token: format!("secret of {pool}"),
            tenant: TenantId::DEFAULT,
            pool: Some(pool.into()),
            created_at: Timestamp(0),
            created_by: "ann".into(),
        }
    }

    #[test]
    fn well_known_and_empty_tokens_must_be_asked_for_by_name() {
        let rules = |token: &str| TokenRules { token: Some(token.into()), ..TokenRules::default() };
        assert_eq!(rules("default_token").check(), Err(BadToken::WellKnown));
        assert_eq!(rules(" ").check(), Err(BadToken::Empty));
        assert_eq!(rules("a\nb").check(), Err(BadToken::Odd));
        assert_eq!(rules("s3cret").check(), Ok(()));
        assert_eq!(TokenRules { allow_default: true, ..rules("default_token") }.check(), Ok(()));
        assert_eq!(TokenRules { allow_empty: true, ..rules("") }.check(), Ok(()));
    }

    #[test]
    fn a_token_opens_what_it_is_for() {
        let tokens = Tokens::new(TokenRules { token: Some("all".into()), ..TokenRules::default() }, vec![of_pool("a")]);
        assert_eq!(tokens.open(Some("all")).unwrap().pool, None);
        assert_eq!(tokens.open(Some("secret of a")).unwrap().pool.as_deref(), Some("a"));
        for shown in [None, Some(""), Some("default_token"), Some("alL")] {
            assert_eq!(tokens.open(shown), Err(Shut::Wrong), "{shown:?}");
        }
        assert_eq!(
            (tokens.shown_to(TenantId(1), "a"), tokens.shown_to(TenantId(1), "b")),
            ("secret of a".into(), "all".into())
        );
        tokens.forget(1);
        assert_eq!(tokens.open(Some("secret of a")), Err(Shut::Wrong));
    }

    #[test]
    fn without_any_token_the_door_is_shut_unless_it_was_told_to_be_open() {
        let none = Tokens::new(TokenRules::default(), Vec::new());
        assert_eq!((none.open(None), none.open(Some("x"))), (Err(Shut::Off), Err(Shut::Off)));
        let open = Tokens::new(TokenRules { allow_empty: true, ..TokenRules::default() }, Vec::new());
        assert!(open.open(None).is_ok() && open.open(Some("whatever")).is_ok());
        let known = Tokens::new(TokenRules { allow_default: true, ..TokenRules::default() }, Vec::new());
        assert!(known.open(Some("default_token")).is_ok());
        assert_eq!(known.open(Some("x")), Err(Shut::Wrong));
    }
}
