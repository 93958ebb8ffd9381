//! The control plane as one value: everything a handler, a link or a background task needs. Starting and stopping
//! happen here, by name and in order.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use store::{Reads, StoreError};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::ServerTlsConfig;
use wire::link::link_server::LinkServer;

use crate::access::AccessHandle;
use crate::agent_port;
use crate::audit::Audit;
use crate::clock::Clock;
use crate::config::ServerConfig;
use crate::doorman::Doorman;
use crate::egress::Calls;
use crate::events::Ring;
use crate::lending::Lending;
use crate::links::{Exchange, LinkService, LogQuota, Switchboard, Tasks, Values, log_rights};
use crate::lock::{self, DirLock, LockError};
use crate::logs::{LogOptions, LogStore};
use crate::membership::{Joining, Membership, Sockets};
use crate::oidc::Provider;
use crate::peers::{Peers, Port};
use crate::postman::Bell;
use crate::setup::Setup;
use crate::shard::{End, Lane, Lent, Shards, Surroundings};
use crate::stores::Opened;
use crate::tenants::Tenants;
use crate::vault::Vault;
use crate::xxl::{BadToken, Executors, Tokens};

/// The file in the data directory that tells a local agent where to dial.
pub const AGENT_ENDPOINT: &str = "agent-endpoint";
/// The file that tells local commands where the server listens.
pub const SERVER_URL: &str = "server-url";
/// How long agents have to hear that the server stops, and to hang up.
const GOODBYE: Duration = Duration::from_millis(500);
/// Messages that may wait for shards, all together; and for each at least.
const MESSAGES_MAX: usize = 8_192;
const MESSAGES_MIN: usize = 256;
/// How long a read for a person may take.
const READ_WITHIN: Duration = Duration::from_secs(10);

