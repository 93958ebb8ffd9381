//! Takes connections of people and programs and serves them. A connection costs whoever opens it nothing and us a
//! descriptor: one that does not say in time what it wants, or does not take what it asked for, is let go, and there are
//! never more than a bound of them, of all and of one address.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::timeout::TimeoutBody;

use super::room::Room;
use crate::brisk::{Brisk, TAKEN_WITHIN};
use crate::visitor::Network;

/// From the first byte, or from the last answer, to the end of the headers. Shorter than the half minute in which
/// executors come back, so that none of them meets a connection that closes under its hands.
const HEADERS_WITHIN: Duration = Duration::from_secs(20);
/// Between two pieces of a body.
const PIECE_WITHIN: Duration = Duration::from_secs(20);
const CONNECTIONS_MAX: usize = 10_000;
/// From one address; many people may be behind it.
const OF_ONE_ADDRESS_MAX: usize = 1_000;
/// When there are no descriptors left, some may come back.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Until we are told to stop, and then until what was begun is answered.
pub(super) async fn serve(listener: TcpListener, routes: Router, proxies: &[Network], stop: CancellationToken) {
    let open = GracefulShutdown::new();
    let room = Room::new(CONNECTIONS_MAX, OF_ONE_ADDRESS_MAX, proxies);
    loop {
        let accepted = async {
            let place = room.place().await;
            (accept(&listener).await, place)
        };
        let ((stream, from), place) = tokio::select! {
            accepted = accepted => accepted,
            () = stop.cancelled() => break,
        };
        let Some(place) = room.enter(from.ip(), place) else {
            tracing::debug!(%from, "one address has too many connections");
            continue;
        };
        let routes = routes.clone();
        let service = service_fn(move |request| answer(routes.clone(), request, from));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
        let stream = TokioIo::new(Brisk::new(stream, place, TAKEN_WITHIN));
        let connection = open.watch(http.serve_connection(stream, service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::trace!(%from, %error, "a connection ended early");
            }
        });
    }
    open.shutdown().await;
}

async fn answer(
    routes: Router,
    request: Request<Incoming>,
    from: SocketAddr,
) -> Result<axum::response::Response, Infallible> {
    let mut request = request.map(|body| Body::new(TimeoutBody::new(PIECE_WITHIN, body)));
    request.extensions_mut().insert(ConnectInfo(from));
    routes.oneshot(request).await
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                // Answers are small and waited for.
                let _ = stream.set_nodelay(true);
                return (stream, from);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(TRY_AGAIN).await;
            }
        }
    }
}
