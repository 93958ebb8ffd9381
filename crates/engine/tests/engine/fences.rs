//! Fences grow from run to run of a job, in the order the runs are sent, however they were numbered.

use std::collections::BTreeMap;
use std::sync::Arc;

use duly_engine::input::Triggering;
use duly_engine::{Caller, Command, Compiled, Decisions, Effect, Input, Loaded, LoadedJob, Order, Shard};
use model::{
    Actor, AgentId, AgentKind, AgentRecord, ContentId, JobId, JobMode, Outcome, Overlap, PoolRef, Report, ReportKind,
    Rule, ShardId, Span, TenantId, Term, Timestamp, Verdict, VersionId, When,
};

const T0: Timestamp = Timestamp::from_secs(1_767_571_200);

/// A job that is due every two seconds, and an agent that is there.
fn shard(overlap: Overlap) -> Shard {
    let mut rule = Rule { overlap, ..Rule::default() };
    rule.trigger.when = When::Rate { every: Span::secs(2) };
    let job = LoadedJob {
        id: JobId(1),
        tenant: TenantId::DEFAULT,
        version: VersionId(1),
        rule: Compiled::new(rule).unwrap(),
        rule_content: ContentId(1),
        task: ContentId(1),
        source: ContentId(1),
        mode: JobMode::Enabled,
        since: T0,
        fired: 0,
        alias: 0,
    };
    let (ids, jobs) = (100_000..200_000, vec![job]);
    let mut shard =
        Shard::load(Loaded { shard: ShardId(0), term: Term(1), horizon: T0, ids, jobs, ..Loaded::default() }, T0);
    let agent = AgentRecord {
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
    };
    orders(&mut shard, T0, Input::AgentUp { agent: Arc::new(agent), held: Vec::new(), up_since: Timestamp::MIN });
    shard
}

fn orders(shard: &mut Shard, at: Timestamp, input: Input) -> Vec<Order> {
    let mut out = Decisions::default();
    shard.step(at, input, &mut out);
    let sent = out.effects.into_iter().filter_map(|effect| match effect {
        Effect::Order(order) => Some(order),
        _ => None,
    });
    sent.collect()
}

/// A run by hand between the planning of one and its time, then that one: which was numbered first runs last.
fn sent(overlap: Overlap) -> [Order; 2] {
    let mut shard = shard(overlap);
    let planning = T0 + Span::secs(1);
    assert!(orders(&mut shard, planning, Input::Tick).is_empty(), "its time has not come");
    let asked = Triggering { job: JobId(1), params: None, on: None, planned: None, idempotency_key: None, adopt: None };
    let command = Command::Trigger(Box::new(asked));
    let by_hand = Input::Command { caller: Caller(1), by: Actor("ann".into()), command };
    let first = orders(&mut shard, planning, by_hand).remove(0);
    let outcome = Outcome::of(Verdict::Succeeded, "", planning);
    let report = Report { attempt: first.attempt, seq: 2, kind: ReportKind::Ended(Box::new(outcome)) };
    orders(&mut shard, planning, Input::Report { agent: AgentId(1), report });
    let mut due = Vec::new();
    for half in 2..6 {
        due.extend(orders(&mut shard, T0 + Span::millis(half * 500), Input::Tick));
    }
    [first, due.remove(0)]
}

#[test]
fn whoever_is_sent_later_has_the_larger_fence() {
    let [by_hand, planned] = sent(Overlap::default());
    assert!(planned.attempt < by_hand.attempt, "it was numbered first");
    assert!(planned.fence > by_hand.fence, "{} after {}", planned.fence, by_hand.fence);
    assert_eq!(by_hand.fence, by_hand.attempt.0, "usually it is the attempt's own number");
}

#[test]
fn runs_side_by_side_keep_their_own() {
    let [by_hand, planned] = sent(Overlap::Allow { max: None });
    assert_eq!([by_hand.fence, planned.fence], [by_hand.attempt.0, planned.attempt.0]);
}
