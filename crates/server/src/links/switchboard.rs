//! Which agents are connected, and the way to each. Knows nothing of what is said.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{AgentId, Load, ShardId, Term, Timestamp, VersionId};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::shard::{Outlets, Parcel, Seat};

/// What the server tells one agent's stream to send.
#[derive(Debug)]
pub enum Word {
    Greet(Seat),
    Parcel(Seat, Parcel),
    /// The shard is no longer run here.
    Released(ShardId),
    /// Where all servers of the cluster are.
    Servers(Vec<String>),
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
    /// Of all streams so far. None has the number of one before it, even if nobody was connected meanwhile: what was said
    /// over that one may not have been heard yet.
    serials: Arc<AtomicU64>,
    terms: Arc<Mutex<BTreeMap<ShardId, Term>>>,
    /// Where agents find all servers of the cluster.
    servers: Arc<Mutex<Vec<String>>>,
    /// When agents that are gone were last heard, while this server remembers.
    heard: Arc<Mutex<BTreeMap<AgentId, Timestamp>>>,
    /// What all streams of an agent end by.
    passes: Arc<Mutex<BTreeMap<AgentId, CancellationToken>>>,
}

struct Line {
    /// Tells one stream of an agent from the next.
    serial: u64,
    words: mpsc::UnboundedSender<Word>,
    /// Shards that have heard what the agent holds; before that, an order sent here would start after it was believed
    /// absent.
    open: BTreeSet<ShardId>,
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
    /// The shards run here, each with its term.
    pub fn seats(&self) -> Vec<Seat> {
        self.terms.lock().iter().map(|(shard, term)| Seat { shard: *shard, term: *term }).collect()
    }

    pub fn holds(&self, seat: Seat) -> bool {
        self.terms.lock().get(&seat.shard) == Some(&seat.term)
    }

    /// Where agents find all servers; those that are connected are told when that changes.
    pub fn name_servers(&self, endpoints: Vec<String>) {
        let mut servers = self.servers.lock();
        if *servers != endpoints {
            servers.clone_from(&endpoints);
            for line in self.lines.lock().values() {
                let _ = line.words.send(Word::Servers(endpoints.clone()));
            }
        }
    }

    pub fn servers(&self) -> Vec<String> {
        self.servers.lock().clone()
    }

    /// The newest stream of an agent is the one that counts; an earlier one is closed.
    pub fn connect(&self, agent: AgentId, now: Timestamp) -> (u64, mpsc::UnboundedReceiver<Word>) {
        let (words, received) = mpsc::unbounded_channel();
        let mut lines = self.lines.lock();
        let serial = self.serials.fetch_add(1, Ordering::Relaxed) + 1;
        let line = Line { serial, words, open: BTreeSet::new(), since: now, load: Load::default(), beat_at: None };
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

    /// Good until the agent is cut off. Whoever takes one must see afterwards that the agent is still known.
    pub fn pass(&self, agent: AgentId) -> CancellationToken {
        self.passes.lock().entry(agent).or_default().clone()
    }

    /// Ends every stream of an agent at once: nothing more goes out, and nothing that came is believed.
    pub fn cut(&self, agent: AgentId) {
        self.lines.lock().remove(&agent);
        if let Some(pass) = self.passes.lock().remove(&agent) {
            pass.cancel();
        }
    }

    pub fn hang_up_all(&self, reason: &'static str) {
        for line in self.lines.lock().values() {
            let _ = line.words.send(Word::Close { reason });
        }
    }
}

impl Outlets for Switchboard {
    fn deliver(&self, from: Seat, agent: AgentId, mut parcel: Parcel) {
        // Nobody there: the agent is asked about its attempts when it comes back.
        if let Some(line) = self.lines.lock().get(&agent) {
            if !line.open.contains(&from.shard) {
                parcel.orders.clear();
            }
            let _ = line.words.send(Word::Parcel(from, parcel));
        }
    }

    fn open(&self, shard: ShardId, agent: AgentId, serial: u64) -> bool {
        let mut lines = self.lines.lock();
        let line = lines.get_mut(&agent).filter(|line| line.serial == serial);
        line.is_some_and(|line| line.open.insert(shard))
    }

    fn prepare(&self, agent: AgentId, versions: Vec<VersionId>) {
        if let Some(line) = self.lines.lock().get(&agent) {
            let _ = line.words.send(Word::Prepare(versions));
        }
    }

    fn greet_all(&self, seat: Seat) {
        self.terms.lock().insert(seat.shard, seat.term);
        for line in self.lines.lock().values_mut() {
            line.open.remove(&seat.shard);
            let _ = line.words.send(Word::Greet(seat));
        }
    }

