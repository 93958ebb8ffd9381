//! A tenant as JSON lines: what it has first, then what its jobs did. Written while it is read, so that its size does
//! not matter. What was exported is remembered by a digest: a tenant that has changed since counts as not exported.

use std::time::{Duration, Instant};

use futures::Stream;
use model::{Actor, AgentId, Exported, TenantId, TenantRecord};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::read::{InstanceFilter, JobFilter};
use store::values::Variable;
use store::{Reads, StoreError};
use tokio::sync::mpsc;
use wire::api::InstanceView;

use super::{Desk, Done, instances, jobs};

const PAGE: usize = 500;
/// Lines on their way to somebody who reads slowly.
const LINES_MAX: usize = 64;
/// One page of a read.
const PAGE_WITHIN: Duration = Duration::from_secs(30);

impl Desk {
    /// The lines, as they are read. When somebody has asked for what comes after the last of them, the tenant counts as
    /// exported: not when it was only begun, nor by whoever wants no lines.
    pub(crate) fn export_tenant(&self, name: &str, by: Actor) -> Done<impl Stream<Item = String> + Send + use<>> {
        let (tenant, desk) = (self.tenant_named(name)?.id, self.clone());
        let (lines, taken) = mpsc::channel(LINES_MAX);
        let writing = tokio::spawn(desk.clone().write_export(tenant, lines));
        Ok(futures::stream::unfold((taken, writing), move |(mut taken, writing)| {
            let (desk, by) = (desk.clone(), by.clone());
            async move {
                if let Some(line) = taken.recv().await {
                    return Some((line, (taken, writing)));
                }
                let written = writing.await.unwrap_or_else(|panic| Err(panic.to_string()));
                let marked = match written {
                    Ok(digest) => desk.mark_exported(tenant, digest, by).await,
                    Err(why) => Err(why),
                };
                if let Err(why) = marked {
                    tracing::warn!(%why, "a tenant could not be exported");
                }
                None
            }
        }))
    }

    /// Answers the digest of what the tenant has.
    async fn write_export(self, tenant: TenantId, lines: mpsc::Sender<String>) -> Result<String, String> {
        let (reads, agents) = (std::sync::Arc::clone(&self.reads), self.agent_names());
        let all = tokio::task::spawn_blocking(move || {
            let mut hash = Sha256::new();
            let gone = || StoreError::Failed("whoever asked for it has gone".into());
            belongings(&*reads, tenant, |line| {
                hash.update(line.as_bytes());
                lines.blocking_send(line + "\n").map_err(|_| gone())
            })?;
            history(&*reads, tenant, &agents, |line| lines.blocking_send(line + "\n").map_err(|_| gone()))?;
            let digest = hex(hash.finalize().as_slice());
            let end = json!({ "kind": "end", "digest": digest });
            lines.blocking_send(end.to_string() + "\n").map_err(|_| gone())?;
            Ok::<_, StoreError>(digest)
        });
        all.await.map_err(|panic| panic.to_string())?.map_err(|error| error.to_string())
    }

    async fn mark_exported(&self, tenant: TenantId, digest: String, by: Actor) -> Result<(), String> {
        let Some(now) = self.tenants.get(tenant) else { return Ok(()) };
        let exported = Some(Exported { at: self.clock.now(), digest });
        let put = self.put_tenant(TenantRecord { exported, ..(*now).clone() }, by).await;
        put.map(drop).map_err(|refused| refused.0.detail.clone())
    }

    /// Whether the tenant has what it had when it was last exported.
    pub(super) async fn is_exported(&self, tenant: &TenantRecord) -> Done<bool> {
        let Some(exported) = tenant.exported.clone() else { return Ok(false) };
        let id = tenant.id;
        let now = self.read(move |reads, _| {
            let mut hash = Sha256::new();
            belongings(reads, id, |line| {
                hash.update(line.as_bytes());
                Ok(())
            })?;
            Ok(hex(hash.finalize().as_slice()))
        });
        Ok(now.await? == exported.digest)
    }
}

/// Jobs as they can be applied, pools, resources, agents, variables; of secrets that there are any.
fn belongings(
    reads: &dyn Reads,
    tenant: TenantId,
    mut line: impl FnMut(String) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let by = Instant::now() + PAGE_WITHIN;
        let filter = JobFilter { tenant: Some(tenant), after: after.take(), limit: PAGE, ..JobFilter::default() };
        let page = reads.jobs(&filter, by)?;
        for record in &page {
            let body = jobs::body(reads, record, by)?;
            line(told("job", serde_json::to_value(&body)))?;
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some((last.name.clone(), last.id)),
            _ => break,
        }
    }
    let by = Instant::now() + PAGE_WITHIN;
    for pool in reads.pools(by)?.into_iter().filter(|pool| pool.tenant == tenant) {
        line(told("pool", Ok(json!({ "name": pool.name, "limit": pool.limit, "addresses": pool.addresses }))))?;
    }
    for resource in reads.resources(by)?.into_iter().filter(|resource| resource.name.tenant == tenant) {
        let kind = resource.name.kind.to_string();
        line(told("resource", Ok(json!({ "of": kind, "name": resource.name.name, "units": resource.units }))))?;
    }
    for agent in reads.agents(by)?.into_iter().filter(|agent| agent.tenant == tenant) {
        line(told("agent", Ok(json!({ "id": agent.id.0, "name": agent.name, "pools": agent.pools }))))?;
    }
    for variable in reads.variables(tenant, None, by)?.into_iter().filter(|variable| variable.tenant == tenant) {
        let Variable { folder, name, value, .. } = variable;
        line(told("variable", Ok(json!({ "name": name, "folder": folder, "value": value }))))?;
    }
    // Nobody is shown a value again, not even in its last hour.
    for secret in reads.secrets(tenant, None, by)? {
        line(told("secret", Ok(json!({ "name": secret.name, "folder": secret.folder, "version": secret.version }))))?;
    }
    Ok(())
}

/// What its jobs did, newest first, as the API shows it.
fn history(
    reads: &dyn Reads,
    tenant: TenantId,
    agents: &std::collections::BTreeMap<AgentId, String>,
    mut line: impl FnMut(String) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let by = Instant::now() + PAGE_WITHIN;
        let filter = InstanceFilter { tenant: Some(tenant), after, limit: PAGE, ..InstanceFilter::default() };
        let page = reads.instances(&filter, by)?;
        let names = instances::job_names(reads, &page, by)?;
        for instance in &page {
            let agent = instance.target.and_then(|agent| agents.get(&agent)).map(String::as_str);
            let view = InstanceView::new(instance, names.get(&instance.job).map_or("", String::as_str), agent);
            line(told("instance", serde_json::to_value(&view)))?;
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some((last.planned, last.id)),
            _ => return Ok(()),
        }
    }
}

fn told(kind: &str, what: Result<Value, serde_json::Error>) -> String {
    let what = what.unwrap_or(Value::Null);
    json!({ "kind": kind, kind: what }).to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
