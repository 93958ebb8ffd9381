//! Which agents are connected, and the way to each. Knows nothing of what is said.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{AgentId, Load, ShardId, Term, Timestamp, VersionId};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::shard::{Outlets, Parcel};

/// What the server tells one agent's stream to send.
#[derive(Debug)]
pub enum Word {
    Greet {
        shard: ShardId,
        term: Term,
    },
    Parcel(Parcel),
    /// Orders of these versions will follow: their tasks can go ahead.
    Prepare(Vec<VersionId>),
    /// Another stream of the same agent took over, or the agent was removed.
    Close {
        reason: &'static str,
    },
}

#[derive(Clone, Default)]
pub struct Switchboard {
    lines: Arc<Mutex<BTreeMap<AgentId, Line>>>,
    terms: Arc<Mutex<BTreeMap<ShardId, Term>>>,
    /// When agents that are gone were last heard, while this server remembers.
    heard: Arc<Mutex<BTreeMap<AgentId, Timestamp>>>,
}

struct Line {
    /// Tells one stream of an agent from the next.
    serial: u64,
    words: mpsc::UnboundedSender<Word>,
    since: Timestamp,
    load: Load,
    beat_at: Option<Timestamp>,
}

/// What is known of a connected agent beyond its record.
#[derive(Clone, Copy, Debug)]
pub struct Presence {
    pub since: Timestamp,
    pub load: Load,
    pub beat_at: Option<Timestamp>,
}

impl Switchboard {
    pub fn set_term(&self, shard: ShardId, term: Term) {
        self.terms.lock().insert(shard, term);
    }

    pub fn terms(&self) -> Vec<(ShardId, Term)> {
        self.terms.lock().iter().map(|(shard, term)| (*shard, *term)).collect()
    }

    /// The newest stream of an agent is the one that counts; an earlier one is closed.
    pub fn connect(&self, agent: AgentId, now: Timestamp) -> (u64, mpsc::UnboundedReceiver<Word>) {
        let (words, received) = mpsc::unbounded_channel();
        let mut lines = self.lines.lock();
        let serial = lines.get(&agent).map_or(1, |line| line.serial + 1);
        let line = Line { serial, words, since: now, load: Load::default(), beat_at: None };
        if let Some(earlier) = lines.insert(agent, line) {
            let _ = earlier.words.send(Word::Close { reason: "a newer stream of this agent took over" });
        }
        (serial, received)
    }

    /// True if this was the stream that counted.
    pub fn disconnect(&self, agent: AgentId, serial: u64) -> bool {
        let mut lines = self.lines.lock();
        let counted = lines.get(&agent).is_some_and(|line| line.serial == serial);
        if counted && let Some(line) = lines.remove(&agent) {
            self.heard.lock().insert(agent, line.beat_at.unwrap_or(line.since));
        }
        counted
    }

    pub fn is_current(&self, agent: AgentId, serial: u64) -> bool {
        self.lines.lock().get(&agent).is_some_and(|line| line.serial == serial)
    }

    pub fn beat(&self, agent: AgentId, load: Load, now: Timestamp) {
        if let Some(line) = self.lines.lock().get_mut(&agent) {
            line.load = load;
            line.beat_at = Some(now);
        }
    }

    pub fn presence(&self, agent: AgentId) -> Option<Presence> {
        let lines = self.lines.lock();
        lines.get(&agent).map(|line| Presence { since: line.since, load: line.load, beat_at: line.beat_at })
    }

    /// When the agent last said anything to this server, connected or not.
    pub fn heard_at(&self, agent: AgentId) -> Option<Timestamp> {
        let living = self.presence(agent).map(|presence| presence.beat_at.unwrap_or(presence.since));
        living.or_else(|| self.heard.lock().get(&agent).copied())
    }

    /// Ends an agent's stream from our side.
    pub fn hang_up(&self, agent: AgentId, reason: &'static str) {
        if let Some(line) = self.lines.lock().get(&agent) {
            let _ = line.words.send(Word::Close { reason });
        }
    }

    pub fn hang_up_all(&self, reason: &'static str) {
        for line in self.lines.lock().values() {
            let _ = line.words.send(Word::Close { reason });
        }
    }
}

impl Outlets for Switchboard {
    fn deliver(&self, agent: AgentId, parcel: Parcel) {
        // Nobody there: the agent is asked about its attempts when it comes back.
        if let Some(line) = self.lines.lock().get(&agent) {
            let _ = line.words.send(Word::Parcel(parcel));
        }
    }

    fn prepare(&self, agent: AgentId, versions: Vec<VersionId>) {
        if let Some(line) = self.lines.lock().get(&agent) {
            let _ = line.words.send(Word::Prepare(versions));
        }
    }

    fn greet_all(&self, shard: ShardId, term: Term) {
        self.set_term(shard, term);
        for line in self.lines.lock().values() {
            let _ = line.words.send(Word::Greet { shard, term });
        }
    }
}
