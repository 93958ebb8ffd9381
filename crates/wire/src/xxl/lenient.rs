//! Fields as SDKs really send them: numbers as text, text as anything, nulls for absent.

use serde_json::{Map, Value};

use super::BadBody;

pub(super) fn read(body: &[u8]) -> Result<Value, BadBody> {
    serde_json::from_slice(body).map_err(|error| BadBody::NotJson(error.to_string()))
}

/// The first of these keys that is there and not null.
pub(super) fn field<'a>(object: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().filter_map(|key| object.get(*key)).find(|value| !value.is_null())
}

pub(super) fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|float| float as i64)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Handlers return what they like; whatever is no text is shown as its JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
