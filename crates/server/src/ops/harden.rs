//! Gathers what `harden` judges.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use model::TenantId;
use model::rights::Permissions;
use store::StoreError;
use store::access::Access;
use wire::api::HardenView;
use wire::xxl::Address;

use super::{Desk, Done};
use crate::harden::{Facts, judge};

impl Desk {
    pub(crate) async fn harden(&self) -> Done<HardenView> {
        let people = self.access.run(People::look).await?;
        let (config, xxl) = (&self.config, &self.config.xxl_tokens);
        let plain =
            |address: &str| Address::parse(address).is_ok_and(|address| !address.is_https() && !is_local(&address));
        let executors = self.executors.records();
        let executors = executors.iter().map(|record| record.name.clone());
        let agents = Agents::look(self);
        Ok(judge(&Facts {
            listen: config.listen,
            agent_listen: config.agent_listen,
            agent_tls: config.agent_tls,
            root_agents: agents.as_root,
            lawless_agents: agents.lawless,
            private_tenants: self.private_tenants(),
            key_files: self.key_files(),
            data_mode: std::fs::metadata(&config.data).map_or(0, |found| found.mode()),
            data: config.data.display().to_string(),
            has_faults: cfg!(feature = "faults"),
            xxl_allows_default: xxl.allow_default,
            xxl_allows_empty: xxl.allow_empty,
            xxl_token_length: xxl.token.as_ref().map(String::len),
            plain_executors: executors.filter(|address| plain(address)).collect(),
            administrators: people.administrators,
            endless_tokens: people.endless_tokens,
            must_change: people.must_change,
        }))
    }

    fn private_tenants(&self) -> Vec<String> {
        let others = self.tenants.all().into_iter().filter(|tenant| tenant.id != TenantId::DEFAULT);
        others.filter(|tenant| self.calls.may_call_private(tenant.id)).map(|tenant| tenant.name.clone()).collect()
    }

    /// Those that were given, and the one it made itself; what is not there cannot be read.
    fn key_files(&self) -> Vec<(String, u32)> {
        let own: PathBuf = self.config.data.join(crate::vault::KEY_FILE);
        let files = self.config.key_files.iter().chain([&own]);
        files.filter_map(|file| Some((file.display().to_string(), std::fs::metadata(file).ok()?.mode()))).collect()
    }
}

/// What agents said of their machines when they connected; of those that did not nothing is known.
struct Agents {
    as_root: Vec<String>,
    lawless: Vec<String>,
}

impl Agents {
    fn look(desk: &Desk) -> Agents {
        let mut seen = Agents { as_root: Vec::new(), lawless: Vec::new() };
        for agent in desk.doorman.agents() {
            let Some(policy) = desk.doorman.policy(agent.id) else { continue };
            if policy.as_root && policy.run_as.is_none() {
                seen.as_root.push(agent.name.clone());
            }
            if policy.file.is_none() {
                seen.lawless.push(agent.name.clone());
            }
        }
        seen
    }
}

/// What never leaves this machine.
fn is_local(address: &Address) -> bool {
    let (host, _) = address.endpoint();
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

struct People {
    administrators: Vec<String>,
    endless_tokens: Vec<String>,
    must_change: Vec<String>,
}

impl People {
    fn look(access: &mut dyn Access) -> Result<People, StoreError> {
        let accounts = access.accounts()?;
        let mut administrators = Vec::new();
        for account in accounts.iter().filter(|account| account.disabled_at.is_none()) {
            let held = access.held_by(&account.name)?;
            let all = |held: &model::rights::Held| {
                held.tenant.is_none() && held.place.is_everywhere() && held.permissions == Permissions::all()
            };
            if held.iter().any(all) {
                administrators.push(account.name.clone());
            }
        }
        let tokens =
            access.tokens()?.into_iter().filter(|token| token.revoked_at.is_none() && token.expires_at.is_none());
        let endless = tokens.filter(|token| token.scope.is_none() && token.tenant.is_none());
        let must_change = accounts.iter().filter(|account| account.must_change).map(|account| account.name.clone());
        Ok(People {
            administrators,
            endless_tokens: endless.map(|token| format!("{} of {}", token.name, token.user)).collect(),
            must_change: must_change.collect(),
        })
    }
}
