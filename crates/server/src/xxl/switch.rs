//! All executors together: who is there, the line to each, and what is told to the shard when that changes.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::{Command, Input};
use model::{
    Actor, AgentId, AgentKind, AgentRecord, Executor, Outcome, Report, ReportKind, ShardId, Span, Timestamp, Verdict,
    VersionId,
};
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;
use wire::task::ExecutorTask;
use wire::xxl::{Address, Dialect};

use super::connection::Way;
use super::http::Headers;
use super::line::{Line, Lines};
use super::pace::Pace;
use super::registry::{News, Registry, executor};
use super::tokens::Tokens;
use crate::clock::Clock;
use crate::egress::Calls;
use crate::links::Tasks;
use crate::peers::Peers;
use crate::shard::{FIRST, Lane, Parcel, Shards};

/// Versions whose task is kept ready.
const TASKS_KEPT: u64 = 100_000;

#[derive(Clone)]
pub(crate) struct Executors(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) clock: Clock,
    pub(super) tokens: Tokens,
    pub(super) pace: Pace,
    pub(super) tasks: Tasks,
    /// Where executors may be.
    pub(super) calls: Calls,
    pub(super) ready: moka::sync::Cache<VersionId, Arc<Ready>>,
    pub(super) registry: Mutex<Registry>,
    pub(super) lines: RwLock<Lines>,
    ways: OnceLock<Ways>,
    /// The other servers, where there are any.
    pub(super) peers: OnceLock<Peers>,
    /// One newcomer at a time, or two beats of it would make two of it.
    pub(super) admitting: tokio::sync::Mutex<()>,
}

/// A task as its executor will get it.
pub(super) struct Ready {
    pub task: ExecutorTask,
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// The ways out of here, known once shards run.
pub(super) struct Ways {
    pub(super) shards: Shards,
    pub(super) writer: Lane,
    runtime: tokio::runtime::Handle,
}

impl Executors {
    pub(crate) fn new(clock: Clock, tokens: Tokens, pace: Pace, tasks: Tasks, calls: Calls) -> Executors {
        Executors(Arc::new(Inner {
            clock,
            tokens,
            pace,
            tasks,
            calls,
            ready: moka::sync::Cache::new(TASKS_KEPT),
            peers: OnceLock::new(),
            registry: Mutex::default(),
            lines: RwLock::default(),
            ways: OnceLock::new(),
            admitting: tokio::sync::Mutex::default(),
        }))
    }

    /// Shards are about to run: who was there is there.
    pub(crate) fn begin(&self, shards: Shards, writer: Lane, records: Vec<AgentRecord>) {
        let now = self.0.clock.now();
        let there = self.0.registry.lock().load(records.into_iter(), now);
        let ways = Ways { shards, writer, runtime: tokio::runtime::Handle::current() };
        assert!(self.0.ways.set(ways).is_ok(), "a server begins once");
        for record in there {
            self.connect(&record, Dialect::default());
        }
    }

    /// What other servers wrote about executors. Whoever owns the first shard wrote it itself.
    pub(crate) fn follow(&self, records: &[AgentRecord]) {
        if self.is_desk() {
            return;
        }
        let news = self.0.registry.lock().follow(records, self.0.clock.now());
        for one in news {
            if let News::Up(record) = &one {
                self.connect(record, Dialect::default());
            }
            self.spread(one);
        }
    }

    /// Executors register with whoever owns the first shard; the others follow.
    pub(super) fn is_desk(&self) -> bool {
        self.ways().shards.handle(FIRST).is_some()
    }

