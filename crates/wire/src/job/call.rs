//! What an HTTP call may look like. Whether its address may be called is the agent's to decide, where it is called.

use std::collections::BTreeMap;

use super::check;
use super::faults::{Faults, clip};
use crate::errors::Code;
use crate::task::HttpCall;

pub(super) fn check_call(call: &HttpCall, short: bool, faults: &mut Faults) {
    let url_path = if short { "http" } else { "http.url" };
    faults.size(url_path, call.url.len(), 8 << 10);
    let rest = call.url.strip_prefix("http://").or_else(|| call.url.strip_prefix("https://"));
    // What a variable will make of it is seen by whoever calls it.
    let open = call.url.starts_with("${");
    let relative = rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) && !open;
    if relative || call.url.contains(char::is_whitespace) {
        let message = format!("{:?} is not an absolute http or https URL", clip(&call.url));
        faults.add_hint(Code::BadCall, url_path, message, "write it like https://example.com/hook");
    }
    if !["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(&call.method.as_str()) {
        let message = format!("{:?} is not a method", clip(&call.method));
        faults.add_hint(Code::BadCall, "http.method", message, "use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS");
    }
    check_headers(&call.headers, faults);
    faults.size("http.body", call.body.as_ref().map_or(0, String::len), check::SOURCE_MAX);
    faults.size("http.expect_body", call.expect_body.as_ref().map_or(0, String::len), check::PARAMS_MAX);
    for (i, text) in call.expect_status.iter().enumerate().filter(|(_, text)| !is_status(text)) {
        let message = format!("{:?} is neither a status nor a range of them", clip(text));
        faults.add_hint(Code::BadCall, &format!("http.expect_status[{i}]"), message, "write \"204\" or \"200-299\"");
    }
}

fn check_headers(headers: &BTreeMap<String, String>, faults: &mut Faults) {
    faults.count("http.headers", headers.len(), 128);
    for (key, value) in headers {
        let path = format!("http.headers.{}", clip(key));
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if key.is_empty() || !key.bytes().all(token) {
            faults.add(Code::BadCall, &path, "this cannot be the name of a header");
        }
        if value.chars().any(|c| c.is_control() && c != '\t') {
            faults.add(Code::BadCall, &path, "line breaks and control characters cannot be in a header");
        }
        faults.size(&path, value.len(), 16 << 10);
    }
}

fn is_status(text: &str) -> bool {
    let status = |text: &str| text.trim().parse::<u16>().ok().filter(|n| (100..=599).contains(n));
    match text.split_once('-') {
        None => status(text).is_some(),
        Some((from, to)) => matches!((status(from), status(to)), (Some(from), Some(to)) if from <= to),
    }
}
