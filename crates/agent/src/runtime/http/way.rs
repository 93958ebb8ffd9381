//! The way to where a task calls: its name is looked up once, every address found is judged, and the call goes to those
//! that passed and to no other, whatever the name means a moment later. Each redirect takes its own way.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use model::egress::{Egress, Forbidden, Ground, is_private, literal};
use reqwest::dns::{Name, Resolve, Resolving};
use reqwest::{Client, Url, redirect};
use rustls_platform_verifier::ConfigVerifierExt;
use wire::Code;

use crate::runtime::own_places::OwnPlaces;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why there is no way.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoWay {
    #[error("only http and https can be called, not {0}")]
    Scheme(String),
    #[error("the address names no host")]
    NoHost,
    #[error("{}: {address}", Code::from(.address.ground))]
    Forbidden { address: Forbidden },
    #[error("{host} cannot be found: {error}")]
    Unfound { host: String, error: io::Error },
    #[error("this machine's certificates cannot be used: {0}")]
    Trust(String),
}

pub(super) type Lookup = Arc<dyn Fn(&str, u16) -> Looking + Send + Sync>;
pub(super) type Looking = std::pin::Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

pub(super) struct Ways {
    policy: Egress,
    own: OwnPlaces,
    lookup: Lookup,
    /// The certificates of this machine, read once.
    tls: Result<rustls::ClientConfig, String>,
}

impl Ways {
    pub(super) fn new(policy: Egress, own: OwnPlaces) -> Ways {
        // Another part of the process may have chosen the same already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let tls = rustls::ClientConfig::with_platform_verifier().map_err(|error| error.to_string());
        Ways { policy, own, lookup: Arc::new(system_lookup), tls }
    }

    #[cfg(test)]
    pub(super) fn with_lookup(self, lookup: Lookup) -> Ways {
        Ways { lookup, ..self }
    }

    /// A client that calls this host and no other, at addresses that were judged. `private`: whether the tenant may call
    /// private networks.
    pub(super) async fn to(&self, url: &Url, private: bool) -> Result<Client, NoWay> {
        if !["http", "https"].contains(&url.scheme()) {
            return Err(NoWay::Scheme(url.scheme().to_owned()));
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(NoWay::NoHost)?;
        let port = url.port_or_known_default().expect("both schemes have one");
        let found = match literal(host) {
            Some(ip) => vec![SocketAddr::new(ip, port)],
            None => {
                let found = (self.lookup)(host, port).await;
                found.map_err(|error| NoWay::Unfound { host: host.to_owned(), error })?
            }
        };
        self.client(host, &self.judged(found, private)?)
    }

    /// Those that may be called; if there are none, why.
    fn judged(&self, found: Vec<SocketAddr>, private: bool) -> Result<Vec<SocketAddr>, NoWay> {
        let own = self.own.all();
        let judge = |address: SocketAddr| {
            if !private && is_private(address.ip()) {
                return Err(Forbidden { address, ground: Ground::Private });
            }
            self.policy.judge(address, &own, is_here)
        };
        let mut refused = None;
        let mut good = Vec::with_capacity(found.len());
        for address in found {
            match judge(address) {
                Ok(()) => good.push(address),
                Err(forbidden) => refused = refused.or(Some(forbidden)),
            }
        }
        match refused {
            Some(forbidden) if good.is_empty() => Err(NoWay::Forbidden { address: forbidden }),
            _ => Ok(good),
        }
    }

    fn client(&self, host: &str, addresses: &[SocketAddr]) -> Result<Client, NoWay> {
        let tls = self.tls.clone().map_err(NoWay::Trust)?;
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            // A proxy would reach addresses that we must not.
            .no_proxy()
            .tls_backend_preconfigured(tls)
            .dns_resolver(Arc::new(Nothing))
            .resolve_to_addrs(host, addresses)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(0)
            .user_agent(concat!("duly-agent/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(client.expect("a client with these options can be built"))
    }
}

/// Whether an address is one of this machine's: nobody else can take a socket there.
pub(in crate::runtime) fn is_here(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

fn system_lookup(host: &str, port: u16) -> Looking {
    let host = host.to_owned();
    Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
}

/// What was not looked up by us is not looked up.
struct Nothing;

impl Resolve for Nothing {
    fn resolve(&self, name: Name) -> Resolving {
        let why = format!("{} was not looked up before", name.as_str());
        Box::pin(async move { Err(why.into()) })
    }
}
