//! Answers: ours, with the payload's key of every version in it, and executors', whatever shape they come in.

use serde_json::{Map, Value};

use super::code;
use super::lenient::{field, number, text};

/// What the admin says when all is well. Nulls are there because old clients look for `content` and new ones for `data`.
pub fn success() -> String {
    answer(code::SUCCESS, None)
}

/// What it says otherwise: never by an HTTP status, because some clients die of those.
pub fn refusal(message: &str) -> String {
    answer(code::FAIL, Some(message))
}

fn answer(code: i64, message: Option<&str>) -> String {
    serde_json::json!({ "code": code, "msg": message, "content": null, "data": null }).to_string()
}

/// What an executor answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub code: i64,
    pub message: String,
    payload: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the executor's answer makes no sense: {0}")]
pub struct BadAnswer(String);

impl Answer {
    /// Reads a body whatever type it claims to have.
    pub fn read(body: &[u8]) -> Result<Answer, BadAnswer> {
        let start = || BadAnswer(String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned());
        match serde_json::from_slice(body).map_err(|_| start())? {
            Value::Object(object) => Answer::of(&object, &["code"], &["msg"]).ok_or_else(start),
            // One SDK answers a refused run with the callback it would have sent.
            Value::Array(items) => items
                .first()
                .and_then(Value::as_object)
                .and_then(|object| Answer::of(object, &["handleCode", "code"], &["handleMsg", "msg"]))
                .ok_or_else(start),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(start()),
        }
    }

    fn of(object: &Map<String, Value>, codes: &[&str], messages: &[&str]) -> Option<Answer> {
        let code = field(object, codes).and_then(number)?;
        let message = field(object, messages).map(text).unwrap_or_default();
        Some(Answer { code, message, payload: field(object, &["content", "data"]).cloned() })
    }

    pub fn is_success(&self) -> bool {
        self.code == code::SUCCESS
    }

    /// It knows the call by the other of its two names, or not at all.
    pub fn knows_no_such_call(&self) -> bool {
        self.code != code::SUCCESS && self.message.contains("uri-mapping(") && self.message.contains("not found")
    }

    /// A page of a run's log; none if this SDK keeps none.
    pub fn log_page(&self) -> Option<LogPage> {
        let page = self.payload.as_ref()?.as_object()?;
        let at = |key: &str| field(page, &[key]).and_then(number);
        Some(LogPage {
            from_line: at("fromLineNum").unwrap_or(1).max(1),
            to_line: at("toLineNum").unwrap_or(0).max(0),
            text: field(page, &["logContent"]).map(text).unwrap_or_default(),
        })
    }
}

/// Some lines of a run's log. Whether it has ended is for our own books to say: executors call a pause the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    pub from_line: i64,
    pub to_line: i64,
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_answers_carry_the_keys_of_every_version() {
        assert_eq!(success(), r#"{"code":200,"content":null,"data":null,"msg":null}"#);
        assert_eq!(refusal("no"), r#"{"code":500,"content":null,"data":null,"msg":"no"}"#);
    }

    #[test]
    fn an_executor_may_answer_as_it_likes() {
        let read = |body: &str| Answer::read(body.as_bytes()).map(|answer| (answer.code, answer.message));
        assert_eq!(read(r#"{"code":200}"#), Ok((200, String::new())));
        assert_eq!(read(r#"{"code":"200","msg":"Success","x":1}"#), Ok((200, "Success".into())));
        let array = r#"[{"logId":4,"handleCode":500,"handleMsg":"There are tasks running"}]"#;
        assert_eq!(read(array), Ok((500, "There are tasks running".into())));
        for body in ["", "<html>", "[]", "{}", "7"] {
            assert!(read(body).is_err(), "{body}");
        }
    }

    #[test]
    fn a_page_of_log_is_found_under_either_key_and_without_an_end() {
        let page = |body: &str| Answer::read(body.as_bytes()).unwrap().log_page();
        let lines = r#"{"fromLineNum":3,"toLineNum":5,"logContent":"a\nb"}"#;
        let expected = Some(LogPage { from_line: 3, to_line: 5, text: "a\nb".into() });
        assert_eq!(page(&format!(r#"{{"code":200,"content":{lines}}}"#)), expected);
        assert_eq!(page(&format!(r#"{{"code":200,"msg":null,"content":null,"data":{lines}}}"#)), expected);
        assert_eq!(page(r#"{"code":200,"msg":"no logs here"}"#), None);
    }

    #[test]
    fn an_unknown_call_is_told_from_a_failed_one() {
        let read = |body: &str| Answer::read(body.as_bytes()).unwrap().knows_no_such_call();
        assert!(read(r#"{"code":500,"msg":"invalid request, uri-mapping(/run) not found."}"#));
        assert!(!read(r#"{"code":500,"msg":"job handler [x] not found."}"#));
    }
}
