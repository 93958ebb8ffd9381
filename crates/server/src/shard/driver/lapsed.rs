//! The loop looks at its lease once more, and last, before anything leaves it: whoever stood still after deciding says
//! nothing on behalf of a shard that may be another's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use cluster::{Tenure, Terms};
use engine::input::Triggering;
use engine::{Command, Compiled, Input, Loaded, LoadedJob, Refusal, Reply, Shard};
use model::{
    Actor, AgentId, AgentKind, AgentRecord, AttemptId, ContentId, JobId, JobMode, PoolRef, Rule, ShardId, TenantId,
    Timestamp, VersionId,
};
use parking_lot::Mutex;
use store::Store;
use store::memory::MemoryStore;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::super::keeper::Keeper;
use super::super::lane::Lane;
use super::super::release::{Outlets, Parcel, Seat};
use super::super::{Lent, Progress};
use super::{Channel, Driver, End, Message, Surroundings};
use crate::clock::Clock;
use crate::events::Ring;

/// Everything that left the process.
#[derive(Default)]
struct Recorded(Mutex<Vec<(AgentId, Vec<AttemptId>)>>);

impl Outlets for Recorded {
    fn deliver(&self, _: Seat, agent: AgentId, parcel: Parcel) {
        self.0.lock().push((agent, parcel.orders.iter().map(|order| order.attempt).collect()));
    }

    fn greet_all(&self, _: Seat) {}
}

type Answered = oneshot::Receiver<Result<Reply, Refusal>>;

/// A shard whose job was run by hand: the run is on disk, and the loop has not heard that yet.
struct Stage {
    driver: Driver,
    tenure: Arc<Tenure>,
    left: Arc<Recorded>,
    answered: Answered,
    on_disk: Message,
}

const JOB: JobId = JobId(1);

fn stage() -> Stage {
    let mut store = MemoryStore::new();
    let clock = Clock::new();
    let ownership = store.take_over(ShardId(0)).unwrap();
    let shard = shard(ownership.term, clock.now());
    let tenure = Arc::new(Tenure::new(Instant::now()));
    tenure.renewed(Instant::now(), Instant::now(), &Terms::default());
    let left = Arc::new(Recorded::default());
    let around = Surroundings {
        reads: Arc::new(store.clone()),
        clock,
        outlets: Arc::clone(&left) as _,
        ring: Ring::new(),
        tenure: Some(Arc::clone(&tenure)),
        lent: Lent::default(),
        lending: Default::default(),
        messages_max: 8,
    };
    let (own, received) = crossbeam_channel::bounded(8);
    let heard = received.clone();
    let written = own.clone();
    let channel = Channel { received, own, back: Arc::new(move |w| drop(written.send(Message::Written(w)))) };
    let lane = Lane::start(Box::new(store), 0).unwrap();
    let keeper = Keeper::new(shard, ownership.standing);
    let (stretch, over) = (Some(tenure.stretch()), CancellationToken::new().drop_guard());
    let mut driver = Driver::new(keeper, channel, lane, around, stretch, Arc::new(Progress::default()), over);

    let up = Input::AgentUp { agent: agent(), held: Vec::new(), up_since: Timestamp::MIN };
    driver.take(Message::Tell(up)).unwrap();
    let (answer, answered) = oneshot::channel();
    driver.take(Message::Ask { by: Actor("ann".into()), command: trigger(), answer }).unwrap();
    driver.advance().unwrap();
    let on_disk = heard.recv().unwrap();
    Stage { driver, tenure, left, answered, on_disk }
}

fn shard(term: model::Term, now: Timestamp) -> Shard {
    let job = LoadedJob {
        id: JOB,
        tenant: TenantId::DEFAULT,
        version: VersionId(1),
        rule: Compiled::new(Rule::default()).unwrap(),
        rule_content: ContentId(1),
        task: ContentId(1),
        source: ContentId(1),
        mode: JobMode::Enabled,
        since: now,
        fired: 0,
        alias: 0,
    };
    Shard::load(Loaded { term, horizon: now, ids: 1_000..1_000_000, jobs: vec![job], ..Loaded::default() }, now)
}

fn agent() -> Arc<AgentRecord> {
    Arc::new(AgentRecord {
        id: AgentId(1),
        tenant: TenantId::DEFAULT,
        name: "box".into(),
        pools: vec![PoolRef::DEFAULT.to_string()],
        labels: BTreeMap::new(),
        slots: 8,
        drained: false,
        joined_at: Timestamp::MIN,
        seen_at: None,
        version: String::new(),
        serves: model::Serves::Own,
        runs: model::TaskSorts::ALL,
        kind: AgentKind::Agent,
    })
}

fn trigger() -> Command {
    let asked = Triggering { job: JOB, params: None, on: None, planned: None, idempotency_key: None, adopt: None };
    Command::Trigger(Box::new(asked))
}

#[test]
fn what_is_on_disk_leaves_while_the_lease_holds() {
    let Stage { mut driver, left, mut answered, on_disk, .. } = stage();
    driver.take(on_disk).unwrap();
    let left = left.0.lock();
    assert!(matches!(&left[..], [(AgentId(1), orders)] if orders.len() == 1), "{left:?}");
    assert!(matches!(answered.try_recv(), Ok(Ok(_))));
}

/// It had looked before it took the answer, and stood still then.
#[test]
fn nothing_leaves_once_the_lease_is_over() {
    let Stage { mut driver, tenure, left, mut answered, on_disk } = stage();
    driver.hold_on().expect("it holds until now");
    tenure.end();
    let end = driver.take(on_disk).expect_err("it lets go");
    assert!(matches!(end, End::LetGo(_)), "{end:?}");
    assert_eq!(*left.0.lock(), []);
    assert!(answered.try_recv().is_err(), "nobody is answered either: whoever asked may ask the next owner");
}

/// A renewal that was granted after a gap says nothing about what was begun before it.
#[test]
fn nothing_leaves_that_was_begun_before_a_gap() {
    let Stage { mut driver, tenure, left, on_disk, .. } = stage();
    tenure.end();
    tenure.renewed(Instant::now(), Instant::now(), &Terms::default());
    assert!(driver.take(on_disk).is_err());
    assert_eq!(*left.0.lock(), []);
}
