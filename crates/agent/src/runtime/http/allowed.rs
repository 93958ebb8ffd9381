//! Which addresses a task may call. The metadata services of clouds hand out the machine's own keys to whoever asks
//! from it, so neither a job nor a redirect nor a name may lead there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Forbidden {
    #[error("only http and https can be called, not {0}")]
    Scheme(String),
    #[error("the address names no host")]
    NoHost,
    #[error("calling {0} is not allowed")]
    Address(IpAddr),
}

/// Judges what is written; names are judged by [`Resolver`] when they are looked up.
pub(super) fn allowed(url: &Url) -> Result<(), Forbidden> {
    if !["http", "https"].contains(&url.scheme()) {
        return Err(Forbidden::Scheme(url.scheme().to_owned()));
    }
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or(Forbidden::NoHost)?;
    match host.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(ip) => allowed_ip(ip),
        Err(_) => Ok(()),
    }
}

/// Whether a call failed because of this module.
pub(super) fn is_refusal(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<Forbidden>() {
            return true;
        }
        next = error.source();
    }
    false
}

/// Looks names up, and forgets answers that must not be called: the very addresses we judged are connected to.
pub(super) struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let (good, bad): (Vec<_>, Vec<_>) = found.into_iter().partition(|addr| allowed_ip(addr.ip()).is_ok());
            match bad.first() {
                Some(addr) if good.is_empty() => Err(Forbidden::Address(addr.ip()).into()),
                _ => Ok(Box::new(good.into_iter()) as Addrs),
            }
        })
    }
}

fn allowed_ip(ip: IpAddr) -> Result<(), Forbidden> {
    let forbidden = match ip {
        IpAddr::V4(v4) => forbidden_v4(v4),
        IpAddr::V6(v6) => match embedded(v6) {
            Some(v4) => forbidden_v4(v4),
            None => forbidden_v6(v6),
        },
    };
    if forbidden { Err(Forbidden::Address(ip)) } else { Ok(()) }
}

fn forbidden_v4(ip: Ipv4Addr) -> bool {
    // 169.254.169.254 and its neighbours; 100.100.100.200 is Alibaba Cloud's; the zero network means "this host".
    ip.is_link_local() || ip.octets()[0] == 0 || ip.is_broadcast() || ip == Ipv4Addr::new(100, 100, 100, 200)
}

fn forbidden_v6(ip: Ipv6Addr) -> bool {
    ip.is_unspecified() || ip.is_unicast_link_local() || ip == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
}

/// An IPv4 address in the clothes of IPv6: mapped, or behind NAT64.
fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    ip.to_ipv4_mapped().or_else(|| match ip.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str) -> Result<(), Forbidden> {
        allowed(&url.parse().unwrap())
    }

    #[test]
    fn ordinary_addresses_may_be_called() {
        for url in [
            "http://example.com/x",
            "https://10.0.0.1:8443",
            "http://127.0.0.1:80",
            "http://[::1]/",
            "http://[fd00::1]/",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
    }

    #[test]
    fn keys_of_the_machine_are_out_of_reach_however_they_are_spelled() {
        for url in [
            "http://169.254.169.254/latest/meta-data",
            "http://169.254.1.1",
            "http://2852039166/",
            "http://0xa9.0xfe.0xa9.0xfe/",
            "http://[::ffff:169.254.169.254]/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://[fd00:ec2::254]/",
            "http://[fe80::1]/",
            "http://100.100.100.200/",
            "http://0.0.0.0:80/",
            "http://0/",
            "http://[::]/",
        ] {
            assert!(matches!(check(url), Err(Forbidden::Address(_))), "{url}");
        }
    }

    #[test]
    fn other_schemes_are_refused() {
        for url in ["file:///etc/passwd", "ftp://x/", "gopher://x/"] {
            assert!(matches!(check(url), Err(Forbidden::Scheme(_))), "{url}");
        }
    }
}
