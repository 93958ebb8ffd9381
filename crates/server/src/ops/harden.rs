//! Gathers what `harden` judges.

use std::os::unix::fs::MetadataExt;

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
        Ok(judge(&Facts {
            listen: config.listen,
            agent_listen: config.agent_listen,
            agent_tls: config.agent_tls,
            is_root: nix::unistd::geteuid().is_root(),
            has_local_agent: config.local_agent.is_some(),
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
