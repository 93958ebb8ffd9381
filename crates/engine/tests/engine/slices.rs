//! Limits that several shards share: a shard starts no more than it was lent, and says what it has and wants.

use std::collections::BTreeMap;
use std::sync::Arc;

use duly_engine::input::{Subject, Triggering};
use duly_engine::{Caller, Command, Compiled, Decisions, Effect, Input, Loaded, LoadedJob, Reply, Shard};
use model::{
    Actor, AgentId, AgentKind, AgentRecord, AttemptId, Budget, ContentId, InstanceId, JobId, JobMode, Outcome, Overlap,
    PoolRecord, PoolRef, Quotas, Report, ReportKind, Rule, ShardId, Slice, Slices, Span, TenantId, TenantRecord, Term,
    Timestamp, Verdict, VersionId,
};

const T0: Timestamp = Timestamp::from_secs(1_767_571_200);
const OURS: TenantId = TenantId::DEFAULT;

struct World {
    shard: Shard,
    now: Timestamp,
    /// Ordered and not ended, in order.
    running: Vec<AttemptId>,
    made: Vec<InstanceId>,
}

#[derive(Default)]
struct Limits {
    all: Option<u32>,
    pool: Option<u32>,
    quotas: Quotas,
}

impl World {
    /// One shard of so many, with one job that is started by hand, on one agent.
    fn new(shards: i64, slots: u32, limits: Limits) -> World {
        let rule = Rule { overlap: Overlap::Allow { max: None }, ..Rule::default() };
        let job = LoadedJob {
            id: JobId(1),
            tenant: OURS,
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
        let agent = AgentRecord {
            id: AgentId(1),
            tenant: OURS,
            name: "box".into(),
            pools: vec![PoolRef::DEFAULT.to_string()],
            labels: BTreeMap::new(),
            slots,
            drained: false,
            joined_at: T0,
            seen_at: None,
            version: String::new(),
            serves: model::Serves::Own,
            runs: model::TaskSorts::ALL,
            kind: AgentKind::Agent,
        };
        let tenant = TenantRecord { quotas: limits.quotas, ..TenantRecord::new(OURS, "acme", T0, Actor("ann".into())) };
        let loaded = Loaded {
            shard: ShardId(5),
            shards,
            term: Term(3),
            horizon: T0,
            ids: 100..100_000,
            jobs: vec![job],
            agents: vec![agent.clone()],
            pools: vec![PoolRecord {
                tenant: OURS,
                name: PoolRef::DEFAULT.into(),
                limit: limits.pool,
                addresses: Vec::new(),
            }],
            tenants: vec![tenant],
            global_limit: limits.all,
            ..Loaded::default()
        };
        let shard = Shard::load(loaded, T0);
        let mut world = World { shard, now: T0, running: Vec::new(), made: Vec::new() };
        world.tell(Input::AgentUp { agent: Arc::new(agent), held: Vec::new(), up_since: Timestamp::MIN });
        world
    }

    fn tell(&mut self, input: Input) -> Vec<Reply> {
        let mut out = Decisions::default();
        self.shard.step(self.now, input, &mut out);
        self.shard.check_consistency().unwrap();
        let mut replies = Vec::new();
        for effect in out.effects {
            match effect {
                Effect::Order(order) => self.running.push(order.attempt),
                Effect::Reply { reply, .. } => replies.extend(reply),
                _ => {}
            }
        }
        replies
    }

    fn ask(&mut self, command: Command) -> Reply {
        self.tell(Input::Command { caller: Caller(1), by: Actor("ann".into()), command }).remove(0)
    }

    fn trigger(&mut self, times: usize) {
        for _ in 0..times {
            let asked =
                Triggering { job: JobId(1), params: None, on: None, planned: None, idempotency_key: None, adopt: None };
            let Reply::Instance { id, .. } = self.ask(Command::Trigger(Box::new(asked))) else { panic!("not made") };
            self.made.push(id);
        }
    }

    fn lent(&mut self, lender: i64, seq: u64, of: &[(Budget, u32, u32)]) {
        let of = of.iter().map(|(budget, total, units)| Slice { budget: budget.clone(), total: *total, units: *units });
        let (shard, term, lender) = (ShardId(5), Term(3), Term(lender));
        self.tell(Input::Lent(Arc::new(Slices { shard, term, lender, seq, of: of.collect() })));
    }

    fn end_one(&mut self) {
        let attempt = self.running.remove(0);
        let kind = ReportKind::Ended(Box::new(Outcome::of(Verdict::Succeeded, "", self.now)));
        self.tell(Input::Report { agent: AgentId(1), report: Report { attempt, seq: 1, kind } });
    }

    /// What the shard says: of each budget what it uses and wants.
    fn says(&self) -> Vec<(Budget, u32, u32)> {
        let account = self.shard.account(self.now).expect("it shares");
        account.holdings.into_iter().map(|held| (held.budget, held.used, held.wanted)).collect()
    }

    fn why(&mut self) -> String {
        let subject = Subject::Instance(*self.made.last().unwrap());
        let Reply::Why(why) = self.ask(Command::Why { subject }) else { panic!("no why") };
        why.why[0].to_string()
    }
}

fn pool() -> Budget {
    Budget::Pool(OURS, PoolRef::DEFAULT.into())
}

#[test]
fn one_shard_has_all_there_is_and_says_nothing() {
    let mut world = World::new(1, 10, Limits { all: Some(2), ..Limits::default() });
    world.trigger(3);
    assert_eq!(world.running.len(), 2);
    assert_eq!(world.shard.account(T0), None);
}

#[test]
fn a_shard_of_several_starts_what_it_was_lent_and_wants_the_rest() {
    let mut world = World::new(64, 10, Limits { all: Some(4), ..Limits::default() });
    world.trigger(3);
    assert_eq!((world.running.len(), world.says()), (0, vec![(Budget::Installation, 0, 3)]));
    assert!(world.why().contains("this installation may run 4 at once"), "{}", world.why());
    world.lent(1, 1, &[(Budget::Installation, 4, 2)]);
    assert_eq!((world.running.len(), world.says()), (2, vec![(Budget::Installation, 2, 1)]));
    // Less than it runs: what runs goes on, and nothing follows before it has ended.
    world.lent(1, 2, &[(Budget::Installation, 4, 1)]);
    world.end_one();
    assert_eq!((world.running.len(), world.says()), (1, vec![(Budget::Installation, 1, 1)]));
    world.end_one();
    assert_eq!(world.running.len(), 1);
}

#[test]
fn what_comes_late_or_is_meant_for_another_changes_nothing() {
    let mut world = World::new(64, 10, Limits { all: Some(4), ..Limits::default() });
    world.trigger(9);
    world.lent(2, 2, &[(Budget::Installation, 4, 1)]);
    world.lent(2, 1, &[(Budget::Installation, 4, 4)]);
    world.lent(1, 9, &[(Budget::Installation, 4, 4)]);
    let of = vec![Slice { budget: Budget::Installation, total: 4, units: 4 }];
    let before = Slices { shard: ShardId(5), term: Term(2), lender: Term(3), seq: 1, of };
    world.tell(Input::Lent(Arc::new(before)));
    assert_eq!(world.running.len(), 1);
    let account = world.shard.account(T0).unwrap();
    assert_eq!((account.term, account.lender, account.seq), (Term(3), Term(2), 2));
}

#[test]
fn a_limit_it_has_not_read_yet_binds_it_once_it_is_lent() {
    let mut world = World::new(64, 10, Limits::default());
    world.trigger(1);
    assert_eq!((world.running.len(), world.says()), (1, vec![]));
    world.lent(1, 1, &[(Budget::Installation, 1, 0)]);
    world.trigger(1);
    assert_eq!((world.running.len(), world.says()), (1, vec![(Budget::Installation, 1, 1)]));
    assert!(world.why().contains("this installation may run 1 at once"), "{}", world.why());
    world.lent(1, 2, &[]);
    assert_eq!(world.running.len(), 2, "there is no limit any more");
}

#[test]
fn it_wants_one_thing_after_the_other_and_nothing_it_has_no_slot_for() {
    let quotas = Quotas { running: Some(8), ..Quotas::default() };
    let mut world = World::new(64, 3, Limits { all: Some(9), pool: Some(7), quotas });
    world.trigger(5);
    let tenant = Budget::Running(OURS);
    assert_eq!(world.says(), [(pool(), 0, 3), (tenant.clone(), 0, 0), (Budget::Installation, 0, 0)], "three slots");
    world.lent(1, 1, &[(pool(), 7, 2)]);
    assert_eq!(world.says(), [(pool(), 0, 1), (tenant.clone(), 0, 2), (Budget::Installation, 0, 0)]);
    assert!(world.why().contains("acme may run 8 at once"), "{}", world.why());
    world.lent(1, 2, &[(pool(), 7, 2), (tenant.clone(), 8, 2)]);
    assert_eq!(world.says(), [(pool(), 0, 1), (tenant.clone(), 0, 0), (Budget::Installation, 0, 2)]);
    world.lent(1, 3, &[(pool(), 7, 2), (tenant, 8, 2), (Budget::Installation, 9, 2)]);
    assert_eq!(world.running.len(), 2);
}

#[test]
fn starts_are_used_up_and_lapse() {
    let quotas = Quotas { per_second: Some(5), ..Quotas::default() };
    let (mut world, starts) = (World::new(64, 10, Limits { quotas, ..Limits::default() }), Budget::Starts(OURS));
    world.trigger(3);
    assert_eq!((world.running.len(), world.says()), (0, vec![(starts.clone(), 0, 3)]));
    assert!(world.why().contains("5"), "{}", world.why());
    world.lent(1, 1, &[(starts.clone(), 5, 2)]);
    assert_eq!((world.running.len(), world.says()), (2, vec![(starts.clone(), 2, 1)]));
    world.end_one();
    assert_eq!(world.running.len(), 1, "an end gives nothing back");
    world.lent(1, 2, &[(starts.clone(), 5, 9)]);
    assert_eq!((world.running.len(), world.says()), (2, vec![(starts.clone(), 3, 0)]));
    world.now = T0 + Span::millis(1_001);
    assert_eq!(world.says(), [(starts, 9, 0)], "nobody saves up");
    world.trigger(1);
    assert_eq!(world.running.len(), 2);
}

#[test]
fn with_nobody_who_lends_each_counts_for_itself() {
    let mut world = World::new(64, 10, Limits { all: Some(2), ..Limits::default() });
    world.trigger(3);
    world.tell(Input::LentByNobody);
    assert_eq!(world.running.len(), 2);
    world.end_one();
    world.lent(1, 1, &[(Budget::Installation, 2, 0)]);
    world.end_one();
    world.end_one();
    assert_eq!(world.running.len(), 0);
}
