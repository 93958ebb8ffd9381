//! A server that does what a test tells it: the other end of the link, on a real port.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{TcpListenerStream, UnboundedReceiverStream};
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};
use wire::link::link_server::{Link, LinkServer};
use wire::link::*;

/// Longer than anything takes unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

type Downs<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

pub(crate) struct FakeServer {
    pub(crate) address: SocketAddr,
    /// It owns shard 1 under this term, and greets with it.
    pub(crate) term: i64,
    /// Its number among the servers of a cluster.
    pub(crate) number: i64,
    sessions: mpsc::UnboundedReceiver<Talk>,
    shared: Arc<Shared>,
    serving: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    logs: Mutex<BTreeMap<i64, Kept>>,
    /// How many log messages are answered before the stream is cut, once.
    cut_logs_after: Mutex<Option<usize>>,
    joined: Mutex<Vec<JoinRequest>>,
}

/// Output of one attempt as it was kept.
#[derive(Clone, Default, Debug)]
pub(crate) struct Kept {
    pub(crate) frames: Vec<LogFrame>,
    pub(crate) last: bool,
    /// Frames that came although they were kept already.
    pub(crate) repeated: usize,
}

impl Kept {
    pub(crate) fn text(&self) -> String {
        self.frames.iter().map(|frame| String::from_utf8_lossy(&frame.bytes).into_owned()).collect()
    }
}

/// One session of the agent.
pub(crate) struct Talk {
    pub(crate) agent: String,
    ups: mpsc::UnboundedReceiver<Up>,
    /// Everything the agent said.
    said: Vec<up::Body>,
    downs: mpsc::UnboundedSender<Result<Down, Status>>,
}

struct Service {
    sessions: mpsc::UnboundedSender<Talk>,
    shared: Arc<Shared>,
}

impl FakeServer {
    pub(crate) async fn start() -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, sessions) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared::default());
        let service = LinkServer::new(Service { sessions: sender, shared: shared.clone() });
        let serve = tonic::transport::Server::builder()
            .add_service(service)
            .serve_with_incoming(TcpListenerStream::new(listener));
        let serving = tokio::spawn(async move { serve.await.unwrap() });
        FakeServer { address, term: 1, number: 0, sessions, shared, serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The agent's next session, welcomed.
    pub(crate) async fn accept(&mut self) -> Talk {
        let talk = tokio::time::timeout(PATIENCE, self.sessions.recv()).await.expect("the agent connects").unwrap();
        talk.send(down::Body::Welcome(Welcome {
            protocol: PROTOCOL,
            now: now(),
            beat_every_ms: 100,
            version: "test".into(),
            server: self.number,
            ..Welcome::default()
        }));
        talk.send(down::Body::Greet(Greet { shard: 1, term: self.term }));
        talk
    }

    pub(crate) fn joined(&self) -> Vec<JoinRequest> {
        self.shared.joined.lock().unwrap().clone()
    }

    pub(crate) fn cut_logs_after(&self, messages: usize) {
        *self.shared.cut_logs_after.lock().unwrap() = Some(messages);
    }

    pub(crate) fn kept(&self, attempt: i64) -> Kept {
        self.shared.logs.lock().unwrap().get(&attempt).cloned().unwrap_or_default()
    }

    /// Whether the end of an attempt's output has come here.
    pub(crate) fn kept_last(&self, attempt: i64) -> bool {
        self.kept(attempt).last
    }

    pub(crate) fn has_waiting_session(&self) -> bool {
        !self.sessions.is_empty()
    }

    pub(crate) fn stop(self) {
        self.serving.abort();
    }
}

impl Talk {
    pub(crate) fn send(&self, body: down::Body) {
        let _ = self.downs.send(Ok(Down { body: Some(body) }));
    }

    /// What the test waits for, said already or still to come.
    pub(crate) async fn until<T>(&mut self, mut wanted: impl FnMut(&up::Body) -> Option<T>) -> T {
        if let Some(found) = self.said.iter().find_map(&mut wanted) {
            return found;
        }
        let find = async {
            while let Some(up) = self.ups.recv().await {
                let body = up.body.expect("a message has a body");
                let found = wanted(&body);
                self.said.push(body);
                if let Some(found) = found {
                    return found;
                }
            }
            panic!("the agent closed its stream");
        };
        let found = tokio::time::timeout(PATIENCE, find).await;
        found.unwrap_or_else(|_| panic!("the agent never said what the test waits for, only {:?}", self.said))
    }

    pub(crate) async fn ended(&mut self, attempt: i64) -> Ended {
        self.report(attempt, |body| match body {
            report::Body::Ended(ended) => Some(ended.clone()),
            report::Body::Started(_) => None,
        })
        .await
    }

    pub(crate) async fn started(&mut self, attempt: i64) -> Started {
        self.report(attempt, |body| match body {
            report::Body::Started(started) => Some(*started),
            report::Body::Ended(_) => None,
        })
        .await
    }

    async fn report<T>(&mut self, attempt: i64, wanted: impl Fn(&report::Body) -> Option<T>) -> T {
        self.until(|body| {
            let up::Body::Reports(reports) = body else { return None };
            let mut of_attempt = reports.items.iter().filter(|report| report.attempt == attempt);
            of_attempt.find_map(|report| wanted(report.body.as_ref()?))
        })
        .await
    }

