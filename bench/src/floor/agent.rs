//! The floor's agent process: every order is answered at once with an ending that carries the instant it came.

use std::path::Path;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use wire::link::link_client::LinkClient;
use wire::link::{Ended, Order, Orders, Report, Reports, Up, Verdict, down, report, up};

use super::ENDPOINT;
use crate::measure;

pub(crate) fn run(dir: &Path) -> anyhow::Result<()> {
    let endpoint = dir.join(ENDPOINT);
    measure::wait_for("the floor's server", Duration::from_secs(10), || Ok(endpoint.exists()))?;
    let address = std::fs::read_to_string(endpoint)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async { tokio::spawn(serve(address)).await? })
}

/// Until the server is gone.
async fn serve(address: String) -> anyhow::Result<()> {
    let channel = tonic::transport::Endpoint::from_shared(address)?
        .tcp_nodelay(true)
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .connect()
        .await?;
    let mut client = LinkClient::new(channel).max_decoding_message_size(16 << 20);
    let (ups, sent) = mpsc::channel(64);
    let mut downs = client.session(ReceiverStream::new(sent)).await?.into_inner();
    while let Ok(Some(down)) = downs.message().await {
        if let Some(down::Body::Orders(orders)) = down.body
            && ups.send(answer(&orders)).await.is_err()
        {
            break;
        }
    }
    Ok(())
}

fn answer(orders: &Orders) -> Up {
    let now = measure::now_us();
    let items = orders.items.iter().map(|order| ended(order, now)).collect();
    Up { body: Some(up::Body::Reports(Reports { items })) }
}

fn ended(order: &Order, now: i64) -> Report {
    let ended = Ended {
        verdict: Verdict::Succeeded.into(),
        exit_code: Some(0),
        started_at: Some(now),
        ended_at: now,
        ..Ended::default()
    };
    Report { attempt: order.attempt, seq: 2, shard: order.shard, body: Some(report::Body::Ended(ended)) }
}
