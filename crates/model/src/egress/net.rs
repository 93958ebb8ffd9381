//! A part of the address space, as people write it: `10.1.2.3`, `10.0.0.0/8`, `10.1.2.3:8080`, `[fd00::1]:80`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Net {
    ip: IpAddr,
    prefix: u8,
    /// All of them if absent.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address and no network; write 10.1.2.3, 10.0.0.0/8 or 10.1.2.3:8080")]
pub struct BadNet(pub String);

impl Net {
    pub fn covers(&self, address: SocketAddr) -> bool {
        if self.port.is_some_and(|port| port != address.port()) {
            return false;
        }
        match (self.ip, address.ip()) {
            (IpAddr::V4(net), IpAddr::V4(ip)) => same(net.to_bits().into(), ip.to_bits().into(), self.prefix, 32),
            (IpAddr::V6(net), IpAddr::V6(ip)) => same(net.to_bits(), ip.to_bits(), self.prefix, 128),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

fn same(a: u128, b: u128, prefix: u8, bits: u8) -> bool {
    prefix == 0 || (a ^ b) >> (bits - prefix) == 0
}

impl FromStr for Net {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Net, BadNet> {
        let bad = || BadNet(text.to_string());
        if let Ok(address) = text.parse::<SocketAddr>() {
            let (ip, port) = (address.ip(), Some(address.port()));
            return Ok(Net { ip, prefix: bits(ip), port });
        }
        let (ip, prefix) = text.split_once('/').map_or((text, None), |(ip, prefix)| (ip, Some(prefix)));
        let ip: IpAddr = ip.parse().map_err(|_| bad())?;
        let prefix = prefix.map_or(Ok(bits(ip)), |prefix| prefix.parse().map_err(|_| bad()))?;
        if prefix > bits(ip) { Err(bad()) } else { Ok(Net { ip, prefix, port: None }) }
    }
}

fn bits(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}", SocketAddr::new(self.ip, port)),
            None if self.prefix == bits(self.ip) => write!(f, "{}", self.ip),
            None => write!(f, "{}/{}", self.ip, self.prefix),
        }
    }
}
