//! What servers tell one another about executors: that nobody listened at an address. The one that had a run there may
//! not have called in that moment, and would never learn that the process which answers now is another one.
//!
//! Whoever hears it looks for itself. A word that is lost leaves a run in doubt for longer, and does nothing else.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use model::{AgentId, Span, Timestamp};
use wire::peer::{REFUSED, RefusedBody};

use super::connection::CallError;
use super::switch::Executors;
use crate::peers::Peers;

/// Servers' clocks agree better than this. What was sent so shortly before is left to other signs: it may have gone to
/// the process that is there now.
const CLOCKS_APART: Span = Span::secs(1);

impl Executors {
    /// There are other servers.
    pub(crate) fn meet(&self, peers: Peers) {
        let _ = self.0.peers.set(peers);
    }

    pub(super) fn tell_refused(&self, agent: AgentId) {
        let Some(peers) = self.0.peers.get() else { return };
        let told = RefusedBody { agent: agent.0, at: self.0.clock.now().0 };
        let body = Bytes::from(serde_json::to_vec(&told).expect("plain data"));
        for other in peers.others() {
            let (peers, body) = (peers.clone(), body.clone());
            self.spawn(async move {
                let json = HeaderValue::from_static("application/json");
                let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, json)]);
                if let Err(error) = peers.pass_on(&other, Method::POST, REFUSED, headers, body).await {
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
                Ok(_) => line.restarted(at - CLOCKS_APART),
                Err(CallError::NotSent { refused, why }) => this.set_aside(&line, refused, &why),
                // It says nothing either way.
                Err(_) => {}
            }
        });
    }
}
