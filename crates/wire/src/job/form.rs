//! Short and long forms: a value that is one word (or number) in the short form and a map in the long one.
//! A plain untagged enum would read them too, but could not say what is wrong with a map that is nearly right.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, IntoDeserializer, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// What a form consists of; the visitor below builds it.
pub(super) trait Form {
    type Word: DeserializeOwned;
    type Map: DeserializeOwned;
    const EXPECTED: &'static str;

    fn short(word: Self::Word) -> Self;
    fn long(map: Self::Map) -> Self;
}

macro_rules! form {
    ($($(#[$doc:meta])* $name:ident = $word:ty | $map:ty, $expected:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, utoipa::ToSchema)]
        #[serde(untagged)]
        pub enum $name {
            Short($word),
            Long($map),
        }

        impl $crate::job::form::Form for $name {
            type Word = $word;
            type Map = $map;
            const EXPECTED: &'static str = $expected;

            fn short(word: $word) -> Self {
                $name::Short(word)
            }

            fn long(map: $map) -> Self {
                $name::Long(map)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::job::form::short_or_long(from)
            }
        }
    )*};
}
pub(super) use form;

pub(super) fn short_or_long<'de, F: Form, D: Deserializer<'de>>(from: D) -> Result<F, D::Error> {
    from.deserialize_any(Reader(PhantomData))
}

struct Reader<F>(PhantomData<F>);

impl<F: Form> Reader<F> {
    /// A number or truth value is taken as such if the word is one, else by its text: `sh: true` runs `true`.
    fn word<'de, E: Error, V: IntoDeserializer<'de, E> + ToString + Copy>(value: V) -> Result<F, E> {
        let plain = F::Word::deserialize(value.into_deserializer());
        plain.map(F::short).or_else(|_: E| Self::text(&value.to_string()))
    }

    fn text<E: Error>(value: &str) -> Result<F, E> {
        let word: Result<_, E> = F::Word::deserialize(value.into_deserializer());
        word.map(F::short).map_err(|_| E::invalid_value(Unexpected::Str(value), &Self(PhantomData)))
    }
}

impl<'de, F: Form> Visitor<'de> for Reader<F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(F::EXPECTED)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<F, E> {
        Self::text(value)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<F, E> {
        Self::word(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<F, E> {
        Self::word(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<F, E> {
        Self::word(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<F, E> {
        Self::word(value)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<F, A::Error> {
        F::Map::deserialize(MapAccessDeserializer::new(map)).map(F::long)
    }
}
