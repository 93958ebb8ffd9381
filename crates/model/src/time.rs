//! Instants and spans as i64 microseconds. Nobody here reads a clock: time is told.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Microseconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// A length of time in microseconds; may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub i64);

impl Timestamp {
    pub const MIN: Timestamp = Timestamp(i64::MIN);
    pub const MAX: Timestamp = Timestamp(i64::MAX);

    pub const fn from_secs(secs: i64) -> Self {
        Timestamp(secs.saturating_mul(1_000_000))
    }

    pub const fn from_millis(millis: i64) -> Self {
        Timestamp(millis.saturating_mul(1_000))
    }

    /// Whole days since 1970; history is kept and dropped by this number.
    pub const fn day(self) -> i64 {
        self.0.div_euclid(Span::DAY.0)
    }
}

impl Span {
    pub const ZERO: Span = Span(0);
    pub const MAX: Span = Span(i64::MAX);
    pub const SECOND: Span = Span(1_000_000);
    pub const MINUTE: Span = Span(60_000_000);
    pub const HOUR: Span = Span(3_600_000_000);
    pub const DAY: Span = Span(86_400_000_000);

    pub const fn secs(n: i64) -> Self {
        Span(n.saturating_mul(1_000_000))
    }

    pub const fn millis(n: i64) -> Self {
        Span(n.saturating_mul(1_000))
    }

    pub const fn saturating_mul(self, by: i64) -> Self {
        Span(self.0.saturating_mul(by))
    }
}

impl From<std::time::Duration> for Span {
    fn from(d: std::time::Duration) -> Self {
        Span(i64::try_from(d.as_micros()).unwrap_or(i64::MAX))
    }
}

impl From<Span> for std::time::Duration {
    /// A negative span is no time at all.
    fn from(s: Span) -> Self {
        std::time::Duration::from_micros(s.0.max(0) as u64)
    }
}

// Arithmetic saturates: a deadline "never" must not wrap round into the past.
impl Add<Span> for Timestamp {
    type Output = Timestamp;
    fn add(self, by: Span) -> Timestamp {
        Timestamp(self.0.saturating_add(by.0))
    }
}

impl AddAssign<Span> for Timestamp {
    fn add_assign(&mut self, by: Span) {
        *self = *self + by;
    }
}

impl Sub<Span> for Timestamp {
    type Output = Timestamp;
    fn sub(self, by: Span) -> Timestamp {
        Timestamp(self.0.saturating_sub(by.0))
    }
}

impl Sub for Timestamp {
    type Output = Span;
    fn sub(self, other: Timestamp) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Span {
    /// As people write it: `90s`, `20m`, `1h30m`, `250ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        if rest < 0 {
            write!(f, "-")?;
            rest = rest.saturating_neg();
        }
        if rest == 0 {
            return write!(f, "0s");
        }
        for (unit, name) in
            [(86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1_000, "ms"), (1, "us")]
        {
            if rest >= unit {
                write!(f, "{}{name}", rest / unit)?;
                rest %= unit;
            }
        }
        Ok(())
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a duration; write a number with a unit, like 250ms, 90s, 20m, 1h30m or 2d")]
pub struct NotASpan {
    pub text: String,
}

impl std::str::FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Span, NotASpan> {
        let bad = || NotASpan { text: text.chars().take(64).collect() };
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(bad());
        }
        let mut total: i64 = 0;
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number: i64 = rest[..digits].parse().map_err(|_| bad())?;
            rest = &rest[digits..];
            let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            let unit = match &rest[..letters] {
                "us" => 1,
                "ms" => 1_000,
                "s" => 1_000_000,
                "m" => 60_000_000,
                "h" => 3_600_000_000,
                "d" => 86_400_000_000,
                _ => return Err(bad()),
            };
            rest = &rest[letters..];
            total = number.checked_mul(unit).and_then(|n| total.checked_add(n)).ok_or_else(bad)?;
        }
        Ok(Span(total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_they_are_written() {
        for text in ["90s", "20m", "1h30m", "250ms", "2d", "1m500ms", "7us"] {
            let span: Span = text.parse().unwrap();
            let again: Span = span.to_string().parse().unwrap();
            assert_eq!(span, again, "{text}");
        }
        assert_eq!("90s".parse::<Span>().unwrap().to_string(), "1m30s");
        assert_eq!(Span::ZERO.to_string(), "0s");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "5", "s", "1x", "-1s", "99999999999999d", "1.5h", "1 h"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn never_does_not_wrap() {
        assert_eq!(Timestamp::MAX + Span::SECOND, Timestamp::MAX);
        assert_eq!(Timestamp(-1).day(), -1);
    }
}
