//! Where this server calls on somebody's word: the addresses of executors. What may be called is decided by
//! `model::egress`; here names are looked up, once for each connection, and what passed is what is dialled. It also says
//! which tenants may call private networks, for agents to obey.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use model::TenantId;
use model::egress::{Egress, Forbidden, Net, Own, literal};
use parking_lot::RwLock;
use wire::Code;
use wire::xxl::Address;

use crate::tenants::Tenants;

/// As it was configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressRules {
    pub private: PrivateNetworks,
    pub allow: Vec<Net>,
    pub deny: Vec<Net>,
}

/// Who may call loopback and private networks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrivateNetworks {
    /// Those of whom it is said; of `default` it is, from the first start.
    #[default]
    AsTenantsSay,
    All,
    Nobody,
}

impl std::str::FromStr for PrivateNetworks {
    type Err = String;

    fn from_str(text: &str) -> Result<PrivateNetworks, String> {
        match text {
            "tenant" => Ok(PrivateNetworks::AsTenantsSay),
            "all" => Ok(PrivateNetworks::All),
            "none" => Ok(PrivateNetworks::Nobody),
            _ => Err("write tenant, all or none".into()),
        }
    }
}

#[derive(Clone, Default)]
pub struct Calls(Arc<Inner>);

#[derive(Default)]
struct Inner {
    rules: EgressRules,
    tenants: Arc<Tenants>,
    own: RwLock<Own>,
}

/// Why nobody can be called at an address.
#[derive(Debug, thiserror::Error)]
pub enum NoWay {
    #[error("{}: {address}", Code::from(.address.ground))]
    Forbidden { address: Forbidden },
    #[error("cannot be reached: {0}")]
    Unfound(#[from] io::Error),
}

impl Calls {
    pub fn new(rules: EgressRules, tenants: Arc<Tenants>) -> Calls {
        Calls(Arc::new(Inner { rules, tenants, own: RwLock::default() }))
    }

    pub fn may_call_private(&self, tenant: TenantId) -> bool {
        match self.0.rules.private {
            PrivateNetworks::AsTenantsSay => self.0.tenants.get(tenant).is_some_and(|tenant| tenant.private_network),
            PrivateNetworks::All => true,
            PrivateNetworks::Nobody => false,
        }
    }

    /// Where Duly listens on this machine.
    pub fn listen_at(&self, ports: impl IntoIterator<Item = u16>) {
        self.0.own.write().here.extend(ports);
    }

    /// Where the other servers of the cluster listen, as they say; names are looked up.
    pub async fn others_at(&self, endpoints: Vec<String>) {
        let mut found = std::collections::BTreeSet::new();
        for endpoint in endpoints {
            let bare = endpoint.split_once("://").map_or(endpoint.as_str(), |(_, rest)| rest);
            found.extend(tokio::net::lookup_host(bare).await.into_iter().flatten());
        }
        self.0.own.write().elsewhere = found;
    }

    /// The addresses an executor of this tenant is called at; each of them was judged.
    pub async fn find(&self, tenant: TenantId, address: &Address) -> Result<Vec<SocketAddr>, NoWay> {
        let (host, port) = address.endpoint();
        let found = match literal(host) {
            Some(ip) => vec![SocketAddr::new(ip, port)],
            None => tokio::net::lookup_host((host, port)).await?.collect(),
        };
        self.judged(tenant, found)
    }

    fn judged(&self, tenant: TenantId, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, NoWay> {
        let rules = &self.0.rules;
        let policy =
            Egress { private: self.may_call_private(tenant), allow: rules.allow.clone(), deny: rules.deny.clone() };
        let own = self.0.own.read();
        let mut refused = None;
        let mut good = Vec::with_capacity(found.len());
        for address in found {
            match policy.judge(address, &own, is_here) {
                Ok(()) => good.push(address),
                Err(forbidden) => refused = refused.or(Some(forbidden)),
            }
        }
        match refused {
            Some(address) if good.is_empty() => Err(NoWay::Forbidden { address }),
            _ => Ok(good),
        }
    }
}

/// Whether an address is one of this machine's: nobody else can take a socket there.
fn is_here(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use model::{Actor, TenantRecord, Timestamp};

    use super::*;

    const OTHER: TenantId = TenantId(2);

    fn calls(rules: EgressRules) -> Calls {
        let other = TenantRecord::new(OTHER, "acme", Timestamp(0), Actor::system());
        Calls::new(rules, Arc::new(Tenants::new(vec![TenantRecord::first(Timestamp(0)), other])))
    }

    async fn check(calls: &Calls, tenant: TenantId, told: &str) -> Result<usize, String> {
        let found = calls.find(tenant, &Address::parse(told).unwrap()).await;
        found.map(|found| found.len()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn executors_are_called_where_their_tenant_may_call() {
        let calls = calls(EgressRules::default());
        calls.listen_at([7070]);
        assert_eq!(check(&calls, TenantId::DEFAULT, "http://127.0.0.1:9999/").await, Ok(1));
        let private = check(&calls, OTHER, "http://127.1:9999/").await.unwrap_err();
        assert!(private.starts_with("E0982: 127.0.0.1:9999 "), "{private}");
        for told in ["http://169.254.169.254/", "http://2852039166/", "https://[fd00:ec2::254]:443"] {
            let never = check(&calls, TenantId::DEFAULT, told).await.unwrap_err();
            assert!(never.starts_with("E0981: "), "{never}");
        }
        let own = check(&calls, TenantId::DEFAULT, "http://localhost:7070/").await.unwrap_err();
        assert!(own.starts_with("E0983: "), "{own}");
    }

    #[tokio::test]
    async fn what_is_named_counts_more() {
        let rules = EgressRules {
            private: PrivateNetworks::Nobody,
            allow: vec!["127.0.0.1:7070".parse().unwrap()],
            deny: vec!["10.0.0.0/8".parse().unwrap()],
        };
        let calls = calls(rules);
        calls.listen_at([7070]);
        assert_eq!(check(&calls, TenantId::DEFAULT, "http://127.0.0.1:7070/").await, Ok(1));
        assert!(check(&calls, TenantId::DEFAULT, "http://127.0.0.1:9999/").await.is_err());
        assert!(check(&calls, TenantId::DEFAULT, "http://10.0.0.1:9999/").await.is_err());
    }

    #[tokio::test]
    async fn other_servers_are_ours_too() {
        let calls = calls(EgressRules::default());
        calls.others_at(vec!["http://10.0.0.9:7070".into(), "10.0.0.9:7072".into()]).await;
        assert!(check(&calls, TenantId::DEFAULT, "http://10.0.0.9:7072/").await.unwrap_err().starts_with("E0983"));
        assert_eq!(check(&calls, TenantId::DEFAULT, "http://10.0.0.9:9999/").await, Ok(1));
    }
}
