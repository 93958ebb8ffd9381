//! The ways to the servers: the configured addresses, which are never given up, and those the servers name. Keeps one
//! stream to each server; of two ways to the same one, the newer is used and the other is there for when it fails.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use wire::link::{Down, Up};

use super::chain::chain;
use super::config::ServerAddress;
use super::dial::{DialError, Dialer};
use super::stream::{Happened, Stream, Work};
use crate::session::Server;

pub(crate) struct Servers {
    dialer: Dialer,
    ways: BTreeMap<Server, Way>,
    next: u32,
    /// As on disk.
    kept: Vec<String>,
    /// Who is asked first, so that a server that talks without end does not silence the others.
    turn: usize,
}

pub(crate) enum News {
    Opened,
    Came(Down),
    Lost,
}

struct Way {
    address: ServerAddress,
    seed: bool,
    stream: Stream<Work>,
    sender: Option<UnboundedSender<Up>>,
    /// The server it leads to, as it last said.
    server: Option<i64>,
    /// Something came over the stream that is open now.
    answered: bool,
    /// Another way to the same server is in use.
    spare: bool,
    /// Which endpoints it named.
    named: Vec<String>,
    link: Link,
}

/// What was last said about a connection, so that it is said once.
#[derive(Debug, PartialEq, Eq)]
enum Link {
    Unused,
    Good,
    Bad(String),
}

impl Servers {
    pub(crate) fn new(dialer: Dialer, kept: Vec<String>) -> Servers {
        let seeds = dialer.config.seeds.clone();
        let mut servers = Servers { dialer, ways: BTreeMap::new(), next: 0, kept: kept.clone(), turn: 0 };
        seeds.into_iter().for_each(|seed| servers.add(seed, true));
        servers.add_unknown(&kept);
        servers
    }

    pub(crate) async fn next(&mut self) -> (Server, News) {
        let (server, happened) = self.next_happened().await;
        let way = self.ways.get_mut(&server).expect("it was just waited for");
        let news = match happened {
            Happened::Opened(sender) => {
                way.sender = Some(sender);
                News::Opened
            }
            Happened::Came(down) => {
                way.answered = true;
                if way.link != Link::Good {
                    tracing::info!(address = way.name(), "connected to the server");
                    way.link = Link::Good;
                }
                News::Came(down)
            }
            Happened::Lost(error) => {
                self.lost(server, &error);
                News::Lost
            }
        };
        (server, news)
    }

