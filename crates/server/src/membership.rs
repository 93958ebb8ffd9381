//! This server as one of several: joins at its start, keeps what is known of the others, leaves at its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::{Tenure, Terms};
use model::{ServerId, Span, Timestamp};
use parking_lot::Mutex;
use store::leases::{Leases, Life, Picture, ServerRow};
use store::{Store, StoreError};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::access::AccessHandle;
use crate::agent_port;
use crate::app::ServerError;
use crate::authority::{Authority, Kind};
use crate::clock::Clock;
use crate::config::ServerConfig;
use crate::peers::{Peers, Port};
use crate::shard::Shards;
use crate::steward::{self, Pictures, Steward};
use crate::stores::Shared;

/// How long a server that starts waits for its share before it serves without.
const SHARE_WITHIN: Duration = Duration::from_secs(10);
/// How long leaving may take: what is not given back in time is waited out by the others.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

pub struct Membership {
    pub me: ServerId,
    life: Life,
    pub(crate) terms: Terms,
    pub(crate) tenure: Arc<Tenure>,
    pub(crate) pictures: Pictures,
    moving: Arc<Mutex<Box<dyn Leases>>>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// A server that knows who it is and has not been seen by the others yet.
pub(crate) struct Joining {
    shared: Shared,
    me: ServerId,
    terms: Terms,
    tenure: Arc<Tenure>,
}

pub(crate) struct Sockets<'a> {
    pub api: &'a TcpListener,
    pub agents: &'a TcpListener,
    pub peers: TcpListener,
}

pub(crate) struct Joined {
    pub membership: Membership,
    pub peers: Peers,
    pub port: Port,
}

impl Joining {
    pub(crate) fn new(mut shared: Shared, config: &ServerConfig, store: &mut dyn Store) -> Result<Joining, StoreError> {
        let installation = shared.installation()?;
        let me = steward::identify(&config.data, &installation, store)?;
        let (terms, tenure) = (Terms::of(config.lease), Arc::new(Tenure::new(Instant::now())));
        Ok(Joining { shared, me, terms, tenure })
    }

    pub(crate) fn tenure(&self) -> Arc<Tenure> {
        Arc::clone(&self.tenure)
    }

