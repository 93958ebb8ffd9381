//! The certificate the agents' port shows, and who vouches for it: Duly's own authority, or a company's. Whatever is wrong
//! with a given one is found and said at the start, not by the first agent that dials.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, RootCertStore};
use sha2::{Digest, Sha256};
use store::StoreError;
use wire::Code;

use crate::authority::{Authority, Kind};

/// A certificate somebody else made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCertificate {
    /// With those between it and the authority after it.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Who signed it, for agents to know.
    pub authority: PathBuf,
}

/// What the port shows. PEM, all of it.
pub(crate) struct Credentials {
    pub chain: String,
    pub key: String,
    pub ca: String,
    /// SHA-256 of the authority's certificate, in hexadecimal: short enough to travel with a join token.
    pub fingerprint: String,
}

#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", Code::BadCertificate)]
pub struct BadCertificate {
    what: String,
}

impl Credentials {
    /// A fresh one of Duly's own authority, for these names.
    pub(super) fn made(authority: &Authority, names: &[String]) -> Result<Credentials, StoreError> {
        let (certificate, key) = authority.certificate(names, Kind::Server)?;
        // The authority's own goes along, so that an agent that knows only its fingerprint can learn it.
        let chain = format!("{certificate}{}", authority.ca_pem());
        let (ca, fingerprint) = (authority.ca_pem().to_string(), authority.fingerprint().to_string());
        Ok(Credentials { chain, key, ca, fingerprint })
    }

    /// One that was given; `name` is what agents elsewhere dial.
    pub(super) fn given(own: &OwnCertificate, name: &str) -> Result<Credentials, BadCertificate> {
        let (chain, key, ca) = (text(&own.certificate)?, text(&own.key)?, text(&own.authority)?);
        let chain_der = certificates(&own.certificate, &chain)?;
        let authority = certificates(&own.authority, &ca)?.remove(0);
        check(own, chain_der, &key, &authority, name).map_err(|what| BadCertificate { what })?;
        let fingerprint = Sha256::digest(&authority).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Credentials { chain: format!("{}\n{ca}", chain.trim_end()), key, ca, fingerprint })
    }
}

fn check(
    own: &OwnCertificate,
    chain: Vec<CertificateDer<'static>>,
    key: &str,
    authority: &CertificateDer<'static>,
    name: &str,
) -> Result<(), String> {
    let (file, key_file) = (own.certificate.display(), own.key.display());
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let key =
        PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| format!("{key_file} holds no key: {error}"))?;
    let dialled =
        ServerName::try_from(name.to_string()).map_err(|_| format!("{name:?} is no name agents could dial"))?;
    let mut roots = RootCertStore::empty();
    let unusable =
        |error: &dyn std::fmt::Display| format!("{} cannot be an authority: {error}", own.authority.display());
    roots.add(authority.clone()).map_err(|error| unusable(&error))?;
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&ring)).build();
    let verifier = verifier.map_err(|error| unusable(&error))?;
    let (leaf, between) = chain.split_first().expect("a file without certificates was refused");
    let verified = verifier.verify_server_cert(leaf, between, &dialled, &[], UnixTime::now());
    verified.map_err(|error| format!("the certificate in {file} {}", fault(&error, name)))?;
    let pair = CertifiedKey::from_der(chain, key, &ring);
    pair.map_err(|error| format!("the key in {key_file} does not belong to the certificate in {file}: {error}"))?;
    Ok(())
}

/// What is wrong with a certificate, in words.
fn fault(error: &rustls::Error, name: &str) -> String {
    let rustls::Error::InvalidCertificate(error) = error else { return format!("cannot be used: {error}") };
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("has expired; renew it ({error})")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("is not valid yet; is the clock right? ({error})")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("is not for {name}, which agents dial; name the host it is for with --agent-address ({error})")
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "is not signed by the authority of --agent-ca, or certificates between them are missing after it".into()
        }
        other => format!("cannot be used: {other}"),
    }
}

fn text(path: &Path) -> Result<String, BadCertificate> {
    std::fs::read_to_string(path)
        .map_err(|error| BadCertificate { what: format!("cannot read {}: {error}", path.display()) })
}

fn certificates(path: &Path, pem: &str) -> Result<Vec<CertificateDer<'static>>, BadCertificate> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let what = match read {
        Ok(found) if !found.is_empty() => return Ok(found),
        Ok(_) => format!("{} holds no certificate", path.display()),
        Err(error) => format!("{} cannot be read: {error}", path.display()),
    };
    Err(BadCertificate { what })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

    use super::*;

    struct Company {
        dir: tempfile::TempDir,
        issuer: Issuer<'static, KeyPair>,
    }

    impl Company {
        fn new() -> Company {
            let (dir, key) = (tempfile::tempdir().unwrap(), KeyPair::generate().unwrap());
            let mut params = CertificateParams::default();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            std::fs::write(dir.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
            Company { issuer: Issuer::new(params, key), dir }
        }

        fn certifies(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> OwnCertificate {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new([name.to_string()]).unwrap();
            change(&mut params);
            let path = |file: &str| self.dir.path().join(file);
            std::fs::write(path("cert.pem"), params.signed_by(&key, &self.issuer).unwrap().pem()).unwrap();
            std::fs::write(path("key.pem"), key.serialize_pem()).unwrap();
            OwnCertificate { certificate: path("cert.pem"), key: path("key.pem"), authority: path("ca.pem") }
        }
    }

    fn refused(own: &OwnCertificate, name: &str) -> String {
        Credentials::given(own, name).err().expect("it is refused").to_string()
    }

    #[test]
    fn a_companys_certificate_is_shown_with_its_authority() {
        let company = Company::new();
        let own = company.certifies("duly.example", |_| {});
        let shown = Credentials::given(&own, "duly.example").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(shown.chain.matches("BEGIN CERTIFICATE").count(), 2);
        assert_eq!(shown.fingerprint.len(), 64);
    }

    #[test]
    fn what_is_wrong_with_it_is_said_at_the_start() {
        let company = Company::new();
        let named = company.certifies("duly.example", |_| {});
        let told = refused(&named, "other.example");
        assert!(told.starts_with("E0986: ") && told.contains("is not for other.example"), "{told}");

        let old = company.certifies("duly.example", |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2020, 1, 1) + Duration::from_secs(86_400);
        });
        assert!(refused(&old, "duly.example").contains("has expired; renew it"), "{}", refused(&old, "duly.example"));
        let early = company.certifies("duly.example", |params| params.not_before = date_time_ymd(2090, 1, 1));
        assert!(refused(&early, "duly.example").contains("is not valid yet"));

        let stranger = Company::new();
        let own = stranger.certifies("duly.example", |_| {});
        let mixed = OwnCertificate { authority: company.dir.path().join("ca.pem"), ..own.clone() };
        assert!(refused(&mixed, "duly.example").contains("is not signed by the authority of --agent-ca"));
        let ours = company.certifies("duly.example", |_| {});
        let other_key = OwnCertificate { key: own.key, ..ours.clone() };
        assert!(refused(&other_key, "duly.example").contains("does not belong to the certificate"));
        let missing = OwnCertificate { certificate: company.dir.path().join("none.pem"), ..ours };
        assert!(refused(&missing, "duly.example").contains("cannot read"));
    }
}