    /// When the next heartbeat was sent, by the agent's clock.
    pub(crate) async fn next_beat(&mut self) -> i64 {
        let seen = self.said.len();
        let mut number = 0;
        self.until(|body| {
            number += 1;
            if let up::Body::Beat(beat) = body { (number > seen).then_some(beat.sent_at) } else { None }
        })
        .await
    }

    /// Whether the agent hung up.
    pub(crate) fn is_closed(&mut self) -> bool {
        loop {
            match self.ups.try_recv() {
                Ok(up) => self.said.push(up.body.expect("a message has a body")),
                Err(mpsc::error::TryRecvError::Empty) => return false,
                Err(mpsc::error::TryRecvError::Disconnected) => return true,
            }
        }
    }

    /// As far as was said until now.
    pub(crate) fn has_ended(&self, attempt: i64) -> bool {
        self.said.iter().any(|body| match body {
            up::Body::Reports(reports) => {
                reports.items.iter().any(|report| report.attempt == attempt && report.seq == 2)
            }
            _ => false,
        })
    }

    pub(crate) fn task(&self, version: i64, body: serde_json::Value) {
        let body = serde_json::to_vec(&body).unwrap().into();
        self.send(down::Body::Task(Task { version, job: 1, job_name: "job".into(), body, ..Task::default() }));
    }

    pub(crate) fn order(&self, attempt: i64, version: i64) {
        self.order_as(Order { attempt, version, ..order() });
    }

    pub(crate) fn order_as(&self, order: Order) {
        self.send(down::Body::Orders(Orders { items: vec![order] }));
    }

    pub(crate) fn ack(&self, attempt: i64) {
        self.send(down::Body::Acks(Acks { items: vec![Ack { attempt, seq: 2 }] }));
    }
}

pub(crate) fn order() -> Order {
    Order {
        shard: 1,
        term: 1,
        attempt_no: 1,
        instance: 5,
        planned: 1_700_000_000_000_000,
        start_by: now() + 60_000_000,
        stop_grace_us: 1_000_000,
        // A test that fails leaves nothing running for long.
        timeout_us: Some(120_000_000),
        ..Order::default()
    }
}

pub(crate) fn now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros() as i64
}

#[tonic::async_trait]
impl Link for Service {
    type SessionStream = Downs<Down>;
    type LogsStream = Downs<LogDown>;

    async fn join(&self, request: Request<JoinRequest>) -> Result<Response<JoinReply>, Status> {
        let request = request.into_inner();
        if request.token != "let me in" {
            return Err(Status::permission_denied("no such token"));
        }
        self.shared.joined.lock().unwrap().push(request);
        Ok(Response::new(JoinReply { agent: 7, secret: "s3cret".into(), ca: String::new() }))
    }

    async fn session(&self, request: Request<Streaming<Up>>) -> Result<Response<Downs<Down>>, Status> {
        let text = |name| request.metadata().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if text("authorization") != "Bearer s3cret" {
            return Err(Status::unauthenticated("who are you"));
        }
        let agent = text("duly-agent").to_owned();
        let mut incoming = request.into_inner();
        let (ups_sender, ups) = mpsc::unbounded_channel();
        let (downs, downs_receiver) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(up)) = incoming.next().await {
                let _ = ups_sender.send(up);
            }
        });
        let _ = self.sessions.send(Talk { agent, ups, said: Vec::new(), downs });
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(downs_receiver))))
    }

    async fn logs(&self, request: Request<Streaming<LogUp>>) -> Result<Response<Downs<LogDown>>, Status> {
        let mut incoming = request.into_inner();
        let shared = self.shared.clone();
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(up)) = incoming.next().await {
                let answer = shared.keep(up);
                let cut = answer.is_err();
                if sender.send(answer).is_err() || cut {
                    return;
                }
            }
        });
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(receiver))))
    }
}

impl Shared {
    fn keep(&self, up: LogUp) -> Result<LogDown, Status> {
        let mut cut = self.cut_logs_after.lock().unwrap();
        if let Some(left) = &mut *cut {
            if *left == 0 {
                *cut = None;
                return Err(Status::unavailable("cut by the test"));
            }
            *left -= 1;
        }
        let mut logs = self.logs.lock().unwrap();
        // A log may begin in the middle: the rest is with the owner before.
        let beginning = || Kept { frames: vec![LogFrame::default(); up.first as usize], ..Kept::default() };
        let kept = logs.entry(up.attempt).or_insert_with(beginning);
        for (number, frame) in (up.first..).zip(up.frames) {
            match number.cmp(&(kept.frames.len() as u64)) {
                std::cmp::Ordering::Less => kept.repeated += 1,
                std::cmp::Ordering::Equal => kept.frames.push(frame),
                std::cmp::Ordering::Greater => panic!("frame {number} came before {}", kept.frames.len()),
            }
        }
        kept.last |= up.last;
        Ok(LogDown { attempt: up.attempt, kept: kept.frames.len() as u64 })
    }
}
