//! Connections at the agents' port, before anybody is known: there is a bound of them, and whoever says nothing, not even
//! that it is there, is let go.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::transport::server::TcpIncoming;

use crate::brisk::{Brisk, TAKEN_WITHIN};

/// An agent has one to each server.
const CONNECTIONS_MAX: usize = 20_000;
/// How often the other end is asked whether it is there, and how long it has to answer.
pub(crate) const ASK_EVERY: Duration = Duration::from_secs(30);
/// From the first moment: whoever never begins to speak is not asked.
const HEARD_WITHIN: Duration = Duration::from_secs(90);

type Connection = Brisk<TcpStream, OwnedSemaphorePermit>;

pub(crate) fn incoming(listener: TcpListener) -> impl Stream<Item = io::Result<Connection>> {
    // Set on each connection: the server's own setting is not used for connections handed to it.
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    futures::stream::unfold((incoming, room), |(mut incoming, room)| async move {
        let place = Arc::clone(&room).acquire_owned().await.expect("it is never closed");
        let brisk = |stream| Brisk::new(stream, place, TAKEN_WITHIN).heard_within(HEARD_WITHIN);
        let accepted = incoming.next().await?.map(brisk);
        Some((accepted, (incoming, room)))
    })
}
