//! All executors together: who is there, the line to each, and what is told to the shard when that changes.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::{Command, Input, Scope};
use model::{Actor, AgentId, AgentKind, AgentRecord, Executor, Outcome, Report, ReportKind, Span, Verdict, VersionId};
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;
use wire::job::check::pool_name_fault;
use wire::task::ExecutorTask;
use wire::xxl::{Address, Dialect, EXECUTORS, Registration};

use super::http::Headers;
use super::line::{Line, Lines};
use super::pace::Pace;
use super::registry::{News, Place, Registry, executor};
use super::tokens::Tokens;
use crate::clock::Clock;
use crate::links::Tasks;
use crate::shard::{Parcel, ShardHandle, WriterHandle};

/// Runs an executor may have at once: it has no slots to tell of, so this bounds only what is kept in mind.
const SLOTS: u32 = 1_000_000;
/// Versions whose task is kept ready.
const TASKS_KEPT: u64 = 100_000;

#[derive(Clone)]
pub(crate) struct Executors(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) clock: Clock,
    pub(super) tokens: Tokens,
    pub(super) pace: Pace,
    pub(super) tasks: Tasks,
    pub(super) ready: moka::sync::Cache<VersionId, Arc<Ready>>,
    pub(super) registry: Mutex<Registry>,
    lines: RwLock<Lines>,
    ways: OnceLock<Ways>,
    /// One newcomer at a time, or two beats of it would make two of it.
    admitting: tokio::sync::Mutex<()>,
}

/// A task as its executor will get it.
pub(super) struct Ready {
    pub task: ExecutorTask,
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// The ways out of here, known once the shard runs.
struct Ways {
    shard: ShardHandle,
    writer: WriterHandle,
    runtime: tokio::runtime::Handle,
}

impl Executors {
    pub(crate) fn new(clock: Clock, tokens: Tokens, pace: Pace, tasks: Tasks) -> Executors {
        Executors(Arc::new(Inner {
            clock,
            tokens,
            pace,
            tasks,
            ready: moka::sync::Cache::new(TASKS_KEPT),
            registry: Mutex::default(),
            lines: RwLock::default(),
            ways: OnceLock::new(),
            admitting: tokio::sync::Mutex::default(),
        }))
    }

    /// The shard runs: who was there is there.
    pub(crate) fn begin(&self, shard: ShardHandle, writer: WriterHandle, records: Vec<AgentRecord>) {
        let now = self.0.clock.now();
        let there = self.0.registry.lock().load(records.into_iter(), now);
        let ways = Ways { shard, writer, runtime: tokio::runtime::Handle::current() };
        assert!(self.0.ways.set(ways).is_ok(), "a server begins once");
        for record in there {
            self.connect(&record, Dialect::default());
            self.tell(Input::AgentUp { agent: record, held: Vec::new(), rebooted: false });
        }
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
            self.tell(Input::Reconcile { agent, ordered_before: before });
        }
    }

    // ---- who is there

    /// An executor registered.
    /// It is shown the token it showed.
    pub(super) async fn heard(
        &self,
        scope: &Scope,
        told: Registration,
        dialect: Dialect,
        token: Option<String>,
    ) -> Result<(), String> {
        if told.group != EXECUTORS {
            return Ok(());
        }
        let (place, address) = place_of(scope, &told)?;
        let id = self.0.registry.lock().find(&place);
        let id = match id {
            Some(id) => id,
            None => {
                let kind = Executor { present: true, ..Executor::default() };
                self.admit(place, address.told().into(), kind).await?
            }
        };
        let line = self.line_at(id, address, dialect);
        let now = self.0.clock.now();
        let was_there = self.0.registry.lock().is_there(id);
        if !was_there {
            line.found(now);
        }
        if dialect == Dialect::Trigger {
            line.speak(dialect);
        }
        let app = (dialect == Dialect::Trigger).then(|| told.app.clone());
        line.show(Headers { token: token.unwrap_or_default(), app });
        let news = self.0.registry.lock().heard(id, now);
        if news != News::None {
            self.mark_present(id, true);
        }
        self.spread(news);
        Ok(())
    }

