//! Takes tenants that are being deleted apart, in order: triggers stop, runs end, then jobs, agents and tokens go, and
//! the tenant last. Each round looks at what is there and does the next thing, so that it goes on after any crash. Only
//! the first shard's owner does it.

use std::sync::Arc;
use std::time::Duration;

use engine::Command;
use model::{Actor, JobMode, State, TenantId, TenantRecord};
use store::StoreError;
use store::people::PeopleChange;
use store::read::{InstanceFilter, JobFilter};

use crate::app::App;
use crate::ops::closing_key;
use crate::shard::{AskError, FIRST};

const ROUND: Duration = Duration::from_secs(1);
/// So many of each are looked at in a round.
const SOME: usize = 500;

#[derive(Debug, thiserror::Error)]
enum Unfinished {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error("{0}")]
    Audit(String),
}

pub(crate) async fn run(app: Arc<App>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(ROUND) => {}
            () = app.close_soon.notified() => {}
            () = app.stop.cancelled() => return,
        }
        if app.shards.handle(FIRST).is_none() {
            continue;
        }
        for tenant in app.tenants.all().into_iter().filter(|tenant| tenant.is_closing()) {
            if let Err(error) = step(&app, &tenant).await {
                tracing::warn!(%error, tenant = %tenant.name, "a tenant could not be taken apart yet; trying again");
            }
        }
    }
}

async fn step(app: &App, tenant: &TenantRecord) -> Result<(), Unfinished> {
    let id = tenant.id;
    let filter = JobFilter { tenant: Some(id), limit: SOME, ..JobFilter::default() };
    let jobs = app.read(move |reads, by| reads.jobs(&filter, by)).await?;
    let enabled: Vec<_> = jobs.iter().filter(|job| job.mode != JobMode::Disabled).collect();
    for job in &enabled {
        ask(app, Command::SetMode { job: job.id, mode: JobMode::Disabled }).await?;
    }
    let all_disabled = enabled.is_empty() || jobs.len() < SOME;
    if !all_disabled || !runs_have_ended(app, id).await? {
        return Ok(());
    }
    for job in &jobs {
        ask(app, Command::DeleteJob { job: job.id }).await?;
    }
    if jobs.len() == SOME {
        return Ok(());
    }
    remove_agents(app, id).await?;
    remove_tokens(app, id).await?;
    let gone = app.audit.tenant_gone(tenant);
    let ticket = app.audit.announce(&gone).await.map_err(|refused| Unfinished::Audit(refused.0.detail.clone()))?;
    let removed = ask(app, Command::RemoveTenant { tenant: id }).await;
    app.audit.record(removed.is_ok().then(|| gone.into()).into_iter().collect(), Some(ticket)).await;
    removed?;
    app.tenants.replace(app.read(|reads, by| reads.tenants(by)).await?);
    app.access.run(move |access| access.put_setting(&closing_key(id), None)).await?;
    tracing::info!(tenant = %tenant.name, "a tenant was deleted");
    Ok(())
}

/// What waits is stopped in any case: it would wait for ever. What runs is waited for, unless it is to be stopped.
async fn runs_have_ended(app: &App, tenant: TenantId) -> Result<bool, Unfinished> {
    let states: Vec<State> = State::ALL.into_iter().filter(|state| state.is_open()).collect();
    let filter = InstanceFilter { tenant: Some(tenant), states, limit: SOME, ..InstanceFilter::default() };
    let open = app.read(move |reads, by| reads.instances(&filter, by)).await?;
    let stop = app.access.run(move |access| access.setting(&closing_key(tenant))).await?.as_deref() == Some("stop");
    for instance in &open {
        let runs = matches!(instance.state, State::Dispatched | State::Running);
        if instance.stopping.is_none() && (stop || !runs) {
            ask(app, Command::Stop { instance: instance.id }).await?;
        }
    }
    Ok(open.is_empty())
}

async fn remove_agents(app: &App, tenant: TenantId) -> Result<(), Unfinished> {
    let mut all = app.doorman.agents();
    all.extend(app.executors.records());
    for agent in all.into_iter().filter(|agent| agent.tenant == tenant) {
        ask(app, Command::RemoveAgent { agent: agent.id }).await?;
        if agent.kind.is_executor() {
            app.executors.forget(agent.id);
        } else {
            app.doorman.forget_agent(agent.id).await?;
            app.cut_off(agent.id);
        }
    }
    Ok(())
}

/// The rows of what executors and joining agents show go with the tenant's; here they stop working. Rights that hold in it,
/// and tokens for it alone, go before it does: its number must mean nothing to anybody.
async fn remove_tokens(app: &App, tenant: TenantId) -> Result<(), Unfinished> {
    let tokens = app.access.run(|access| access.executor_tokens()).await?;
    let (gone, kept): (Vec<_>, Vec<_>) = tokens.into_iter().partition(|token| token.tenant == tenant);
    for token in gone {
        app.access.run(move |access| access.remove_executor_token(token.id)).await?;
    }
    app.executors.tokens().replace(kept);
    app.access.run(move |access| access.change(&PeopleChange::TenantLeft { tenant })).await?;
    app.doorman.forget_all();
    Ok(())
}

/// What is gone already was done by the round before.
async fn ask(app: &App, command: Command) -> Result<(), AskError> {
    use engine::Refusal::{NoSuchAgent, NoSuchJob, NotOpen};
    match app.shards.ask(Actor::system(), command).await {
        Ok(_) | Err(AskError::Refused(NoSuchJob(_) | NotOpen(_) | NoSuchAgent(_))) => Ok(()),
        Err(error) => Err(error),
    }
}
