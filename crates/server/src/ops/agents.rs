//! Agents, pools and limits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::Command;
use model::{Actor, AgentId, AgentRecord, PoolRecord, Serves, Span, TenantId};
use store::access::JoinToken;
use wire::api::{
    AgentView, JoinTokenBody, JoinTokenView, LimitBody, Page, PoolBody, PoolView, ServerStateWord, SharingBody,
};
use wire::job::check::pool_name_fault;
use wire::xxl::Address;
use wire::{Code, Fault, Problem};

use super::{Desk, Done, Refused, Sight};
use crate::audit::{self, Facts};
use crate::egress::NoWay;
use crate::secret;

const JOIN_WITHIN: Span = Span::HOUR;
const JOIN_WITHIN_MAX: Span = Span::DAY;
/// Pools and labels of one agent, each.
const OF_EACH_MAX: usize = 64;
/// Bytes of a label's key or value.
const LABEL_MAX: usize = 256;

impl Desk {
    pub(crate) fn list_agents(&self, sight: &Sight) -> Page<AgentView> {
        let mut agents = self.everybody();
        // Whoever shares an agent sees it; only its own tenant may do something to it.
        agents.retain(|agent| agent.serves(sight.tenant));
        agents.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
        Page::whole(agents.iter().map(|agent| self.seen_from(sight, agent)).collect())
    }

    pub(crate) fn show_agent(&self, sight: &Sight, id: AgentId) -> Done<AgentView> {
        let record = self.anybody(id).filter(|agent| agent.serves(sight.tenant)).ok_or_else(|| no_agent(id))?;
        Ok(self.seen_from(sight, &record))
    }

    /// Whoever only shares an agent does not learn from it who else there is.
    fn seen_from(&self, sight: &Sight, record: &AgentRecord) -> AgentView {
        let view = self.view_agent(record);
        if record.tenant == sight.tenant {
            return view;
        }
        let name = self.tenants.get(sight.tenant).map(|tenant| tenant.name.clone()).unwrap_or_default();
        AgentView { policy: view.policy.map(|policy| policy.told_to(&name)), sharing: None, ..view }
    }

    fn agent(&self, sight: &Sight, id: AgentId) -> Done<Arc<AgentRecord>> {
        self.anybody(id).filter(|agent| sight.shows_agent(agent)).ok_or_else(|| no_agent(id))
    }

    /// An agent or an executor.
    pub(crate) fn anybody(&self, id: AgentId) -> Option<Arc<AgentRecord>> {
        self.doorman.agent(id).or_else(|| self.executors.record(id))
    }

    /// Agents and executors.
    pub(crate) fn everybody(&self) -> Vec<Arc<AgentRecord>> {
        let mut all = self.doorman.agents();
        all.extend(self.executors.records());
        all
    }

    fn view_agent(&self, record: &AgentRecord) -> AgentView {
        if record.kind.is_executor() {
            let view = AgentView::executor(record, self.executors.is_there(record.id));
            let seen_at = self.executors.heard_at(record.id).map(Into::into).or(view.seen_at);
            return AgentView { seen_at, ..view };
        }
        let presence = self.switchboard.presence(record.id);
        let mut view = AgentView::new(record, presence.map(|presence| presence.load));
        let heard = self.switchboard.heard_at(record.id);
        view.seen_at = heard.map(Into::into).or(view.seen_at);
        view.policy = self.doorman.policy(record.id).map(|policy| (*policy).clone());
        view.sharing = Some(self.sharing(&record.serves));
        view
    }

    fn sharing(&self, serves: &Serves) -> SharingBody {
        match serves {
            Serves::Own => SharingBody::default(),
            Serves::Everyone => SharingBody { everyone: true, tenants: Vec::new() },
            Serves::Named(tenants) => {
                let tenants = tenants.iter().map(|tenant| self.tenant_name(*tenant)).collect();
                SharingBody { everyone: false, tenants }
            }
        }
    }

