//! The floor's server process: listens for its one agent, then generates until it is killed.

use std::path::Path;
use std::sync::Mutex;

use anyhow::Context;
use crossbeam_channel::{Sender, bounded};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};
use wire::link::link_server::{Link, LinkServer};
use wire::link::{Down, JoinReply, JoinRequest, LogDown, LogUp, Up, up};

use super::desk::{Desk, Downs};
use super::pg_lane::{self, LANES, PgLane};
use super::words::Words;
use super::writer::Writer;
use super::{COMMITS, ENDPOINT, FILE, Load, generate};

/// Messages waiting to be sent, as in the product.
const DOWN_QUEUE: usize = 64;

/// With a database's address the rows go there, else into a file.
pub(crate) fn run(dir: &Path, load: Load, database: Option<&str>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (words, mut received) = Words::new(if database.is_some() { LANES as usize } else { 1 });
    let (connected, agent) = bounded(1);
    runtime.spawn(serve(dir.join(ENDPOINT), Service { words: words.clone(), connected: Mutex::new(Some(connected)) }));
    let downs = agent.recv()?;
    let again = matches!(load, Load::Saturate { .. });
    let due = move || std::thread::Builder::new().name("floor-due".into()).spawn(move || generate::run(load, &words));
    let Some(address) = database else {
        let lane = received.pop().context("one lane")?;
        let writer = Writer::open(&dir.join(FILE), lane, Desk::new(downs, again))?;
        due()?;
        return writer.run();
    };
    pg_lane::make_table(address)?;
    let mut threads = Vec::new();
    for (number, words) in received.into_iter().enumerate() {
        let times = dir.join(format!("{COMMITS}{number}"));
        let lane = PgLane::open(address, number as i64, &times, words, Desk::new(downs.clone(), again))?;
        threads.push(std::thread::Builder::new().name(format!("floor-lane-{number}")).spawn(move || lane.run())?);
    }
    due()?;
    threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a lane panicked"))?)
}

async fn serve(endpoint: std::path::PathBuf, service: Service) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let draft = endpoint.with_extension("new");
    std::fs::write(&draft, format!("http://{address}"))?;
    std::fs::rename(&draft, &endpoint)?;
    tonic::transport::Server::builder()
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .add_service(LinkServer::new(service).max_decoding_message_size(16 << 20))
        .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)))
        .await?;
    Ok(())
}

struct Service {
    words: Words,
    /// Taken by the first agent.
    connected: Mutex<Option<Sender<Downs>>>,
}

#[tonic::async_trait]
impl Link for Service {
    type SessionStream = ReceiverStream<Result<Down, Status>>;
    type LogsStream = ReceiverStream<Result<LogDown, Status>>;

    async fn join(&self, _: Request<JoinRequest>) -> Result<Response<JoinReply>, Status> {
        Err(Status::unimplemented("the floor knows its agent"))
    }

    async fn session(&self, request: Request<Streaming<Up>>) -> Result<Response<Self::SessionStream>, Status> {
        let mut ups = request.into_inner();
        let (downs, sent) = mpsc::channel(DOWN_QUEUE);
        let words = self.words.clone();
        tokio::spawn(async move {
            while let Ok(Some(up)) = ups.message().await {
                if let Some(up::Body::Reports(reports)) = up.body {
                    let _ = words.ended(reports.items);
                }
            }
        });
        let first = self.connected.lock().expect("nobody panics holding it").take();
        first.into_iter().for_each(|connected| drop(connected.send(downs.clone())));
        Ok(Response::new(ReceiverStream::new(sent)))
    }

    async fn logs(&self, _: Request<Streaming<LogUp>>) -> Result<Response<Self::LogsStream>, Status> {
        Err(Status::unimplemented("the floor has no logs"))
    }
}