    /// Makes itself known and begins to take its share.
    pub(crate) async fn join(
        self,
        config: &ServerConfig,
        sockets: Sockets<'_>,
        access: &AccessHandle,
        shards: &Shards,
        clock: &Clock,
        stop: &CancellationToken,
    ) -> Result<Joined, ServerError> {
        let peer = address(config.peer_address.as_deref(), &sockets.peers)?;
        let moving = Arc::new(Mutex::new(self.shared.leases()?));
        let known = moving.lock().started_at(self.me)?;
        let me = ServerRow {
            id: self.me,
            name: config.name.clone().unwrap_or_else(machine),
            api: format!("http://{}", address(config.api_address.as_deref(), sockets.api)?),
            agents: agent_port::endpoint(config, local(sockets.agents)?),
            peer: peer.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            weight: 1,
            draining: false,
            started_at: start_after(known, clock.now()),
            until: clock.now(),
        };
        let host = peer.rsplit_once(':').map_or(peer.as_str(), |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let names = [host, "localhost".into(), "127.0.0.1".into()];
        let authority = access.run(Authority::load_or_make).await?;
        let (certificate, key) = authority.certificate(&names, Kind::Peer)?;
        let bad_port = |why| ServerError::Store(StoreError::Failed(format!("cannot serve other servers: {why}")));
        let port = Port::open(sockets.peers, authority.ca_pem(), &certificate, &key).map_err(bad_port)?;
        let (seen, pictures) = watch::channel(None);
        let peers = Peers::new(self.me, pictures.clone(), self.terms, &authority)?;

        let busy: Arc<Mutex<steward::Busy>> = Arc::default();
        let waker = Arc::clone(&moving);
        shards.meet(peers.clone(), move || {
            let waker = Arc::clone(&waker);
            tokio::task::spawn_blocking(move || waker.lock().wake(None));
        });
        let life = me.life();
        let steward = Steward {
            me,
            terms: self.terms,
            tenure: Arc::clone(&self.tenure),
            clock: clock.clone(),
            shards: shards.clone(),
            moving: Arc::clone(&moving),
            busy: Arc::clone(&busy),
            pictures: seen,
            stop: stop.clone(),
            runtime: tokio::runtime::Handle::current(),
        };
        let (leases, wakes) = (self.shared.leases()?, self.shared.wakes(self.me)?);
        let thread = std::thread::Builder::new()
            .name("duly-steward".into())
            .spawn(move || steward.run(leases, wakes))
            .map_err(|source| ServerError::File { path: "a thread".into(), source })?;
        // The first look sets the clock; nobody is served by the machine's.
        let mut looked = pictures.clone();
        let _ = tokio::time::timeout(SHARE_WITHIN, looked.wait_for(Option::is_some)).await;
        // What was free, or its own before, runs when it begins to serve.
        let give_up = Instant::now() + SHARE_WITHIN;
        while busy.lock().values().any(Option::is_none) && Instant::now() < give_up {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let thread = Mutex::new(Some(thread));
        let Joining { me, terms, tenure, .. } = self;
        let membership = Membership { me, life, terms, tenure, pictures, moving, thread };
        Ok(Joined { membership, peers, port })
    }
}

impl Membership {
    pub(crate) fn picture(&self) -> Option<Arc<Picture>> {
        self.pictures.borrow().clone()
    }

    /// The servers that are alive.
    pub(crate) fn living(&self) -> Vec<ServerRow> {
        self.picture().map_or_else(Vec::new, |picture| steward::living(&picture, &self.terms))
    }

    pub(crate) async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut dyn Leases) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let moving = Arc::clone(&self.moving);
        let done = tokio::task::spawn_blocking(move || change(&mut **moving.lock())).await;
        done.unwrap_or_else(|panic| Err(StoreError::Failed(format!("changing a lease failed: {panic}"))))
    }

    /// What this server still holds is free at once, and the others are told.
    pub(crate) async fn leave(&self) {
        // Whoever renews must have stopped, or it would make itself known again. The others have nothing to do before we left.
        let life = self.life;
        let _ = self.change(move |leases| leases.wake(Some(life.server))).await;
        let thread = self.thread.lock().take();
        let (moving, tenure) = (Arc::clone(&self.moving), Arc::clone(&self.tenure));
        let left = tokio::task::spawn_blocking(move || {
            let _ = thread.map(std::thread::JoinHandle::join);
            // A shard that was being loaded when all were let go runs now, and another may have it in a moment.
            tenure.end();
            moving.lock().leave(life)
        });
        match tokio::time::timeout(LEAVE_WITHIN, left).await {
            Ok(Ok(Ok(()))) => {}
            other => tracing::warn!(?other, "the others will wait for the leases of this server to end"),
        }
    }

    pub(crate) fn lease(&self) -> Span {
        Span::from(self.terms.lease)
    }
}

/// When this life began. The clock may have been put back since the one before, and a later life begins later.
fn start_after(known: Option<Timestamp>, now: Timestamp) -> Timestamp {
    known.map_or(now, |known| now.max(known + Span(1)))
}

/// As told, or as it listens.
fn address(told: Option<&str>, listener: &TcpListener) -> Result<String, ServerError> {
    let local = local(listener)?;
    Ok(match told {
        Some(told) if told.contains(':') => told.to_owned(),
        Some(host) => format!("{host}:{}", local.port()),
        None => local.to_string(),
    })
}

fn local(listener: &TcpListener) -> Result<SocketAddr, ServerError> {
    listener.local_addr().map_err(|source| ServerError::File { path: "a listening socket".into(), source })
}

/// What a server is called that was given no name.
pub(crate) fn machine() -> String {
    nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_else(|| "server".into())
}
