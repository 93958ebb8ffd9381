//! When a job becomes due, as people write it: the keys and words of triggers, and what the words mean.

use model::{CronDialect, Fold, Gap, MisfireRule, On};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use super::form::form;

/// Everything a trigger may carry beside its own times.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Modifiers {
    pub(super) start: Option<String>,
    pub(super) end: Option<String>,
    pub(super) max_count: Option<u64>,
    pub(super) jitter: Option<String>,
    pub(super) misfire: Option<MisfireForm>,
}

macro_rules! trigger_maps {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            /// No planned time before this instant.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(format = DateTime)]
            pub start: Option<String>,
            /// No planned time at or after this instant.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(format = DateTime)]
            pub end: Option<String>,
            /// Fires at most so often in all.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub max_count: Option<u64>,
            /// Starts are spread by up to this duration.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub jitter: Option<String>,
            /// What becomes of times that no server was there to keep.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub misfire: Option<MisfireForm>,
        }

        impl $name {
            pub(super) fn modifiers(&self) -> Modifiers {
                let from = self.clone();
                Modifiers {
                    start: from.start,
                    end: from.end,
                    max_count: from.max_count,
                    jitter: from.jitter,
                    misfire: from.misfire,
                }
            }

            pub(super) fn with(self, m: Modifiers) -> Self {
                $name {
                    start: m.start,
                    end: m.end,
                    max_count: m.max_count,
                    jitter: m.jitter,
                    misfire: m.misfire,
                    ..self
                }
            }
        }
    )*};
}

trigger_maps! {
    CronMap {
        /// Quartz: second minute hour day-of-month month day-of-week [year]. Unix: five fields.
        expr: String,
        /// IANA name; UTC if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        dialect: Option<Dialect>,
        /// What happens to local times that a change of clocks skips or repeats.
        #[serde(skip_serializing_if = "Option::is_none")]
        dst: Option<DstForm>,
    }
    EveryMap {
        /// From one planned time to the next.
        every: String,
    }
    DelayMap {
        /// From the end of an instance to the next planned time.
        delay: String,
    }
    OnceMap {
        /// The one planned time.
        #[schema(format = DateTime)]
        at: String,
    }
    AfterMap {
        /// The job whose instances it follows.
        job: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        on: Option<OnWord>,
        /// Of a broadcast, after each shard instead of after all.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        each: bool,
    }
}

form! {
    /// A Quartz expression in UTC, or a map.
    CronForm = String | CronMap, "a cron expression or a map with expr, zone, dialect, dst";
    /// A duration such as `30s`, or a map.
    EveryForm = String | EveryMap, "a duration or a map with every";
    /// A duration such as `5m`, or a map.
    DelayForm = String | DelayMap, "a duration or a map with delay";
    /// An RFC 3339 instant, or a map.
    OnceForm = String | OnceMap, "an instant or a map with at";
    /// A job to follow when it succeeds, or a map.
    AfterForm = String | AfterMap, "the name of a job or a map with job, on and each";
    /// A rule, or a map with a grace.
    MisfireForm = MisfireWord | MisfireMap, "skip, once, all or a map with rule and grace";
    /// `quartz` for exactly what Quartz does, or a map.
    DstForm = DstWord | DstMap, "quartz or a map with gap and overlap";
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident for $noun:ty { $($(#[$word_doc:meta])* $word:ident = $meaning:path,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$word_doc])* $word,)*
        }

        impl From<$name> for $noun {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$word => $meaning,)*
                }
            }
        }

        impl From<$noun> for $name {
            fn from(noun: $noun) -> Self {
                match noun {
                    $($meaning => $name::$word,)*
                }
            }
        }
    )*};
}
pub(crate) use words;

words! {
    Dialect for CronDialect { Quartz = CronDialect::Quartz, Unix = CronDialect::Unix, }
    MisfireWord for MisfireRule {
        /// Missed is missed, and recorded so.
        Skip = MisfireRule::Skip,
        /// One instance for all that was missed.
        Once = MisfireRule::Once,
        /// One instance each, up to a bound.
        All = MisfireRule::All,
    }
    OnWord for On { Success = On::Success, Failure = On::Failure, End = On::End, }
    GapWord for Gap { Skip = Gap::Skip, AtGapEnd = Gap::AtGapEnd, }
    FoldWord for Fold { First = Fold::First, Second = Fold::Second, Both = Fold::Both, }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DstWord {
    Quartz,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DstMap {
    /// Local times that do not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<GapWord>,
    /// Local times that exist twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<FoldWord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MisfireMap {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<MisfireWord>,
    /// Late by at most this much still counts as on time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<String>,
}

/// One job to follow, or a list of them: any of them starts it.
#[derive(Clone, Debug, PartialEq)]
pub struct Afters(pub Vec<AfterForm>);

/// A job to follow, or a list of them: any of them starts it.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum AnyAfter {
    One(AfterForm),
    Many(Vec<AfterForm>),
}

impl Serialize for Afters {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(to),
            many => many.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Afters {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Afters, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Afters;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of a job, a map with job, on and each, or a list of these")
            }

            fn visit_str<E: Error>(self, job: &str) -> Result<Afters, E> {
                Ok(Afters(vec![AfterForm::Short(job.into())]))
            }

            fn visit_u64<E: Error>(self, job: u64) -> Result<Afters, E> {
                self.visit_str(&job.to_string())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Afters, A::Error> {
                let map = AfterMap::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Afters(vec![AfterForm::Long(map)]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Afters, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(Afters(all))
            }
        }
        from.deserialize_any(Any)
    }
}
