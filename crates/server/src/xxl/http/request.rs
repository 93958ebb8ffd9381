//! One call of an executor as bytes.

use wire::xxl::Address;

/// What goes with every call to one executor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers {
    pub token: String,
    /// Named to executors of 3.5 and later, which refuse a call without it.
    pub app: Option<String>,
}

/// Never chunked and always with a length and a type, on `/beat` too: each is something some executor cannot do without.
pub fn request(address: &Address, call: &str, headers: &Headers, body: &str) -> Vec<u8> {
    let mut head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nConnection: keep-alive\r\nContent-Type: application/json;charset=UTF-8\r\nContent-Length: {}\r\n",
        address.path(call),
        address.authority(),
        body.len(),
    );
    if !headers.token.is_empty() {
        head.push_str(&format!("XXL-JOB-ACCESS-TOKEN: {}\r\n", headers.token));
    }
    if let Some(app) = &headers.app {
        head.push_str(&format!("XXL-JOB-APPNAME: {app}\r\n"));
    }
    head.push_str("\r\n");
    head.push_str(body);
    head.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(told: &str, headers: &Headers, body: &str) -> String {
        let address = Address::parse(told).unwrap();
        String::from_utf8(request(&address, "run", headers, body)).unwrap()
    }

    #[test]
    fn a_call_is_spelled_as_the_pickiest_executor_reads_it() {
        let headers = Headers { token: "secret".into(), app: None };
        expect_test::expect![[r#"
            POST /job/run HTTP/1.1
            Host: h:9999
            Connection: keep-alive
            Content-Type: application/json;charset=UTF-8
            Content-Length: 4
            XXL-JOB-ACCESS-TOKEN: secret

            "é""#]]
        .assert_eq(&written("h:9999/job/", &headers, "\"é\"").replace("\r\n", "\n"));
    }

    #[test]
    fn an_executor_that_named_its_app_is_called_by_it() {
        let headers = Headers { token: String::new(), app: Some("app".into()) };
        let text = written("h:1", &headers, "{}");
        assert!(text.contains("\r\nXXL-JOB-APPNAME: app\r\n\r\n{}"), "{text}");
        assert!(!text.contains("TOKEN"), "an empty token is not sent: {text}");
    }
}
