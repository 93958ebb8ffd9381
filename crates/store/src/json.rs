//! Lists and maps of short names, kept as JSON so that a person who looks into the store can read them.

use std::collections::BTreeMap;

use model::rights::Place;
use model::{Serves, TenantId};

pub(crate) fn list(values: &[String]) -> String {
    serde_json::Value::from(values).to_string()
}

pub(crate) fn numbers(values: impl Iterator<Item = i64>) -> String {
    serde_json::Value::from(values.collect::<Vec<_>>()).to_string()
}

pub(crate) fn map(values: &BTreeMap<String, String>) -> String {
    let object = values.iter().map(|(key, value)| (key.clone(), value.as_str().into()));
    serde_json::Value::Object(object.collect()).to_string()
}

/// Labels that rights may be about. What no database can keep as text is left out, and then says nothing.
pub(crate) fn labels(values: &BTreeMap<String, String>) -> String {
    let keeps = |text: &str| !text.contains('\0');
    let kept = values.iter().filter(|(key, value)| keeps(key) && keeps(value));
    map(&kept.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// Places that bound a list, for the statement that makes it.
pub(crate) fn places(places: &[Place]) -> String {
    let one = |place: &Place| serde_json::json!({ "folder": place.folder, "labels": place.labels });
    serde_json::Value::Array(places.iter().map(one).collect()).to_string()
}

/// None for an agent that nobody shares.
pub(crate) fn serves(serves: &Serves) -> Option<String> {
    match serves {
        Serves::Own => None,
        Serves::Everyone => Some("*".into()),
        Serves::Named(tenants) => {
            Some(serde_json::Value::from(tenants.iter().map(|tenant| tenant.0).collect::<Vec<_>>()).to_string())
        }
    }
}

/// What cannot be read serves nobody else.
pub(crate) fn read_serves(text: Option<&str>) -> Serves {
    match text {
        None => Serves::Own,
        Some("*") => Serves::Everyone,
        Some(list) => match serde_json::from_str::<Vec<i64>>(list) {
            Ok(tenants) => Serves::Named(tenants.into_iter().map(TenantId).collect()),
            Err(_) => Serves::Own,
        },
    }
}

pub(crate) fn read_list(text: &str) -> Option<Vec<String>> {
    serde_json::from_str(text).ok()
}

pub(crate) fn read_numbers(text: &str) -> Option<Vec<i64>> {
    serde_json::from_str(text).ok()
}

pub(crate) fn read_map(text: &str) -> Option<BTreeMap<String, String>> {
    serde_json::from_str(text).ok()
}