    pub(crate) async fn set_drained(&self, sight: &Sight, id: AgentId, drained: bool, by: Actor) -> Done<AgentView> {
        let before = self.agent(sight, id)?;
        audit::before(Facts::new().put("name", &before.name).put("drained", before.drained));
        audit::after(Facts::new().put("drained", drained));
        if before.kind.is_executor() {
            self.executors.set_drained(id, drained).await.map_err(|why| Problem::new(Code::StoreBusy, why))?;
            return self.show_agent(sight, id);
        }
        let before = before.drained;
        let record = self.doorman.set_drained(id, drained).ok_or_else(|| no_agent(id))?;
        if let Err(error) = self.shards.ask(by, Command::PutAgent { agent: Box::new(record) }).await {
            self.doorman.set_drained(id, before);
            return Err(error.into());
        }
        self.show_agent(sight, id)
    }

    /// Which tenants use it besides its own.
    pub(crate) async fn share_agent(&self, id: AgentId, body: SharingBody, by: Actor) -> Done<AgentView> {
        let serves = self.serves(&body)?;
        let before = self.doorman.agent(id).ok_or_else(|| no_agent(id))?;
        audit::before(sharing_facts(&self.sharing(&before.serves)).put("name", &before.name));
        audit::after(sharing_facts(&body));
        let record = AgentRecord { serves, ..(*before).clone() };
        self.shards.ask(by, Command::PutAgent { agent: Box::new(record.clone()) }).await?;
        self.doorman.share(id, record.serves);
        let record = self.doorman.agent(id).ok_or_else(|| no_agent(id))?;
        Ok(self.view_agent(&record))
    }

    fn serves(&self, sharing: &SharingBody) -> Done<Serves> {
        sharing.serves(|name| self.tenants.by_name(name)).map_err(|name| super::tenants::no_tenant(&name))
    }

    /// It must join anew to come back. What it still ran is uncertain until its time is over or a person decides.
    pub(crate) async fn remove_agent(&self, sight: &Sight, id: AgentId, by: Actor) -> Done<()> {
        let record = self.agent(sight, id)?;
        audit::before(Facts::new().put("name", &record.name).put("pools", &record.pools));
        if let Some(presence) = self.switchboard.presence(id)
            && presence.load.running > 0
        {
            let detail = format!("{} tasks run on agent {}", presence.load.running, record.name);
            return Err(Problem::new(Code::AgentBusy, detail).into());
        }
        self.shards.ask(by, Command::RemoveAgent { agent: id }).await?;
        if record.kind.is_executor() {
            self.executors.forget(id);
            return Ok(());
        }
        self.doorman.forget_agent(id).await?;
        self.cut_off(id);
        Ok(())
    }

    /// At once, whatever it runs: its secret is worth nothing, its streams end on every server, and what it still says is
    /// not believed. What it had stays in doubt until its time is over or a person decides.
    pub(crate) async fn revoke_agent(&self, sight: &Sight, id: AgentId, by: Actor) -> Done<()> {
        let record = self.agent(sight, id)?;
        audit::before(Facts::new().put("name", &record.name).put("pools", &record.pools));
        if record.kind.is_executor() {
            let detail = format!("{} is an executor; revoke its token with `duly xxl-token revoke`", record.name);
            return Err(Problem::new(Code::NoSuchAgent, detail).into());
        }
        // The secret first: a server that hears of the rest must not find it.
        self.doorman.forget_agent(id).await?;
        self.cut_off(id);
        self.shards.ask(by, Command::RemoveAgent { agent: id }).await?;
        tracing::warn!(agent = %id, name = %record.name, "an agent was revoked");
        Ok(())
    }

