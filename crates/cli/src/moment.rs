//! Instants on the command line: RFC 3339, or a length of time ago.

use std::str::FromStr;

use wire::{Length, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    At(Time),
    Ago(Length),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Moment, String> {
        let ago = text.parse().map(Moment::Ago).ok();
        ago.or_else(|| text.parse().map(Moment::At).ok())
            .ok_or_else(|| "write an instant like 2026-11-15T10:20:30Z, or how long ago: 90s, 20m, 2h, 1d".into())
    }
}

impl Moment {
    pub(crate) fn resolve(self, now: Time) -> Time {
        match self {
            Moment::At(at) => at,
            Moment::Ago(Length(span)) => Time(now.0.saturating_sub(span.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ago_is_counted_from_now() {
        let now: Time = "2026-11-15T10:00:00Z".parse().unwrap();
        let told = |text: &str| text.parse::<Moment>().map(|m| m.resolve(now).to_string());
        assert_eq!(told("90m").as_deref(), Ok("2026-11-15T08:30:00.000000Z"));
        assert_eq!(told("2026-11-15T18:00:00+08:00").as_deref(), Ok("2026-11-15T10:00:00.000000Z"));
        assert!(told("yesterday").is_err());
    }
}
