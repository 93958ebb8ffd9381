//! Where a request comes from: the address at the other end, or what a proxy we trust says of it. Nobody else is believed.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::{HeaderMap, header};

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        let whole = |address: IpAddr| match address.to_canonical() {
            IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 4),
            IpAddr::V6(address) => (u128::from(address), 6),
        };
        let ((own, kind), (other, other_kind)) = (whole(self.address), whole(address));
        let differ = own ^ other;
        kind == other_kind && (self.bits == 0 || differ >> (128 - u32::from(self.bits)) == 0)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        let wrong = || format!("{text:?} is no address or network like 10.0.0.0/8");
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| wrong()))?;
        if bits > most { Err(wrong()) } else { Ok(Network { address, bits }) }
    }
}

/// Who asks, as the audit tells it: with a port where we see it ourselves, without where a proxy told of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub address: IpAddr,
    pub port: Option<u16>,
}

impl From<SocketAddr> for Origin {
    fn from(peer: SocketAddr) -> Origin {
        Origin { address: peer.ip().to_canonical(), port: Some(peer.port()) }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.address, port).fmt(f),
            None => self.address.fmt(f),
        }
    }
}

impl FromStr for Origin {
    type Err = std::net::AddrParseError;

    fn from_str(text: &str) -> Result<Origin, Self::Err> {
        let alone = || text.parse().map(|address| Origin { address, port: None });
        text.parse::<SocketAddr>().map(Origin::from).or_else(|_| alone())
    }
}

/// What we know of the way a request took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub from: Origin,
    /// The browser speaks TLS, with us or with the proxy in front of us.
    pub secure: bool,
}

/// The last proxy is the one we see; each trusted one names who came before it, and the first that is not ours is who
/// asks.
pub(crate) fn way(peer: SocketAddr, headers: &HeaderMap, trusted: &[Network]) -> Way {
    let is_ours = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    if !is_ours(peer.ip()) {
        return Way { from: peer.into(), secure: false };
    }
    let lines = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let named: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
    let mut from = Origin::from(peer);
    for name in named.into_iter().rev() {
        let Ok(before) = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() else { break };
        from = Origin { address: before.to_canonical(), port: None };
        if !is_ours(before) {
            break;
        }
    }
    let secure = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    Way { from, secure }
}

/// What a browser says it is.
pub(crate) fn program(headers: &HeaderMap) -> String {
    headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, headers: &[(&'static str, &'static str)]) -> (String, bool) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let trusted = ["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()];
        let way = way(SocketAddr::new(peer.parse().unwrap(), 4711), &map, &trusted);
        assert_eq!(way.from.to_string().parse(), Ok(way.from), "read as it is written");
        (way.from.to_string(), way.secure)
    }

    #[test]
    fn only_a_proxy_of_ours_is_believed() {
        let said = [("x-forwarded-for", "203.0.113.7"), ("x-forwarded-proto", "https")];
        assert_eq!(seen("10.1.2.3", &said), ("203.0.113.7".into(), true));
        assert_eq!(seen("::ffff:10.1.2.3", &said), ("203.0.113.7".into(), true));
        assert_eq!(seen("198.51.100.9", &said), ("198.51.100.9:4711".into(), false), "anybody could say so");
        assert_eq!(seen("2001:db9::1", &said), ("[2001:db9::1]:4711".into(), false));
        assert_eq!(seen("10.1.2.3", &[("x-forwarded-for", "2001:db9::1")]).0, "2001:db9::1");
        assert_eq!(seen("10.1.2.3", &[]), ("10.1.2.3:4711".into(), false));
    }

    #[test]
    fn what_a_caller_wrote_before_the_first_proxy_is_not_believed() {
        let forged = [("x-forwarded-for", "1.1.1.1, 203.0.113.7"), ("x-forwarded-for", "10.9.9.9")];
        assert_eq!(seen("10.1.2.3", &forged).0, "203.0.113.7");
        assert_eq!(seen("10.1.2.3", &[("x-forwarded-for", "1.1.1.1, rubbish")]).0, "10.1.2.3:4711");
    }

    #[test]
    fn networks_are_read() {
        let has = |network: &str, address: &str| {
            network.parse::<Network>().map(|network| network.contains(address.parse().unwrap()))
        };
        assert_eq!(has("10.0.0.0/8", "10.255.0.1"), Ok(true));
        assert_eq!(has("10.0.0.0/8", "11.0.0.1"), Ok(false));
        assert_eq!(has("127.0.0.1", "127.0.0.2"), Ok(false));
        assert_eq!(has("0.0.0.0/0", "8.8.8.8"), Ok(true));
        assert_eq!(has("0.0.0.0/0", "::1"), Ok(false));
        assert_eq!(has("2001:db8::/32", "2001:db8:ffff::1"), Ok(true));
        assert!(has("10.0.0.0/33", "10.0.0.1").is_err() && has("example.org", "10.0.0.1").is_err());
    }
}
