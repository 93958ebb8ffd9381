//! The streams that carry output, one to each server that owns a shard, and how much is under way on each.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::Poll;

use tokio::sync::mpsc::UnboundedSender;
use wire::link::LogUp;

use super::WINDOW;
use crate::runtime::config::ServerAddress;
use crate::runtime::dial::Dialer;
use crate::runtime::stream::{Happened, Output, Stream};
use crate::session::Server;

pub(super) struct Outlets {
    dialer: Dialer,
    owners: BTreeMap<u32, Server>,
    all: BTreeMap<Server, Outlet>,
}

pub(super) struct Outlet {
    server: Server,
    stream: Stream<Output>,
    sender: Option<UnboundedSender<LogUp>>,
    under_way: usize,
}

impl Outlets {
    pub(super) fn new(dialer: Dialer) -> Outlets {
        Outlets { dialer, owners: BTreeMap::new(), all: BTreeMap::new() }
    }

    /// What happens next on any of them; those not open are opened only when `needed`.
    pub(super) async fn next(&mut self, needed: bool) -> (Server, Happened<Output>) {
        let wanted = self.all.iter_mut().filter(|(_, outlet)| needed || outlet.sender.is_some());
        let mut nexts: Vec<_> = wanted.map(|(server, outlet)| (*server, Box::pin(outlet.stream.next()))).collect();
        poll_fn(|cx| {
            for (server, next) in &mut nexts {
                if let Poll::Ready(happened) = next.as_mut().poll(cx) {
                    return Poll::Ready((*server, happened));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Whether this is another owner than before.
    pub(super) fn owned(&mut self, shard: u32, server: Server, address: ServerAddress) -> bool {
        let before = self.owners.insert(shard, server);
        if before == Some(server) {
            return false;
        }
        self.all.entry(server).or_insert_with(|| Outlet {
            server,
            stream: Stream::new(Dialer { address, ..self.dialer.clone() }),
            sender: None,
            under_way: 0,
        });
        self.all.retain(|server, _| self.owners.values().any(|owner| owner == server));
        true
    }

    pub(super) fn gone(&mut self, server: Server) {
        self.owners.retain(|_, owner| *owner != server);
        self.all.remove(&server);
    }

    pub(super) fn opened(&mut self, server: Server, sender: UnboundedSender<LogUp>) {
        if let Some(outlet) = self.all.get_mut(&server) {
            outlet.sender = Some(sender);
            outlet.under_way = 0;
        }
    }

    pub(super) fn lost(&mut self, server: Server) {
        if let Some(outlet) = self.all.get_mut(&server) {
            outlet.sender = None;
        }
    }

    /// These bytes are no longer under way.
    pub(super) fn arrived(&mut self, server: Option<Server>, bytes: usize) {
        if let Some(outlet) = server.and_then(|server| self.all.get_mut(&server)) {
            outlet.under_way = outlet.under_way.saturating_sub(bytes);
        }
    }

    /// The way to the owner of a shard, if it is open; to any owner of what belongs nowhere.
    pub(super) fn to(&mut self, shard: Option<u32>) -> Option<&mut Outlet> {
        let server = self.server_of(shard)?;
        self.all.get_mut(&server).filter(|outlet| outlet.sender.is_some())
    }

    pub(super) fn is_full(&self, shard: Option<u32>) -> bool {
        let outlet = self.server_of(shard).and_then(|server| self.all.get(&server));
        outlet.is_some_and(|outlet| outlet.under_way >= WINDOW)
    }

    fn server_of(&self, shard: Option<u32>) -> Option<Server> {
        match shard {
            Some(shard) => self.owners.get(&shard).copied(),
            None => self.owners.values().next().copied(),
        }
    }

    pub(super) fn shards_of(&self, server: Server) -> BTreeSet<u32> {
        self.owners.iter().filter(|(_, owner)| **owner == server).map(|(shard, _)| *shard).collect()
    }

    pub(super) fn has_several_shards(&self) -> bool {
        self.owners.len() > 1
    }
}

impl Outlet {
    /// Answers whom it was sent to.
    pub(super) fn send(&mut self, up: LogUp, bytes: usize) -> Server {
        self.under_way += bytes;
        if let Some(sender) = &self.sender {
            // A stream that is just breaking says so itself.
            let _ = sender.send(up);
        }
        self.server
    }
}
