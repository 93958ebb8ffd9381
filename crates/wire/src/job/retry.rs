//! How often and how fast a failed instance is tried again.

use model::{Retry, Span};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::faults::Faults;
use super::form::form;
use super::policy::LONGEST;
use crate::errors::Code;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryMap {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Before the first retry; 10s if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    /// Each delay is so many times the one before.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plainly")]
    pub backoff: Option<f64>,
    /// No delay is longer than this; 1h if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
    /// Percent by which delays are spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<u32>,
    /// One delay per retry, instead of all of the above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delays: Option<Vec<String>>,
}

form! {
    /// How often to try again, or a map.
    RetryForm = u32 | RetryMap, "a number or a map with times, delay, backoff, max, jitter, or delays";
}

/// Two is written 2, not 2.0.
fn plainly<S: serde::Serializer>(number: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(n) if n.fract() == 0.0 && n.abs() < 1e9 => to.serialize_i64(*n as i64),
        other => other.serialize(to),
    }
}

const RETRY_DELAY: Span = Span::secs(10);
const RETRY_MAX: Span = Span::HOUR;

pub(super) fn read_retry(form: &RetryForm, faults: &mut Faults) -> Retry {
    let map = match form {
        RetryForm::Short(0) => return Retry::None,
        RetryForm::Short(times) => {
            return Retry::Fixed { times: faults.number("retry", *times, 1, 1000), delay: RETRY_DELAY };
        }
        RetryForm::Long(map) => map,
    };
    if let Some(delays) = &map.delays {
        return read_delays(map, delays, faults);
    }
    let Some(times) = map.times else {
        faults.add_hint(Code::BadPolicy, "retry", "how often is not said", "add times, or list the delays");
        return Retry::None;
    };
    let times = faults.number("retry.times", times, 0, 1000);
    let delay = faults.span("retry.delay", map.delay.as_deref(), Span::ZERO, LONGEST).unwrap_or(RETRY_DELAY);
    let max = faults.span("retry.max", map.max.as_deref(), Span::ZERO, LONGEST);
    if map.backoff.is_none() && map.max.is_some() {
        let hint = "add backoff, or leave max out";
        faults.add_hint(Code::BadPolicy, "retry.max", "max bounds a growing delay, and there is no backoff", hint);
    }
    if times == 0 {
        return Retry::None;
    }
    if map.backoff.is_none() && map.jitter.is_none() {
        return Retry::Fixed { times, delay };
    }
    let factor = faults.number("retry.backoff", map.backoff.unwrap_or(1.0), 1.0, 100.0);
    Retry::Exponential {
        times,
        delay,
        factor_percent: (factor * 100.0).round() as u32,
        max: max.unwrap_or(RETRY_MAX),
        jitter_percent: faults.number("retry.jitter", map.jitter.unwrap_or(0), 0, 100),
    }
}

fn read_delays(map: &RetryMap, delays: &[String], faults: &mut Faults) -> Retry {
    if (RetryMap { delays: None, ..map.clone() }) != RetryMap::default() {
        let message = "delays say everything; times, delay, backoff, max and jitter do not go with them";
        faults.add_hint(Code::BadPolicy, "retry.delays", message, "keep the one or the other");
    }
    faults.count("retry.delays", delays.len(), 1000);
    let read = |(i, text): (usize, &String)| {
        faults.span(&format!("retry.delays[{i}]"), Some(text), Span::ZERO, LONGEST).unwrap_or(RETRY_DELAY)
    };
    match delays {
        [] => Retry::None,
        _ => Retry::List { delays: delays.iter().enumerate().map(read).collect() },
    }
}

pub(super) fn write_retry(retry: &Retry) -> Option<RetryForm> {
    let map = match retry {
        Retry::None => return None,
        Retry::Fixed { times, delay: RETRY_DELAY } => return Some(RetryForm::Short(*times)),
        Retry::Fixed { times, delay } => {
            RetryMap { times: Some(*times), delay: Some(delay.to_string()), ..RetryMap::default() }
        }
        Retry::List { delays } => {
            let delays = Some(delays.iter().map(Span::to_string).collect());
            RetryMap { delays, ..RetryMap::default() }
        }
        Retry::Exponential { times, delay, factor_percent, max, jitter_percent } => RetryMap {
            times: Some(*times),
            delay: (*delay != RETRY_DELAY).then(|| delay.to_string()),
            backoff: Some(f64::from(*factor_percent) / 100.0),
            max: (*max != RETRY_MAX).then(|| max.to_string()),
            jitter: (*jitter_percent != 0).then_some(*jitter_percent),
            delays: None,
        },
    };
    Some(RetryForm::Long(map))
}
