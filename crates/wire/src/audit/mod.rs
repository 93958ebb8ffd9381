//! What an entry of the audit says, and how it is written: JSON with its keys in order and nothing between them, so that
//! whoever reads it elsewhere comes to the same digest. Never holds a secret: nothing gets in that was not named.

mod export;

use std::collections::BTreeMap;

use model::audit::Mark;
pub use model::audit::{Finding, Noted, Sum, Walked};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

pub use self::export::{BadExport, Export, export_head, export_line};
use crate::time::Time;

/// Carries why somebody asks for a change.
pub const REASON_HEADER: &str = "duly-reason";
/// The longest reason that is kept.
pub const REASON_MAX: usize = 500;

/// The operation of an entry that says up to where older ones were dropped.
pub const CHECKPOINT: &str = "audit_checkpoint";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    pub at: Time,
    /// Whose doing it was; absent if nobody was recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// What they were recognised by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "token 7")]
    pub by: Option<String>,
    /// The address they came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "10.0.0.7:51344")]
    pub from: Option<String>,
    /// The tenant's number; absent for what belongs to the whole installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<i64>,
    /// The name of the operation, as in the API's description.
    #[schema(example = "job_pause")]
    pub operation: String,
    /// The values in the address that was asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub about: BTreeMap<String, String>,
    /// What was so far, of what may be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub before: Option<Value>,
    /// What is from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub after: Option<Value>,
    /// Why, in the words of whoever asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The request's id, which is in the answer and in the server's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The server that wrote it, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// `done`; the code of the refusal; or `unknown`, if the server ended before it could say.
    #[schema(example = "done")]
    pub outcome: String,
    /// So many more refusals like it were not written one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
}

impl AuditEntry {
    pub fn new(at: Time, operation: impl Into<String>, outcome: impl Into<String>) -> AuditEntry {
        AuditEntry {
            at,
            who: None,
            by: None,
            from: None,
            tenant: None,
            operation: operation.into(),
            about: BTreeMap::new(),
            before: None,
            after: None,
            reason: None,
            request: None,
            server: None,
            outcome: outcome.into(),
            more: None,
        }
    }

    /// The text that is kept, and whose digest is in the chain.
    pub fn text(&self) -> String {
        canonical(&serde_json::to_value(self).expect("an entry is plain data"))
    }

    /// Signs off that everything up to there is dropped.
    pub fn checkpoint(at: Time, until: Mark) -> AuditEntry {
        let dropped = json!({"dropped_until": {"seq": until.seq, "hash": until.hash.to_string()}});
        AuditEntry { after: Some(dropped), ..AuditEntry::new(at, CHECKPOINT, "done") }
    }
}

/// Up to where an entry says that older ones were dropped.
pub fn signs_off(entry: &Value) -> Option<Mark> {
    if entry.get("operation")?.as_str() != Some(CHECKPOINT) {
        return None;
    }
    let until = entry.get("after")?.get("dropped_until")?;
    Some(Mark { seq: until.get("seq")?.as_i64()?, hash: until.get("hash")?.as_str()?.parse().ok()? })
}

/// One text for one value: keys in the order of their bytes, no space, nothing escaped that need not be.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                out.push_str(if n == 0 { "" } else { "," });
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            // In order whatever the map thinks of order.
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            out.push('{');
            for (n, (key, value)) in sorted.into_iter().enumerate() {
                out.push_str(if n == 0 { "" } else { "," });
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_however_it_was_put_together() {
        let value: Value = serde_json::from_str(r#"{ "b": [1, {"y": null, "x": "夜\n\u0001"}], "a": true }"#).unwrap();
        assert_eq!(canonical(&value), "{\"a\":true,\"b\":[1,{\"x\":\"夜\\n\\u0001\",\"y\":null}]}");
        assert_eq!(canonical(&serde_json::from_str(&canonical(&value)).unwrap()), canonical(&value));
    }

    #[test]
    fn what_is_absent_is_not_said() {
        let entry = AuditEntry::new(Time(0), "job_pause", "done");
        assert_eq!(entry.text(), r#"{"at":"1970-01-01T00:00:00.000000Z","operation":"job_pause","outcome":"done"}"#);
        assert_eq!(serde_json::from_str::<AuditEntry>(&entry.text()).unwrap(), entry);
    }

    #[test]
    fn only_a_checkpoint_signs_off() {
        let mark = Mark::BEGINNING.next(Sum::of("x"));
        let mut entry = serde_json::to_value(AuditEntry::checkpoint(Time(0), mark)).unwrap();
        assert_eq!(signs_off(&entry), Some(mark));
        entry["operation"] = "job_apply".into();
        assert_eq!(signs_off(&entry), None);
    }
}