    /// Looks after who falls silent, and asks about what has been open for a while.
    pub(crate) async fn watch(self, stop: CancellationToken) {
        let pace = self.0.pace;
        let mut sweep =
            tokio::time::interval((pace.death / 30).clamp(Duration::from_millis(50), Duration::from_secs(1)));
        let mut look = tokio::time::interval(pace.ask_every);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = sweep.tick() => self.sweep(),
                _ = look.tick() => self.reconcile(),
            }
        }
    }

    fn sweep(&self) {
        let (now, death) = (self.0.clock.now(), Span::from(self.0.pace.death));
        let dead = self.0.registry.lock().overdue(now, death);
        for news in dead {
            if let News::Gone(id) = news {
                tracing::warn!(executor = %id, "an executor has not registered again and counts as dead");
                self.mark_present(id, false);
            }
            self.spread(news);
        }
    }

    fn reconcile(&self) {
        let before = self.0.clock.now() - Span::from(self.0.pace.ask_every / 4);
        let there: Vec<AgentId> = {
            let registry = self.0.registry.lock();
            self.0.lines.read().keys().copied().filter(|id| registry.is_there(*id)).collect()
        };
        for agent in there {
            self.tell_all(Input::Reconcile { agent, ordered_before: before });
        }
    }

    // ---- what others are told

    pub(super) fn spread(&self, news: News) {
        match news {
            News::None => {}
            News::Up(agent) => {
                tracing::info!(executor = %agent.name, pool = ?agent.pools, "an executor is there");
                self.tell_all(Input::AgentUp { agent, held: Vec::new(), up_since: Timestamp::MIN });
            }
            News::Gone(agent) => self.tell_all(Input::AgentGone { agent }),
        }
    }

    /// A server that starts looks here for who was there.
    pub(super) fn mark_present(&self, id: AgentId, present: bool) {
        if !self.is_desk() {
            return;
        }
        self.mark(id, move |executor| executor.present = present);
    }

    /// Changes what is kept of an executor; nobody waits for that.
    pub(super) fn mark(&self, id: AgentId, change: impl FnOnce(&mut Executor)) {
        let Some(record) = self.record(id) else { return };
        let mut kind = executor(&record);
        change(&mut kind);
        let (seen_at, kind) = (Some(self.0.clock.now()), AgentKind::Executor(kind));
        if record.kind == kind {
            return;
        }
        let record = AgentRecord { kind, seen_at, ..(*record).clone() };
        self.0.registry.lock().put(Arc::new(record.clone()));
        let shards = self.ways().shards.clone();
        self.spawn(async move {
            let command = Command::PutAgent { agent: Box::new(record) };
            if let Err(error) = shards.ask(Actor::system(), command).await {
                tracing::warn!(%error, "what is known of an executor could not be written");
            }
        });
    }

    pub(super) fn tell(&self, shard: ShardId, input: Input) {
        self.ways().shards.tell(shard, input);
    }

    pub(super) fn tell_all(&self, input: Input) {
        self.ways().shards.tell_all(&input);
    }

    /// An ending we write ourselves.
    pub(super) fn report(
        &self,
        shard: ShardId,
        agent: AgentId,
        attempt: model::AttemptId,
        verdict: Verdict,
        why: impl Into<String>,
    ) {
        let outcome = Outcome::of(verdict, why, self.0.clock.now());
        let report = Report { attempt, seq: u32::MAX, kind: ReportKind::Ended(Box::new(outcome)) };
        self.tell(shard, Input::Report { agent, report });
    }

    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.ways().runtime.spawn(work);
    }

    pub(super) fn ways(&self) -> &Ways {
        self.0.ways.get().expect("nothing is called before shards run")
    }

    // ---- lines

    pub(super) fn line_at(&self, id: AgentId, address: Address, dialect: Dialect) -> Arc<Line> {
        if let Some(line) = self.line(id) {
            return line;
        }
        let record = self.record(id);
        let (tenant, pool) = record.as_ref().map_or((model::TenantId::DEFAULT, ""), |record| {
            (record.tenant, record.pools.first().map_or("", String::as_str))
        });
        let app = (dialect == Dialect::Trigger).then(|| pool.to_string());
        let headers = Headers { token: self.0.tokens.shown_to(tenant, pool), app };
        let way = Way { calls: self.0.calls.clone(), tenant };
        let line = Arc::new(Line::new(id, address, way, headers, dialect));
        Arc::clone(self.0.lines.write().entry(id).or_insert(line))
    }

    fn connect(&self, record: &AgentRecord, dialect: Dialect) {
        match Address::parse(&record.name) {
            Ok(address) => drop(self.line_at(record.id, address, dialect)),
            Err(error) => tracing::error!(%error, "a kept executor has no address"),
        }
    }

    pub(super) fn lines(&self) -> Vec<Arc<Line>> {
        self.0.lines.read().values().map(Arc::clone).collect()
    }

    pub(super) fn line(&self, id: AgentId) -> Option<Arc<Line>> {
        self.0.lines.read().get(&id).map(Arc::clone)
    }

    /// The shard was loaded and knows nobody: it is told who is there.
    pub(crate) fn greet(&self, shard: ShardId) {
        let this = self.clone();
        self.spawn(async move {
            for agent in this.records().into_iter().filter(|record| this.is_there(record.id)) {
                this.tell(shard, Input::AgentUp { agent, held: Vec::new(), up_since: Timestamp::MIN });
            }
        });
    }

    pub(crate) fn knows(&self, id: AgentId) -> bool {
        self.0.lines.read().contains_key(&id)
    }

    /// Everything one commit has for one executor.
    pub(crate) fn deliver(&self, shard: ShardId, id: AgentId, parcel: Parcel) {
        let Some(line) = self.line(id) else { return };
        if !parcel.orders.is_empty() {
            self.send(&line, parcel.orders);
        }
        if !parcel.stops.is_empty() {
            let (this, line) = (self.clone(), Arc::clone(&line));
            self.spawn(async move { this.stop(shard, &line, parcel.stops).await });
        }
        if !parcel.inspect.is_empty() {
            let this = self.clone();
            self.spawn(async move { this.inspect(shard, &line, parcel.inspect).await });
        }
    }
}
