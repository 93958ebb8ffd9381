//! How a rule is kept: canonical JSON, so that jobs which say the same share one content. Short keys and plain numbers
//! (durations and instants in microseconds), because a server reads these back by the hundred thousand.
//! Keys a newer Duly added are passed over; a word it added is refused, for we could not decide by it.

use std::collections::BTreeMap;

use model::{
    DstRule, Exclusive, Follow, JobId, Limits, Misfire, Need, Overlap, PoolRef, ResourceKind, Retry, Route, Rule, Span,
    Targets, TaskSort, Timestamp, Trigger, When,
};
use serde::{Deserialize, Serialize};

use crate::job::{Dialect, FoldWord, GapWord, MisfireWord, OnWord};

#[derive(Debug, thiserror::Error)]
#[error("cannot read a stored rule")]
pub struct BadRule(#[from] serde_json::Error);

pub fn encode(rule: &Rule) -> Vec<u8> {
    serde_json::to_vec(&Kept::from(rule)).expect("a rule is plain data")
}

pub fn decode(bytes: &[u8]) -> Result<Rule, BadRule> {
    Ok(serde_json::from_slice::<Kept>(bytes)?.into())
}

#[derive(Serialize, Deserialize)]
struct Kept {
    when: KeptWhen,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    follows: Vec<KeptFollow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count_max: Option<u64>,
    #[serde(default)]
    jitter: i64,
    misfire: MisfireWord,
    grace: i64,
    pool: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    route: KeptRoute,
    /// Whether the pool's executors run it, not its agents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    executors: bool,
    /// The sort of task, by its key in a job file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runs: Option<KeptSort>,
    overlap: KeptOverlap,
    #[serde(skip_serializing_if = "Option::is_none")]
    exclusive: Option<KeptExclusive>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<KeptRetry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<i64>,
    stop_grace: i64,
    #[serde(default)]
    priority: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_job: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_agent: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mutex: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    resources: BTreeMap<String, u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_started_by: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_finished_by: Option<i64>,
    lost_after: i64,
    #[serde(default)]
    dead_letter: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptWhen {
    Manual,
    Cron {
        expr: String,
        dialect: Dialect,
        zone: String,
        dst: KeptDst,
    },
    Rate(i64),
    Delay(i64),
    Once(i64),
    /// As it was kept while a job could follow only one, and have no times of its own beside.
    After(KeptFollow),
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct KeptFollow {
    job: i64,
    on: OnWord,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    each: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptDst {
    Quartz,
    Policy { gap: GapWord, fold: FoldWord },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptRoute {
    First,
    Last,
    Round,
    Random,
    LeastLoaded,
    ConsistentHash,
    LeastFrequent,
    LeastRecent,
    Failover,
    BusyOver,
    Broadcast,
    Fixed(String),
}

struct KeptSort(TaskSort);

impl Serialize for KeptSort {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.key())
    }
}

impl<'de> Deserialize<'de> for KeptSort {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<KeptSort, D::Error> {
        let key = std::borrow::Cow::<str>::deserialize(from)?;
        let unknown = || serde::de::Error::custom(format!("{key:?} is no sort of task"));
        TaskSort::of_key(&key).map(KeptSort).ok_or_else(unknown)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptOverlap {
    Allow(Option<u32>),
    Queue(u32),
    Skip,
    Replace,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptExclusive {
    Wait,
    Takeover(i64),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptRetry {
    Fixed { times: u32, delay: i64 },
    List(Vec<i64>),
    Exponential { times: u32, delay: i64, factor_percent: u32, max: i64, jitter_percent: u32 },
}

impl From<&Rule> for Kept {
    fn from(rule: &Rule) -> Kept {
        let trigger = &rule.trigger;
        Kept {
            when: (&trigger.when).into(),
            follows: trigger.follows.iter().map(KeptFollow::from).collect(),
            start: trigger.start.map(|at| at.0),
            end: trigger.end.map(|at| at.0),
            count_max: trigger.count_max,
            jitter: trigger.jitter.0,
            misfire: trigger.misfire.rule.into(),
            grace: trigger.misfire.grace.0,
            pool: rule.pool.name.clone(),
            labels: rule.pool.labels.clone(),
            route: (&rule.pool.route).into(),
            executors: rule.pool.of == Targets::Executors,
            runs: rule.pool.runs.map(KeptSort),
            overlap: rule.overlap.into(),
            exclusive: rule.exclusive.map(|exclusive| match exclusive {
                Exclusive::Wait => KeptExclusive::Wait,
                Exclusive::Takeover { leash } => KeptExclusive::Takeover(leash.0),
            }),
            retry: keep_retry(&rule.retry),
            timeout: rule.timeout.map(|span| span.0),
            stop_grace: rule.stop_grace.0,
            priority: rule.priority,
            limit_job: rule.limits.job,
            limit_agent: rule.limits.per_agent,
            mutex: mutexes(&rule.needs).map(|need| need.name.clone()).collect(),
            resources: counted(&rule.needs).map(|need| (need.name.clone(), need.units)).collect(),
            not_started_by: rule.not_started_by.map(|span| span.0),
            not_finished_by: rule.not_finished_by.map(|span| span.0),
            lost_after: rule.lost_after.0,
            dead_letter: rule.dead_letter,
        }
    }
}

impl From<Kept> for Rule {
    fn from(kept: Kept) -> Rule {
        Rule {
            trigger: Trigger {
                follows: follows(&kept),
                when: kept.when.into(),
                start: kept.start.map(Timestamp),
                end: kept.end.map(Timestamp),
                count_max: kept.count_max,
                jitter: Span(kept.jitter),
                misfire: Misfire { rule: kept.misfire.into(), grace: Span(kept.grace) },
            },
            pool: PoolRef {
                name: kept.pool,
                labels: kept.labels,
                route: kept.route.into(),
                of: if kept.executors { Targets::Executors } else { Targets::Agents },
                runs: kept.runs.map(|KeptSort(sort)| sort),
            },
            overlap: kept.overlap.into(),
            exclusive: kept.exclusive.map(|exclusive| match exclusive {
                KeptExclusive::Wait => Exclusive::Wait,
                KeptExclusive::Takeover(leash) => Exclusive::Takeover { leash: Span(leash) },
            }),
            retry: kept.retry.map_or(Retry::None, Retry::from),
            timeout: kept.timeout.map(Span),
            stop_grace: Span(kept.stop_grace),
            priority: kept.priority,
            limits: Limits { job: kept.limit_job, per_agent: kept.limit_agent },
            needs: needs(kept.mutex, kept.resources),
            not_started_by: kept.not_started_by.map(Span),
            not_finished_by: kept.not_finished_by.map(Span),
            lost_after: Span(kept.lost_after),
            dead_letter: kept.dead_letter,
        }
    }
}

/// Mutexes first, then counted resources, by name.
pub(crate) fn needs(mutexes: Vec<String>, resources: BTreeMap<String, u32>) -> Vec<Need> {
    let mutexes = mutexes.into_iter().map(|name| Need { kind: ResourceKind::Mutex, name, units: 1 });
    let counted = resources.into_iter().map(|(name, units)| Need { kind: ResourceKind::Counted, name, units });
    let mut needs: Vec<Need> = mutexes.chain(counted).collect();
    needs.sort();
    needs
}

pub(crate) fn mutexes(needs: &[Need]) -> impl Iterator<Item = &Need> {
    needs.iter().filter(|need| need.kind == ResourceKind::Mutex)
}

pub(crate) fn counted(needs: &[Need]) -> impl Iterator<Item = &Need> {
    needs.iter().filter(|need| need.kind == ResourceKind::Counted)
}

impl From<&When> for KeptWhen {
    fn from(when: &When) -> KeptWhen {
        match when {
            When::Manual => KeptWhen::Manual,
            When::Cron { expr, dialect, zone, dst } => KeptWhen::Cron {
                expr: expr.clone(),
                dialect: (*dialect).into(),
                zone: zone.clone(),
                dst: match *dst {
                    DstRule::Quartz => KeptDst::Quartz,
                    DstRule::Policy { gap, fold } => KeptDst::Policy { gap: gap.into(), fold: fold.into() },
                },
            },
            When::Rate { every } => KeptWhen::Rate(every.0),
            When::Delay { delay } => KeptWhen::Delay(delay.0),
            When::Once { at } => KeptWhen::Once(at.0),
        }
    }
}

impl From<KeptWhen> for When {
    fn from(kept: KeptWhen) -> When {
        match kept {
            KeptWhen::Manual => When::Manual,
            KeptWhen::Cron { expr, dialect, zone, dst } => When::Cron {
                expr,
                dialect: dialect.into(),
                zone,
                dst: match dst {
                    KeptDst::Quartz => DstRule::Quartz,
                    KeptDst::Policy { gap, fold } => DstRule::Policy { gap: gap.into(), fold: fold.into() },
                },
            },
            KeptWhen::Rate(every) => When::Rate { every: Span(every) },
            KeptWhen::Delay(delay) => When::Delay { delay: Span(delay) },
            KeptWhen::Once(at) => When::Once { at: Timestamp(at) },
            KeptWhen::After(_) => When::Manual,
        }
    }
}

impl From<&Follow> for KeptFollow {
    fn from(follow: &Follow) -> KeptFollow {
        KeptFollow { job: follow.job.0, on: follow.on.into(), each: follow.each }
    }
}

impl From<&KeptFollow> for Follow {
    fn from(kept: &KeptFollow) -> Follow {
        Follow { job: JobId(kept.job), on: kept.on.into(), each: kept.each }
    }
}

fn follows(kept: &Kept) -> Vec<Follow> {
    let alone = match &kept.when {
        KeptWhen::After(follow) => Some(follow),
        KeptWhen::Manual | KeptWhen::Cron { .. } | KeptWhen::Rate(_) | KeptWhen::Delay(_) | KeptWhen::Once(_) => None,
    };
    alone.into_iter().chain(&kept.follows).map(Follow::from).collect()
}

impl From<&Route> for KeptRoute {
    fn from(route: &Route) -> KeptRoute {
        match route {
            Route::First => KeptRoute::First,
            Route::Last => KeptRoute::Last,
            Route::Round => KeptRoute::Round,
            Route::Random => KeptRoute::Random,
            Route::LeastLoaded => KeptRoute::LeastLoaded,
            Route::ConsistentHash => KeptRoute::ConsistentHash,
            Route::LeastFrequent => KeptRoute::LeastFrequent,
            Route::LeastRecent => KeptRoute::LeastRecent,
            Route::Failover => KeptRoute::Failover,
            Route::BusyOver => KeptRoute::BusyOver,
            Route::Broadcast => KeptRoute::Broadcast,
            Route::Fixed(agent) => KeptRoute::Fixed(agent.clone()),
        }
    }
}

impl From<KeptRoute> for Route {
    fn from(kept: KeptRoute) -> Route {
        match kept {
            KeptRoute::First => Route::First,
            KeptRoute::Last => Route::Last,
            KeptRoute::Round => Route::Round,
            KeptRoute::Random => Route::Random,
            KeptRoute::LeastLoaded => Route::LeastLoaded,
            KeptRoute::ConsistentHash => Route::ConsistentHash,
            KeptRoute::LeastFrequent => Route::LeastFrequent,
            KeptRoute::LeastRecent => Route::LeastRecent,
            KeptRoute::Failover => Route::Failover,
            KeptRoute::BusyOver => Route::BusyOver,
            KeptRoute::Broadcast => Route::Broadcast,
            KeptRoute::Fixed(agent) => Route::Fixed(agent),
        }
    }
}

impl From<Overlap> for KeptOverlap {
    fn from(overlap: Overlap) -> KeptOverlap {
        match overlap {
            Overlap::Allow { max } => KeptOverlap::Allow(max),
            Overlap::Queue { max } => KeptOverlap::Queue(max),
            Overlap::Skip => KeptOverlap::Skip,
            Overlap::Replace => KeptOverlap::Replace,
        }
    }
}

impl From<KeptOverlap> for Overlap {
    fn from(kept: KeptOverlap) -> Overlap {
        match kept {
            KeptOverlap::Allow(max) => Overlap::Allow { max },
            KeptOverlap::Queue(max) => Overlap::Queue { max },
            KeptOverlap::Skip => Overlap::Skip,
            KeptOverlap::Replace => Overlap::Replace,
        }
    }
}

fn keep_retry(retry: &Retry) -> Option<KeptRetry> {
    match retry {
        Retry::None => None,
        Retry::Fixed { times, delay } => Some(KeptRetry::Fixed { times: *times, delay: delay.0 }),
        Retry::List { delays } => Some(KeptRetry::List(delays.iter().map(|delay| delay.0).collect())),
        Retry::Exponential { times, delay, factor_percent, max, jitter_percent } => Some(KeptRetry::Exponential {
            times: *times,
            delay: delay.0,
            factor_percent: *factor_percent,
            max: max.0,
            jitter_percent: *jitter_percent,
        }),
    }
}

impl From<KeptRetry> for Retry {
    fn from(kept: KeptRetry) -> Retry {
        match kept {
            KeptRetry::Fixed { times, delay } => Retry::Fixed { times, delay: Span(delay) },
            KeptRetry::List(delays) => Retry::List { delays: delays.into_iter().map(Span).collect() },
            KeptRetry::Exponential { times, delay, factor_percent, max, jitter_percent } => {
                Retry::Exponential { times, delay: Span(delay), factor_percent, max: Span(max), jitter_percent }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_rule_is_kept_in_few_bytes() {
        let bytes = encode(&Rule::default());
        assert_eq!(decode(&bytes).unwrap(), Rule::default());
        assert!(bytes.len() < 256, "{}", String::from_utf8(bytes).unwrap());
    }

    #[test]
    fn a_rule_says_what_its_agents_must_be_allowed_to_run() {
        let mut rule = Rule::default();
        for sort in TaskSort::ALL {
            rule.pool.runs = Some(sort);
            assert_eq!(decode(&encode(&rule)).unwrap(), rule);
        }
    }

    #[test]
    fn a_rule_from_when_a_job_could_follow_only_one_is_read() {
        let plain = String::from_utf8(encode(&Rule::default())).unwrap();
        let old = plain.replacen(r#""when":"manual""#, r#""when":{"after":{"job":7,"on":"failure"}}"#, 1);
        let rule = decode(old.as_bytes()).unwrap();
        assert_eq!(rule.trigger.follows, [Follow { job: JobId(7), on: model::On::Failure, each: false }]);
        assert_eq!(decode(&encode(&rule)).unwrap(), rule);
    }

    #[test]
    fn keys_of_a_newer_version_are_passed_over_and_words_refused() {
        let text = String::from_utf8(encode(&Rule::default())).unwrap();
        let newer = text.replacen('{', r#"{"calendar":{"name":"cn"},"#, 1);
        assert_eq!(decode(newer.as_bytes()).unwrap(), Rule::default());
        let unknown = text.replace("least_loaded", "astrology");
        assert!(decode(unknown.as_bytes()).is_err());
    }
}
