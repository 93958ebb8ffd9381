//! Whom the shard loop blames for a batch the store says cannot be, what of a batch still happens, and what it does while
//! nobody knows what became of one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duly_server::shard::keeper::{Keeper, Trouble};
use duly_server::shard::revive;
use engine::input::{JobDraft, Triggering};
use engine::{Caller, Change, Command, Compiled, Effect, Input, Loaded, LoadedJob, Message, MessageId, Shard};
use model::{
    Actor, AgentId, AgentKind, AgentRecord, Batch, ContentId, JobId, JobMode, PoolRef, ResourceKind, ResourceName,
    Rule, ShardId, Span, TenantId, Term, Timestamp, VersionId, When,
};
use store::memory::{Fault, MemoryStore};
use store::read::InstanceFilter;
use store::{CommitError, Reads, Standing, Store};

const SHARD: ShardId = ShardId(0);
const T0: Timestamp = Timestamp::from_secs(1_767_571_200);

/// Jobs 1, 2 and 3, each due every second.
fn shard() -> Shard {
    let mut rule = Rule::default();
    rule.trigger.when = When::Rate { every: Span::SECOND };
    let rule = Compiled::new(rule).unwrap();
    let job = |id: i64| LoadedJob {
        id: JobId(id),
        tenant: TenantId::DEFAULT,
        version: VersionId(id),
        rule: rule.clone(),
        rule_content: ContentId(1),
        task: ContentId(1),
        source: ContentId(1),
        mode: JobMode::Enabled,
        since: T0,
        fired: 0,
        alias: 0,
    };
    let jobs = (1..=3).map(job).collect();
    Shard::load(Loaded { term: Term(1), horizon: T0, ids: 1_000..1_000_000, jobs, ..Loaded::default() }, T0)
}

const STANDING: Standing = Standing { term: Term(1), batch: Batch(0), horizon: T0, next_id: 1_000 };

/// What the keeper puts away after the commit of a tick was refused for its first change about this job.
fn put_away(culprit: JobId) -> Vec<Change> {
    let mut keeper = Keeper::new(shard(), STANDING);
    keeper.tell(T0, Input::Tick).unwrap();
    let commit = keeper.take_commit().expect("a tick plans ahead");
    let index = commit.changes.iter().position(|change| change.job() == Some(culprit)).expect("all are due");
    let trouble = keeper.failed(CommitError::Impossible { index, what: "made to be".into() });
    assert_eq!(trouble, Trouble::Reload);
    keeper.reloaded(shard(), STANDING);
    assert_eq!(keeper.tell_next_again(T0), Ok(true));
    keeper.take_commit().expect("what is put away is written").changes.clone()
}

#[test]
fn the_job_of_the_change_that_cannot_be_is_held_and_no_other() {
    for culprit in (1..=3).map(JobId) {
        let changes = put_away(culprit);
        assert!(
            matches!(&changes[..], [Change::Quarantined { job, error, .. }] if *job == Some(culprit) && error == "made to be"),
            "for {culprit}: {changes:?}"
        );
    }
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
        joined_at: T0,
        seen_at: None,
        version: String::new(),
        serves: model::Serves::Own,
        runs: model::TaskSorts::ALL,
        kind: AgentKind::Agent,
    })
}

fn command(caller: u64, command: Command) -> Input {
    Input::Command { caller: Caller(caller), by: Actor("ann".into()), command }
}

/// This caller runs job 1 by hand.
fn trigger(caller: u64) -> Input {
    let asked = Triggering { job: JobId(1), params: None, on: None, planned: None, idempotency_key: None, adopt: None };
    command(caller, Command::Trigger(Box::new(asked)))
}

