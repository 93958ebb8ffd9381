//! Signing in by an identity provider (OpenID Connect, authorisation code with PKCE): what is configured, and what the
//! provider's words mean here. `provider` talks to it. Whatever is wrong with it, passwords go on working.

mod provider;

use std::path::PathBuf;

use model::{TenantId, Timestamp};
use store::people::{Grant, Holder, Origin};

pub(crate) use self::provider::{Provider, ProviderError, Sent};

#[derive(Clone, Debug)]
pub struct OidcConfig {
    pub issuer: String,
    pub client_id: String,
    /// None: a client without a secret, which PKCE alone protects.
    pub client_secret_file: Option<PathBuf>,
    /// Beside `openid`.
    pub scopes: Vec<String>,
    /// The claim that names the account.
    pub name_claim: String,
    /// The claim that lists the groups.
    pub groups_claim: String,
    pub map: Vec<Mapping>,
    /// Only accounts that an administrator made sign in; otherwise one is made at the first sign-in.
    pub known_only: bool,
}

/// What a group of the provider stands for here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub group: String,
    pub role: String,
    /// By name; `default` if absent.
    pub tenant: Option<String>,
    pub everywhere: bool,
}

/// Whom the provider says somebody is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Issuer and subject: the name may change and be given to another.
    pub subject: String,
    pub name: String,
    pub groups: Vec<String>,
}

impl Identity {
    /// What their groups stand for. `tenant` knows tenants by name; what names one that is not there gives nothing.
    pub(crate) fn grants(
        &self,
        person: &str,
        map: &[Mapping],
        tenant: impl Fn(&str) -> Option<TenantId>,
        now: Timestamp,
    ) -> Vec<Grant> {
        let of = map.iter().filter(|mapping| self.groups.contains(&mapping.group));
        let grant = |mapping: &Mapping| {
            let tenant = match mapping.everywhere {
                true => None,
                false => Some(tenant(mapping.tenant.as_deref().unwrap_or("default"))?),
            };
            Some(Grant {
                id: 0,
                holder: Holder::Person(person.to_owned()),
                role: mapping.role.clone(),
                tenant,
                folder: None,
                labels: Default::default(),
                origin: Origin::Mapped,
                created_at: now,
                created_by: "identity provider".into(),
            })
        };
        of.filter_map(grant).collect()
    }
}

/// Where somebody goes after signing in: a path of ours, whatever was asked for.
pub(crate) fn own_path(wanted: Option<&str>) -> &str {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_.~-%?=&+:,".contains(c);
    let ours = |path: &&str| {
        let mut first = path.chars();
        path.len() <= 512 && first.next() == Some('/') && first.next() != Some('/') && path.chars().all(plain)
    };
    wanted.filter(ours).unwrap_or("/ui")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_who_signed_in_stays_with_us() {
        for ours in ["/ui", "/ui/jobs?folder=a%2Fb&state=failed", "/"] {
            assert_eq!(own_path(Some(ours)), ours);
        }
        let foreign = [
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "javascript:alert(1)",
            "/ui\r\nSet-Cookie: a=b",
            "/\"><script>",
            "ui",
            "",
            "/ /evil.example",
            "/@evil/..//",
        ];
        for foreign in foreign {
            assert_eq!(own_path(Some(foreign)), "/ui", "{foreign:?}");
        }
        assert_eq!(own_path(None), "/ui");
    }

    #[test]
    fn groups_stand_for_roles() {
        let map = [
            ("ops", "operator", None, false),
            ("root", "platform_admin", None, true),
            ("x", "viewer", Some("no"), false),
        ];
        let map = map.map(|(group, role, tenant, everywhere): (&str, &str, Option<&str>, bool)| Mapping {
            group: group.into(),
            role: role.into(),
            tenant: tenant.map(Into::into),
            everywhere,
        });
        let of = |groups: &[&str]| {
            let groups = groups.iter().map(ToString::to_string).collect();
            let identity = Identity { subject: "i s".into(), name: "ann".into(), groups };
            let known = |name: &str| (name == "default").then_some(TenantId::DEFAULT);
            let grants = identity.grants("ann", &map, known, Timestamp(0));
            grants.into_iter().map(|grant| (grant.role, grant.tenant)).collect::<Vec<_>>()
        };
        assert_eq!(of(&["ops", "other"]), [("operator".into(), Some(TenantId::DEFAULT))]);
        assert_eq!(of(&["root"]), [("platform_admin".into(), None)]);
        assert_eq!((of(&["x"]), of(&[])), (vec![], vec![]), "a tenant that is not there gives nothing");
    }
}
