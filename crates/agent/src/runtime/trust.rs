//! How an agent knows that whom it dials is one of its servers: by the authority that vouches for them. It learns it
//! when it joins, by the fingerprint its token carries, and keeps it.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};
use tokio::net::TcpStream;
use tonic::transport::Uri;

use super::dial::DialError;

/// Beside an endpoint file, by a server of this machine.
const AUTHORITY_FILE: &str = "agent-ca.pem";
const LEARN_WITHIN: Duration = Duration::from_secs(5);

/// A join token and, if its server speaks TLS, the fingerprint of the authority that vouches for it.
pub(super) fn split_token(text: &str) -> (&str, Option<&str>) {
    text.rsplit_once('@').map_or((text, None), |(token, fingerprint)| (token, Some(fingerprint)))
}

/// What a server of this machine wrote down beside its address.
pub(super) fn beside(endpoint_file: &Path) -> Option<Vec<u8>> {
    std::fs::read(endpoint_file.with_file_name(AUTHORITY_FILE)).ok()
}

pub(super) fn has_fingerprint(pem: &[u8], fingerprint: &str) -> bool {
    CertificateDer::from_pem_slice(pem).is_ok_and(|der| is_of(&der, fingerprint))
}

fn is_of(der: &CertificateDer<'_>, fingerprint: &str) -> bool {
    let hash: String = Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect();
    hash.eq_ignore_ascii_case(fingerprint)
}

/// Asks the server for the authority of this fingerprint, and whether it is vouched for by it. PEM.
pub(super) async fn learn(address: &str, fingerprint: &str) -> Result<Vec<u8>, DialError> {
    let failed = |source: std::io::Error| {
        let address = address.to_owned();
        if is_untrusted(&source) {
            return DialError::OtherAuthority { address, fingerprint: fingerprint.to_owned(), source };
        }
        DialError::Unlearned { address, source }
    };
    let uri: Uri = address.parse().map_err(|_| failed(std::io::ErrorKind::InvalidInput.into()))?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let name = ServerName::try_from(host.clone()).map_err(|error| failed(std::io::Error::other(error)))?;
    let pin = Arc::new(Pin::new(fingerprint));
    let config = rustls::ClientConfig::builder_with_provider(pin.provider.clone())
        .with_safe_default_protocol_versions()
        .expect("ring speaks TLS 1.2 and 1.3")
        .dangerous()
        .with_custom_certificate_verifier(pin.clone())
        .with_no_client_auth();
    let shake = async {
        let stream = TcpStream::connect((host, uri.port_u16().unwrap_or(443))).await?;
        tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await
    };
    let shaken = tokio::time::timeout(LEARN_WITHIN, shake).await;
    shaken.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())).map_err(failed)?;
    let found = pin.found.lock().expect("nobody panics with it").take();
    Ok(to_pem(&found.expect("the handshake went through the pin")))
}

/// Whether a connection failed because the other side could not prove who it is.
pub(super) fn is_untrusted(error: &(dyn std::error::Error + 'static)) -> bool {
    fault(error).is_some()
}

/// What to do about it.
pub(super) fn advice(error: &(dyn std::error::Error + 'static)) -> &'static str {
    match fault(error) {
        Some(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired; renew it and start the server again"
        }
        Some(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => {
            "its certificate is not valid yet; are the clocks of both machines right?"
        }
        Some(CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }) => {
            "its certificate is for another name; dial that, or start the server with --agent-address"
        }
        Some(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "another authority vouches for it; is it another server, or should this agent be given --ca?"
        }
        Some(_) | None => "its certificate cannot be used",
    }
}

fn fault(error: &(dyn std::error::Error + 'static)) -> Option<CertificateError> {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<std::io::Error>().and_then(|error| error.get_ref());
        let tls = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()).or_else(|| error.downcast_ref());
        if let Some(rustls::Error::InvalidCertificate(fault)) = tls {
            return Some(fault.clone());
        }
        next = error.source();
    }
    None
}

fn to_pem(der: &CertificateDer<'_>) -> Vec<u8> {
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    for line in text.as_bytes().chunks(64) {
        pem.push_str(std::str::from_utf8(line).expect("base64 is plain"));
        pem.push('\n');
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem.into_bytes()
}

/// Believes a server whose chain shows the authority of this fingerprint and is signed by it.
#[derive(Debug)]
struct Pin {
    fingerprint: String,
    provider: Arc<CryptoProvider>,
    found: Mutex<Option<CertificateDer<'static>>>,
}

impl Pin {
    fn new(fingerprint: &str) -> Pin {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Pin { fingerprint: fingerprint.to_owned(), provider, found: Mutex::new(None) }
    }
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let authority = intermediates.iter().find(|der| is_of(der, &self.fingerprint));
        let authority = authority.ok_or(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer))?;
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider.clone()).build();
        let verifier = verifier.map_err(|error| rustls::Error::General(error.to_string()))?;
        let verified = verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)?;
        *self.found.lock().expect("nobody panics with it") = Some(authority.clone().into_owned());
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_may_carry_a_fingerprint() {
        assert_eq!(split_token("join_abc"), ("join_abc", None));
        assert_eq!(split_token("join_abc@00ff"), ("join_abc", Some("00ff")));
    }
}
