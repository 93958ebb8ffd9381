//! What servers tell one another about executors: that nobody listened at an address. The one that had a run there may
//! not have called in that moment, and would never learn that the process which answers now is another one. When that was
//! is told in the listener's own time: a run that it sent a moment later may be with the new process.
//!
//! Whoever hears it looks for itself. A word that is lost leaves a run in doubt for longer, and does nothing else.

use std::time::Instant;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use model::{AgentId, Span, Timestamp};
use store::leases::ServerRow;
use wire::peer::{CLOCK, ClockBody, REFUSED, RefusedBody};

use super::connection::CallError;
use super::evidence::Restart;
use super::switch::Executors;
use crate::peers::{PeerError, Peers};

impl Executors {
    /// There are other servers.
    pub(crate) fn meet(&self, peers: Peers) {
        let _ = self.0.peers.set(peers);
    }

    pub(super) fn tell_refused(&self, agent: AgentId) {
        let Some(peers) = self.0.peers.get() else { return };
        let refused = Instant::now();
        for other in peers.others() {
            let peers = peers.clone();
            self.spawn(async move {
                if let Err(error) = tell(&peers, &other, agent, refused).await {
                    tracing::debug!(%error, "a server was not told that an executor is gone");
                }
            });
        }
    }

    pub(crate) fn hear_refused(&self, agent: AgentId, at: Timestamp) {
        let Some(line) = self.line(agent) else { return };
        let this = self.clone();
        self.spawn(async move {
            match line.ask("beat", "{}").await {
                Ok(_) => line.restarted(Restart { gone: at, back: this.0.clock.now() }),
                Err(CallError::NotSent { refused, why }) => this.set_aside(&line, refused, &why),
                // It says nothing either way.
                Err(_) => {}
            }
        });
    }
}

/// Asks twice what time it is there: the first answer may have had to wait for a connection.
async fn tell(peers: &Peers, other: &ServerRow, agent: AgentId, refused: Instant) -> Result<(), PeerError> {
    let mut at = Timestamp::MIN;
    for _ in 0..2 {
        let clock: ClockBody = peers.get(other, CLOCK).await?;
        at = at.max(Timestamp(clock.now) - Span::from(refused.elapsed()));
    }
    let body = serde_json::to_vec(&RefusedBody { agent: agent.0, at: at.0 }).expect("plain data");
    let json = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    peers.pass_on(other, Method::POST, REFUSED, json, Bytes::from(body)).await?;
    Ok(())
}