    /// May be dropped and called again at any await, as the streams may.
    async fn next_happened(&mut self) -> (Server, Happened<Work>) {
        let used = self.ways.iter_mut().filter(|(_, way)| !way.spare);
        let mut nexts: Vec<_> = used.map(|(server, way)| (*server, Box::pin(way.stream.next()))).collect();
        self.turn = (self.turn + 1) % nexts.len().max(1);
        nexts.rotate_left(self.turn);
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

    fn lost(&mut self, server: Server, error: &DialError) {
        let way = self.ways.get_mut(&server).expect("only a way in use is lost");
        way.sender = None;
        let trouble = Link::Bad(chain(error));
        if way.link != trouble {
            tracing::warn!(address = way.name(), why = chain(error), "no connection to the server; tasks run on");
            way.link = trouble;
        }
        // This way does not lead there any more; another may. After a stream that worked it is tried alone, or the two
        // would take the place of each other for ever.
        if !std::mem::take(&mut way.answered) {
            let known = way.server;
            self.use_spares(known);
        }
    }

    pub(crate) fn send(&self, to: Server, up: Up) {
        if let Some(sender) = self.ways.get(&to).and_then(|way| way.sender.as_ref()) {
            // A stream that is just breaking says so itself.
            let _ = sender.send(up);
        }
    }

    /// Those to whom something can be sent.
    pub(crate) fn open(&self) -> impl Iterator<Item = Server> {
        self.ways.iter().filter(|(_, way)| way.sender.is_some()).map(|(server, _)| *server)
    }

    pub(crate) fn address(&self, server: Server) -> Option<&ServerAddress> {
        self.ways.get(&server).map(|way| &way.address)
    }

    pub(crate) fn redial(&mut self, server: Server) {
        if let Some(way) = self.ways.get_mut(&server) {
            way.sender = None;
            way.stream.redial();
        }
    }

    /// A way turned out to lead to the server of this number. Answers which others led there and are given up: the
    /// server itself takes the newest stream for the one that counts.
    pub(crate) fn identified(&mut self, at: Server, server: i64) -> Vec<Server> {
        let Some(way) = self.ways.get_mut(&at) else { return Vec::new() };
        way.server = Some(server);
        let same = self.ways.iter_mut().filter(|(id, way)| **id != at && way.server == Some(server) && !way.spare);
        let mut given_up = Vec::new();
        for (id, way) in same {
            tracing::debug!(address = way.name(), server, "another way to the same server is in use");
            way.spare = true;
            way.sender = None;
            way.answered = false;
            way.stream.hang_up();
            given_up.push(*id);
        }
        given_up
    }

    /// A server says where all of them are. Dials what is new, and answers what was given up: what nobody names whom we
    /// hear, and nobody configured.
    pub(crate) fn named(&mut self, by: Server, endpoints: Vec<String>) -> Vec<Server> {
        if endpoints.is_empty() {
            return Vec::new();
        }
        if let Some(way) = self.ways.get_mut(&by) {
            way.named = endpoints;
        }
        let heard = self.ways.values().filter(|way| way.sender.is_some());
        let wanted: BTreeSet<String> = heard.flat_map(|way| way.named.iter().cloned()).collect();
        let gone = |way: &Way| !way.seed && way.address.read().is_ok_and(|address| !wanted.contains(&address));
        let given_up: Vec<Server> = self.ways.iter().filter(|(_, way)| gone(way)).map(|(server, _)| *server).collect();
        for server in &given_up {
            let way = self.ways.remove(server).expect("just listed");
            tracing::info!(address = way.name(), "a server is gone from the cluster");
            self.use_spares(way.server.filter(|_| !way.spare));
        }
        let wanted: Vec<String> = wanted.into_iter().collect();
        self.add_unknown(&wanted);
        if wanted != self.kept {
            // Not worth dying for: it only helps an agent whose configured servers are all gone.
            if let Err(error) = self.dialer.data.keep_servers(&wanted) {
                tracing::warn!(%error, "cannot keep where the servers are");
            }
            self.kept = wanted;
        }
        given_up
    }

    pub(crate) async fn farewell(mut self, patience: Duration) {
        self.ways.values_mut().for_each(|way| way.sender = None);
        let mut drained: Vec<_> = self.ways.values_mut().map(|way| Box::pin(way.stream.drained(patience))).collect();
        poll_fn(|cx| {
            drained.retain_mut(|drained| drained.as_mut().poll(cx).is_pending());
            if drained.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    fn add_unknown(&mut self, endpoints: &[String]) {
        for endpoint in endpoints {
            let known = |way: &Way| way.address.read().is_ok_and(|address| address == *endpoint);
            if !self.ways.values().any(known) {
                self.add(ServerAddress::Fixed(endpoint.clone()), false);
            }
        }
    }

    fn add(&mut self, address: ServerAddress, seed: bool) {
        let stream = Stream::new(Dialer { address: address.clone(), ..self.dialer.clone() });
        let way = Way {
            address,
            seed,
            stream,
            sender: None,
            server: None,
            answered: false,
            spare: false,
            named: Vec::new(),
            link: Link::Unused,
        };
        self.ways.insert(Server(self.next), way);
        self.next += 1;
    }

    fn use_spares(&mut self, server: Option<i64>) {
        let same = self.ways.values_mut().filter(|way| way.spare && way.server == server);
        same.for_each(|way| way.spare = false);
    }
}

impl Way {
    fn name(&self) -> String {
        self.address.read().unwrap_or_else(|error| error.to_string())
    }
}
