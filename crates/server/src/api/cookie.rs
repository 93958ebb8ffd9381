//! Cookies: how they are called, read and written. Scripts cannot read ours, other sites cannot send them, and over TLS
//! they carry a name that no other host, and nobody without TLS, could have set.

use axum::http::{HeaderMap, HeaderValue, header};

/// A session.
pub(super) const SESSION: &str = "duly_session";
/// Somebody is away at the identity provider.
pub(super) const AWAY: &str = "duly_away";

/// Over TLS only a cookie that was set over TLS for this very host counts: a neighbour under the same domain could set
/// another one, and let somebody work in a session that is not theirs.
pub(super) fn read<'h>(headers: &'h HeaderMap, name: &str, secure: bool) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| is_named(found, name, secure)).map(|(_, value)| value)
}

fn is_named(found: &str, name: &str, secure: bool) -> bool {
    if secure { found.strip_prefix("__Host-") == Some(name) } else { found == name }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// Sent only by our own pages.
    OurPages,
    /// Sent also when somebody comes to us from another site.
    Anywhere,
}

/// Ends after so many seconds; 0 takes it away.
pub(super) fn write(name: &str, value: &str, seconds: i64, from: From, secure: bool) -> HeaderValue {
    let (prefix, ending) = if secure { ("__Host-", "; Secure") } else { ("", "") };
    let site = match from {
        From::OurPages => "Strict",
        From::Anywhere => "Lax",
    };
    let text = format!("{prefix}{name}={value}; Path=/; HttpOnly; SameSite={site}; Max-Age={seconds}{ending}");
    HeaderValue::try_from(text).expect("names and values of ours are plain text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_tls_a_cookie_has_another_name() {
        let plain = write(SESSION, "abc", 60, From::OurPages, false);
        assert_eq!(plain, "duly_session=abc; Path=/; HttpOnly; SameSite=Strict; Max-Age=60");
        let secure = write(AWAY, "", 0, From::Anywhere, true);
        assert_eq!(secure, "__Host-duly_away=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure");
        let shown = |line: &'static str, secure| {
            let headers = HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_static(line))]);
            read(&headers, SESSION, secure).map(str::to_owned)
        };
        assert_eq!(shown("a=b; duly_session=xyz", false), Some("xyz".into()));
        assert_eq!(shown("a=b; duly_session=xyz", true), None, "set by somebody else, perhaps");
        assert_eq!(shown("duly_session=planted; __Host-duly_session=xyz", true), Some("xyz".into()));
        assert_eq!(shown("not_duly_session=xyz", false), None);
    }
}
