//! Agents and limits that another shard wrote: taken in as they come, however old the list is.

use std::collections::BTreeMap;
use std::sync::Arc;

use duly_engine::input::Roster;
use duly_engine::{Change, Command, Compiled, Decisions, Effect, Input, Loaded, LoadedJob, Shard};
use model::{
    Actor, AgentId, AgentKind, AgentRecord, ContentId, JobId, JobMode, PoolRef, Rule, ShardId, TenantId, Term,
    Timestamp, VersionId,
};

const T0: Timestamp = Timestamp::from_secs(1_767_571_200);

fn agent(id: i64) -> AgentRecord {
    AgentRecord {
        id: AgentId(id),
        tenant: TenantId::DEFAULT,
        name: format!("box-{id}"),
        pools: vec![PoolRef::DEFAULT.to_string()],
        labels: BTreeMap::new(),
        slots: 4,
        drained: false,
        joined_at: T0,
        seen_at: None,
        version: String::new(),
        serves: model::Serves::Own,
        runs: model::TaskSorts::ALL,
        kind: AgentKind::Agent,
    }
}

/// One job that is started by hand, in a shard that is not the first.
fn shard(agents: Vec<AgentRecord>) -> Shard {
    let job = LoadedJob {
        id: JobId(1),
        tenant: TenantId::DEFAULT,
        version: VersionId(1),
        rule: Compiled::new(Rule::default()).unwrap(),
        rule_content: ContentId(1),
        task: ContentId(1),
        source: ContentId(1),
        mode: JobMode::Enabled,
        since: T0,
        fired: 0,
        alias: 0,
    };
    let jobs = vec![job];
    let loaded =
        Loaded { shard: ShardId(5), term: Term(1), horizon: T0, ids: 100..100_000, jobs, agents, ..Loaded::default() };
    Shard::load(loaded, T0)
}

fn told(shard: &mut Shard, input: Input) -> Decisions {
    let mut out = Decisions::default();
    shard.step(T0, input, &mut out);
    out
}

fn up(id: i64) -> Input {
    Input::AgentUp { agent: Arc::new(agent(id)), held: Vec::new(), up_since: Timestamp::MIN }
}

fn roster(agents: Vec<AgentRecord>) -> Input {
    Input::Roster(Arc::new(Roster { agents, ..Roster::default() }))
}

/// Whom a run by hand goes to.
fn goes_to(shard: &mut Shard) -> Option<i64> {
    let asked = duly_engine::input::Triggering {
        job: JobId(1),
        params: None,
        on: None,
        planned: None,
        idempotency_key: None,
        adopt: None,
    };
    let command = Command::Trigger(Box::new(asked));
    let out = told(shard, Input::Command { caller: duly_engine::Caller(1), by: Actor("ann".into()), command });
    out.effects.iter().find_map(|effect| match effect {
        Effect::Order(order) => Some(order.agent.0),
        _ => None,
    })
}

#[test]
fn one_that_came_after_the_list_was_read_stays() {
    let mut shard = shard(vec![agent(1)]);
    told(&mut shard, up(2));
    told(&mut shard, roster(vec![agent(1)]));
    assert_eq!(goes_to(&mut shard), Some(2));
    told(&mut shard, Input::AgentGone { agent: AgentId(2) });
    told(&mut shard, roster(vec![agent(1)]));
    assert_eq!(goes_to(&mut shard), None, "it was removed, and nobody else is there");
}

#[test]
fn a_drained_agent_gets_nothing_more_and_what_it_said_of_itself_stays() {
    let mut shard = shard(vec![agent(1)]);
    told(
        &mut shard,
        Input::AgentUp {
            agent: Arc::new(AgentRecord { slots: 1, ..agent(1) }),
            held: Vec::new(),
            up_since: Timestamp::MIN,
        },
    );
    told(&mut shard, roster(vec![AgentRecord { drained: true, ..agent(1) }]));
    assert_eq!(goes_to(&mut shard), None);
    let out = told(&mut shard, roster(vec![agent(1)]));
    assert!(out.effects.iter().any(|effect| matches!(effect, Effect::Order(_))), "what waited goes at once");
    assert_eq!(goes_to(&mut shard), None, "it has one slot, whatever was written when it joined");
}

#[test]
fn only_the_first_shard_writes_down_who_came() {
    let out = told(&mut shard(vec![agent(1)]), up(1));
    assert!(!out.changes.iter().any(|change| matches!(change, Change::Note(_))), "{:?}", out.changes);
}
