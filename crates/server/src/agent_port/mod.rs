//! The agents' port: what it is called, for processes of this machine and for agents elsewhere, and the certificate it
//! shows. What is said there is of no concern here.

mod certificate;
mod incoming;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tonic::transport::{Identity, ServerTlsConfig};

pub(crate) use certificate::Credentials;
pub use certificate::{BadCertificate, OwnCertificate};
pub(crate) use incoming::{ASK_EVERY, incoming};

use crate::access::AccessHandle;
use crate::app::ServerError;
use crate::authority::Authority;
use crate::config::ServerConfig;

/// Beside the endpoint file: the authority, for agents of this machine.
pub(crate) const AUTHORITY_FILE: &str = "agent-ca.pem";

/// What this port shows, if it speaks TLS.
pub(crate) async fn credentials(
    config: &ServerConfig,
    access: &AccessHandle,
) -> Result<Option<Arc<Credentials>>, ServerError> {
    if !config.agent_tls {
        return Ok(None);
    }
    let shown = match &config.agent_certificate {
        Some(own) => Credentials::given(own, &dialled(config))?,
        None => Credentials::made(&access.run(Authority::load_or_make).await?, &names(config))?,
    };
    Ok(Some(Arc::new(shown)))
}

pub(crate) fn tls(shown: &Credentials) -> ServerTlsConfig {
    ServerTlsConfig::new().identity(Identity::from_pem(&shown.chain, &shown.key))
}

/// The name agents elsewhere dial.
fn dialled(config: &ServerConfig) -> String {
    match &config.agent_address {
        Some(address) => host(address).to_string(),
        None if config.agent_listen.ip().is_unspecified() => "127.0.0.1".into(),
        None => config.agent_listen.ip().to_string(),
    }
}

/// Everything by which an agent may dial it: of another machine, or of this one.
fn names(config: &ServerConfig) -> Vec<String> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(String::from).into();
    let listens_on = config.agent_listen.ip();
    if !listens_on.is_unspecified() {
        names.push(listens_on.to_string());
    }
    names.extend(config.agent_address.as_deref().map(|address| host(address).to_string()));
    names.sort();
    names.dedup();
    names
}

/// Where a process of this machine dials it.
pub(crate) fn local_endpoint(config: &ServerConfig, mut listens_on: SocketAddr) -> String {
    // A certificate of somebody else is hardly for this address; its name leads here as well.
    if config.agent_certificate.is_some() && config.agent_address.is_some() {
        let name = dialled(config);
        let name = if name.contains(':') { format!("[{name}]") } else { name };
        return format!("{}://{name}:{}", scheme(config), listens_on.port());
    }
    if listens_on.ip().is_unspecified() {
        listens_on.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    format!("{}://{listens_on}", scheme(config))
}

/// Where agents elsewhere dial it: the name servers tell agents of each other.
pub fn endpoint(config: &ServerConfig, listens_on: SocketAddr) -> String {
    let Some(address) = &config.agent_address else { return local_endpoint(config, listens_on) };
    if host(address).len() < address.len() {
        return format!("{}://{address}", scheme(config));
    }
    let host = if address.contains(':') { format!("[{address}]") } else { address.clone() };
    format!("{}://{host}:{}", scheme(config), listens_on.port())
}

fn scheme(config: &ServerConfig) -> &'static str {
    if config.agent_tls { "https" } else { "http" }
}

/// The host of `host`, `host:port`, `[v6]:port` or a bare v6 address.
pub(crate) fn host(address: &str) -> &str {
    if let Some((host, _)) = address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return host;
    }
    match address.split_once(':') {
        Some((host, port)) if !port.contains(':') => host,
        _ => address,
    }
}

/// For agents of this machine; it is no secret. Without TLS there is none.
pub(crate) fn publish_authority(data: &Path, shown: Option<&Credentials>) -> std::io::Result<()> {
    let path = data.join(AUTHORITY_FILE);
    match shown {
        Some(shown) => {
            let fresh = path.with_extension("new");
            std::fs::write(&fresh, &shown.ca)?;
            std::fs::rename(&fresh, &path)
        }
        None => match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(address: Option<&str>, tls: bool) -> ServerConfig {
        ServerConfig { agent_address: address.map(String::from), agent_tls: tls, ..ServerConfig::new("x".into()) }
    }

    #[test]
    fn agents_elsewhere_are_told_the_advertised_address() {
        let all: SocketAddr = "0.0.0.0:7071".parse().unwrap();
        let told = |address, tls| endpoint(&config(address, tls), all);
        assert_eq!(told(None, false), "http://127.0.0.1:7071");
        assert_eq!(told(Some("node-1"), true), "https://node-1:7071");
        assert_eq!(told(Some("node-1:9000"), true), "https://node-1:9000");
        assert_eq!(told(Some("fd00::1"), true), "https://[fd00::1]:7071");
        assert_eq!(told(Some("[fd00::1]:9000"), true), "https://[fd00::1]:9000");
        assert_eq!(local_endpoint(&config(Some("node-1"), true), all), "https://127.0.0.1:7071");
    }

    #[test]
    fn the_certificate_is_for_every_name_it_is_dialled_by() {
        let mut config = config(Some("[fd00::1]:9000"), true);
        config.agent_listen = "10.0.0.5:7071".parse().unwrap();
        assert_eq!(names(&config), ["10.0.0.5", "127.0.0.1", "::1", "fd00::1", "localhost"]);
    }
}
