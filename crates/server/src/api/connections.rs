//! Takes connections of people and programs and serves them. A connection costs whoever opens it nothing and us a
//! descriptor: one that does not say in time what it wants is let go, and there are never more than a bound of them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
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
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::timeout::TimeoutBody;

/// From the first byte, or from the last answer, to the end of the headers. Shorter than the half minute in which
/// executors come back, so that none of them meets a connection that closes under its hands.
const HEADERS_WITHIN: Duration = Duration::from_secs(20);
/// Between two pieces of a body.
const PIECE_WITHIN: Duration = Duration::from_secs(20);
const CONNECTIONS_MAX: usize = 10_000;
/// When there are no descriptors left, some may come back.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Until we are told to stop, and then until what was begun is answered.
pub(super) async fn serve(listener: TcpListener, routes: Router, stop: CancellationToken) {
    let open = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = async {
            let place = Arc::clone(&room).acquire_owned().await.expect("it is never closed");
            (accept(&listener).await, place)
        };
        let ((stream, from), place) = tokio::select! {
            accepted = accepted => accepted,
            () = stop.cancelled() => break,
        };
        let routes = routes.clone();
        let service = service_fn(move |request| answer(routes.clone(), request, from));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
        let connection = open.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::trace!(%from, %error, "a connection ended early");
            }
            drop(place);
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
