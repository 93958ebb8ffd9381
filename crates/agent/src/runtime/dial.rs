//! Reaches the server: finds its address, joins if need be, and says who we are. Decides nothing about when.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};
use wire::link::JoinRequest;
use wire::link::link_client::LinkClient;

use super::config::{AgentConfig, JoinToken, ServerAddress};
use super::trust;
use crate::data::{DataDir, DataError, Identity};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A peer that vanished without a word is noticed after the sum of these.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
const MESSAGE_BYTES_MAX: usize = 64 << 20;
const WINDOW: u32 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error("cannot read {path}")]
    Unread {
        path: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{address:?} is no address of a server; write http://host:port")]
    Address {
        address: String,
        #[source]
        source: tonic::transport::Error,
    },
    #[error("cannot reach the server at {address}")]
    Unreachable {
        address: String,
        #[source]
        source: tonic::transport::Error,
    },
    #[error("the server at {address} does not prove to be one of those this agent joined: {advice}")]
    Untrusted {
        address: String,
        advice: &'static str,
        #[source]
        source: tonic::transport::Error,
    },
    #[error("the server at {address} is not the one the join token is for: it is not vouched for by {fingerprint}")]
    OtherAuthority {
        address: String,
        fingerprint: String,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot ask the server at {address} who vouches for it")]
    Unlearned {
        address: String,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "the server at {address} speaks TLS and this agent does not know who vouches for it; let it join with a token of \
         that server, which carries a fingerprint after an @, or give it --ca FILE"
    )]
    NoAuthority { address: String },
    #[error("this agent is to talk only to servers that speak TLS; write https:// instead of http:// in {address}")]
    NotSecure { address: String },
    #[error("this agent has not joined yet and was given no token")]
    NoToken,
    #[error("the server did not let this agent join")]
    NotJoined(#[source] Box<Status>),
    #[error("the server gave a secret that cannot be used")]
    Secret,
    #[error(transparent)]
    Data(#[from] DataError),
    #[error("the server ended the stream")]
    Ended,
    #[error("the stream was broken")]
    Broken(#[source] Box<Status>),
}

/// A connection of its own each time, so that logs cannot use up the window of orders and reports.
#[derive(Debug, Clone)]
pub(crate) struct Dialer {
    pub(crate) config: Arc<AgentConfig>,
    pub(crate) data: Arc<DataDir>,
    pub(crate) address: ServerAddress,
    /// Held while joining: of several ways to a server one is enough.
    pub(crate) joining: Arc<tokio::sync::Mutex<()>>,
    /// Of the two connections only one may join.
    pub(crate) may_join: bool,
}

pub(crate) struct Line {
    pub(crate) client: LinkClient<Channel>,
    agent: MetadataValue<Ascii>,
    authorization: MetadataValue<Ascii>,
}

impl Dialer {
    pub(crate) async fn dial(&self) -> Result<Line, DialError> {
        let channel = self.connect().await?;
        let mut client = LinkClient::new(channel).max_decoding_message_size(MESSAGE_BYTES_MAX);
        let identity = match self.data.identity()? {
            Some(identity) => identity,
            None if self.may_join => self.join(&mut client).await?,
            None => return Err(DialError::NoToken),
        };
        let mut authorization: MetadataValue<Ascii> =
            format!("Bearer {}", identity.secret).parse().map_err(|_| DialError::Secret)?;
        authorization.set_sensitive(true);
        Ok(Line { client, agent: identity.agent.into(), authorization })
    }

    async fn connect(&self) -> Result<Channel, DialError> {
        let address = self.address.read()?;
        let endpoint = Endpoint::from_shared(address.clone());
        let endpoint = endpoint.map_err(|source| DialError::Address { address: address.clone(), source })?;
        let endpoint = match self.authority(&address).await? {
            Some(pem) => {
                let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
                endpoint.tls_config(tls).map_err(|source| DialError::Address { address: address.clone(), source })?
            }
            None => endpoint,
        };
        let endpoint = endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE_EVERY)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW);
        endpoint.connect().await.map_err(|source| {
            if trust::is_untrusted(&source) {
                DialError::Untrusted { address, advice: trust::advice(&source), source }
            } else {
                DialError::Unreachable { address, source }
            }
        })
    }

    /// Who vouches for the server there; nobody needs to without TLS.
    async fn authority(&self, address: &str) -> Result<Option<Vec<u8>>, DialError> {
        let joined = self.data.identity()?.is_some();
        let token = if joined { None } else { self.token().ok() };
        let fingerprint = token.as_deref().and_then(|token| trust::split_token(token).1);
        if !address.starts_with("https://") {
            // A secret that was meant for a server that proves itself must not go to one that does not.
            return match fingerprint.or(self.config.ca.as_ref().map(|_| "")) {
                Some(_) => Err(DialError::NotSecure { address: address.to_owned() }),
                None => Ok(None),
            };
        }
        if let Some(file) = &self.config.ca {
            let read = std::fs::read(file);
            return read.map(Some).map_err(|source| DialError::Unread { path: file.clone(), source });
        }
        if let Some(kept) = self.data.authority()?.filter(|_| joined) {
            return Ok(Some(kept));
        }
        if let Some(fingerprint) = fingerprint {
            return trust::learn(address, fingerprint).await.map(Some);
        }
        let beside = match &self.address {
            ServerAddress::Written(path) => trust::beside(path),
            ServerAddress::Fixed(_) => None,
        };
        beside.map(Some).ok_or_else(|| DialError::NoAuthority { address: address.to_owned() })
    }

    fn token(&self) -> Result<String, DialError> {
        match self.config.token.as_ref().ok_or(DialError::NoToken)? {
            JoinToken::Given(token) => Ok(token.clone()),
            JoinToken::Written(path) => first_line(path),
        }
    }

    async fn join(&self, client: &mut LinkClient<Channel>) -> Result<Identity, DialError> {
        let _alone = self.joining.lock().await;
        if let Some(identity) = self.data.identity()? {
            return Ok(identity);
        }
        let text = self.token()?;
        let (token, fingerprint) = trust::split_token(&text);
        let profile = self.config.profile.clone();
        let request = JoinRequest {
            token: token.to_owned(),
            name: profile.name,
            pools: profile.pools,
            labels: profile.labels.into_iter().collect(),
            slots: profile.slots,
            version: profile.version,
        };
        let reply = client.join(request).await.map_err(|status| DialError::NotJoined(Box::new(status)))?.into_inner();
        let identity = Identity { agent: reply.agent, secret: reply.secret };
        if fingerprint.is_some_and(|fingerprint| !trust::has_fingerprint(reply.ca.as_bytes(), fingerprint)) {
            return Err(DialError::Secret);
        }
        if !reply.ca.is_empty() {
            self.data.keep_authority(&reply.ca)?;
        }
        self.data.keep_identity(&identity)?;
        tracing::info!(agent = identity.agent, "joined");
        Ok(identity)
    }
}

impl Line {
    pub(crate) fn request<T>(&self, body: T) -> Request<T> {
        let mut request = Request::new(body);
        request.metadata_mut().insert("duly-agent", self.agent.clone());
        request.metadata_mut().insert("authorization", self.authorization.clone());
        request
    }
}

impl ServerAddress {
    /// The address as it is now.
    pub(crate) fn read(&self) -> Result<String, DialError> {
        match self {
            ServerAddress::Fixed(address) => Ok(address.clone()),
            ServerAddress::Written(path) => first_line(path),
        }
    }
}

fn first_line(path: &Path) -> Result<String, DialError> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|source| DialError::Unread { path: path.to_owned(), source })?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}
