//! The settings file: what can also be said on the command line, for those who keep it in a file. What is said on the
//! command line counts more; a key nobody knows is refused, because it was surely meant to do something.

use std::path::{Path, PathBuf};

use anyhow::Context;
use model::egress::{BadNet, Net};
use serde::Deserialize;
use server::oidc::{Mapping, OidcConfig};
use server::{EgressRules, PrivateNetworks, TokenRules};

use crate::options::{EgressOptions, ServerOptions, XxlOptions};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(default)]
    pub xxl: XxlSettings,
    /// How browsers reach this server.
    pub public_url: Option<String>,
    /// Addresses and networks of proxies whose word about callers is taken.
    #[serde(default)]
    pub trusted_proxies: Vec<String>,
    /// Kept as it is until it is looked at: a fault in it must not keep the server from starting.
    pub oidc: Option<toml::Table>,
    #[serde(default)]
    pub egress: EgressSettings,
}

/// The identity provider, as it is written down.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OidcSettings {
    issuer: String,
    client_id: String,
    client_secret_file: Option<PathBuf>,
    #[serde(default = "scopes")]
    scopes: Vec<String>,
    #[serde(default = "name_claim")]
    name_claim: String,
    #[serde(default = "groups_claim")]
    groups_claim: String,
    #[serde(default)]
    map: Vec<MapSettings>,
    /// Only accounts that an administrator made.
    #[serde(default)]
    known_only: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MapSettings {
    group: String,
    role: String,
    tenant: Option<String>,
    #[serde(default)]
    everywhere: bool,
}

fn scopes() -> Vec<String> {
    vec!["profile".into()]
}

fn name_claim() -> String {
    "preferred_username".into()
}

fn groups_claim() -> String {
    "groups".into()
}