/// An order waited for its commit; meanwhile its agent came back from a restart, so that another attempt was made. The
/// answer to the commit was lost and the shard had to be loaded again: both orders were sent, and both ran.
#[test]
fn an_order_that_was_overtaken_within_its_batch_is_not_sent_whatever_becomes_of_the_commit() {
    let mut keeper = Keeper::new(shard(), STANDING);
    let agent = agent();
    let back = |up_since| Input::AgentUp { agent: Arc::clone(&agent), held: Vec::new(), up_since };
    keeper.tell(T0, back(Timestamp::MIN)).unwrap();
    keeper.tell(T0, trigger(1)).unwrap();
    keeper.tell(T0, back(Timestamp::MAX)).unwrap();
    let commit = keeper.take_commit().expect("a run by hand is written");
    assert!(
        commit.changes.iter().any(|change| matches!(change, Change::Ended(_))),
        "it was lost: {:?}",
        commit.changes
    );
    let sent: Vec<_> = keeper.effects_under_way().iter().filter(|e| matches!(e, Effect::Order(_))).collect();
    assert!(sent.is_empty(), "{sent:?}");
}

/// What another shard said was heard once more while the commit that takes it was under way. The answer to that was lost and
/// the shard loaded again: told again then, it could not be taken twice, and the job it was about was held for it.
#[test]
fn what_another_shard_said_is_not_told_again_once_it_is_taken() {
    let mut keeper = Keeper::new(shard(), STANDING);
    let said = Input::Heard { id: MessageId(31), message: Message::Nothing };
    let name = ResourceName { tenant: TenantId::DEFAULT, kind: ResourceKind::Counted, name: "printers".into() };
    let put = Command::PutResource { name, units: 3 };
    keeper.tell(T0, said.clone()).unwrap();
    keeper.tell(T0, Input::Command { caller: Caller(1), by: Actor("ann".into()), command: put }).unwrap();
    let commit = keeper.take_commit().expect("both are written");
    keeper.tell(T0, said).unwrap();
    assert_eq!(keeper.failed(CommitError::Unknown("no answer".into())), Trouble::AskStanding);
    assert_eq!(keeper.stands_at(Standing { batch: commit.batch, ..STANDING }), None, "it is done");
    let (_, _, trouble) = keeper.done_after_all();
    assert_eq!(trouble, Some(Trouble::Reload), "who holds what of the printers is seen by loading");
    keeper.reloaded(shard(), Standing { term: Term(2), batch: commit.batch, ..STANDING });
    assert_eq!(keeper.tell_next_again(T0), Ok(false), "nothing is left to tell");
}

#[test]
fn an_agent_that_spoke_before_a_load_is_not_there_until_it_speaks_again() {
    let mut keeper = Keeper::new(shard(), STANDING);
    keeper.tell(T0, Input::Tick).unwrap();
    let commit = keeper.take_commit().expect("a tick plans ahead");
    assert_eq!(keeper.failed(CommitError::Impossible { index: 0, what: "made to be".into() }), Trouble::Reload);
    keeper.tell(T0, Input::AgentUp { agent: agent(), held: Vec::new(), up_since: Timestamp::MIN }).unwrap();
    keeper.reloaded(shard(), Standing { term: Term(2), batch: commit.batch, ..STANDING });
    while keeper.tell_next_again(T0) == Ok(true) {
        keeper.take_commit();
        keeper.committed(Vec::new(), T0);
    }
    assert_eq!(keeper.shard().census().agents_online, 0);
}

/// Jobs 1 and 2 were written ahead and fall due while a commit about job 3 is under way: their orders need not wait for it.
fn due_behind_a_commit() -> Keeper {
    let mut keeper = Keeper::new(shard(), STANDING);
    let up = Input::AgentUp { agent: agent(), held: Vec::new(), up_since: Timestamp::MIN };
    keeper.tell(T0, up).unwrap();
    keeper.tell(T0, Input::Tick).unwrap();
    keeper.take_commit().expect("a tick plans ahead");
    keeper.committed(Vec::new(), T0);
    let pause = Command::SetMode { job: JobId(3), mode: JobMode::Paused };
    keeper.tell(T0, command(1, pause)).unwrap();
    keeper.take_commit().expect("a pause is written");
    keeper.tell(DUE, Input::Tick).unwrap();
    keeper
}

const DUE: Timestamp = Timestamp(T0.0 + Span::SECOND.0);
const IN_DOUBT: CommitError = CommitError::Unknown(String::new());

