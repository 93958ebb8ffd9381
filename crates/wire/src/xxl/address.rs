//! Where an executor listens, as it told us and as we dial it.

use std::fmt;

/// An executor's base address. What it wrote is kept, because it takes leave under the same words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    told: String,
    scheme: Scheme,
    authority: String,
    /// Begins with a slash and does not end with one; empty for none.
    prefix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Scheme {
    Http,
    Https,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address of an executor: it should read like http://host:port/")]
pub struct BadAddress(String);

impl Address {
    pub fn parse(told: &str) -> Result<Address, BadAddress> {
        let bad = || BadAddress(told.to_string());
        let trimmed = told.trim();
        let (scheme, rest) = match trimmed.split_once("://") {
            None => (Scheme::Http, trimmed),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
            Some(_) => return Err(bad()),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '@' | '?' | '#' | '\\');
        if authority.is_empty() || rest.contains(odd) || !has_good_port(authority) {
            return Err(bad());
        }
        let prefix: String = path.split('/').filter(|part| !part.is_empty()).map(|part| format!("/{part}")).collect();
        Ok(Address { told: trimmed.to_string(), scheme, authority: authority.to_string(), prefix })
    }

    /// As the executor wrote it.
    pub fn told(&self) -> &str {
        &self.told
    }

    pub fn is_https(&self) -> bool {
        self.scheme == Scheme::Https
    }

    /// What goes into the `Host` header.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Host and port to dial; a literal of version 6 without its brackets.
    pub fn endpoint(&self) -> (&str, u16) {
        let default = if self.is_https() { 443 } else { 80 };
        let (host, port) = split_port(&self.authority);
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        (bare, port.and_then(|port| port.parse().ok()).unwrap_or(default))
    }

    /// The path of one of its calls: no slash is doubled, whatever the executor wrote.
    pub fn path(&self, call: &str) -> String {
        format!("{}/{call}", self.prefix)
    }
}

fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rfind(':') {
        // The colons of a literal of version 6 are inside its brackets.
        Some(at) if !authority[at..].contains(']') => (&authority[..at], Some(&authority[at + 1..])),
        _ => (authority, None),
    }
}

fn has_good_port(authority: &str) -> bool {
    let (host, port) = split_port(authority);
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let good_host = !host.is_empty() && (bracketed || !host.contains([':', '[', ']']));
    good_host && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_https() { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_an_address_leads_to_the_same_calls() {
        let run =
            |told: &str| Address::parse(told).map(|address| format!("{} {}", address.authority(), address.path("run")));
        for (told, dialled) in [
            ("http://h:9999/", "h:9999 /run"),
            ("http://h:9999", "h:9999 /run"),
            ("h:9999", "h:9999 /run"),
            ("  HTTP://h:9999// ", "h:9999 /run"),
            ("http://h:9999/job", "h:9999 /job/run"),
            ("http://h:9999/job/", "h:9999 /job/run"),
            ("http://h/php-xxl-job/", "h /php-xxl-job/run"),
            ("http://[::1]:9999/", "[::1]:9999 /run"),
        ] {
            assert_eq!(run(told).as_deref(), Ok(dialled), "{told}");
        }
        for told in [
            "",
            "  ",
            "http://",
            "ftp://h:1/",
            "http://a@h:1/",
            "http://h:0/",
            "http://h:99999",
            "http://h:1/?x",
            "a b:1",
            "::1:99",
        ] {
            assert!(run(told).is_err(), "{told}");
        }
    }

    #[test]
    fn an_address_knows_whom_to_dial_and_how_it_was_written() {
        let end = |told: &str| {
            let address = Address::parse(told).unwrap();
            let (host, port) = address.endpoint();
            format!("{host} {port} {}", address.told())
        };
        assert_eq!(end(" 10.0.0.1:9999/ "), "10.0.0.1 9999 10.0.0.1:9999/");
        assert_eq!(end("https://h/x"), "h 443 https://h/x");
        assert_eq!(end("http://[fe80::1]"), "fe80::1 80 http://[fe80::1]");
    }
}
