//! One request: sent, repeated where that is safe, its answer read. A POST carries an `Idempotency-Key`, so that a
//! request whose answer was lost can be sent again and is done once.

use std::ops::Deref;
use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::routes::{Method, Route};
use wire::{Code, Problem};

use crate::{Client, Error};

/// Waits between tries; one more try than waits.
const PAUSES: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(400), Duration::from_millis(1000)];

/// A view together with the text it was read from, for programs that want the body as it came.
#[derive(Clone, Debug)]
pub struct Answer<T> {
    pub view: T,
    pub raw: String,
}

impl<T> Deref for Answer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.view
    }
}

/// A request that can be made anew for each try.
pub(crate) struct Call<'a> {
    client: &'a Client,
    route: Route,
    url: String,
    query: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    key: Option<String>,
    bounded: bool,
    headers: Vec<(&'static str, String)>,
}

impl Client {
    pub(crate) fn call(&self, route: Route, values: &[&str]) -> Call<'_> {
        Call {
            client: self,
            route,
            url: format!("{}{}", self.base, route.at(values)),
            query: Vec::new(),
            body: None,
            key: (route.method == Method::Post).then(fresh_key),
            bounded: true,
            headers: Vec::new(),
        }
    }
}

impl Call<'_> {
    pub(crate) fn query(mut self, query: &impl Serialize) -> Self {
        let value = serde_json::to_value(query).expect("a query is plain data");
        for (key, value) in value.as_object().into_iter().flatten() {
            let text = value.as_str().map_or_else(|| value.to_string(), String::from);
            self.query.push((key.clone(), text));
        }
        self
    }

    pub(crate) fn body(mut self, body: &impl Serialize) -> Self {
        self.body = Some(serde_json::to_vec(body).expect("a body is plain data"));
        self
    }

    pub(crate) fn key(mut self, key: Option<String>) -> Self {
        self.key = key.or(self.key);
        self
    }

    /// Without a key: the answer holds a secret or a stream, which no server keeps for a repeat.
    pub(crate) fn keyless(mut self) -> Self {
        self.key = None;
        self
    }

    /// The answer may take as long as it takes.
    pub(crate) fn unbounded(mut self) -> Self {
        self.bounded = false;
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) async fn json<T: DeserializeOwned>(self) -> Result<Answer<T>, Error> {
        let url = self.url.clone();
        let raw = self.text().await?;
        match serde_json::from_str(&raw) {
            Ok(view) => Ok(Answer { view, raw }),
            Err(error) => Err(Error::Strange { url, what: error.to_string() }),
        }
    }

    pub(crate) async fn text(self) -> Result<String, Error> {
        let url = self.url.clone();
        let response = self.send().await?;
        response.text().await.map_err(|source| Error::Unreachable { url, source })
    }

    /// The answer with its body still to be read; anything but success is an error.
    pub(crate) async fn send(self) -> Result<Response, Error> {
        let mut pauses = PAUSES.iter();
        loop {
            match self.request().send().await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => return Err(refusal(&self.url, response).await),
                Err(error) => match pauses.next() {
                    Some(pause) if self.may_repeat(&error) => tokio::time::sleep(*pause).await,
                    _ => return Err(Error::Unreachable { url: self.client.base.clone(), source: error }),
                },
            }
        }
    }

    fn request(&self) -> RequestBuilder {
        let http = &self.client.http;
        let mut request = match self.route.method {
            Method::Get => http.get(&self.url),
            Method::Post => http.post(&self.url),
            Method::Put => http.put(&self.url),
            Method::Delete => http.delete(&self.url),
        };
        if let Some(tenant) = &self.client.tenant {
            request = request.header("duly-tenant", tenant);
        }
        if let Some(token) = &self.client.token {
            request = request.bearer_auth(token);
        }
        if let Some(key) = &self.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(reason) = self.client.reason.as_ref().filter(|_| self.route.method != Method::Get) {
            request = request.header(wire::audit::REASON_HEADER, reason);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if let Some(body) = &self.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        if self.bounded {
            request = request.timeout(self.client.timeout);
        }
        if self.query.is_empty() { request } else { request.query(&self.query) }
    }

    /// Never reached the server: always. Reached it, answer lost: only what may be done twice, or is known by its key.
    fn may_repeat(&self, error: &reqwest::Error) -> bool {
        if error.is_connect() {
            return true;
        }
        if error.is_timeout() || error.is_builder() {
            return false;
        }
        match self.route.method {
            Method::Get | Method::Put => true,
            Method::Post => self.key.is_some(),
            Method::Delete => false,
        }
    }
}

async fn refusal(url: &str, response: Response) -> Error {
    let status = response.status();
    let text = response.text().await.unwrap_or_default();
    match serde_json::from_str::<Problem>(&text) {
        Ok(problem) => Error::Refused(Box::new(problem)),
        Err(_) if status == StatusCode::UNAUTHORIZED => {
            Error::Refused(Box::new(Problem::new(Code::NotSignedIn, "the server wants a token")))
        }
        Err(_) => Error::Strange { url: url.into(), what: format!("it answered {status} without a problem document") },
    }
}

/// A header is plain ASCII; what is not is escaped, and says so.
pub(crate) fn escaped(text: &str) -> String {
    if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return text.to_owned();
    }
    let piece = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'-' | b'_' | b'.' => (byte as char).to_string(),
        other => format!("%{other:02X}"),
    };
    format!("UTF-8''{}", text.bytes().map(piece).collect::<String>())
}

fn fresh_key() -> String {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
