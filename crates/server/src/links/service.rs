//! The door agents come through: join once, then a working stream and a log stream. Knows who is who; what is said on
//! the streams is theirs.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::{Stretch, Tenure};
use futures::StreamExt;
use model::AgentId;
use store::{Reads, StoreError};
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Response, Status, Streaming};
use wire::link::{Down, JoinReply, JoinRequest, LogDown, LogUp, Up, link_server::Link};

use super::stream::{self, Way};
use super::switchboard::Switchboard;
use super::tasks::Tasks;
use super::values::Values;
use crate::audit::Audit;
use crate::clock::Clock;
use crate::doorman::Doorman;
use crate::egress::Calls;
use crate::logs::LogStore;
use crate::shard::Shards;

/// Messages to one agent that may wait for its network before the next is made.
const DOWN_QUEUE: usize = 64;
/// What a removed agent is told.
const REMOVED: &str = "this agent was removed; to come back it must join with a new token";
/// Between two looks for agents that joined elsewhere.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const READ_WITHIN: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct LinkService {
    /// Our number among the servers of a cluster; 0 if we are alone.
    pub server: i64,
    pub shards: Shards,
    pub switchboard: Switchboard,
    pub tasks: Tasks,
    pub clock: Clock,
    /// How long we may still trust what we own.
    pub tenure: Option<Arc<Tenure>>,
    pub doorman: Arc<Doorman>,
    pub audit: Audit,
    pub reads: Arc<dyn Reads>,
    pub logs: Arc<LogStore>,
    pub values: Values,
    /// The agents' port speaks TLS.
    pub tls: bool,
    pub calls: Calls,
    /// Where this server listens.
    pub own: Vec<String>,
    /// When we last began to look for agents that joined elsewhere.
    pub looked: Arc<tokio::sync::Mutex<Option<Instant>>>,
}

/// Whether an agent may take this server for the owner of what it greeted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    Yes,
    /// Its leases have run out; they may yet be renewed.
    NotNow,
    /// They had run out since the stream began: all that was said on it is over.
    NoMore,
}

impl LinkService {
    pub(super) fn stands(&self, begun: Option<Stretch>) -> Stands {
        match (&self.tenure, begun) {
            (Some(tenure), Some(begun)) if tenure.stretch() != begun => Stands::NoMore,
            (Some(tenure), Some(begun)) if !tenure.holds(begun, Instant::now()) => Stands::NotNow,
            _ => Stands::Yes,
        }
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Link for LinkService {
    async fn join(&self, request: Request<JoinRequest>) -> Result<Response<JoinReply>, Status> {
        let (from, request) = (request.remote_addr().map(Into::into), request.into_inner());
        // What cannot be recorded is not done.
        self.audit.check().map_err(|refused| Status::unavailable(refused.0.detail.clone()))?;
        let name = request.name.clone();
        let joined = self.doorman.join(request, &self.shards, self.clock.now()).await;
        let record = joined.as_ref().ok().and_then(|reply| self.doorman.agent(AgentId(reply.agent)));
        match (&joined, record) {
            (Ok(_), Some(agent)) => self.audit.agent_joined(&agent, from).await,
            (Err(status), _) if status.code() == Code::PermissionDenied => {
                self.audit.agent_refused("agent_join", wire::Code::BadJoinToken, &name, from);
            }
            _ => {}
        }
        joined.map(Response::new)
    }

    type SessionStream = Answers<Down>;

    async fn session(&self, request: Request<Streaming<Up>>) -> Result<Response<Self::SessionStream>, Status> {
        let (agent, pass) = self.known_agent(&request).await?;
        let (downs, out) = mpsc::channel(DOWN_QUEUE);
        // Whoever listens in between must not hear a secret.
        let private = self.tls || request.remote_addr().is_some_and(|from| from.ip().is_loopback());
        let (link, ups) = (self.clone(), request.into_inner());
        let way = Way { private, pass: pass.clone() };
        tokio::spawn(async move { stream::run(link, agent, way, ups, downs).await });
        Ok(Response::new(while_known(out, pass)))
    }

    type LogsStream = Answers<LogDown>;

    async fn logs(&self, request: Request<Streaming<LogUp>>) -> Result<Response<Self::LogsStream>, Status> {
        let (agent, pass) = self.known_agent(&request).await?;
        let (kept, out) = mpsc::channel(DOWN_QUEUE);
        // What comes after the agent was cut off is not read.
        let frames = request.into_inner().take_until(pass.clone().cancelled_owned());
        tokio::spawn(Arc::clone(&self.logs).receive(agent, Box::pin(frames), kept));
        Ok(Response::new(while_known(out, pass)))
    }
}

/// What is sent to an agent, until it is cut off: then at once nothing more, and why.
fn while_known<T: Send + 'static>(out: mpsc::Receiver<Result<T, Status>>, pass: CancellationToken) -> Answers<T> {
    let sent = ReceiverStream::new(out).take_until(pass.clone().cancelled_owned());
    let removed = async move { pass.is_cancelled().then(|| Err(Status::unauthenticated(REMOVED))) };
    Box::pin(sent.chain(futures::stream::once(removed).filter_map(std::future::ready)))
}

impl LinkService {
    /// Who it is, and what its streams end by.
    async fn known_agent<T>(&self, request: &Request<T>) -> Result<(AgentId, CancellationToken), Status> {
        let agent = self.recognised(request).await?;
        let pass = self.switchboard.pass(agent);
        // Removed between the two: its pass would end by nothing.
        if self.doorman.has_heard_of(agent) { Ok((agent, pass)) } else { Err(Status::unauthenticated(REMOVED)) }
    }

