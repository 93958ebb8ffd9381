//! Reaches the server: finds its address, joins if need be, and says who we are. Decides nothing about when.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use wire::link::JoinRequest;
use wire::link::link_client::LinkClient;

use super::config::{AgentConfig, JoinToken, ServerAddress};
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
        let endpoint = endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE_EVERY)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW);
        endpoint.connect().await.map_err(|source| DialError::Unreachable { address, source })
    }

    async fn join(&self, client: &mut LinkClient<Channel>) -> Result<Identity, DialError> {
        let _alone = self.joining.lock().await;
        if let Some(identity) = self.data.identity()? {
            return Ok(identity);
        }
        let token = match self.config.token.as_ref().ok_or(DialError::NoToken)? {
            JoinToken::Given(token) => token.clone(),
            JoinToken::Written(path) => first_line(path)?,
        };
        let profile = self.config.profile.clone();
        let request = JoinRequest {
            token,
            name: profile.name,
            pools: profile.pools,
            labels: profile.labels.into_iter().collect(),
            slots: profile.slots,
            version: profile.version,
        };
        let reply = client.join(request).await.map_err(|status| DialError::NotJoined(Box::new(status)))?.into_inner();
        let identity = Identity { agent: reply.agent, secret: reply.secret };
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