    pub(crate) async fn join_token(&self, tenant: TenantId, body: JoinTokenBody) -> Done<JoinTokenView> {
        let labels = body.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        if let Some((path, wrong)) = membership_fault(&body.pools, labels) {
            return Err(Fault::new(Code::BadName, path, wrong).alone().into());
        }
        let within = body.expires_in.map_or(JOIN_WITHIN, |length| length.0);
        if within <= Span::ZERO || within > JOIN_WITHIN_MAX {
            let told = format!("a join token lives for more than nothing and at most {JOIN_WITHIN_MAX}");
            return Err(Fault::new(Code::BadLength, "expires_in", told).alone().into());
        }
        let serves = self.serves(&body.sharing)?;
        let (text, now) = (secret::make("join"), self.clock.now());
        let token = JoinToken {
            hash: secret::hash(&text),
            serves,
            tenant,
            pools: body.pools,
            labels: body.labels,
            created_at: now,
            expires_at: now + within,
        };
        let told = Facts::new().put("pools", &token.pools).put("labels", &token.labels);
        audit::after(told.put("expires_at", token.expires_at));
        let expires_at = token.expires_at.into();
        self.access.run(move |access| access.put_join_token(&token)).await?;
        let servers = self.agents_dial().await;
        Ok(JoinTokenView { token: self.doorman.join_text(&text), expires_at, servers })
    }

    /// Every server that is alive, or this one where it is alone or has not looked yet.
    async fn agents_dial(&self) -> Vec<String> {
        let known = self.cluster().await.map(|cluster| cluster.servers).unwrap_or_default();
        let alive = known.into_iter().filter(|server| matches!(server.state, ServerStateWord::Alive));
        let alive: Vec<String> = alive.map(|server| server.agents).collect();
        if alive.is_empty() { vec![self.app.agents_at.clone()] } else { alive }
    }

    /// Pools that have agents or a limit: there is nothing else to a pool.
    pub(crate) async fn list_pools(&self, tenant: TenantId) -> Done<Page<PoolView>> {
        let records = self.read(|reads, by| reads.pools(by)).await?;
        let mut pools: BTreeMap<String, PoolView> = BTreeMap::new();
        let says = |record: &PoolRecord| record.limit.is_some() || !record.addresses.is_empty();
        for record in records.into_iter().filter(|record| record.tenant == tenant && says(record)) {
            pools.insert(record.name.clone(), empty(record.name, record.limit, record.addresses));
        }
        for agent in self.everybody().iter().filter(|agent| agent.serves(tenant)) {
            let is_online = self.switchboard.presence(agent.id).is_some() || self.executors.is_there(agent.id);
            for name in &agent.pools {
                let pool = pools.entry(name.clone()).or_insert_with(|| empty(name.clone(), None, Vec::new()));
                pool.agents += 1;
                if is_online {
                    pool.online += 1;
                    pool.slots += if agent.kind.is_executor() { 0 } else { agent.slots };
                }
            }
        }
        Ok(Page::whole(pools.into_values().collect()))
    }

    pub(crate) async fn put_pool(&self, tenant: TenantId, name: String, body: PoolBody, by: Actor) -> Done<PoolView> {
        check_name(&name, "name")?;
        check_addresses(&body.addresses)?;
        self.check_reachable(tenant, &body.addresses).await?;
        let before = self.find_pool(tenant, &name).await?;
        before.iter().for_each(|pool| audit::before(pool_facts(pool.limit, &pool.addresses)));
        audit::after(pool_facts(body.limit, &body.addresses));
        let (limit, addresses) = (body.limit, body.addresses);
        let record = PoolRecord { tenant, name: name.clone(), limit, addresses: addresses.clone() };
        self.set_pool(record, by).await?;
        let listed = self.executors.list(tenant, &name, &addresses).await;
        listed.map_err(|why| Problem::new(Code::StoreBusy, why))?;
        let pool = self.find_pool(tenant, &name).await?;
        Ok(pool.unwrap_or_else(|| empty(name, limit, addresses)))
    }

    /// Nobody is listed who would not be called.
    async fn check_reachable(&self, tenant: TenantId, addresses: &[String]) -> Done<()> {
        for (n, told) in addresses.iter().enumerate() {
            let address = Address::parse(told).map_err(|error| Problem::new(Code::BadAddress, error.to_string()))?;
            if let Err(NoWay::Forbidden { address }) = self.calls.find(tenant, &address).await {
                let fault = Fault::new(address.ground.into(), format!("addresses[{n}]"), address.to_string());
                return Err(fault.alone().into());
            }
        }
        Ok(())
    }