    fn let_go(&self, shard: ShardId) {
        self.terms.lock().remove(&shard);
        for line in self.lines.lock().values_mut() {
            line.open.remove(&shard);
            let _ = line.words.send(Word::Released(shard));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(words: &mut mpsc::UnboundedReceiver<Word>) -> Vec<usize> {
        let parcels = std::iter::from_fn(|| words.try_recv().ok());
        parcels
            .filter_map(|word| if let Word::Parcel(_, parcel) = word { Some(parcel.orders.len()) } else { None })
            .collect()
    }

    #[test]
    fn orders_wait_until_the_shard_has_heard_what_the_agent_holds() {
        let (board, agent, now) = (Switchboard::default(), AgentId(1), Timestamp(0));
        let (seat, shard) = (Seat { shard: ShardId(3), term: Term(1) }, ShardId(3));
        let parcel = || Parcel { orders: vec![order(agent)], ..Parcel::default() };
        let (first, mut old) = board.connect(agent, now);
        board.deliver(seat, agent, parcel());
        assert!(board.open(shard, agent, first));
        board.deliver(seat, agent, parcel());
        assert_eq!(orders(&mut old), [0, 1]);
        let (second, mut new) = board.connect(agent, now);
        assert!(!board.open(shard, agent, first), "what the earlier stream said counts no more");
        board.deliver(seat, agent, parcel());
        assert!(board.open(shard, agent, second));
        board.deliver(seat, agent, parcel());
        assert_eq!(orders(&mut new), [0, 1]);
        board.deliver(Seat { shard: ShardId(4), ..seat }, agent, parcel());
        assert_eq!(orders(&mut new), [0], "another shard has heard nothing yet");
        assert!(board.disconnect(agent, second));
        let (third, _) = board.connect(agent, now);
        assert!(!board.open(shard, agent, first) && !board.open(shard, agent, second), "the word of a stream before");
        assert!(board.open(shard, agent, third));
    }

    /// A shard is greeted for again when it was loaded again, and an agent that is greeted twice answers twice. What it said
    /// before an order reached it is no word about that order.
    #[test]
    fn a_greeting_is_answered_once_and_orders_wait_for_that() {
        let (board, agent) = (Switchboard::default(), AgentId(1));
        let seat = Seat { shard: ShardId(3), term: Term(1) };
        let parcel = || Parcel { orders: vec![order(agent)], ..Parcel::default() };
        let (serial, mut words) = board.connect(agent, Timestamp(0));
        board.greet_all(seat);
        assert!(board.open(seat.shard, agent, serial));
        assert!(!board.open(seat.shard, agent, serial), "orders may be under way since the first answer");
        board.deliver(seat, agent, parcel());
        board.greet_all(Seat { term: Term(2), ..seat });
        board.deliver(seat, agent, parcel());
        assert!(board.open(seat.shard, agent, serial));
        board.deliver(seat, agent, parcel());
        assert_eq!(orders(&mut words), [1, 0, 1]);
    }

    #[test]
    fn one_that_is_cut_off_is_sent_nothing_and_heard_no_more() {
        let (board, agent) = (Switchboard::default(), AgentId(1));
        let seat = Seat { shard: ShardId(3), term: Term(1) };
        let (serial, mut words) = board.connect(agent, Timestamp(0));
        let pass = board.pass(agent);
        assert!(board.open(seat.shard, agent, serial));
        board.cut(agent);
        assert!(pass.is_cancelled() && !board.is_current(agent, serial) && !board.disconnect(agent, serial));
        board.deliver(seat, agent, Parcel { orders: vec![order(agent)], ..Parcel::default() });
        assert!(words.try_recv().is_err());
        assert!(!board.pass(agent).is_cancelled(), "one that joins anew has a pass of its own");
    }

    fn order(agent: AgentId) -> engine::Order {
        engine::Order {
            agent,
            shard: ShardId(0),
            term: Term(1),
            attempt: model::AttemptId(1),
            fence: 1,
            attempt_no: 1,
            instance: model::InstanceId(1),
            tenant: model::TenantId::DEFAULT,
            job: model::JobId(1),
            version: VersionId(1),
            params: None,
            planned: Timestamp(0),
            dated: Timestamp(0),
            alias: 0,
            overlap: model::Overlap::default(),
            part: model::Part::WHOLE,
            start_by: Timestamp(0),
            timeout: None,
            stop_grace: model::Span::ZERO,
            leash: None,
            as_written: false,
        }
    }
}
