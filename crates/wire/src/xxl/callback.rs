//! How runs ended, in the three shapes executors tell it: an array, one object, or a list inside an object; with the
//! result beside the number or inside `executeResult`, or both.

use serde_json::{Map, Value};

use super::lenient::{field, number, read, text};
use super::{BadBody, code};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    pub log_id: i64,
    pub code: i64,
    pub message: String,
}

/// Items that name no run are left out: there is nobody to tell about them.
pub fn callbacks(body: &[u8]) -> Result<Vec<Callback>, BadBody> {
    let items = match read(body)? {
        Value::Array(items) => items,
        Value::Object(mut object) => match object.remove("callbackList") {
            Some(Value::Array(items)) => items,
            Some(_) => return Err(BadBody::Missing),
            None => vec![Value::Object(object)],
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Err(BadBody::Missing),
    };
    Ok(items.iter().filter_map(Value::as_object).filter_map(callback).collect())
}

fn callback(item: &Map<String, Value>) -> Option<Callback> {
    let log_id = field(item, &["logId"]).and_then(number)?;
    let empty = Map::new();
    let inner = item.get("executeResult").and_then(Value::as_object).unwrap_or(&empty);
    let told = field(item, &["handleCode"]).and_then(number).filter(|code| *code != 0);
    let code = told.or_else(|| field(inner, &["code"]).and_then(number)).unwrap_or(code::FAIL);
    let message = field(item, &["handleMsg"]).map(text);
    // Some leave the outer words empty, and the inner message too, and say it in the content.
    let words = [message, inner.get("msg").map(text), inner.get("content").map(text)];
    let message = words.into_iter().flatten().find(|words| !words.is_empty()).unwrap_or_default();
    Some(Callback { log_id, code, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &[(i64, i64, &str)]) {
        let seen = callbacks(body.as_bytes()).unwrap();
        let seen: Vec<_> = seen.iter().map(|one| (one.log_id, one.code, one.message.as_str())).collect();
        assert_eq!(seen, expected, "{body}");
    }

    #[test]
    fn every_shape_says_how_a_run_ended() {
        check(r#"[{"logId":1,"logDateTim":5,"handleCode":200,"handleMsg":"ok"}]"#, &[(1, 200, "ok")]);
        check(r#"[{"logId":1,"executeResult":{"code":200,"msg":"","content":"success"}}]"#, &[(1, 200, "success")]);
        check(
            r#"[{"logId":1,"executeResult":{"code":500,"msg":"inner"},"handleCode":200,"handleMsg":"outer"}]"#,
            &[(1, 200, "outer")],
        );
        check(r#"{"callbackList":[{"logId":7,"logDateTime":5,"handleCode":502,"handleMsg":null}]}"#, &[(7, 502, "")]);
        check(
            r#"{"logId":"9007199254740993","handleCode":"500","handleMsg":"one object, ids as text"}"#,
            &[(9_007_199_254_740_993, 500, "one object, ids as text")],
        );
        check(r#"[{"logId":1,"handleCode":0,"executeResult":{"code":200}}]"#, &[(1, 200, "")]);
    }

    #[test]
    fn handlers_return_what_they_like() {
        check(r#"[{"logId":1,"handleCode":200,"handleMsg":{"rows":3}}]"#, &[(1, 200, r#"{"rows":3}"#)]);
        check(
            r#"[{"logId":1,"handleCode":200,"handleMsg":42},{"logId":2,"handleCode":200,"handleMsg":null}]"#,
            &[(1, 200, "42"), (2, 200, "")],
        );
    }

    #[test]
    fn what_names_no_run_is_left_out_and_what_names_no_result_has_failed() {
        check(r#"[{"handleCode":200},{"logId":2,"handleCode":200,"handleMsg":"x"},7]"#, &[(2, 200, "x")]);
        check(r#"[{"logId":3}]"#, &[(3, 500, "")]);
        check("[]", &[]);
        assert_eq!(callbacks(b"\"\""), Err(BadBody::Missing));
        assert!(matches!(callbacks(b"{"), Err(BadBody::NotJson(_))));
    }
}
