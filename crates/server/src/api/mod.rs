//! The door for people and programs: HTTP in, one operation, a view out. Decides nothing itself; what an operation does
//! is in `ops`, who may ask for it is in `guard`.

mod again;
mod armour;
mod connections;
mod console;
mod cookie;
mod doors;
mod elsewhere;
mod endpoint;
mod forward;
mod guard;
mod openapi;
mod pages;
mod record;
mod room;
mod router;
mod speak;
mod sse;
mod take;

use std::sync::Arc;

use tokio::net::TcpListener;

use crate::app::App;
use crate::ops::Desk;
use crate::peers::Port;

pub(crate) use again::Repeats;
pub(crate) use forward::PassedOn;
pub use openapi::openapi_json;

/// Serves until the server is told to stop: people and programs, and other servers.
pub(crate) async fn serve(app: Arc<App>, listener: TcpListener, port: Option<Port>) {
    let (stop, proxies) = (app.stop.clone(), app.config.trusted_proxies.clone());
    let desk = Desk::new(app);
    if let Some(port) = port {
        let routes = crate::peers::routes(desk.clone(), router::build(desk.clone()));
        let stop = stop.clone();
        tokio::spawn(async move {
            let served = axum::serve(port, routes).with_graceful_shutdown(async move { stop.cancelled().await });
            if let Err(error) = served.await {
                tracing::error!(%error, "the servers' port failed");
            }
        });
    }
    let gauges = tokio::spawn(crate::metrics::follow(desk.clone()));
    connections::serve(listener, router::build(desk), &proxies, stop).await;
    gauges.abort();
    // Whoever waits for us may take the directory over at once: nothing of ours holds on to it.
    let _ = gauges.await;
}
