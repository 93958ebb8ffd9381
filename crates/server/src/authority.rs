//! The cluster's own certificate authority: made once, kept in the store, so that all servers of a cluster vouch for
//! each other and an agent that trusts one trusts all. Knows nothing of connections.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use sha2::{Digest, Sha256};
use store::StoreError;
use store::access::Access;

const KEY: &str = "ca.key";
const CERTIFICATE: &str = "ca.cert";
/// A server makes itself a new certificate at each start; no start is that long ago.
const VALID_FOR: Duration = Duration::from_secs(10 * 365 * 86_400);
/// Clocks of agents and servers may differ by this much at a certificate's first use.
const VALID_BEFORE: Duration = Duration::from_secs(86_400);

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    fingerprint: String,
}

/// What a certificate may be shown for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To agents, by the server they dial.
    Server,
    /// Between servers, by either side.
    Peer,
}

impl Authority {
    /// The authority kept in the store; the first server to ask makes it.
    pub fn load_or_make(access: &mut dyn Access) -> Result<Authority, StoreError> {
        let key = match access.setting(KEY)? {
            Some(kept) => kept,
            None => access.keep_setting(KEY, &KeyPair::generate().map_err(unmade)?.serialize_pem())?,
        };
        let key = KeyPair::from_pem(&key).map_err(unreadable)?;
        let params = authority_params();
        let certificate = match access.setting(CERTIFICATE)? {
            Some(kept) => kept,
            None => access.keep_setting(CERTIFICATE, &params.self_signed(&key).map_err(unmade)?.pem())?,
        };
        let fingerprint = fingerprint(&certificate)?;
        Ok(Authority { issuer: Issuer::new(params, key), certificate, fingerprint })
    }

    /// Its own certificate (PEM): what those who trust it are given.
    pub fn ca_pem(&self) -> &str {
        &self.certificate
    }

    /// SHA-256 of its certificate, in hexadecimal: short enough to travel with a join token.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// A fresh certificate for these host names and addresses, and its key; both PEM.
    pub fn certificate(&self, names: &[String], kind: Kind) -> Result<(String, String), StoreError> {
        let key = KeyPair::generate().map_err(unmade)?;
        let mut params = CertificateParams::new(names).map_err(unmade)?;
        params.distinguished_name = named("Duly server");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        params.not_before = date_time_ymd(1970, 1, 1) + now.saturating_sub(VALID_BEFORE);
        params.not_after = date_time_ymd(1970, 1, 1) + now + VALID_FOR;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        params.extended_key_usages = match kind {
            Kind::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
            Kind::Peer => vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
        };
        let certificate = params.signed_by(&key, &self.issuer).map_err(unmade)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}

/// The same for every server, because only its key makes an authority another one.
fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named("Duly certificate authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2120, 1, 1);
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn fingerprint(pem: &str) -> Result<String, StoreError> {
    use rustls::pki_types::pem::PemObject;
    let der = rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes());
    let der =
        der.map_err(|error| StoreError::Corrupt(format!("the authority's certificate cannot be read: {error}")))?;
    Ok(Sha256::digest(&der).iter().map(|byte| format!("{byte:02x}")).collect())
}

fn unreadable(error: rcgen::Error) -> StoreError {
    StoreError::Corrupt(format!("the key of the certificate authority cannot be read: {error}"))
}

fn unmade(error: rcgen::Error) -> StoreError {
    StoreError::Failed(format!("a certificate cannot be made: {error}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};

    use super::*;
    use crate::stores::StorePlace;

    fn made(data: &std::path::Path) -> Authority {
        let mut access = StorePlace::Embedded.open(data, 8).unwrap().access;
        Authority::load_or_make(&mut *access).unwrap()
    }

    /// Whether a client that trusts `trusted` gets through to a server of `authority` under that name.
    fn is_trusted(authority: &Authority, trusted: &Authority, name: &str) -> Result<(), String> {
        let names = ["node-1".to_string(), "127.0.0.1".to_string()];
        let (certificate, key) = authority.certificate(&names, Kind::Server).unwrap();
        let ring = || Arc::new(rustls::crypto::ring::default_provider());
        let server = rustls::ServerConfig::builder_with_provider(ring())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(trusted.ca_pem().as_bytes()).unwrap()).unwrap();
        let client = rustls::ClientConfig::builder_with_provider(ring())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_string()).unwrap();
        let mut client = rustls::ClientConnection::new(Arc::new(client), name).unwrap();
        let mut server = rustls::ServerConnection::new(Arc::new(server)).unwrap();
        while client.is_handshaking() {
            let mut bytes = Vec::new();
            client.write_tls(&mut bytes).unwrap();
            server.read_tls(&mut bytes.as_slice()).unwrap();
            server.process_new_packets().map_err(|error| error.to_string())?;
            let mut bytes = Vec::new();
            server.write_tls(&mut bytes).unwrap();
            client.read_tls(&mut bytes.as_slice()).unwrap();
            client.process_new_packets().map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    #[test]
    fn servers_of_one_store_share_an_authority_that_outlives_them() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (first, second, stranger) = (made(one.path()), made(one.path()), made(other.path()));
        assert_eq!(first.fingerprint(), second.fingerprint());
        assert_ne!(first.fingerprint(), stranger.fingerprint());
        for name in ["node-1", "127.0.0.1"] {
            is_trusted(&second, &first, name).unwrap();
        }
        assert!(is_trusted(&second, &first, "node-2").is_err(), "a name it was not made for");
        assert!(is_trusted(&stranger, &first, "node-1").is_err(), "another authority");
    }
}
