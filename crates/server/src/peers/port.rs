//! The port servers call each other on: TLS, and a certificate from both sides.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const SHAKE_WITHIN: Duration = Duration::from_secs(5);
/// Connections that may wait to be served.
const WAITING_MAX: usize = 64;

/// Connections whose other side has shown who it is.
pub(crate) struct Port {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl Port {
    pub(crate) fn open(listener: TcpListener, ca: &str, certificate: &str, key: &str) -> Result<Port, String> {
        let acceptor = TlsAcceptor::from(Arc::new(server_tls(ca, certificate, key)?));
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let (shaken, ready) = mpsc::channel(WAITING_MAX);
        tokio::spawn(async move {
            while !shaken.is_closed() {
                let Ok((stream, from)) = listener.accept().await else {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let _ = stream.set_nodelay(true);
                let (acceptor, shaken) = (acceptor.clone(), shaken.clone());
                tokio::spawn(async move {
                    match tokio::time::timeout(SHAKE_WITHIN, acceptor.accept(stream)).await {
                        Ok(Ok(stream)) => drop(shaken.send((stream, from)).await),
                        Ok(Err(error)) => {
                            tracing::warn!(%from, %error, "somebody who is no server of ours was refused")
                        }
                        Err(_) => tracing::debug!(%from, "a connection did not begin in time"),
                    }
                });
            }
        });
        Ok(Port { ready, address })
    }
}

impl axum::serve::Listener for Port {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(ready) => ready,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        Ok(self.address)
    }
}

fn server_tls(ca: &str, certificate: &str, key: &str) -> Result<ServerConfig, String> {
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(ca)?), ring()).build();
    ServerConfig::builder_with_provider(ring())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_client_cert_verifier(verifier.map_err(|error| error.to_string())?)
        .with_single_cert(vec![cert(certificate)?], secret(key)?)
        .map_err(|error| error.to_string())
}

pub(super) fn client_tls(ca: &str, certificate: &str, key: &str) -> Result<ClientConfig, String> {
    ClientConfig::builder_with_provider(ring())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots(ca)?)
        .with_client_auth_cert(vec![cert(certificate)?], secret(key)?)
        .map_err(|error| error.to_string())
}

fn ring() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots(ca: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add(cert(ca)?).map_err(|error| error.to_string())?;
    Ok(roots)
}

fn cert(pem: &str) -> Result<CertificateDer<'static>, String> {
    CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| error.to_string())
}

fn secret(pem: &str) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use axum::serve::Listener;
    use rustls::pki_types::ServerName;
    use tokio::io::AsyncReadExt;
    use tokio_rustls::TlsConnector;

    use super::*;
    use crate::authority::{Authority, Kind};
    use crate::stores::StorePlace;

    fn authority() -> Authority {
        let data = tempfile::tempdir().unwrap();
        let mut access = StorePlace::Embedded.open(data.path(), 8).unwrap().access;
        Authority::load_or_make(&mut *access).unwrap()
    }

    fn shown(by: &Authority, kind: Kind) -> (String, String) {
        by.certificate(&["localhost".into()], kind).unwrap()
    }

    /// What a caller meets who trusts the port: a connection that stays and says nothing, or one that is ended.
    async fn call(port: SocketAddr, tls: ClientConfig) -> Result<(), String> {
        let stream = TcpStream::connect(port).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let said = |error: std::io::Error| error.to_string();
        let mut stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await.map_err(said)?;
        // A server says no after the client has said its last word.
        stream.read_u8().await.map(drop).map_err(said)
    }

    /// Whether one who shows this is let in.
    async fn is_let_in(cluster: &Authority, tls: ClientConfig) -> Result<(), String> {
        let (certificate, key) = shown(cluster, Kind::Peer);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut port = Port::open(listener, cluster.ca_pem(), &certificate, &key).unwrap();
        let address = port.address;
        tokio::select! {
            _ = port.accept() => Ok(()),
            refused = call(address, tls) => refused,
        }
    }

    fn nobody(cluster: &Authority) -> ClientConfig {
        let builder = ClientConfig::builder_with_provider(ring()).with_safe_default_protocol_versions().unwrap();
        builder.with_root_certificates(roots(cluster.ca_pem()).unwrap()).with_no_client_auth()
    }

    fn showing(cluster: &Authority, (certificate, key): (String, String)) -> ClientConfig {
        client_tls(cluster.ca_pem(), &certificate, &key).unwrap()
    }

    #[tokio::test]
    async fn only_who_shows_a_peers_certificate_of_this_cluster_is_let_in() {
        let (ours, theirs) = (authority(), authority());
        assert_eq!(is_let_in(&ours, showing(&ours, shown(&ours, Kind::Peer))).await, Ok(()));
        for (who, tls) in [
            ("who shows nothing", nobody(&ours)),
            ("a server of another cluster", showing(&ours, shown(&theirs, Kind::Peer))),
            ("who has what is shown to agents", showing(&ours, shown(&ours, Kind::Server))),
        ] {
            assert!(is_let_in(&ours, tls).await.is_err(), "{who}");
        }
    }
}
