//! The part of an agent that ships logs, spoken by hand.

use model::AgentId;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use wire::link::link_client::LinkClient;
use wire::link::{JoinRequest, LogFrame, LogUp, Stream};

use crate::world::World;

pub(crate) struct Shipper {
    ups: mpsc::Sender<LogUp>,
    downs: tonic::Streaming<wire::link::LogDown>,
    next: u64,
    pub(crate) agent: AgentId,
}

impl Shipper {
    pub(crate) async fn join(world: &World) -> Shipper {
        let token =
            world.post("/join-tokens", serde_json::json!({})).await.good()["token"].as_str().unwrap().to_owned();
        let mut link: LinkClient<Channel> = LinkClient::connect(world.running.agent_endpoint.clone()).await.unwrap();
        let join = JoinRequest { token, name: "shipper".into(), slots: 1, ..JoinRequest::default() };
        let joined = link.join(join.clone()).await.unwrap().into_inner();
        assert!(link.join(join).await.is_err(), "a join token works once");
        let (ups, sent) = mpsc::channel(16);
        let mut request = tonic::Request::new(ReceiverStream::new(sent));
        request.metadata_mut().insert("duly-agent", joined.agent.to_string().parse().unwrap());
        request.metadata_mut().insert("authorization", format!("Bearer {}", joined.secret).parse().unwrap());
        let downs = link.logs(request).await.unwrap().into_inner();
        Shipper { ups, downs, next: 0, agent: AgentId(joined.agent) }
    }

    /// Returns when the server has it.
    pub(crate) async fn print(&mut self, attempt: i64, lines: &[&[u8]], last: bool) {
        let frame =
            |bytes: &&[u8]| LogFrame { stream: Stream::Stdout.into(), at: 1_000_000, bytes: bytes.to_vec().into() };
        let frames: Vec<LogFrame> = lines.iter().map(frame).collect();
        let first = self.next;
        self.next += frames.len() as u64;
        self.ups.send(LogUp { attempt, first, frames, last }).await.unwrap();
        while self.downs.message().await.unwrap().expect("the server is there").kept < self.next {}
    }
}
