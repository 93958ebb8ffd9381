//! How a job is decided about, beside its times: where it runs, what happens on overlap, failure, silence.

use std::collections::BTreeMap;

use model::{Exclusive, Limits, Overlap, PoolRef, Route, Rule, Span, Targets};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::JobBody;
use super::check;
use super::faults::Faults;
use super::form::form;
use super::retry::{read_retry, write_retry};
use crate::errors::Code;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolMap {
    /// `default` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only agents carrying all of these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<RouteForm>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RouteWord {
    First,
    Last,
    Round,
    Random,
    LeastLoaded,
    /// The same agent for the same job, as long as it is there.
    ConsistentHash,
    /// The agent chosen least often for this job.
    LeastFrequentlyUsed,
    /// The agent chosen longest ago for this job.
    LeastRecentlyUsed,
    /// The first executor that answers when asked.
    Failover,
    /// The first executor that says it does not run the job already.
    BusyOver,
    /// One child instance on every eligible agent, told its index and the total.
    Broadcast,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RouteMap {
    /// Only the agent of this name.
    Fixed(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverlapWord {
    /// Side by side without bound.
    Allow,
    /// One after the other.
    Queue,
    /// A time that comes while an earlier instance is open is skipped.
    Skip,
    /// The earlier one is stopped, the new one starts when it is gone.
    Replace,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverlapMap {
    /// So many side by side; the rest wait.
    Allow(u32),
    /// One after the other; when more than this wait, a further one is skipped.
    Queue(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExclusiveWord {
    /// Nobody starts until the holder is known to have ended, or a person says so.
    Wait,
    /// A silent holder is ended by its own shim; then another may start.
    Takeover,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExclusiveMap {
    /// How long a holder may be silent before its shim ends it.
    Takeover(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsMap {
    /// Instances of this job running at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<u32>,
    /// Instances of this job running at once on one agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_agent: Option<u32>,
}

form! {
    /// The name of a pool, or a map.
    PoolForm = String | PoolMap, "the name of a pool or a map with name, labels and route";
    /// How an agent is chosen.
    RouteForm = RouteWord | RouteMap, "first, last, round, random, least_loaded, consistent_hash, least_frequently_used, least_recently_used, failover, busy_over, broadcast or {fixed: AGENT}";
    /// What happens when a time comes while earlier instances are open.
    OverlapForm = OverlapWord | OverlapMap, "allow, queue, skip, replace, {allow: N} or {queue: N}";
    /// What happens to an exclusive job when its holder falls silent.
    ExclusiveForm = ExclusiveWord | ExclusiveMap, "wait, takeover or {takeover: DURATION}";
}

const LEASH: Span = Span::secs(30);
pub(super) const LONGEST: Span = Span::DAY.saturating_mul(3660);
const COUNT_MAX: u32 = 1_000_000;
/// Each is a line to stand in.
const NEEDS_MAX: usize = 16;

impl JobBody {
    /// Everything of the rule but its trigger.
    pub(super) fn set_policies(&self, rule: &mut Rule, faults: &mut Faults) {
        if let Some(form) = &self.pool {
            rule.pool = read_pool(form, faults);
        }
        rule.pool.runs = self.sort();
        if let Some(form) = &self.overlap {
            rule.overlap = read_overlap(form, faults);
        }
        rule.exclusive = self.exclusive.as_ref().map(|form| read_exclusive(form, faults));
        let routed = matches!(&self.pool, Some(PoolForm::Long(map)) if map.route.is_some());
        if !routed {
            rule.pool.route = usual_route(rule.exclusive);
        }
        if let Some(form) = &self.retry {
            rule.retry = read_retry(form, faults);
        }
        let some = Span::millis(1);
        rule.timeout = faults.span("timeout", self.timeout.as_deref(), some, LONGEST);
        let grace = faults.span("stop_grace", self.stop_grace.as_deref(), Span::ZERO, Span::HOUR);
        rule.stop_grace = grace.unwrap_or(rule.stop_grace);
        rule.priority = faults.number("priority", self.priority.unwrap_or(0), -1000, 1000);
        if let Some(limits) = &self.limits {
            rule.limits = Limits {
                job: limits.job.map(|n| faults.number("limits.job", n, 1, COUNT_MAX)),
                per_agent: limits.per_agent.map(|n| faults.number("limits.per_agent", n, 1, COUNT_MAX)),
            };
        }
        rule.needs = self.read_needs(faults);
        rule.not_started_by = faults.span("not_started_by", self.not_started_by.as_deref(), some, LONGEST);
        rule.not_finished_by = faults.span("not_finished_by", self.not_finished_by.as_deref(), some, LONGEST);
        let lost_after = faults.span("lost_after", self.lost_after.as_deref(), Span::SECOND, LONGEST);
        rule.lost_after = lost_after.unwrap_or_else(|| usual_lost_after(self.executor.is_some()));
        rule.dead_letter = self.dead_letter.unwrap_or(false);
        self.check_targets(rule, faults);
    }

    fn read_needs(&self, faults: &mut Faults) -> Vec<model::Need> {
        faults.count("mutex", self.mutex.len(), NEEDS_MAX);
        faults.count("resources", self.resources.len(), NEEDS_MAX);
        for (n, name) in self.mutex.iter().enumerate() {
            check::pool_name(name, &format!("mutex[{n}]"), faults);
            if self.mutex[..n].contains(name) {
                faults.add(Code::BadName, &format!("mutex[{n}]"), format!("{name} is named twice"));
            }
        }
        for (name, units) in &self.resources {
            let path = format!("resources.{}", super::faults::clip(name));
            check::pool_name(name, &path, faults);
            faults.number(&path, *units, 1, COUNT_MAX);
        }
        crate::rule::needs(self.mutex.clone(), self.resources.clone())
    }

    /// Writes a rule's policies, each in its shortest form, leaving out what is as usual.
    pub(super) fn write_policies(&mut self, rule: &Rule) {
        let usual = Rule::default();
        let executors = rule.pool.of == Targets::Executors;
        // What is run is told by the task.
        let runs = rule.pool.runs;
        let usual_pool = PoolRef { route: usual_route(rule.exclusive), runs, ..usual.pool.clone() };
        self.pool = (rule.pool != usual_pool || executors).then(|| write_pool(&rule.pool, &usual_pool.route));
        self.overlap = (rule.overlap != usual.overlap).then(|| write_overlap(rule.overlap));
        self.exclusive = rule.exclusive.map(write_exclusive);
        self.retry = write_retry(&rule.retry);
        self.timeout = rule.timeout.map(|span| span.to_string());
        self.stop_grace = (rule.stop_grace != usual.stop_grace).then(|| rule.stop_grace.to_string());
        self.priority = (rule.priority != 0).then_some(rule.priority);
        self.limits = (rule.limits != usual.limits)
            .then_some(LimitsMap { job: rule.limits.job, per_agent: rule.limits.per_agent });
        self.mutex = crate::rule::mutexes(&rule.needs).map(|need| need.name.clone()).collect();
        self.resources = crate::rule::counted(&rule.needs).map(|need| (need.name.clone(), need.units)).collect();
        self.not_started_by = rule.not_started_by.map(|span| span.to_string());
        self.not_finished_by = rule.not_finished_by.map(|span| span.to_string());
        self.lost_after = (rule.lost_after != usual_lost_after(executors)).then(|| rule.lost_after.to_string());
        self.dead_letter = rule.dead_letter.then_some(true);
    }
}

/// How long nobody may know of an attempt before it counts as lost: executors cannot be asked as agents can.
fn usual_lost_after(executors: bool) -> Span {
    if executors { Span::MINUTE.saturating_mul(10) } else { Rule::default().lost_after }
}

fn read_pool(form: &PoolForm, faults: &mut Faults) -> PoolRef {
    let mut pool = PoolRef::default();
    let (path, map) = match form {
        PoolForm::Short(name) => ("pool", PoolMap { name: Some(name.clone()), ..PoolMap::default() }),
        PoolForm::Long(map) => ("pool.name", map.clone()),
    };
    if let Some(name) = map.name {
        check::pool_name(&name, path, faults);
        pool.name = name;
    }
    check::labels(&map.labels, "pool.labels", faults);
    pool.labels = map.labels;
    pool.route = match map.route {
        None => pool.route,
        Some(RouteForm::Short(word)) => match word {
            RouteWord::First => Route::First,
            RouteWord::Last => Route::Last,
            RouteWord::Round => Route::Round,
            RouteWord::Random => Route::Random,
            RouteWord::LeastLoaded => Route::LeastLoaded,
            RouteWord::ConsistentHash => Route::ConsistentHash,
            RouteWord::LeastFrequentlyUsed => Route::LeastFrequent,
            RouteWord::LeastRecentlyUsed => Route::LeastRecent,
            RouteWord::Failover => Route::Failover,
            RouteWord::BusyOver => Route::BusyOver,
            RouteWord::Broadcast => Route::Broadcast,
        },
        Some(RouteForm::Long(RouteMap::Fixed(agent))) => {
            check::short_text(&agent, "pool.route.fixed", faults);
            Route::Fixed(agent)
        }
    };
    pool
}

/// An exclusive job has one agent that runs it, as long as that is there, and others that stand by.
fn usual_route(exclusive: Option<Exclusive>) -> Route {
    match exclusive {
        Some(Exclusive::Wait | Exclusive::Takeover { .. }) => Route::ConsistentHash,
        None => PoolRef::default().route,
    }
}

fn write_pool(pool: &PoolRef, usual: &Route) -> PoolForm {
    let route = (pool.route != *usual).then(|| RouteForm::from(&pool.route));
    if pool.labels.is_empty() && route.is_none() {
        return PoolForm::Short(pool.name.clone());
    }
    let name = (pool.name != PoolRef::DEFAULT).then(|| pool.name.clone());
    PoolForm::Long(PoolMap { name, labels: pool.labels.clone(), route })
}

impl From<&Route> for RouteForm {
    fn from(route: &Route) -> RouteForm {
        RouteForm::Short(match route {
            Route::LeastLoaded => RouteWord::LeastLoaded,
            Route::First => RouteWord::First,
            Route::Last => RouteWord::Last,
            Route::Round => RouteWord::Round,
            Route::Random => RouteWord::Random,
            Route::ConsistentHash => RouteWord::ConsistentHash,
            Route::LeastFrequent => RouteWord::LeastFrequentlyUsed,
            Route::LeastRecent => RouteWord::LeastRecentlyUsed,
            Route::Failover => RouteWord::Failover,
            Route::BusyOver => RouteWord::BusyOver,
            Route::Broadcast => RouteWord::Broadcast,
            Route::Fixed(agent) => return RouteForm::Long(RouteMap::Fixed(agent.clone())),
        })
    }
}

fn read_overlap(form: &OverlapForm, faults: &mut Faults) -> Overlap {
    match form {
        OverlapForm::Short(OverlapWord::Allow) => Overlap::Allow { max: None },
        OverlapForm::Short(OverlapWord::Queue) => Overlap::default(),
        OverlapForm::Short(OverlapWord::Skip) => Overlap::Skip,
        OverlapForm::Short(OverlapWord::Replace) => Overlap::Replace,
        OverlapForm::Long(OverlapMap::Allow(max)) => {
            Overlap::Allow { max: Some(faults.number("overlap.allow", *max, 1, COUNT_MAX)) }
        }
        OverlapForm::Long(OverlapMap::Queue(max)) => {
            Overlap::Queue { max: faults.number("overlap.queue", *max, 1, COUNT_MAX) }
        }
    }
}

fn write_overlap(overlap: Overlap) -> OverlapForm {
    match overlap {
        Overlap::Allow { max: None } => OverlapForm::Short(OverlapWord::Allow),
        Overlap::Allow { max: Some(max) } => OverlapForm::Long(OverlapMap::Allow(max)),
        Overlap::Queue { max } => OverlapForm::Long(OverlapMap::Queue(max)),
        Overlap::Skip => OverlapForm::Short(OverlapWord::Skip),
        Overlap::Replace => OverlapForm::Short(OverlapWord::Replace),
    }
}

fn read_exclusive(form: &ExclusiveForm, faults: &mut Faults) -> Exclusive {
    match form {
        ExclusiveForm::Short(ExclusiveWord::Wait) => Exclusive::Wait,
        ExclusiveForm::Short(ExclusiveWord::Takeover) => Exclusive::Takeover { leash: LEASH },
        ExclusiveForm::Long(ExclusiveMap::Takeover(text)) => {
            // Shorter than a few heartbeats, a hiccup of the network would kill healthy work.
            let leash = faults.span("exclusive.takeover", Some(text), Span::secs(5), Span::DAY);
            Exclusive::Takeover { leash: leash.unwrap_or(LEASH) }
        }
    }
}

fn write_exclusive(exclusive: Exclusive) -> ExclusiveForm {
    match exclusive {
        Exclusive::Wait => ExclusiveForm::Short(ExclusiveWord::Wait),
        Exclusive::Takeover { leash: LEASH } => ExclusiveForm::Short(ExclusiveWord::Takeover),
        Exclusive::Takeover { leash } => ExclusiveForm::Long(ExclusiveMap::Takeover(leash.to_string())),
    }
}