/// What is wrong with it is told when somebody wants to sign in by it, and in the log.
pub(crate) fn oidc(table: Option<toml::Table>) -> Option<Result<OidcConfig, String>> {
    let read = |table: toml::Table| -> Result<OidcConfig, String> {
        let told: OidcSettings = table.try_into().map_err(|error| format!("[oidc] has a fault: {error}"))?;
        let mapping = |map: MapSettings| match (&map.tenant, map.everywhere) {
            (Some(tenant), true) => {
                Err(format!("[oidc] maps {} to the tenant {tenant} and to everywhere; keep one", map.group))
            }
            _ => Ok(Mapping { group: map.group, role: map.role, tenant: map.tenant, everywhere: map.everywhere }),
        };
        Ok(OidcConfig {
            issuer: told.issuer,
            client_id: told.client_id,
            client_secret_file: told.client_secret_file,
            scopes: told.scopes,
            name_claim: told.name_claim,
            groups_claim: told.groups_claim,
            map: told.map.into_iter().map(mapping).collect::<Result<_, _>>()?,
            known_only: told.known_only,
        })
    };
    table.map(read)
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EgressSettings {
    pub private_networks: Option<String>,
    #[serde(default)]
    pub executor_allow: Vec<String>,
    #[serde(default)]
    pub executor_deny: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct XxlSettings {
    pub token: Option<String>,
    pub token_file: Option<PathBuf>,
    #[serde(default)]
    pub allow_default_token: bool,
    #[serde(default)]
    pub allow_empty_token: bool,
    pub prefix: Option<String>,
}

/// Where it was told that keys and tokens are.
pub(crate) fn key_files(options: &ServerOptions, settings: &Settings) -> Vec<PathBuf> {
    let xxl = options.xxl.xxl_token_file.as_ref().or(settings.xxl.token_file.as_ref());
    let oidc = settings.oidc.as_ref().and_then(|oidc| oidc.get("client_secret_file")?.as_str());
    let named = [options.secret_key_file.as_ref(), options.agent_key.as_ref(), xxl];
    named.into_iter().flatten().cloned().chain(oidc.map(PathBuf::from)).collect()
}

pub(crate) fn read(file: Option<&Path>) -> Result<Settings, anyhow::Error> {
    let Some(file) = file else { return Ok(Settings::default()) };
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read the settings in {}", file.display()))?;
    toml::from_str(&text).with_context(|| format!("the settings in {} have a fault", file.display()))
}

/// Where executors may be, and who may call private networks.
pub(crate) fn egress(options: EgressOptions, settings: EgressSettings) -> Result<EgressRules, anyhow::Error> {
    let told = |key: &'static str| move |why: String| anyhow::anyhow!("egress.{key} in the settings: {why}");
    let nets = |given: Vec<Net>, texts: Vec<String>, key| -> Result<Vec<Net>, anyhow::Error> {
        if !given.is_empty() {
            return Ok(given);
        }
        texts.iter().map(|text| text.parse().map_err(|bad: BadNet| told(key)(bad.to_string()))).collect()
    };
    let private = match (options.private_networks, settings.private_networks) {
        (Some(private), _) => private,
        (None, Some(text)) => text.parse().map_err(told("private_networks"))?,
        (None, None) => PrivateNetworks::default(),
    };
    Ok(EgressRules {
        private,
        allow: nets(options.allow, settings.executor_allow, "executor_allow")?,
        deny: nets(options.deny, settings.executor_deny, "executor_deny")?,
    })
}

/// What executors must show, and the path they may come by.
pub(crate) fn xxl(options: XxlOptions, settings: XxlSettings) -> Result<(TokenRules, Option<String>), anyhow::Error> {
    anyhow::ensure!(
        settings.token.is_none() || settings.token_file.is_none(),
        "the settings name both xxl.token and xxl.token_file; keep one of them"
    );
    let (token, file) = match (options.xxl_token, options.xxl_token_file) {
        (None, None) => (settings.token, settings.token_file),
        (_, Some(file)) => (None, Some(file)),
        (token, None) => (token, None),
    };
    let token = match (token, file) {
        (Some(token), _) => Some(token),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(&file);
            Some(
                text.with_context(|| format!("cannot read the XXL-JOB token from {}", file.display()))?
                    .trim()
                    .to_string(),
            )
        }
        (None, None) => None,
    };
    let rules = TokenRules {
        token,
        allow_default: options.xxl_allow_default_token || settings.allow_default_token,
        allow_empty: options.xxl_allow_empty_token || settings.allow_empty_token,
    };
    Ok((rules, options.xxl_prefix.or(settings.prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_read_and_a_fault_in_it_is_told_later() {
        let read = |text: &str| oidc(toml::from_str::<Settings>(text).unwrap().oidc);
        assert!(read("").is_none());
        let good =
            read("[oidc]\nissuer = 'https://idp'\nclient_id = 'duly'\nmap = [{ group = 'ops', role = 'operator' }]");
        let good = good.unwrap().unwrap();
        assert_eq!(
            (good.groups_claim.as_str(), good.map[0].role.as_str(), good.known_only),
            ("groups", "operator", false)
        );
        assert!(read("[oidc]\nissuer = 'https://idp'").unwrap().unwrap_err().contains("client_id"));
        let both = "[oidc]\nissuer='i'\nclient_id='d'\nmap=[{group='g',role='r',tenant='t',everywhere=true}]";
        assert!(read(both).unwrap().unwrap_err().contains("keep one"));
    }
    #[derive(clap::Parser)]
    struct Told {
        #[command(flatten)]
        server: ServerOptions,
    }

    #[test]
    fn every_file_with_a_key_is_known() {
        let files = |words: &[&str], text: &str| {
            let told = <Told as clap::Parser>::parse_from([&["duly"], words].concat());
            let files = key_files(&told.server, &toml::from_str(text).unwrap());
            files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        let settings = "[xxl]\ntoken_file = 'x'\n[oidc]\nclient_secret_file = 'o'";
        assert_eq!(files(&[], ""), "");
        assert_eq!(files(&[], settings), "x o");
        assert_eq!(files(&["--secret-key-file", "s", "--xxl-token-file", "y"], settings), "s y o");
        let own = ["--agent-cert", "c", "--agent-key", "k", "--agent-ca", "a"];
        assert_eq!(files(&own, ""), "k");
    }
}