    pub(crate) async fn delete_pool(&self, tenant: TenantId, name: String, by: Actor) -> Done<()> {
        let pool = self.find_pool(tenant, &name).await?;
        let no_pool = || Refused::from(Problem::new(Code::NoSuchPool, format!("there is no pool {name:?}")));
        let pool = pool.ok_or_else(no_pool)?;
        audit::before(pool_facts(pool.limit, &pool.addresses));
        if pool.agents > 0 {
            let detail = format!("{} agents are in pool {name}", pool.agents);
            return Err(Problem::new(Code::PoolInUse, detail).into());
        }
        self.set_pool(PoolRecord { tenant, name, limit: None, addresses: Vec::new() }, by).await
    }

    async fn find_pool(&self, tenant: TenantId, name: &str) -> Done<Option<PoolView>> {
        Ok(self.list_pools(tenant).await?.items.into_iter().find(|pool| pool.name == name))
    }

    async fn set_pool(&self, pool: PoolRecord, by: Actor) -> Done<()> {
        self.shards.ask(by, Command::PutPool { pool }).await?;
        Ok(())
    }

    pub(crate) async fn limit(&self) -> Done<LimitBody> {
        Ok(LimitBody { limit: self.read(|reads, by| reads.global_limit(by)).await? })
    }

    pub(crate) async fn put_limit(&self, body: LimitBody, by: Actor) -> Done<LimitBody> {
        audit::before(Facts::new().put("limit", self.limit().await?.limit));
        self.shards.ask(by, Command::SetGlobalLimit { limit: body.limit }).await?;
        audit::after(Facts::new().put("limit", body.limit));
        self.limit().await
    }
}

fn sharing_facts(sharing: &SharingBody) -> Facts {
    Facts::new().put("everyone", sharing.everyone).put("tenants", &sharing.tenants)
}

fn pool_facts(limit: Option<u32>, addresses: &[String]) -> Facts {
    Facts::new().put("limit", limit).put("addresses", addresses)
}

fn empty(name: String, limit: Option<u32>, addresses: Vec<String>) -> PoolView {
    PoolView { name, limit, agents: 0, online: 0, slots: 0, addresses }
}

fn no_agent(id: AgentId) -> Refused {
    Problem::new(Code::NoSuchAgent, format!("there is no agent {id}")).into()
}

/// Each can be called, and each is there once.
fn check_addresses(addresses: &[String]) -> Done<()> {
    let mut seen = BTreeSet::new();
    for (n, told) in addresses.iter().enumerate() {
        let wrong = match Address::parse(told) {
            Err(error) => Some(error.to_string()),
            Ok(address) if !seen.insert(address.to_string()) => Some(format!("{told:?} is listed twice")),
            Ok(_) => None,
        };
        if let Some(wrong) = wrong {
            return Err(Fault::new(Code::BadAddress, format!("addresses[{n}]"), wrong).alone().into());
        }
    }
    Ok(())
}

/// What pools and labels of an agent must not be, and which: whether its token says so or the agent itself.
pub(crate) fn membership_fault<'a>(
    pools: &[String],
    labels: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
) -> Option<(String, String)> {
    for (n, pool) in pools.iter().enumerate() {
        if let Some(wrong) = pool_name_fault(pool) {
            return Some((format!("pools[{n}]"), format!("the name {wrong}")));
        }
    }
    let count = labels.len();
    let mut labels = labels;
    let odd = |(key, value): (&str, &str)| key.is_empty() || key.len() > LABEL_MAX || value.len() > LABEL_MAX;
    (pools.len() > OF_EACH_MAX || count > OF_EACH_MAX || labels.any(odd))
        .then(|| ("labels".into(), "at most 64 pools and labels of at most 256 characters".into()))
}

pub(super) fn check_name(name: &str, path: &str) -> Done<()> {
    match pool_name_fault(name) {
        Some(wrong) => Err(Fault::new(Code::BadName, path, format!("the name {wrong}")).alone().into()),
        None => Ok(()),
    }
}