    /// An executor took leave.
    pub(super) fn left(&self, scope: &Scope, told: &Registration) -> Result<(), String> {
        let (place, _) = place_of(scope, told)?;
        let mut registry = self.0.registry.lock();
        let Some(id) = registry.find(&place) else { return Ok(()) };
        let news = registry.left(id);
        drop(registry);
        if news != News::None {
            self.mark_present(id, false);
        }
        self.spread(news);
        Ok(())
    }

    async fn admit(&self, place: Place, told: String, kind: Executor) -> Result<AgentId, String> {
        let _one = self.0.admitting.lock().await;
        if let Some(id) = self.0.registry.lock().find(&place) {
            return Ok(id);
        }
        let ways = self.ways();
        let ids = ways.writer.run(|store| store.take_ids(1)).await.map_err(|error| error.to_string())?;
        let now = self.0.clock.now();
        let record = AgentRecord {
            id: AgentId(ids.start),
            tenant: place.tenant,
            name: told,
            pools: vec![place.pool],
            labels: std::collections::BTreeMap::new(),
            slots: SLOTS,
            drained: false,
            joined_at: now,
            seen_at: kind.present.then_some(now),
            version: String::new(),
            kind: AgentKind::Executor(kind),
        };
        self.keep(record).await
    }

    /// Writes a record down and makes it known.
    async fn keep(&self, record: AgentRecord) -> Result<AgentId, String> {
        let command = Command::PutAgent { agent: Box::new(record.clone()) };
        self.ways().shard.ask(Actor::system(), command).await.map_err(|error| error.to_string())?;
        let id = record.id;
        self.0.registry.lock().put(Arc::new(record));
        Ok(id)
    }

    /// Makes the addresses a person wrote the pool's executors, in their order; those listed before and not now are
    /// again what they say themselves.
    pub(crate) async fn list(&self, tenant: model::TenantId, pool: &str, addresses: &[String]) -> Result<(), String> {
        for (n, told) in addresses.iter().enumerate() {
            let address = Address::parse(told).map_err(|error| error.to_string())?;
            let place = Place::new(tenant, pool.into(), told);
            let kind = Executor { listed: Some(n as u32), ..Executor::default() };
            let found = self.0.registry.lock().find(&place);
            let id = match found {
                None => self.admit(place, address.told().into(), kind).await?,
                Some(id) => id,
            };
            self.relist(id, Some(n as u32)).await?;
            self.line_at(id, address, Dialect::default());
            let record = self.record(id).ok_or("it was removed meanwhile")?;
            self.tell(Input::AgentUp { agent: record, held: Vec::new(), rebooted: false });
        }
        let of_pool = |record: &Arc<AgentRecord>| record.tenant == tenant && record.pools.iter().any(|own| own == pool);
        let listed = self.records().into_iter().filter(of_pool).filter(|record| executor(record).listed.is_some());
        let written: Vec<Place> = addresses.iter().map(|told| Place::new(tenant, pool.into(), told)).collect();
        for record in listed.filter(|record| !written.contains(&Place::of(record))) {
            self.relist(record.id, None).await?;
            if !self.is_there(record.id) {
                self.tell(Input::AgentGone { agent: record.id });
            }
        }
        Ok(())
    }

    async fn relist(&self, id: AgentId, listed: Option<u32>) -> Result<(), String> {
        let Some(record) = self.record(id) else { return Ok(()) };
        let kind = AgentKind::Executor(Executor { listed, ..executor(&record) });
        if record.kind != kind {
            self.keep(AgentRecord { kind, ..(*record).clone() }).await?;
        }
        Ok(())
    }

    pub(crate) async fn set_drained(&self, id: AgentId, drained: bool) -> Result<(), String> {
        let record = self.record(id).ok_or("there is no such executor")?;
        self.keep(AgentRecord { drained, ..(*record).clone() }).await.map(|_| ())
    }

    pub(crate) fn forget(&self, id: AgentId) {
        self.0.registry.lock().forget(id);
        self.0.lines.write().remove(&id);
    }

    pub(crate) fn record(&self, id: AgentId) -> Option<Arc<AgentRecord>> {
        self.0.registry.lock().record(id)
    }

    pub(crate) fn records(&self) -> Vec<Arc<AgentRecord>> {
        self.0.registry.lock().records()
    }

    pub(crate) fn is_there(&self, id: AgentId) -> bool {
        self.0.registry.lock().is_there(id)
    }

