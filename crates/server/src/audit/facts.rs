//! What the audit is told of a thing: facts that an operation names one by one. There is no way to hand over a whole body,
//! so that nothing gets in that nobody thought of.

use std::collections::BTreeMap;

use model::{JobMode, Timestamp};
use serde_json::{Map, Value};
use wire::Time;
use wire::api::FieldDiff;

/// As much of a text as is kept.
const TEXT_MAX: usize = 300;
/// As many of a list, or of a job's changes, as are told.
const LIST_MAX: usize = 50;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts(Map<String, Value>);

/// One fact: a plain value.
pub(crate) struct Fact(Value);

impl Facts {
    pub(crate) fn new() -> Facts {
        Facts::default()
    }

    /// What is not there is not told.
    pub(crate) fn put(mut self, name: &str, fact: impl Into<Fact>) -> Facts {
        let Fact(value) = fact.into();
        if !value.is_null() {
            self.0.insert(name.into(), value);
        }
        self
    }
}

impl From<Facts> for Value {
    fn from(facts: Facts) -> Value {
        Value::Object(facts.0)
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Fact {
            fn from(number: $number) -> Fact {
                Fact(number.into())
            }
        }
    )*};
}
numbers!(i64 u64 u32 i32 bool);

impl From<&str> for Fact {
    fn from(text: &str) -> Fact {
        Fact(Value::String(clipped(text)))
    }
}

impl From<&String> for Fact {
    fn from(text: &String) -> Fact {
        text.as_str().into()
    }
}

impl From<String> for Fact {
    fn from(text: String) -> Fact {
        text.as_str().into()
    }
}

impl From<Timestamp> for Fact {
    fn from(at: Timestamp) -> Fact {
        Fact(Time::from(at).to_string().into())
    }
}

impl From<JobMode> for Fact {
    fn from(mode: JobMode) -> Fact {
        match mode {
            JobMode::Enabled => "enabled",
            JobMode::Paused => "paused",
            JobMode::Disabled => "disabled",
        }
        .into()
    }
}

impl<T: Into<Fact>> From<Option<T>> for Fact {
    fn from(fact: Option<T>) -> Fact {
        fact.map_or(Fact(Value::Null), Into::into)
    }
}

impl From<&[String]> for Fact {
    fn from(list: &[String]) -> Fact {
        Fact(list.iter().take(LIST_MAX).map(|text| Value::String(clipped(text))).collect())
    }
}

impl From<&Vec<String>> for Fact {
    fn from(list: &Vec<String>) -> Fact {
        list.as_slice().into()
    }
}

impl From<&[i64]> for Fact {
    fn from(list: &[i64]) -> Fact {
        Fact(list.iter().copied().map(Value::from).collect())
    }
}

impl From<&BTreeMap<String, String>> for Fact {
    fn from(map: &BTreeMap<String, String>) -> Fact {
        let pairs = map.iter().take(LIST_MAX).map(|(key, value)| (clipped(key), Value::String(clipped(value))));
        Fact(Value::Object(pairs.collect()))
    }
}

impl From<Facts> for Fact {
    fn from(facts: Facts) -> Fact {
        Fact(facts.into())
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_string(),
    }
}

/// What a job's tasks are made of may hold a password in plain text: of these keys only that they changed is told. Whoever
/// may see the job finds both versions by their numbers.
const WITHHELD: [&str; 12] =
    ["sh", "python", "node", "php", "powershell", "command", "http", "executor", "params", "env", "variables", "log"];

/// The fields of a job that are about to change, each with what it was and what it will be, if that may be told.
pub(crate) fn changed_fields(fields: &[FieldDiff]) -> Facts {
    let mut facts = Facts::new();
    for field in fields.iter().take(LIST_MAX) {
        let key = field.path.split('.').next().unwrap_or_default();
        facts.0.insert(clipped(&field.path), if WITHHELD.contains(&key) { "changed".into() } else { both(field) });
    }
    if fields.len() > LIST_MAX {
        facts = facts.put("…", (fields.len() - LIST_MAX) as u64);
    }
    facts
}

fn both(field: &FieldDiff) -> Value {
    let side = |value: &Option<Value>| value.as_ref().map(|value| plain(value, 3));
    let pairs = [("old", side(&field.old)), ("new", side(&field.new))];
    Value::Object(pairs.into_iter().filter_map(|(name, value)| Some((name.into(), value?))).collect())
}

/// Numbers with a fraction are texts: two programs may write them differently, and the chain must not depend on that.
fn plain(value: &Value, depth: u8) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => Value::String(number.to_string()),
        Value::String(text) => Value::String(clipped(text)),
        Value::Array(_) | Value::Object(_) if depth == 0 => "…".into(),
        Value::Array(items) => items.iter().take(LIST_MAX).map(|item| plain(item, depth - 1)).collect(),
        Value::Object(map) => {
            let pairs = map.iter().take(LIST_MAX).map(|(key, value)| (clipped(key), plain(value, depth - 1)));
            Value::Object(pairs.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn diff(path: &str, old: Value, new: Value) -> FieldDiff {
        FieldDiff { path: path.into(), old: Some(old), new: Some(new) }
    }

    #[test]
    fn what_may_hold_a_secret_is_only_said_to_have_changed() {
        let fields = [
            diff("cron", json!("0 0 * * * ?"), json!({"expr": "0 5 * * * ?", "zone": "UTC"})),
            diff("env.PASSWORD", json!("hunter2"), json!("hunter3")),
            diff("sh", json!("curl -u ann:hunter2"), json!("true")),
            diff("priority", json!(1.5), json!(2)),
        ];
        let told = Value::from(changed_fields(&fields));
        assert_eq!(
            told,
            json!({
                "cron": {"old": "0 0 * * * ?", "new": {"expr": "0 5 * * * ?", "zone": "UTC"}},
                "env.PASSWORD": "changed",
                "sh": "changed",
                "priority": {"old": "1.5", "new": 2},
            })
        );
    }

    #[test]
    fn facts_are_bounded_and_what_is_absent_is_not_told() {
        let facts = Facts::new().put("a", "x".repeat(1_000)).put("b", None::<i64>).put("c", Some(7_i64));
        let told = Value::from(facts);
        assert_eq!(told["a"].as_str().unwrap().chars().count(), TEXT_MAX + 1);
        assert_eq!((told.get("b"), &told["c"]), (None, &json!(7)));
    }
}
