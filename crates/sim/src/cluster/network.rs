//! Who can reach whom, each direction by itself, and the streams between agents and servers. What was handed to the
//! network before a cut is not lost: it arrives when the cut is over, unless its stream is given up.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cluster::Stretch;
use model::{Span, Timestamp, VersionId};
use server::links::Word;
use tokio::sync::mpsc::UnboundedReceiver;
use wire::link::{Down, Up, down};

use crate::die::Die;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Store,
    Server(usize),
    Agent(usize),
}

#[derive(Default)]
pub(super) struct Cuts(BTreeMap<(Place, Place), Timestamp>);

impl Cuts {
    pub(super) fn cut(&mut self, from: Place, to: Place, until: Timestamp) {
        let kept = self.0.entry((from, to)).or_insert(until);
        *kept = until.max(*kept);
    }

    /// Nothing passes before; long ago if nothing is cut.
    pub(super) fn until(&self, from: Place, to: Place) -> Timestamp {
        self.0.get(&(from, to)).copied().unwrap_or(Timestamp::MIN)
    }

    pub(super) fn is_open(&self, a: Place, b: Place, now: Timestamp) -> bool {
        self.until(a, b) <= now && self.until(b, a) <= now
    }

    pub(super) fn heal(&mut self) {
        self.0.clear();
    }
}

/// One stream that an agent dialled, until both ends have let it go.
pub(super) struct Stream {
    pub server: usize,
    pub agent: usize,
    /// Which start of the server it leads to.
    pub life: u64,
    ups: VecDeque<(Timestamp, Option<Up>)>,
    downs: VecDeque<(Timestamp, Option<Down>)>,
    pub agent_end: bool,
    pub server_end: ServerEnd,
    /// When the two machines last reached each other.
    pub contact: Timestamp,
}

pub(super) enum ServerEnd {
    /// Nothing has come yet.
    Fresh,
    Open {
        serial: u64,
        /// Of its server's tenure, when it began.
        stretch: Stretch,
        words: UnboundedReceiver<Word>,
        /// Versions whose task it has carried.
        told: BTreeSet<VersionId>,
        uptime: server::links::Uptime,
        heard: Timestamp,
    },
    Closed,
}

impl Stream {
    pub(super) fn dial(agent: usize, server: usize, life: u64, now: Timestamp) -> Stream {
        let (ups, downs) = Default::default();
        Stream { server, agent, life, ups, downs, agent_end: true, server_end: ServerEnd::Fresh, contact: now }
    }

    pub(super) fn send_up(&mut self, now: Timestamp, up: Option<Up>, die: &mut Die) {
        let at = arrival(self.ups.back().map(|(at, _)| *at), now, die);
        self.ups.push_back((at, up));
    }

    pub(super) fn send_down(&mut self, now: Timestamp, body: down::Body, die: &mut Die) {
        let at = arrival(self.downs.back().map(|(at, _)| *at), now, die);
        self.downs.push_back((at, Some(Down { body: Some(body) })));
    }

    /// The server's end lets go. Its machine says so, unless it died too.
    pub(super) fn close_server_end(&mut self, now: Timestamp, said: bool, die: &mut Die) {
        if !matches!(self.server_end, ServerEnd::Closed) {
            self.server_end = ServerEnd::Closed;
            if said {
                let at = arrival(self.downs.back().map(|(at, _)| *at), now, die);
                self.downs.push_back((at, None));
            }
        }
    }

    pub(super) fn close_agent_end(&mut self, now: Timestamp, die: &mut Die) {
        if std::mem::take(&mut self.agent_end) {
            self.send_up(now, None, die);
        }
    }

    pub(super) fn is_over(&self) -> bool {
        !self.agent_end && matches!(self.server_end, ServerEnd::Closed)
    }

    /// When the next message to the server arrives, if nothing holds it up.
    pub(super) fn next_up(&self, cuts: &Cuts) -> Option<Timestamp> {
        let (at, _) = self.ups.front().filter(|_| !matches!(self.server_end, ServerEnd::Closed))?;
        Some((*at).max(cuts.until(Place::Agent(self.agent), Place::Server(self.server))))
    }

    pub(super) fn next_down(&self, cuts: &Cuts) -> Option<Timestamp> {
        let (at, _) = self.downs.front().filter(|_| self.agent_end)?;
        Some((*at).max(cuts.until(Place::Server(self.server), Place::Agent(self.agent))))
    }

    pub(super) fn take_up(&mut self) -> Option<Up> {
        self.ups.pop_front().and_then(|(_, up)| up)
    }

    pub(super) fn take_down(&mut self) -> Option<Down> {
        self.downs.pop_front().and_then(|(_, down)| down)
    }
}

/// After whatever was sent before it, and a little later than it was sent.
pub(super) fn arrival(before: Option<Timestamp>, now: Timestamp, die: &mut Die) -> Timestamp {
    let delay = if die.one_in(50) { die.between(1_000, 300_000) } else { die.between(50, 3_000) };
    (now + Span(delay)).max(before.unwrap_or(Timestamp::MIN))
}