    async fn recognised<T>(&self, request: &Request<T>) -> Result<AgentId, Status> {
        let text = |name: &str| request.metadata().get(name).and_then(|value| value.to_str().ok());
        let unknown = || {
            Status::unauthenticated(
                "this agent is not known here; it was removed, or never joined: join it with a token",
            )
        };
        let agent: AgentId = text("duly-agent").and_then(|id| id.parse().ok()).ok_or_else(unknown)?;
        let secret = text("authorization").and_then(|value| value.strip_prefix("Bearer ")).ok_or_else(unknown)?;
        if self.doorman.knows_agent(agent, secret) {
            return Ok(agent);
        }
        // It may have joined at another server a moment ago.
        let secret = secret.to_owned();
        if self.server != 0 && !self.doorman.has_heard_of(agent) {
            self.look_again().await.map_err(|error| Status::unavailable(error.to_string()))?;
        }
        if self.doorman.knows_agent(agent, &secret) {
            return Ok(agent);
        }
        let from = request.remote_addr().map(Into::into);
        self.audit.agent_refused("agent_connect", wire::Code::NotSignedIn, &agent.to_string(), from);
        Err(unknown())
    }

    /// Nobody need be known to make us look, so it is done once a second at most, for all who came before it began.
    async fn look_again(&self) -> Result<(), StoreError> {
        let came = Instant::now();
        let mut began = self.looked.lock().await;
        if began.is_some_and(|began| began >= came) {
            return Ok(());
        }
        if let Some(began) = *began {
            tokio::time::sleep_until((began + LOOK_EVERY).into()).await;
        }
        let now = Instant::now();
        let looked = self.look().await;
        // Whoever waits behind one that failed looks themselves.
        *began = looked.is_ok().then_some(now);
        looked
    }

    async fn look(&self) -> Result<(), StoreError> {
        let reads = Arc::clone(&self.reads);
        let read = tokio::task::spawn_blocking(move || reads.agents(Instant::now() + READ_WITHIN));
        let agents = read.await.unwrap_or_else(|panic| Err(StoreError::Failed(panic.to_string())))?;
        for gone in self.doorman.refresh(&agents).await? {
            self.switchboard.cut(gone);
            self.shards.tell_all(&engine::Input::AgentRemoved { agent: gone });
        }
        Ok(())
    }
}
