//! Which addresses may be called on somebody's word: by an HTTP task, a redirect, an executor that registered itself.
//! Pure: whoever calls has looked the name up, shows every address it found, and connects to none but those.

mod literal;
mod net;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub use literal::literal;
pub use net::{BadNet, Net};

/// What may be called. The strict parts hold for everybody; the rest is a matter of policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    /// Loopback and private networks may be called.
    pub private: bool,
    /// Named ones may be called whatever else is said, but not by a tenant that is kept out of private networks.
    pub allow: Vec<Net>,
    /// Never to be called.
    pub deny: Vec<Net>,
}

/// Where Duly itself listens: nobody's word leads back into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Ports on this machine, whichever of its addresses they are dialled by.
    pub here: BTreeSet<u16>,
    pub elsewhere: BTreeSet<SocketAddr>,
}

/// Why an address is not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// It hands out the machine's own keys to whoever asks from it.
    Metadata,
    LinkLocal,
    Multicast,
    Unspecified,
    /// Broadcast, and what was never given out.
    Reserved,
    Own,
    Private,
    Denied,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forbidden {
    pub address: SocketAddr,
    pub ground: Ground,
}

impl std::error::Error for Forbidden {}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.ground {
            Ground::Metadata => "cloud machines get their own keys there",
            Ground::LinkLocal => "it is link-local",
            Ground::Multicast => "it is a multicast address",
            Ground::Unspecified => "it stands for this machine without naming it",
            Ground::Reserved => "it is reserved",
            Ground::Own => "Duly itself listens there",
            Ground::Private => "it is in a private network, which is not allowed here",
            Ground::Denied => "it is on the list of what is not called",
        };
        write!(f, "{} is not called: {why}", self.address)
    }
}

impl Egress {
    /// Everything that is not harmful in itself, private networks included.
    pub fn open() -> Egress {
        Egress { private: true, ..Egress::default() }
    }

    /// `is_here` tells whether an address is one of this machine's.
    pub fn judge(&self, address: SocketAddr, own: &Own, is_here: impl Fn(IpAddr) -> bool) -> Result<(), Forbidden> {
        let plain = SocketAddr::new(plain(address.ip()), address.port());
        let forbidden = |ground| Err(Forbidden { address, ground });
        if self.deny.iter().any(|net| net.covers(plain)) {
            return forbidden(Ground::Denied);
        }
        if self.allow.iter().any(|net| net.covers(plain)) {
            return Ok(());
        }
        match always(plain.ip()) {
            Some(ground) => return forbidden(ground),
            None if own.covers(plain, is_here) => return forbidden(Ground::Own),
            None => {}
        }
        if !self.private && is_private(plain.ip()) {
            return forbidden(Ground::Private);
        }
        Ok(())
    }
}

impl Own {
    fn covers(&self, address: SocketAddr, is_here: impl Fn(IpAddr) -> bool) -> bool {
        self.elsewhere.contains(&address)
            || (self.here.contains(&address.port()) && (address.ip().is_loopback() || is_here(address.ip())))
    }
}

/// Loopback, and what is not to be reached from outside.
pub fn is_private(ip: IpAddr) -> bool {
    match plain(ip) {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                // Between carriers and their customers, for protocols, and for measuring.
                || (a == 100 && (64..128).contains(&b))
                || (a, b, c) == (192, 0, 0)
                || (a == 198 && (18..20).contains(&b))
        }
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            v6.is_loopback() || first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfec0
        }
    }
}

const METADATA_V4: [Ipv4Addr; 4] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

fn always(ip: IpAddr) -> Option<Ground> {
    match ip {
        IpAddr::V4(v4) if METADATA_V4.contains(&v4) => Some(Ground::Metadata),
        IpAddr::V4(v4) if v4.is_link_local() => Some(Ground::LinkLocal),
        IpAddr::V4(v4) if v4.is_multicast() => Some(Ground::Multicast),
        IpAddr::V4(v4) if v4.octets()[0] == 0 => Some(Ground::Unspecified),
        IpAddr::V4(v4) if v4.octets()[0] >= 240 => Some(Ground::Reserved),
        IpAddr::V6(v6) if METADATA_V6.contains(&v6) => Some(Ground::Metadata),
        IpAddr::V6(v6) if v6.is_unicast_link_local() => Some(Ground::LinkLocal),
        IpAddr::V6(v6) if v6.is_multicast() => Some(Ground::Multicast),
        IpAddr::V6(v6) if v6.is_unspecified() => Some(Ground::Unspecified),
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    }
}

/// The address that is meant: one of version 4 may come in the clothes of version 6 (mapped, compatible, translated,
/// tunnelled).
fn plain(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => v4(high, low),
        // `::` and `::1` are themselves.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => v4(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x64, 0xff9b, 1, _, _, _, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        [0x2001, 0, _, _, _, _, high, low] => v4(!high, !low),
        _ => ip,
    }
}

#[cfg(test)]
mod tests;
