//! One connection to an executor: a call goes out, its answer comes in, one at a time. Tells a call that certainly did not
//! arrive from one nobody can tell about, because a run must never be sent twice.

use std::io::ErrorKind;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use model::TenantId;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use rustls_platform_verifier::ConfigVerifierExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use wire::xxl::Address;

use super::http::{Reader, Response};
use crate::egress::{Calls, NoWay};

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// Executors close idle connections after as little as five seconds; one that was quiet for longer than this may be
/// closed by now, and a run that went into it would be in doubt.
const FRESH_FOR: Duration = Duration::from_secs(2);

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(super) struct Connection {
    stream: Box<dyn Stream>,
    /// The socket below the stream, which lives as long.
    socket: RawFd,
    used: Instant,
}

/// For whom is called, and where that may lead.
#[derive(Clone)]
pub(super) struct Way {
    pub calls: Calls,
    pub tenant: TenantId,
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    /// The executor cannot have got it.
    #[error("{why}")]
    NotSent { refused: bool, why: String },
    /// It may have got it.
    #[error("{0}")]
    Unanswered(String),
}

impl Connection {
    async fn open(address: &Address, way: &Way) -> Result<Connection, CallError> {
        let not_sent = |refused: bool, why: String| CallError::NotSent { refused, why };
        let (host, _) = address.endpoint();
        // What the name means is looked up once, judged, and dialled: it may mean something else a moment later.
        let found = tokio::time::timeout(CONNECT_WITHIN, way.calls.find(way.tenant, address)).await;
        let found = match found {
            Ok(Ok(found)) => found,
            Ok(Err(NoWay::Unfound(error))) => {
                return Err(not_sent(false, format!("{address} cannot be reached: {error}")));
            }
            Ok(Err(forbidden)) => return Err(not_sent(false, forbidden.to_string())),
            Err(_) => return Err(not_sent(false, format!("{address} was not found within {CONNECT_WITHIN:?}"))),
        };
        let dialled = tokio::time::timeout(CONNECT_WITHIN, TcpStream::connect(&found[..])).await;
        let tcp = match dialled {
            Ok(Ok(tcp)) => tcp,
            Ok(Err(error)) => {
                let refused = error.kind() == ErrorKind::ConnectionRefused;
                return Err(not_sent(refused, format!("{address} cannot be reached: {error}")));
            }
            Err(_) => return Err(not_sent(false, format!("{address} did not answer within {CONNECT_WITHIN:?}"))),
        };
        let _ = tcp.set_nodelay(true);
        let socket = tcp.as_raw_fd();
        let stream: Box<dyn Stream> = if address.is_https() {
            let name = rustls::pki_types::ServerName::try_from(host.to_string());
            let name = name.map_err(|error| not_sent(false, format!("{address}: {error}")))?;
            let connector = tls().map_err(|error| not_sent(false, format!("{address}: {error}")))?;
            let greeted = tokio::time::timeout(CONNECT_WITHIN, connector.connect(name, tcp)).await;
            match greeted {
                Ok(Ok(stream)) => Box::new(stream),
                Ok(Err(error)) => return Err(not_sent(false, format!("{address}: no TLS: {error}"))),
                Err(_) => return Err(not_sent(false, format!("{address}: no TLS within {CONNECT_WITHIN:?}"))),
            }
        } else {
            Box::new(tcp)
        };
        Ok(Connection { stream, socket, used: Instant::now() })
    }

    async fn call(&mut self, request: &[u8]) -> Result<Response, CallError> {
        let sent = self.stream.write_all(request).await;
        // What was not taken as a whole cannot be read as a whole at the other end.
        sent.map_err(|error| CallError::NotSent { refused: false, why: format!("the call was cut short: {error}") })?;
        let mut reader = Reader::default();
        let mut bytes = [0; 8 << 10];
        let unread = |why: String| CallError::Unanswered(why);
        let response = loop {
            match self.stream.read(&mut bytes).await {
                Ok(0) if reader.is_empty() => return Err(unread("it hung up without an answer".into())),
                Ok(0) => break reader.end().map_err(|error| unread(error.to_string()))?,
                Ok(length) => match reader.push(&bytes[..length]) {
                    Ok(Some(response)) => break response,
                    Ok(None) => {}
                    Err(error) => return Err(unread(error.to_string())),
                },
                Err(error) => return Err(unread(format!("its answer could not be read: {error}"))),
            }
        };
        self.used = Instant::now();
        Ok(response)
    }

    /// Used lately, and as far as the system knows the executor has neither hung up nor said anything unasked.
    fn is_fresh(&self) -> bool {
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        let quiet = || matches!(recv(self.socket, &mut [0], flags), Err(Errno::EAGAIN));
        self.used.elapsed() < FRESH_FOR && quiet()
    }
}

/// One call over a kept connection if there is a fresh one; it is kept for the next if the executor keeps it, too.
pub(super) async fn call(
    kept: &mut Option<Connection>,
    address: &Address,
    way: &Way,
    request: &[u8],
    within: Duration,
) -> Result<Response, CallError> {
    let mut connection = match kept.take().filter(Connection::is_fresh) {
        Some(connection) => connection,
        None => Connection::open(address, way).await?,
    };
    let answered = tokio::time::timeout(within, connection.call(request)).await;
    let response = answered.unwrap_or_else(|_| Err(CallError::Unanswered(format!("no answer within {within:?}"))))?;
    if response.keep {
        *kept = Some(connection);
    }
    Ok(response)
}

fn tls() -> Result<TlsConnector, String> {
    static CONFIG: OnceLock<Result<Arc<rustls::ClientConfig>, String>> = OnceLock::new();
    let made = CONFIG.get_or_init(|| {
        let config = rustls::ClientConfig::with_platform_verifier().map_err(|error| error.to_string())?;
        Ok(Arc::new(config))
    });
    made.clone().map(TlsConnector::from)
}
