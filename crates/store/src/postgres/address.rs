//! Where the database is: reads an address like `postgres://user@host/db`, and opens connections to it. Never prints a
//! password.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::conn::Conn;
use super::error::{Fault, words};
use crate::StoreError;

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// A peer that is gone without a word is noticed after about this long.
const SILENT_MAX: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Door {
    config: Config,
    tls: Option<MakeRustlsConnect>,
}

impl Door {
    pub(super) fn of(address: &str) -> Result<Door, StoreError> {
        let bad = |why: String| {
            StoreError::Failed(format!(
                "the store's address cannot be used: {why}; it looks like postgres://user:password@host:5432/database"
            ))
        };
        let mut config: Config = address.parse().map_err(|error: tokio_postgres::Error| bad(words(&error)))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(bad("it names no host".into()));
        }
        // Over a network only to a server that proves who it is, unless the address says otherwise.
        if !address.contains("sslmode=") {
            let here =
                config.get_hosts().iter().all(is_here) && config.get_hostaddrs().iter().all(|ip| ip.is_loopback());
            config.ssl_mode(if here { SslMode::Disable } else { SslMode::Require });
        }
        if !address.contains("target_session_attrs=") {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_application_name().is_none() {
            config.application_name("duly");
        }
        config.connect_timeout(CONNECT_WITHIN).tcp_user_timeout(SILENT_MAX);
        config.keepalives(true).keepalives_idle(SILENT_MAX / 2);
        config.keepalives_interval(SILENT_MAX / 5).keepalives_retries(3);
        let tls = (config.get_ssl_mode() != SslMode::Disable).then(tls).transpose().map_err(bad)?;
        Ok(Door { config, tls })
    }

    /// A connection set up with these settings.
    pub(super) async fn connect(&self, settings: &str) -> Result<Conn, Fault> {
        let client = self.dial().await.map_err(|error| self.explain(&error))?;
        client.batch_execute(settings).await?;
        Ok(Conn::new(client))
    }

    /// A connection that listens, set up with these settings.
    pub(super) async fn listen(&self, settings: &str) -> Result<Ear, Fault> {
        let (heard, hears) = tokio::sync::mpsc::unbounded_channel();
        let client = match &self.tls {
            None => {
                let (client, connection) = self.config.connect(NoTls).await.map_err(|error| self.explain(&error))?;
                tokio::spawn(hear(connection, heard));
                client
            }
            Some(tls) => {
                let connected = self.config.connect(tls.clone()).await;
                let (client, connection) = connected.map_err(|error| self.explain(&error))?;
                tokio::spawn(hear(connection, heard));
                client
            }
        };
        client.batch_execute(settings).await?;
        Ok(Ear { _client: client, hears })
    }

    async fn dial(&self) -> Result<Client, tokio_postgres::Error> {
        // The connection lives on the runtime of whoever drives it, and ends with the client.
        match &self.tls {
            None => {
                let (client, connection) = self.config.connect(NoTls).await?;
                tokio::spawn(connection);
                Ok(client)
            }
            Some(tls) => {
                let (client, connection) = self.config.connect(tls.clone()).await?;
                tokio::spawn(connection);
                Ok(client)
            }
        }
    }

    fn explain(&self, error: &tokio_postgres::Error) -> Fault {
        let mut why = words(error);
        if why.contains("database does not allow writes") {
            why.push_str("; it is a replica, or set read-only: point the store at the primary");
        }
        if self.tls.is_some() && error.as_db_error().is_none() && why.contains("TLS") {
            why.push_str("; give the server a certificate this machine trusts, or add ?sslmode=disable to the address");
        }
        Fault::Store(StoreError::Busy(format!("cannot connect to PostgreSQL at {self}: {why}")))
    }
}

/// What a listening connection has heard.
pub(super) struct Ear {
    /// The connection ends with it.
    _client: Client,
    hears: tokio::sync::mpsc::UnboundedReceiver<()>,
}

impl Ear {
    /// Waits until somebody calls; what was called meanwhile counts as one call. False: the connection is gone.
    pub(super) async fn heard(&mut self) -> bool {
        let heard = self.hears.recv().await.is_some();
        while self.hears.try_recv().is_ok() {}
        heard
    }
}

async fn hear<S, T>(mut connection: Connection<S, T>, heard: tokio::sync::mpsc::UnboundedSender<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(_) = message {
            let _ = heard.send(());
        }
    }
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        Host::Unix(_) => true,
    }
}

fn tls() -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_platform_verifier())
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = self.config.get_ports();
        let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        let hosts: Vec<String> = self
            .config
            .get_hosts()
            .iter()
            .enumerate()
            .map(|(at, host)| match host {
                Host::Tcp(name) => format!("{name}:{}", port(at)),
                Host::Unix(path) => path.display().to_string(),
            })
            .collect();
        write!(f, "{}/{}", hosts.join(","), self.config.get_dbname().unwrap_or("(user's own)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let door = Door::of("postgres://ann:s3cret@db.example:6000/jobs").unwrap();
        assert_eq!(door.to_string(), "db.example:6000/jobs");
        for bad in ["postgres://", "mysql://x/y", "postgres://u@h:port/db"] {
            let refused = Door::of(bad).err().expect("it must be refused").to_string();
            assert!(refused.contains("postgres://user:password@host"), "{refused}");
        }
    }

    #[test]
    fn only_this_machine_is_talked_to_in_the_open() {
        let mode = |address: &str| Door::of(address).unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://u@db.example/d"), SslMode::Require);
        assert_eq!(mode("postgres://u@db.example/d?sslmode=disable"), SslMode::Disable);
        for here in ["postgres://u@localhost/d", "postgres://u@127.0.0.1/d", "postgres://u@%2Frun%2Fpg/d"] {
            assert_eq!(mode(here), SslMode::Disable);
        }
    }
}