fn ordered(effects: &[Effect]) -> Vec<JobId> {
    let orders =
        effects.iter().filter_map(|effect| if let Effect::Order(order) = effect { Some(order.job) } else { None });
    orders.collect()
}

fn answered(effects: &[Effect]) -> Vec<Caller> {
    let replies = effects
        .iter()
        .filter_map(|effect| if let Effect::Reply { caller, .. } = effect { Some(*caller) } else { None });
    replies.collect()
}

#[test]
fn nothing_is_released_while_nobody_knows_whether_a_commit_is_on_disk() {
    let free = [JobId(1), JobId(2)];
    assert_eq!(ordered(&due_behind_a_commit().take_effects()), free, "if all goes well");

    let mut keeper = due_behind_a_commit();
    assert_eq!(keeper.failed(IN_DOUBT), Trouble::AskStanding);
    assert_eq!(keeper.take_effects(), []);
    let before = Standing { batch: Batch(1), ..STANDING };
    assert!(matches!(keeper.stands_at(before), Some(Trouble::SendAgain(commit)) if commit.batch == Batch(2)));
    assert_eq!(ordered(&keeper.take_effects()), free, "it is not on disk, and will be sent again: that is known");
}

#[test]
fn nothing_is_decided_while_nobody_knows_whether_a_commit_is_on_disk() {
    let mut keeper = due_behind_a_commit();
    keeper.take_effects();
    keeper.failed(IN_DOUBT);
    let (due_again, open) = (DUE + Span::SECOND, keeper.shard().census());
    keeper.tell(due_again, trigger(2)).unwrap();
    keeper.tell(due_again, Input::Tick).unwrap();
    keeper.tell(due_again, trigger(3)).unwrap();
    assert_eq!(keeper.tell_next_again(due_again), Ok(false));
    assert_eq!(keeper.shard().census(), open, "it was told nothing");
    assert!(!keeper.takes_inputs() && !keeper.is_due(due_again) && keeper.next_silence().is_none());
    assert_eq!(keeper.callers(), [1, 2, 3].map(Caller), "all of them still wait");

    assert_eq!(keeper.stands_at(Standing { batch: Batch(2), ..STANDING }), None);
    let (_, effects, trouble) = keeper.done_after_all();
    assert_eq!((answered(&effects), trouble), (vec![Caller(1)], None));
    // Whoever comes now is behind those who came before.
    keeper.tell(due_again, trigger(4)).unwrap();
    assert_eq!(keeper.tell_next_again(due_again), Ok(true));
    assert!(keeper.takes_inputs());
    keeper.take_commit().expect("three runs by hand");
    assert_eq!(answered(keeper.effects_under_way()), [2, 3, 4].map(Caller));
}

#[test]
fn what_was_held_back_is_told_again_if_the_shard_must_be_loaded() {
    let mut keeper = due_behind_a_commit();
    keeper.failed(IN_DOUBT);
    keeper.tell(DUE, trigger(2)).unwrap();
    keeper.tell(DUE, Input::AgentUp { agent: agent(), held: Vec::new(), up_since: Timestamp::MIN }).unwrap();
    assert_eq!(keeper.stands_at(Standing { batch: Batch(0), ..STANDING }), Some(Trouble::Reload));
    keeper.reloaded(shard(), Standing { term: Term(2), ..STANDING });
    assert_eq!(told_again(&mut keeper), [1, 2].map(Caller));
    assert_eq!(keeper.shard().census().agents_online, 0, "it answers when it is greeted");
}

/// Loads the shard from the store, under a new term.
fn load(store: &mut MemoryStore, now: Timestamp) -> (Shard, Standing) {
    let ownership = store.take_over(SHARD).unwrap();
    let (stored, ids) = (store.load(SHARD).unwrap(), store.take_ids(Some(SHARD), engine::FIRST_BLOCK).unwrap());
    (revive(ownership, stored, ids, SHARD, store, now), ownership.standing)
}

