//! Where Duly itself listens, as each server says when it welcomes us, and as we reach it: what tasks must not call.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use model::egress::Own;
use tonic::transport::Uri;

use super::http::is_here;
use crate::session::Server;

#[derive(Clone, Debug, Default)]
pub(crate) struct OwnPlaces(Arc<Mutex<BTreeMap<Server, Own>>>);

impl OwnPlaces {
    pub(crate) fn all(&self) -> Own {
        let mut all = Own::default();
        for own in self.0.lock().unwrap_or_else(PoisonError::into_inner).values() {
            all.here.extend(&own.here);
            all.elsewhere.extend(&own.elsewhere);
        }
        all
    }

    /// A server that is reached at this address listens at these; names are looked up beside.
    pub(crate) fn told(&self, server: Server, reached: String, listens: Vec<String>) {
        let this = self.clone();
        tokio::spawn(async move {
            let reached: Vec<IpAddr> = match endpoint(&reached) {
                Some(endpoint) => look_up(&endpoint).await.iter().map(SocketAddr::ip).collect(),
                None => Vec::new(),
            };
            let mut found = Vec::new();
            for text in &listens {
                found.extend(look_up(text).await);
            }
            let own = places(&reached, &found, is_here);
            this.0.lock().unwrap_or_else(PoisonError::into_inner).insert(server, own);
        });
    }
}

/// A server reached at `reached` that says it listens at `listens`, which may be all addresses of its machine or one that
/// means something only there.
fn places(reached: &[IpAddr], listens: &[SocketAddr], is_here: impl Fn(IpAddr) -> bool) -> Own {
    let mut own = Own::default();
    let beside_us = reached.iter().any(|ip| ip.is_loopback() || is_here(*ip));
    for listen in listens {
        let (ip, port) = (listen.ip(), listen.port());
        let anywhere = ip.is_unspecified() || ip.is_loopback();
        if beside_us || (!anywhere && is_here(ip)) {
            own.here.insert(port);
        }
        own.elsewhere.extend(reached.iter().map(|ip| SocketAddr::new(*ip, port)));
        own.elsewhere.extend((!anywhere).then_some(*listen));
    }
    own
}

/// `host:port` of `http://host:port`.
fn endpoint(address: &str) -> Option<String> {
    let uri: Uri = address.parse().ok()?;
    Some(format!("{}:{}", uri.host()?, uri.port_u16().unwrap_or(443)))
}

async fn look_up(endpoint: &str) -> Vec<SocketAddr> {
    tokio::net::lookup_host(endpoint).await.map(Iterator::collect).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_ports_are_its_own_wherever_it_is_reached() {
        let (here, there): (IpAddr, IpAddr) = ("10.0.0.5".parse().unwrap(), "10.0.0.9".parse().unwrap());
        let listens = ["127.0.0.1:7070", "0.0.0.0:7071", "10.0.0.9:7072"].map(|text| text.parse().unwrap());
        let beside = places(&[here], &listens, |ip| ip == here);
        assert_eq!(beside.here, [7070, 7071, 7072].into());
        let far = places(&[there], &listens, |ip| ip == here);
        assert!(far.here.is_empty());
        let elsewhere: Vec<String> = far.elsewhere.iter().map(SocketAddr::to_string).collect();
        assert_eq!(elsewhere, ["10.0.0.9:7070", "10.0.0.9:7071", "10.0.0.9:7072"]);
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        assert_eq!(endpoint("https://node-1:7071").as_deref(), Some("node-1:7071"));
        assert_eq!(endpoint("http://[fd00::1]:7071").as_deref(), Some("[fd00::1]:7071"));
        assert_eq!(endpoint("not an address"), None);
    }
}
