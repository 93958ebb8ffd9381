//! Instants and durations as they are written outside: RFC 3339 in UTC with microseconds, and `90s` or `20m`.
//! Knows no clock.

use std::fmt;
use std::str::FromStr;

use model::{Span, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::openapi::schema::{ObjectBuilder, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{KnownFormat, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// An instant: `2026-11-15T10:20:30.000000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// A length of time: `90s`, `20m`, `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Length(pub Span);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an instant; write it like 2026-11-15T10:20:30Z or 2026-11-15T18:20:30+08:00")]
pub struct NotATime {
    pub text: String,
}

impl From<Timestamp> for Time {
    fn from(at: Timestamp) -> Time {
        Time(at.0)
    }
}

impl From<Time> for Timestamp {
    fn from(at: Time) -> Timestamp {
        Timestamp(at.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // "Never" is kept as the largest number there is; outside it is the end of year 9999.
        let edge = if self.0 > 0 { jiff::Timestamp::MAX } else { jiff::Timestamp::MIN };
        let at = jiff::Timestamp::from_microsecond(self.0).unwrap_or(edge);
        write!(f, "{at:.6}")
    }
}

impl FromStr for Time {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Time, NotATime> {
        let bad = |_| NotATime { text: text.chars().take(64).collect() };
        text.trim().parse::<jiff::Timestamp>().map(|at| Time(at.as_microsecond())).map_err(bad)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Length {
    type Err = model::time::NotASpan;

    fn from_str(text: &str) -> Result<Length, Self::Err> {
        text.parse().map(Length)
    }
}

macro_rules! as_text {
    ($name:ident, $format:expr, $description:literal, $example:literal) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(from)?;
                text.parse().map_err(de::Error::custom)
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(SchemaType::Type(Type::String))
                    .format($format)
                    .description(Some($description))
                    .examples([serde_json::json!($example)])
                    .into()
            }
        }

        impl ToSchema for $name {}
    };
}

as_text!(
    Time,
    Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)),
    "RFC 3339, in UTC with microseconds",
    "2026-11-15T10:20:30.000000Z"
);
as_text!(Length, None, "A number with a unit, or several: 250ms, 90s, 20m, 1h30m, 2d", "90s");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_in_utc_with_microseconds() {
        let at: Time = "2026-11-15T18:20:30.5+08:00".parse().unwrap();
        assert_eq!(serde_json::to_string(&at).unwrap(), r#""2026-11-15T10:20:30.500000Z""#);
        assert_eq!(serde_json::from_str::<Time>(r#""2026-11-15T10:20:30.500000Z""#).unwrap(), at);
    }

    #[test]
    fn a_local_time_without_offset_is_refused() {
        for text in ["2026-11-15 10:20:30", "2026-11-15", "now", ""] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }

    #[test]
    fn never_is_written_as_the_last_instant() {
        assert!(Time(i64::MAX).to_string().starts_with("9999-12-30T"));
        assert!(Time(i64::MIN).to_string().starts_with("-009999-01-02T"));
    }
}