/// A job that is due every second, as somebody applies it.
fn draft(store: &mut MemoryStore) -> JobDraft {
    let mut rule = Rule::default();
    rule.trigger.when = When::Rate { every: Span::SECOND };
    let contents = store.intern(&[wire::rule::encode(&rule), b"task".into(), b"source".into()]).unwrap();
    JobDraft {
        id: None,
        tenant: TenantId::DEFAULT,
        name: "close".into(),
        folder: String::new(),
        labels: BTreeMap::new(),
        rule: Compiled::new(rule).unwrap(),
        rule_content: contents[0],
        task: contents[1],
        source: contents[2],
        mode: JobMode::Enabled,
        alias: 0,
    }
}

fn write_all(keeper: &mut Keeper, store: &mut MemoryStore, now: Timestamp) {
    while let Some(commit) = keeper.take_commit() {
        let (_, _, trouble) = keeper.committed(store.commit(&commit).unwrap(), now);
        assert_eq!(trouble, None);
    }
}

/// The planned times that have an entry, in order.
fn entries(store: &MemoryStore) -> Vec<Timestamp> {
    let by = Instant::now() + Duration::from_secs(30);
    let found = store.instances(&InstanceFilter { limit: 1_000, ..InstanceFilter::default() }, by).unwrap();
    let mut planned: Vec<Timestamp> = found.iter().map(|instance| instance.planned).collect();
    planned.sort();
    planned
}

/// The database fell back to a replica that had not followed: commits that were answered are gone, and so is the one under
/// way.
#[test]
fn a_store_that_went_back_is_loaded_and_what_it_lost_is_decided_again() {
    let mut store = MemoryStore::new();
    store.remember(8);
    let (shard, standing) = load(&mut store, T0);
    let mut keeper = Keeper::new(shard, standing);
    let draft = Box::new(draft(&mut store));
    keeper.tell(T0, command(1, Command::ApplyJob(draft))).unwrap();
    write_all(&mut keeper, &mut store, T0);
    for second in 0..4 {
        let now = T0 + Span::secs(second);
        keeper.tell(now, Input::Tick).unwrap();
        write_all(&mut keeper, &mut store, now);
    }
    let before = entries(&store);

    let now = T0 + Span::secs(4);
    let heard = Input::Heard { id: MessageId(31), message: Message::Nothing };
    keeper.tell(now, Input::Tick).unwrap();
    keeper.tell(now, command(2, Command::PutAgent { agent: Box::new((*agent()).clone()) })).unwrap();
    keeper.tell(now, heard).unwrap();
    let commit = keeper.take_commit().expect("there is something to write");
    store.plan([Some(Fault::GoBack { batches: 2 })]);
    assert_eq!(keeper.failed(store.commit(&commit).unwrap_err()), Trouble::AskStanding);
    assert!(entries(&store).len() < before.len(), "it lost some: {before:?}");
    assert_eq!(keeper.stands_at(store.standing(SHARD).unwrap()), Some(Trouble::Reload));
    assert_eq!(keeper.take_effects(), [], "nothing of a future that is gone");

    let (shard, standing) = load(&mut store, now);
    assert!(standing.batch.0 < commit.batch.0 - 1);
    keeper.reloaded(shard, standing);
    assert_eq!(keeper.tell_next_again(now), Ok(true), "whoever was not answered is told again");
    write_all(&mut keeper, &mut store, now);
    assert_eq!(keeper.tell_next_again(now), Ok(false), "what other shards said is read from the store");
    keeper.tell(now, Input::Tick).unwrap();
    write_all(&mut keeper, &mut store, now);
    let after = entries(&store);
    assert_eq!(after[..before.len()], before, "each planned time has its entry, once");
    assert_eq!(store.agents(Instant::now() + Duration::from_secs(30)).unwrap().len(), 1);
}

/// Who is answered when everything is told again, each in a commit of its own.
fn told_again(keeper: &mut Keeper) -> Vec<Caller> {
    let mut all = Vec::new();
    while keeper.tell_next_again(DUE) == Ok(true) {
        all.extend(answered(&keeper.take_effects()));
        if keeper.take_commit().is_some() {
            let (_, effects, trouble) = keeper.committed(Vec::new(), DUE);
            assert_eq!(trouble, None);
            all.extend(answered(&effects));
        }
    }
    all
}
