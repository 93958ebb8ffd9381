//! A typed client of the public API: one method per operation, errors with their code, followed logs and events.
//! Knows no more of the server than `wire` says.

mod calls;
mod error;
mod follow;
mod people;
mod send;
mod sse;

use std::time::Duration;

pub use error::{BadSettings, Error};
pub use follow::{Events, LogPiece, LogTail};
pub use send::Answer;

/// Where the server is, and who asks.
#[derive(Clone)]
pub struct Settings {
    /// `http://host:port`, without a path.
    pub url: String,
    pub token: Option<String>,
    /// The tenant all requests are about; the caller's own if absent.
    pub tenant: Option<String>,
    /// Why something is changed; goes with every change.
    pub reason: Option<String>,
    /// For one request, streams apart.
    pub timeout: Duration,
}

impl Settings {
    pub const DEFAULT_URL: &str = "http://127.0.0.1:7070";

    pub fn new(url: impl Into<String>, token: Option<String>) -> Settings {
        Settings { url: url.into(), token, tenant: None, reason: None, timeout: Duration::from_secs(60) }
    }
}

/// Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
    tenant: Option<String>,
    reason: Option<String>,
    timeout: Duration,
}

impl Client {
    pub fn new(settings: Settings) -> Result<Client, BadSettings> {
        let url = settings.url.trim_end_matches('/');
        let parsed = reqwest::Url::parse(url).map_err(|_| BadSettings::Url(settings.url.clone()))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(BadSettings::Url(settings.url));
        }
        // A token that cannot be a header would fail later, and with a message about headers.
        if settings.token.as_ref().is_some_and(|token| !token.bytes().all(|b| b.is_ascii_graphic())) {
            return Err(BadSettings::Token);
        }
        if settings.tenant.as_ref().is_some_and(|tenant| !tenant.bytes().all(|b| b.is_ascii_graphic())) {
            return Err(BadSettings::Tenant);
        }
        // Whoever comes second finds the provider there already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let base = url.to_owned();
        let http = reqwest::Client::builder()
            .user_agent(concat!("duly/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(5))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(BadSettings::Http)?;
        let Settings { token, tenant, reason, timeout, .. } = settings;
        let reason = reason.map(|reason| send::escaped(&reason));
        Ok(Client { http, base, token, tenant, reason, timeout })
    }

    pub fn url(&self) -> &str {
        &self.base
    }
}
