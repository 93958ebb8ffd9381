//! What one run costs the engine: the whole of `step` for making, ordering, reporting and settling it, and nothing else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duly_engine::input::JobDraft;
use duly_engine::{Caller, ClaimAnswer, Command, Compiled, Decisions, Effect, Input, Loaded, Shard};
use model::*;

const JOBS: i64 = 10_000;
const START: Timestamp = Timestamp::from_secs(1_767_571_200);

fn main() {
    for round in 1..=3 {
        println!("round {round}");
        closed_loop(200);
        per_second(20);
    }
}

/// Every job starts again the moment it has ended.
fn closed_loop(laps: i64) {
    let mut bench = Bench::new(When::Delay { delay: Span::ZERO });
    let mut orders = bench.tick();
    orders.extend(std::mem::take(&mut bench.early));
    let mut runs = 0;
    bench.spent = Duration::ZERO;
    for _ in 0..laps / 10 {
        bench.now += Span::millis(10);
        let due = std::mem::take(&mut orders);
        runs += due.len();
        for (agent, attempt) in due {
            orders.extend(bench.report(agent, attempt));
        }
        orders.extend(bench.tick());
    }
    bench.say("closed loop", runs);
}

/// Every job is due every second.
fn per_second(seconds: i64) {
    let cron = "* * * * * ?".to_string();
    let dst = DstRule::default();
    let mut bench = Bench::new(When::Cron { expr: cron, dialect: CronDialect::Quartz, zone: "UTC".into(), dst });
    let mut runs = 0;
    bench.spent = Duration::ZERO;
    for _ in 0..seconds {
        bench.now += Span::SECOND;
        loop {
            let orders = bench.tick();
            runs += orders.len();
            for (agent, attempt) in orders {
                bench.report(agent, attempt);
            }
            if bench.shard.next_wake().is_none_or(|wake| wake > bench.now) {
                break;
            }
        }
    }
    bench.say("cron, every second", runs);
}

struct Bench {
    shard: Shard,
    now: Timestamp,
    spent: Duration,
    /// Orders given while the jobs were made.
    early: Vec<(AgentId, AttemptId)>,
}

impl Bench {
    fn new(when: When) -> Bench {
        let shard = Shard::load(Loaded { ids: 1..i64::MAX / 2, ..Loaded::default() }, START);
        let mut bench = Bench { shard, now: START, spent: Duration::ZERO, early: Vec::new() };
        for id in 1..=4 {
            let agent = Arc::new(AgentRecord {
                id: AgentId(id),
                tenant: TenantId::DEFAULT,
                name: format!("agent-{id}"),
                pools: vec![PoolRef::DEFAULT.into()],
                labels: Default::default(),
                slots: 10_000,
                drained: false,
                joined_at: START,
                seen_at: None,
                version: String::new(),
                serves: model::Serves::Own,
                runs: model::TaskSorts::ALL,
                kind: model::AgentKind::Agent,
            });
            bench.step(Input::AgentUp { agent, held: Vec::new(), up_since: Timestamp::MIN });
        }
        let mut rule = Rule::default();
        rule.trigger.when = when;
        let rule = Compiled::new(rule).expect("a plain rule");
        for number in 0..JOBS {
            bench.apply(number, &rule);
        }
        bench
    }

    fn apply(&mut self, number: i64, rule: &Arc<Compiled>) {
        let draft = JobDraft {
            id: None,
            tenant: TenantId::DEFAULT,
            name: format!("job-{number}"),
            folder: String::new(),
            labels: Default::default(),
            rule: Arc::clone(rule),
            rule_content: ContentId(1),
            task: ContentId(2),
            source: ContentId(3),
            mode: JobMode::Enabled,
            alias: 0,
        };
        let mut out = Decisions::default();
        let command = Command::ApplyJob(Box::new(draft));
        self.shard.step(self.now, Input::Command { caller: Caller(1), by: Actor::system(), command }, &mut out);
        for claim in std::mem::take(&mut out.claims) {
            let granted = ClaimAnswer { name: claim.name, wanted: claim.holder, holder: claim.holder };
            let orders = self.step(Input::ClaimAnswered(granted));
            self.early.extend(orders);
        }
    }

    fn tick(&mut self) -> Vec<(AgentId, AttemptId)> {
        self.step(Input::Tick)
    }

    fn report(&mut self, agent: AgentId, attempt: AttemptId) -> Vec<(AgentId, AttemptId)> {
        let outcome = Outcome {
            verdict: Verdict::Succeeded,
            exit_code: Some(0),
            message: None,
            outputs: None,
            started_at: Some(self.now),
            ended_at: self.now,
            usage: Usage::default(),
        };
        let report = Report { attempt, seq: 1, kind: ReportKind::Ended(Box::new(outcome)) };
        self.step(Input::Report { agent, report })
    }

    fn step(&mut self, input: Input) -> Vec<(AgentId, AttemptId)> {
        let mut out = Decisions::default();
        let begun = Instant::now();
        self.shard.step(self.now, input, &mut out);
        self.spent += begun.elapsed();
        let order = |effect| match effect {
            Effect::Order(order) => Some((order.agent, order.attempt)),
            _ => None,
        };
        out.effects.into_iter().filter_map(order).collect()
    }

    fn say(&self, what: &str, runs: usize) {
        println!("  {what}: {} ns per run, {runs} runs", self.spent.as_nanos() / runs.max(1) as u128);
    }
}
