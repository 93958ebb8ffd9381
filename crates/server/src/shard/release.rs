//! Carries effects out once their commit is on disk: a parcel per agent, an answer per caller.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Ask, Caller, Change, Commit, Effect, Inspected, Order, Refusal, Reply};
use model::{AgentId, AttemptId, ShardId, Span, State, Term, VersionId};
use rustc_hash::FxHashMap;
use tokio::sync::oneshot;

/// Everything one commit has for one agent.
#[derive(Debug, Default, Clone)]
pub struct Parcel {
    pub acks: Vec<(AttemptId, u32)>,
    pub orders: Vec<Order>,
    pub stops: Vec<Stop>,
    pub queries: Vec<AttemptId>,
    /// What an executor holds, to be looked for.
    pub inspect: Vec<Inspected>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    pub attempt: AttemptId,
    pub alias: i32,
    pub by: String,
    pub grace: Span,
}

/// The shard that speaks, and the term it speaks under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    pub shard: ShardId,
    pub term: Term,
}

/// Where parcels go. Losing one is only a delay: the agent is asked again when it is next greeted.
pub trait Outlets: Send + Sync {
    fn deliver(&self, from: Seat, agent: AgentId, parcel: Parcel);
    /// Orders of these versions will go there soon; whatever helps may be done ahead.
    fn prepare(&self, _agent: AgentId, _versions: Vec<VersionId>) {}
    /// The shard is about to hear what an agent holds, over this stream of it: orders may follow. False: a newer stream
    /// took its place, and will say it again; or it was said already, and orders may have followed that it knew nothing
    /// of yet.
    fn open(&self, _shard: ShardId, _agent: AgentId, _serial: u64) -> bool {
        true
    }
    /// Which of these takes it? The answer comes back as an input.
    fn ask(&self, _shard: ShardId, _ask: Ask) {}
    /// That shard, wherever it is, has something to hear. Losing this is only a delay.
    fn wake(&self, _shard: ShardId) {}
    /// A new term begins: every connected agent is greeted with it.
    fn greet_all(&self, seat: Seat);
    /// The shard is no longer run here: nobody is greeted for it any more.
    fn let_go(&self, _shard: ShardId) {}
}

pub type Answers = FxHashMap<Caller, oneshot::Sender<Result<Reply, Refusal>>>;

/// How many more ids the shard wants, if it does.
pub fn release(effects: Vec<Effect>, from: Seat, outlets: &dyn Outlets, answers: &mut Answers) -> Option<i64> {
    let mut parcels: BTreeMap<AgentId, Parcel> = BTreeMap::new();
    let mut wakes: BTreeSet<ShardId> = BTreeSet::new();
    let mut wants_ids = None;
    for effect in effects {
        match effect {
            Effect::Order(order) => parcels.entry(order.agent).or_default().orders.push(order),
            Effect::Stop { agent, attempt, alias, by, grace } => {
                parcels.entry(agent).or_default().stops.push(Stop { attempt, alias, by, grace });
            }
            Effect::Ask(ask) => outlets.ask(from.shard, ask),
            Effect::Inspect { agent, open } => parcels.entry(agent).or_default().inspect.extend(open),
            Effect::Query { agent, attempts } => parcels.entry(agent).or_default().queries.extend(attempts),
            Effect::Acknowledge { agent, attempt, seq } => {
                parcels.entry(agent).or_default().acks.push((attempt, seq));
            }
            Effect::Reply { caller, reply } => {
                // The caller may have given up waiting; what it asked for is done all the same.
                if let Some(answer) = answers.remove(&caller) {
                    let _ = answer.send(reply);
                }
            }
            Effect::Wake { shard } => drop(wakes.insert(shard)),
            Effect::WantIds { count } => wants_ids = Some(count),
        }
    }
    for (agent, parcel) in parcels {
        outlets.deliver(from, agent, parcel);
    }
    wakes.into_iter().for_each(|shard| outlets.wake(shard));
    wants_ids
}

/// What was created ahead names where it will go: there is time to send what it runs.
pub(crate) fn prepare(commit: &Commit, outlets: &dyn Outlets) {
    let mut ahead: BTreeMap<AgentId, Vec<VersionId>> = BTreeMap::new();
    for change in &commit.changes {
        if let Change::Created(created) = change
            && created.state == State::Scheduled
            && let Some(agent) = created.target
        {
            ahead.entry(agent).or_default().push(created.version);
        }
    }
    for (agent, versions) in ahead {
        outlets.prepare(agent, versions);
    }
}
