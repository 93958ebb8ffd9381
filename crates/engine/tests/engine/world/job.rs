//! A job's rule from a line of words: `every 5m, misfire once, grace 1m`.

use model::*;

use super::text::time;

pub fn rule(text: &str, job: impl Fn(&str) -> JobId) -> Rule {
    let mut rule = Rule::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (word, rest) = part.split_once(' ').unwrap_or((part, ""));
        let rest = rest.trim();
        match word {
            "manual" | "every" | "delay" | "once" | "after" | "cron" | "crontab" => match word {
                "after" => rule.trigger.follows.push(follow(rest, &job)),
                _ => rule.trigger.when = when(word, rest),
            },
            "start" => rule.trigger.start = Some(time(rest)),
            "end" => rule.trigger.end = Some(time(rest)),
            "count" => rule.trigger.count_max = Some(number(rest)),
            "jitter" => rule.trigger.jitter = span(rest),
            "misfire" => {
                rule.trigger.misfire.rule = match rest {
                    "skip" => MisfireRule::Skip,
                    "once" => MisfireRule::Once,
                    "all" => MisfireRule::All,
                    other => panic!("misfire {other}"),
                }
            }
            "grace" => rule.trigger.misfire.grace = span(rest),
            "allow" if rest.is_empty() => rule.overlap = Overlap::Allow { max: None },
            "allow" => rule.overlap = Overlap::Allow { max: Some(number(rest) as u32) },
            "queue" => rule.overlap = Overlap::Queue { max: number(rest) as u32 },
            "skip" => rule.overlap = Overlap::Skip,
            "replace" => rule.overlap = Overlap::Replace,
            "exclusive" if rest.is_empty() => rule.exclusive = Some(Exclusive::Wait),
            "takeover" => rule.exclusive = Some(Exclusive::Takeover { leash: span(rest) }),
            "retry" => rule.retry = retry(rest),
            "timeout" => rule.timeout = Some(span(rest)),
            "priority" => rule.priority = rest.parse().expect("a priority"),
            "limit" => rule.limits.job = Some(number(rest) as u32),
            "per_agent" => rule.limits.per_agent = Some(number(rest) as u32),
            "pool" => rule.pool.name = rest.into(),
            "label" => {
                let (key, value) = rest.split_once('=').expect("key=value");
                rule.pool.labels.insert(key.into(), value.into());
            }
            "route" => rule.pool.route = route(rest),
            "runs" => rule.pool.runs = Some(TaskSort::of_key(rest).expect("a sort of task")),
            "executors" => rule.pool.of = Targets::Executors,
            "lost_after" => rule.lost_after = span(rest),
            "mutex" => rule.needs.extend(need(ResourceKind::Mutex, rest)),
            "needs" => rule.needs.extend(need(ResourceKind::Counted, rest)),
            "dead_letter" => rule.dead_letter = true,
            "not_started_by" => rule.not_started_by = Some(span(rest)),
            "not_finished_by" => rule.not_finished_by = Some(span(rest)),
            other => panic!("a job knows no {other:?}"),
        }
    }
    rule.needs.sort();
    rule
}

/// `db`, `2 cpu`.
fn need(kind: ResourceKind, text: &str) -> Option<Need> {
    let (units, name) = text.split_once(' ').unwrap_or(("1", text));
    Some(Need { kind, name: name.into(), units: number(units) as u32 })
}

fn when(word: &str, rest: &str) -> When {
    let cron = |dialect| When::Cron { expr: rest.into(), dialect, zone: "UTC".into(), dst: DstRule::default() };
    match word {
        "every" => When::Rate { every: span(rest) },
        "delay" => When::Delay { delay: span(rest) },
        "once" => When::Once { at: time(rest) },
        "cron" => cron(CronDialect::Quartz),
        "crontab" => cron(CronDialect::Unix),
        _ => When::Manual,
    }
}

fn follow(rest: &str, job: impl Fn(&str) -> JobId) -> Follow {
    let (each, rest) = rest.strip_prefix("each of ").map_or((false, rest), |rest| (true, rest));
    let (leader, on) = rest.split_once(' ').unwrap_or((rest, "success"));
    let on = match on {
        "success" => On::Success,
        "failure" => On::Failure,
        "end" => On::End,
        other => panic!("after {other}"),
    };
    Follow { job: job(leader), on, each }
}

/// `2 x 5s`, `1s 2s 4s`, `exp 5 x 1s up to 10s jitter 50`.
fn retry(text: &str) -> Retry {
    let words: Vec<_> = text.split(' ').collect();
    match words[..] {
        ["exp", times, "x", delay, "up", "to", max, "jitter", percent] => Retry::Exponential {
            times: number(times) as u32,
            delay: span(delay),
            factor_percent: 200,
            max: span(max),
            jitter_percent: number(percent) as u32,
        },
        [times, "x", delay] => Retry::Fixed { times: number(times) as u32, delay: span(delay) },
        _ => Retry::List { delays: words.iter().map(|word| span(word)).collect() },
    }
}

pub fn route(text: &str) -> Route {
    match text {
        "first" => Route::First,
        "last" => Route::Last,
        "round" => Route::Round,
        "random" => Route::Random,
        "least" => Route::LeastLoaded,
        "hash" => Route::ConsistentHash,
        "frequent" => Route::LeastFrequent,
        "recent" => Route::LeastRecent,
        "failover" => Route::Failover,
        "busyover" => Route::BusyOver,
        "broadcast" => Route::Broadcast,
        name => Route::Fixed(name.trim_start_matches("to ").into()),
    }
}

pub fn span(text: &str) -> Span {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number"))
}
