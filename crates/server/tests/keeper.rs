//! Whom the shard loop blames for a batch the store says cannot be, and what of a batch still happens.

use std::collections::BTreeMap;
use std::sync::Arc;

use duly_server::shard::keeper::{Keeper, Trouble};
use engine::input::Triggering;
use engine::{Caller, Change, Command, Compiled, Effect, Input, Loaded, LoadedJob, Message, MessageId, Shard};
use model::{
    Actor, AgentId, AgentKind, AgentRecord, Batch, ContentId, JobId, JobMode, PoolRef, ResourceKind, ResourceName,
    Rule, Span, TenantId, Term, Timestamp, VersionId, When,
};
use store::{CommitError, Standing};

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

/// An order waited for its commit; meanwhile its agent came back from a restart, so that another attempt was made. The
/// answer to the commit was lost and the shard had to be loaded again: both orders were sent, and both ran.
#[test]
fn an_order_that_was_overtaken_within_its_batch_is_not_sent_whatever_becomes_of_the_commit() {
    let mut keeper = Keeper::new(shard(), STANDING);
    let agent = agent();
    let back = |up_since| Input::AgentUp { agent: Arc::clone(&agent), held: Vec::new(), up_since };
    let asked = Triggering { job: JobId(1), params: None, on: None, planned: None, idempotency_key: None, adopt: None };
    let command = Command::Trigger(Box::new(asked));
    keeper.tell(T0, back(Timestamp::MIN)).unwrap();
    keeper.tell(T0, Input::Command { caller: Caller(1), by: Actor("ann".into()), command }).unwrap();
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
