//! Lists and maps of short names, kept as JSON so that a person who looks into the store can read them.

use std::collections::BTreeMap;

pub(crate) fn list(values: &[String]) -> String {
    serde_json::Value::from(values).to_string()
}

pub(crate) fn map(values: &BTreeMap<String, String>) -> String {
    let object = values.iter().map(|(key, value)| (key.clone(), value.as_str().into()));
    serde_json::Value::Object(object.collect()).to_string()
}

pub(crate) fn read_list(text: &str) -> Option<Vec<String>> {
    serde_json::from_str(text).ok()
}

pub(crate) fn read_map(text: &str) -> Option<BTreeMap<String, String>> {
    serde_json::from_str(text).ok()
}
