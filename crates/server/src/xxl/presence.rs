//! Who is there: executors that register, take leave, fall silent, or are listed by a person. What each means is decided
//! in `registry`; here it is written down and told.

use std::sync::Arc;

use engine::{Command, Input, Scope};
use model::{Actor, AgentId, AgentKind, AgentRecord, Executor, TenantId, Timestamp};
use wire::Code;
use wire::job::check::pool_name_fault;
use wire::xxl::{Address, Dialect, EXECUTORS, Registration};

use super::http::Headers;
use super::registry::{News, Place, executor};
use super::switch::Executors;
use super::tokens::Tokens;
use crate::egress::NoWay;

/// Runs an executor may have at once: it has no slots to tell of, so this bounds only what is kept in mind.
const SLOTS: u32 = 1_000_000;

/// Why an executor is not taken in.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotIn {
    /// It may not: somebody may want to know.
    #[error("{why}")]
    Refused { code: Code, why: String },
    #[error("{0}")]
    Failed(String),
}

impl From<String> for NotIn {
    fn from(why: String) -> NotIn {
        NotIn::Failed(why)
    }
}

impl Executors {
    /// An executor registered.
    /// It is shown the token it showed.
    pub(super) async fn heard(
        &self,
        scope: &Scope,
        told: Registration,
        dialect: Dialect,
        token: Option<String>,
    ) -> Result<(), NotIn> {
        if told.group != EXECUTORS {
            return Ok(());
        }
        let (place, address) = place_of(scope, &told)?;
        let id = self.0.registry.lock().find(&place);
        let id = match id {
            Some(id) => id,
            // It will be known here when the register has been read again.
            None if !self.is_desk() => return Ok(()),
            None => {
                self.may_be_called(scope.tenant, &address).await?;
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
    pub(super) fn left(&self, scope: &Scope, told: &Registration) -> Result<(), NotIn> {
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

    /// A name that cannot be looked up now may be another time; whoever calls it looks again.
    async fn may_be_called(&self, tenant: TenantId, address: &Address) -> Result<(), NotIn> {
        match self.0.calls.find(tenant, address).await {
            Ok(_) | Err(NoWay::Unfound(_)) => Ok(()),
            Err(NoWay::Forbidden { address: forbidden }) => {
                tracing::warn!(%address, %forbidden, "an executor was not let in");
                let code = Code::from(forbidden.ground);
                Err(NotIn::Refused { code, why: NoWay::Forbidden { address: forbidden }.to_string() })
            }
        }
    }

    async fn admit(&self, place: Place, told: String, kind: Executor) -> Result<AgentId, String> {
        let _one = self.0.admitting.lock().await;
        if let Some(id) = self.0.registry.lock().find(&place) {
            return Ok(id);
        }
        let ways = self.ways();
        let ids = ways.writer.run(|store| store.take_ids(None, 1)).await.map_err(|error| error.to_string())?;
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
            serves: model::Serves::Own,
            runs: model::TaskSorts::ALL,
            kind: AgentKind::Executor(kind),
        };
        self.keep(record).await
    }

    /// Writes a record down and makes it known.
    async fn keep(&self, record: AgentRecord) -> Result<AgentId, String> {
        let command = Command::PutAgent { agent: Box::new(record.clone()) };
        self.ways().shards.ask(Actor::system(), command).await.map_err(|error| error.to_string())?;
        let id = record.id;
        self.0.registry.lock().put(Arc::new(record));
        Ok(id)
    }

    /// Makes the addresses a person wrote the pool's executors, in their order; those listed before and not now are
    /// again what they say themselves.
    pub(crate) async fn list(&self, tenant: TenantId, pool: &str, addresses: &[String]) -> Result<(), String> {
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
            self.tell_all(Input::AgentUp { agent: record, held: Vec::new(), up_since: Timestamp::MIN });
        }
        let of_pool = |record: &Arc<AgentRecord>| record.tenant == tenant && record.pools.iter().any(|own| own == pool);
        let listed = self.records().into_iter().filter(of_pool).filter(|record| executor(record).listed.is_some());
        let written: Vec<Place> = addresses.iter().map(|told| Place::new(tenant, pool.into(), told)).collect();
        for record in listed.filter(|record| !written.contains(&Place::of(record))) {
            self.relist(record.id, None).await?;
            if !self.is_there(record.id) {
                self.tell_all(Input::AgentGone { agent: record.id });
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

    /// Executors nobody has heard of for as long as history is kept: where every start has an address of its own, they
    /// would be ever more.
    pub(crate) async fn forget_old(&self, before: Timestamp) {
        let old = |record: &Arc<AgentRecord>| {
            let heard = self.heard_at(record.id).or(record.seen_at).unwrap_or(record.joined_at);
            heard < before && executor(record).listed.is_none() && !self.is_there(record.id)
        };
        for record in self.records().into_iter().filter(old) {
            let removed = self.ways().shards.ask(Actor::system(), Command::RemoveAgent { agent: record.id }).await;
            match removed {
                Ok(_) => self.forget(record.id),
                Err(error) => tracing::debug!(%error, executor = %record.name, "an old executor is not forgotten yet"),
            }
        }
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
}

fn place_of(scope: &Scope, told: &Registration) -> Result<(Place, Address), NotIn> {
    if let Some(wrong) = pool_name_fault(&told.app) {
        return Err(format!("the appname {wrong}").into());
    }
    if scope.pool.as_ref().is_some_and(|own| *own != told.app) {
        let why = format!("this token is not for the executors of {:?}", told.app);
        return Err(NotIn::Refused { code: Code::NotPermitted, why });
    }
    let address = Address::parse(&told.address).map_err(|error| error.to_string())?;
    let place = Place::new(scope.tenant, told.app.clone(), &told.address);
    Ok((place, address))
}
