//! An executor says that it is there, or that it goes.

use serde_json::Value;

use super::BadBody;
use super::lenient::{field, read, text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// `EXECUTOR`; others are heard and ignored.
    pub group: String,
    /// The executor's appname: the name of its pool.
    pub app: String,
    /// Its address, as written.
    pub address: String,
}

pub fn registration(body: &[u8]) -> Result<Registration, BadBody> {
    let Value::Object(object) = read(body)? else { return Err(BadBody::Missing) };
    let wanted = |key: &str| {
        let value = field(&object, &[key]).map(text).unwrap_or_default();
        let value = value.trim();
        if value.is_empty() { Err(BadBody::Missing) } else { Ok(value.to_string()) }
    };
    Ok(Registration { group: wanted("registryGroup")?, app: wanted("registryKey")?, address: wanted("registryValue")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_needs_all_three_words() {
        let full = br#"{"registryGroup":"EXECUTOR","registryKey":" app ","registryValue":"http://h:1/","more":1}"#;
        let seen = registration(full).unwrap();
        assert_eq!((seen.app.as_str(), seen.address.as_str()), ("app", "http://h:1/"));
        for body in [r#"{"registryGroup":"EXECUTOR","registryKey":"a","registryValue":" "}"#, "{}", "[]", "\"\""] {
            assert_eq!(registration(body.as_bytes()), Err(BadBody::Missing), "{body}");
        }
        assert!(matches!(registration(b""), Err(BadBody::NotJson(_))));
    }
}