    pub(crate) fn heard_at(&self, id: AgentId) -> Option<model::Timestamp> {
        self.0.registry.lock().heard_at(id)
    }

    /// A token is worthless: those who showed it are gone until they show another.
    pub(crate) fn revoked(&self, token: &str) {
        for line in self.lines().into_iter().filter(|line| line.shows(token)) {
            let news = self.0.registry.lock().left(line.id);
            self.mark_present(line.id, false);
            self.spread(news);
        }
    }

    pub(crate) fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    // ---- what others are told

    pub(super) fn spread(&self, news: News) {
        match news {
            News::None => {}
            News::Up(agent) => {
                tracing::info!(executor = %agent.name, pool = ?agent.pools, "an executor is there");
                self.tell(Input::AgentUp { agent, held: Vec::new(), rebooted: false });
            }
            News::Gone(agent) => self.tell(Input::AgentGone { agent }),
        }
    }

    /// A server that starts looks here for who was there.
    fn mark_present(&self, id: AgentId, present: bool) {
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
        let shard = self.ways().shard.clone();
        self.spawn(async move {
            let command = Command::PutAgent { agent: Box::new(record) };
            if let Err(error) = shard.ask(Actor::system(), command).await {
                tracing::warn!(%error, "what is known of an executor could not be written");
            }
        });
    }

    pub(super) fn tell(&self, input: Input) {
        self.ways().shard.tell(input);
    }

    /// An ending we write ourselves.
    pub(super) fn report(&self, agent: AgentId, attempt: model::AttemptId, verdict: Verdict, why: impl Into<String>) {
        let outcome = Outcome::of(verdict, why, self.0.clock.now());
        let report = Report { attempt, seq: u32::MAX, kind: ReportKind::Ended(Box::new(outcome)) };
        self.tell(Input::Report { agent, report });
    }

    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.ways().runtime.spawn(work);
    }

    fn ways(&self) -> &Ways {
        self.0.ways.get().expect("nothing is called before the shard runs")
    }

    // ---- lines

    fn line_at(&self, id: AgentId, address: Address, dialect: Dialect) -> Arc<Line> {
        if let Some(line) = self.line(id) {
            return line;
        }
        let record = self.record(id);
        let (tenant, pool) = record.as_ref().map_or((model::TenantId::DEFAULT, ""), |record| {
            (record.tenant, record.pools.first().map_or("", String::as_str))
        });
        let app = (dialect == Dialect::Trigger).then(|| pool.to_string());
        let headers = Headers { token: self.0.tokens.shown_to(tenant, pool), app };
        let line = Arc::new(Line::new(id, address, headers, dialect));
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

    /// The shard was loaded anew and knows nobody: it is told who is there.
    pub(crate) fn greet(&self) {
        let this = self.clone();
        self.spawn(async move {
            for agent in this.records().into_iter().filter(|record| this.is_there(record.id)) {
                this.tell(Input::AgentUp { agent, held: Vec::new(), rebooted: false });
            }
        });
    }

    pub(crate) fn knows(&self, id: AgentId) -> bool {
        self.0.lines.read().contains_key(&id)
    }

    /// Everything one commit has for one executor.
    pub(crate) fn deliver(&self, id: AgentId, parcel: Parcel) {
        let Some(line) = self.line(id) else { return };
        if !parcel.orders.is_empty() {
            self.send(&line, parcel.orders);
        }
        if !parcel.stops.is_empty() {
            let (this, line) = (self.clone(), Arc::clone(&line));
            self.spawn(async move { this.stop(&line, parcel.stops).await });
        }
        if !parcel.inspect.is_empty() {
            let this = self.clone();
            self.spawn(async move { this.inspect(&line, parcel.inspect).await });
        }
    }
}

fn place_of(scope: &Scope, told: &Registration) -> Result<(Place, Address), String> {
    if let Some(wrong) = pool_name_fault(&told.app) {
        return Err(format!("the appname {wrong}"));
    }
    if scope.pool.as_ref().is_some_and(|own| *own != told.app) {
        return Err(format!("this token is not for the executors of {:?}", told.app));
    }
    let address = Address::parse(&told.address).map_err(|error| error.to_string())?;
    let place = Place::new(scope.tenant, told.app.clone(), &told.address);
    Ok((place, address))
}