pub struct App {
    pub config: ServerConfig,
    pub clock: Clock,
    pub shards: Shards,
    pub(crate) lending: Lending,
    pub writer: Lane,
    /// None: this server is alone with its store.
    pub cluster: Option<Membership>,
    pub peers: Option<Peers>,
    pub access: AccessHandle,
    pub(crate) audit: Audit,
    pub reads: Arc<dyn Reads>,
    pub ring: Arc<Ring>,
    pub switchboard: Switchboard,
    pub tasks: Tasks,
    pub doorman: Arc<Doorman>,
    pub tenants: Arc<Tenants>,
    pub log_quota: Arc<LogQuota>,
    /// A tenant is to be taken apart.
    pub(crate) close_soon: tokio::sync::Notify,
    /// None: nobody asked for one. Otherwise it, or why it cannot be used.
    pub(crate) oidc: Option<Result<Provider, String>>,
    pub(crate) executors: Executors,
    /// Where this server calls on somebody's word.
    pub(crate) calls: Calls,
    /// Where it listens.
    own: Vec<SocketAddr>,
    /// Where agents elsewhere dial this server.
    pub(crate) agents_at: String,
    pub logs: Arc<LogStore>,
    pub setup: Setup,
    pub(crate) vault: Vault,
    pub started_at: model::Timestamp,
    pub stop: CancellationToken,
    _lock: DirLock,
}

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error("{0} is not a loopback address; agents connect from elsewhere only over TLS: leave --agent-plain out")]
    AgentPortOpen(SocketAddr),
    #[error(transparent)]
    AgentCertificate(#[from] agent_port::BadCertificate),
    #[error("cannot secure the agents' port")]
    AgentTls(#[source] tonic::transport::Error),
    #[error("cannot use {path}")]
    File {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Setup(crate::setup::SetupError),
    #[error(transparent)]
    ExecutorToken(#[from] BadToken),
    #[error("the scheduler ended: {0}")]
    Ended(String),
}

/// A running server: where it listens, and how it ends.
pub struct Running {
    pub app: Arc<App>,
    pub url: String,
    pub agent_endpoint: String,
    ended: tokio::sync::mpsc::UnboundedReceiver<(model::ShardId, End)>,
    tasks: TaskTracker,
}

impl App {
    /// An agent was removed: its streams here end, and no shard here believes it any more.
    pub(crate) fn cut_off(&self, agent: model::AgentId) {
        self.switchboard.cut(agent);
        self.shards.tell_all(&engine::Input::AgentRemoved { agent });
    }

    /// A read on a thread that may block, with the deadline every read has.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Reads, Instant) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let reads = Arc::clone(&self.reads);
        let read = tokio::task::spawn_blocking(move || read(&*reads, Instant::now() + READ_WITHIN));
        read.await.unwrap_or_else(|panic| Err(StoreError::Failed(format!("a read failed: {panic}"))))
    }
}

pub async fn start(config: ServerConfig, stop: CancellationToken) -> Result<Running, ServerError> {
    if !config.agent_listen.ip().is_loopback() && !config.agent_tls {
        return Err(ServerError::AgentPortOpen(config.agent_listen));
    }
    config.xxl_tokens.check()?;
    crate::open_files::raise();
    let lock = own_directory(&config.data)?;
    let Opened { mut stores, reads, access, audit, shared } = config.store.open(&config.data, config.store_cache_mb)?;
    let access = AccessHandle::new(access);
    let vault = Vault::open(&config.secret_keys, &config.data, shared.is_some())
        .map_err(|source| ServerError::File { path: "the key of the secrets".into(), source })?;
    let (clock, ring, switchboard) = (Clock::new(), Ring::new(), Switchboard::default());
    let kept = access.run(|access| access.executor_tokens()).await?;
    let tokens = Tokens::new(config.xxl_tokens.clone(), kept);
    let tenants = Arc::new(Tenants::new(reads.tenants(Instant::now() + READ_WITHIN)?));
    let tasks = Tasks::new(Arc::clone(&reads), Arc::clone(&tenants));
    let calls = Calls::new(config.egress.clone(), Arc::clone(&tenants));
    let executors = Executors::new(clock.clone(), tokens, config.xxl_pace, tasks.clone(), calls.clone());
    let thread = |source| ServerError::File { path: "a thread".into(), source };
    let name = shared.is_some().then(|| config.name.clone().unwrap_or_else(crate::membership::machine));
    let audit = Audit::start(audit, clock.clone(), name).map_err(thread)?;
    let (bell, rung) = Bell::new();
    let lending = Lending::default();
    let count = stores[0].shards();
    let joining = shared.map(|shared| Joining::new(shared, &config, &mut *stores[0])).transpose()?;
    let around = Surroundings {
        reads: Arc::clone(&reads),
        clock: clock.clone(),
        outlets: Arc::new(Exchange { switchboard: switchboard.clone(), executors: executors.clone(), bell }),
        ring: Arc::clone(&ring),
        tenure: joining.as_ref().map(Joining::tenure),
        lent: Lent::default(),
        lending: lending.clone(),
        messages_max: (MESSAGES_MAX / count.max(1) as usize).max(MESSAGES_MIN),
    };
    let lanes = stores.into_iter().enumerate().map(|(n, store)| Lane::start(store, n));
    let lanes: Vec<Lane> = lanes.collect::<std::io::Result<_>>().map_err(thread)?;
    let writer = lanes[0].clone();
    let (shards, ended) = Shards::new(count, lanes, around, Arc::clone(&tenants));

    let agents = reads.agents(Instant::now() + READ_WITHIN)?;
    let oidc = provider(&config);
    executors.begin(shards.clone(), writer.clone(), agents.clone());
    let shown = agent_port::credentials(&config, &access).await?;
    let doorman = Doorman::new(access.clone(), writer.clone(), agents).await?;
    let doorman = Arc::new(doorman.vouched_by(shown.clone()));
    let logs_dir = config.data.join("logs");
    let log_quota = Arc::new(LogQuota::new(Arc::clone(&tenants), clock.clone()));
    let allowed = log_rights(Arc::clone(&reads), Arc::clone(&log_quota));
    let options = LogOptions { allowed, ..LogOptions::default() };
    let logs = LogStore::open(&logs_dir, options).map_err(|source| file_error(&logs_dir, source))?;
    let setup = Setup::load(&access).await?;
    let listener = listen(allowed_address(config.listen, setup.is_done())).await?;
    let agent_listener = listen(config.agent_listen).await?;
    let mut own = vec![local_address(&listener)?, local_address(&agent_listener)?];
    let agents_at = agent_port::endpoint(&config, local_address(&agent_listener)?);
    let (cluster, peers, port) = match joining {
        None => {
            let alone = shards.clone();
            tokio::task::spawn_blocking(move || alone.own(model::ShardId(0), None))
                .await
                .expect("loading does not panic")?;
            (None, None, None)
        }
        Some(joining) => {
            let peer_listener = listen(config.peer_listen).await?;
            own.push(local_address(&peer_listener)?);
            let sockets = Sockets { api: &listener, agents: &agent_listener, peers: peer_listener };
            let joined = joining.join(&config, sockets, &access, &shards, &clock, &stop).await?;
            executors.meet(joined.peers.clone());
            (Some(joined.membership), Some(joined.peers), Some(joined.port))
        }
    };
    calls.listen_at(own.iter().map(SocketAddr::port));
    let app = Arc::new(App {
        started_at: clock.now(),
        calls,
        own,
        agents_at,
        tasks,
        executors,
        config,
        clock,
        shards,
        lending,
        writer,
        cluster,
        peers,
        access,
        audit,
        reads,
        ring,
        switchboard,
        doorman,
        tenants,
        log_quota,
        close_soon: tokio::sync::Notify::new(),
        oidc,
        logs,
        setup,
        vault,
        stop,
        _lock: lock,
    });
    let agent_server = agent_server(shown.as_deref().map(agent_port::tls))?;
    agent_port::publish_authority(&app.config.data, shown.as_deref())
        .map_err(|source| file_error(&app.config.data.join(agent_port::AUTHORITY_FILE), source))?;
    let agent_endpoint = publish(&app, AGENT_ENDPOINT, &agent_listener, agent_port::local_endpoint)?;
    let url = publish(&app, SERVER_URL, &listener, |_, address| format!("http://{address}"))?;
    let doors = Doors { people: listener, agents: agent_listener, agent_server, servers: port };
    let tasks = spawn_all(&app, doors);
    tasks.spawn(crate::postman::run(Arc::clone(&app), rung));
    if app.vault.is_between() {
        tasks.spawn(end_rotation(Arc::clone(&app)));
    }
    app.audit.of_server("server_start");
    Ok(Running { app, url, agent_endpoint, ended, tasks })
}

/// Whatever is wrong with it, passwords go on working.
fn provider(config: &ServerConfig) -> Option<Result<Provider, String>> {
    let told = config.oidc.clone()?;
    let provider = told.and_then(|told| Provider::new(told, config.public_url.as_deref()));
    if let Err(why) = &provider {
        tracing::error!(%why, "nobody can sign in by the identity provider");
    }
    Some(provider)
}

/// Where this server is reached.
struct Doors {
    people: TcpListener,
    agents: TcpListener,
    agent_server: tonic::transport::Server,
    servers: Option<Port>,
}

/// Every long-lived task of the server, by name.
fn spawn_all(app: &Arc<App>, doors: Doors) -> TaskTracker {
    let tasks = TaskTracker::new();
    tasks.spawn(crate::api::serve(Arc::clone(app), doors.people, doors.servers));
    tasks.spawn(serve_agents(Arc::clone(app), doors.agents, doors.agent_server));
    tasks.spawn(crate::upkeep::run(Arc::clone(app)));
    tasks.spawn(crate::closing::run(Arc::clone(app)));
    tasks.spawn(app.executors.clone().watch(app.stop.clone()));
    if app.cluster.is_some() {
        tasks.spawn(crate::roster::follow(Arc::clone(app)));
        tasks.spawn(crate::lending::run(Arc::clone(app)));
    }
    if let Some(local) = app.config.local_agent.clone() {
        tasks.spawn(crate::supervise::run(Arc::clone(app), local));
    }
    tasks.close();
    tasks
}

impl Running {
    /// Serves until it is told to stop or the scheduler ends by itself.
    pub async fn wait(self) -> Result<(), ServerError> {
        let Running { app, mut ended, tasks, .. } = self;
        let failed = loop {
            let end = tokio::select! {
                () = app.stop.cancelled() => break None,
                end = ended.recv() => end,
            };
            match end {
                Some((_, End::Stopped)) => {}
                // In a cluster it is found again by the next look at the leases.
                Some((shard, End::LetGo(why))) if app.cluster.is_some() => {
                    tracing::warn!(%shard, %why, "a shard was let go");
                }
                Some((_, End::LetGo(why) | End::Failed(why))) => break Some(why),
                None => break Some("nobody runs shards any more".into()),
            }
        };
        app.stop.cancel();
        app.switchboard.hang_up_all("the server is stopping");
        app.shards.let_all_go().await;
        if let Some(cluster) = &app.cluster {
            cluster.leave().await;
        }
        if tokio::time::timeout(Duration::from_secs(5), tasks.wait()).await.is_err() {
            tracing::warn!("some connections did not end in time and are cut");
        }
        app.audit.of_server("server_stop");
        app.audit.close().await;
        failed.map_or(Ok(()), |reason| Err(ServerError::Ended(reason)))
    }
}

fn agent_server(tls: Option<ServerTlsConfig>) -> Result<tonic::transport::Server, ServerError> {
    let server = tonic::transport::Server::builder()
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .http2_keepalive_interval(Some(agent_port::ASK_EVERY))
        .http2_keepalive_timeout(Some(agent_port::ASK_EVERY));
    match tls {
        Some(tls) => server.tls_config(tls).map_err(ServerError::AgentTls),
        None => Ok(server),
    }
}

async fn serve_agents(app: Arc<App>, listener: TcpListener, mut server: tonic::transport::Server) {
    let link = LinkService {
        server: app.cluster.as_ref().map_or(0, |cluster| cluster.me.0),
        shards: app.shards.clone(),
        switchboard: app.switchboard.clone(),
        tasks: app.tasks.clone(),
        clock: app.clock.clone(),
        tenure: app.cluster.as_ref().map(|cluster| Arc::clone(&cluster.tenure)),
        doorman: Arc::clone(&app.doorman),
        audit: app.audit.clone(),
        reads: Arc::clone(&app.reads),
        logs: Arc::clone(&app.logs),
        values: Values { reads: Arc::clone(&app.reads), vault: app.vault.clone() },
        tls: app.config.agent_tls,
        calls: app.calls.clone(),
        own: own_addresses(&app),
        looked: Arc::default(),
    };
    let incoming = agent_port::incoming(listener);
    let service = LinkServer::new(link).max_decoding_message_size(16 << 20);
    let server = server.add_service(service).serve_with_incoming_shutdown(incoming, app.stop.cancelled());
    // An agent's log stream ends only when the agent hangs up: after the goodbye nobody waits for that.
    let goodbye_said = async {
        app.stop.cancelled().await;
        tokio::time::sleep(GOODBYE).await;
    };
    let served = tokio::select! {
        served = server => served,
        () = goodbye_said => Ok(()),
    };
    if let Err(error) = served {
        tracing::error!(%error, "the agents' port failed");
    }
}

/// The server was killed while secrets were moved to another key.
async fn end_rotation(app: Arc<App>) {
    match app.vault.rotate(&app.access).await {
        Ok(rotated) => tracing::info!(key = rotated.key_id, moved = rotated.moved, "all secrets are under the new key"),
        Err(error) => {
            tracing::error!(%error, "secrets could not be moved to the new key; repeat `duly secret rotate-key`")
        }
    }
}

/// Before set-up is done nobody but this machine may come in.
fn allowed_address(wanted: SocketAddr, is_set_up: bool) -> SocketAddr {
    if is_set_up || wanted.ip().is_loopback() {
        return wanted;
    }
    let loopback = SocketAddr::from(([127, 0, 0, 1], wanted.port()));
    tracing::warn!(%wanted, %loopback, "set-up is not done: listening on loopback only");
    loopback
}

/// Where nothing an agent runs is to call.
fn own_addresses(app: &App) -> Vec<String> {
    let advertised = [&app.config.agent_address, &app.config.api_address, &app.config.peer_address];
    let named = advertised.into_iter().zip([1, 0, 2]).filter_map(|(address, n)| {
        let (address, port) = (address.as_deref()?, app.own.get(n)?.port());
        Some(if agent_port::host(address).len() < address.len() {
            address.to_owned()
        } else {
            format!("{address}:{port}")
        })
    });
    app.own.iter().map(SocketAddr::to_string).chain(named).collect()
}

fn local_address(listener: &TcpListener) -> Result<SocketAddr, ServerError> {
    listener.local_addr().map_err(|source| ServerError::File { path: "a socket".into(), source })
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServerError> {
    TcpListener::bind(address).await.map_err(|source| ServerError::Listen { address, source })
}

/// Writes an address where local processes look for it.
fn publish(
    app: &App,
    file: &str,
    listener: &TcpListener,
    name: impl Fn(&ServerConfig, SocketAddr) -> String,
) -> Result<String, ServerError> {
    let path = app.config.data.join(file);
    let address = listener.local_addr().map_err(|source| file_error(&path, source))?;
    let url = name(&app.config, address);
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, &url)
        .and_then(|()| std::fs::rename(&fresh, &path))
        .map_err(|source| file_error(&path, source))?;
    Ok(url)
}

/// Makes the data directory ours alone, as long as the lock lives.
pub fn own_directory(data: &Path) -> Result<DirLock, ServerError> {
    private_dir(data)?;
    Ok(lock::take(data)?)
}

fn private_dir(dir: &Path) -> Result<(), ServerError> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(dir)
        .and_then(|()| std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)))
        .map_err(|source| file_error(dir, source))
}

fn file_error(path: &Path, source: std::io::Error) -> ServerError {
    ServerError::File { path: path.display().to_string(), source }
}
