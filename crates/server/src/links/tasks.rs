//! What versions run: looked up once, then kept. A stream asks here before it sends a version's first order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{ContentId, JobId, TenantId, VersionId};
use rustc_hash::FxHashMap;
use store::{OwnedVersion, Reads, StoreError};
use wire::JobBody;
use wire::task::TaskBody;

use super::values::Needs;
use crate::tenants::Tenants;

/// Bytes of tasks and parameters kept in memory.
const CACHE_BYTES: u64 = 32 << 20;
const READ_WITHIN: Duration = Duration::from_secs(5);
/// Quotes inside of texts are escaped: only a task that names something has these bytes.
const USES: &[u8] = b"\"uses\":";

#[derive(Clone)]
pub struct Tasks {
    reads: Arc<dyn Reads>,
    tenants: Arc<Tenants>,
    tasks: moka::sync::Cache<VersionId, Arc<Task>>,
    contents: moka::sync::Cache<ContentId, Arc<Vec<u8>>>,
}

pub struct Task {
    pub job: JobId,
    pub job_name: String,
    pub body: Vec<u8>,
    /// What orders of it must be told; none for nearly all tasks.
    pub needs: Option<Arc<Needs>>,
    pub pool: String,
    pub tenant: TenantId,
}

impl Tasks {
    pub fn new(reads: Arc<dyn Reads>, tenants: Arc<Tenants>) -> Tasks {
        let tasks = moka::sync::Cache::builder()
            .max_capacity(CACHE_BYTES)
            .weigher(|_, task: &Arc<Task>| (task.body.len() + task.job_name.len() + 64) as u32)
            .build();
        let contents = moka::sync::Cache::builder()
            .max_capacity(CACHE_BYTES)
            .weigher(|_, body: &Arc<Vec<u8>>| (body.len() + 64) as u32)
            .build();
        Tasks { reads, tenants, tasks, contents }
    }

    /// Blocks on the store if the version has not been asked for lately.
    pub fn task(&self, version: VersionId) -> Result<Arc<Task>, StoreError> {
        self.all(&[version]).pop().expect("one is answered for each that is asked for").1
    }

    /// The same of several, with one look at the store.
    pub fn all(&self, versions: &[VersionId]) -> Vec<(VersionId, Result<Arc<Task>, StoreError>)> {
        let unknown: Vec<VersionId> =
            versions.iter().copied().filter(|version| !self.tasks.contains_key(version)).collect();
        let read = match unknown.as_slice() {
            [] => Ok(Vec::new()),
            unknown => self.reads.owned_versions(unknown, Instant::now() + READ_WITHIN),
        };
        let mut read: FxHashMap<VersionId, OwnedVersion> = match read {
            Ok(read) => read.into_iter().map(|one| (one.version.id, one)).collect(),
            Err(error) => return versions.iter().map(|version| (*version, Err(error.clone()))).collect(),
        };
        let mut told = |version: VersionId| match read.remove(&version) {
            Some(owned) => self.learn(owned),
            None => self.tasks.get(&version).ok_or_else(|| StoreError::Corrupt(format!("version {version} is gone"))),
        };
        versions.iter().map(|version| (*version, told(*version))).collect()
    }

    fn learn(&self, owned: OwnedVersion) -> Result<Arc<Task>, StoreError> {
        let OwnedVersion { version: stored, job_name, tenant } = owned;
        // Many jobs run the same thing.
        let body = self.content(stored.task)?.to_vec();
        let needs = self.needs(&body, stored.source)?.map(Arc::new);
        let rule = wire::rule::decode(&self.content(stored.rule)?);
        let pool = rule.map(|rule| rule.pool.name).unwrap_or_default();
        let task = Arc::new(Task { job: stored.job, job_name, body, needs, pool, tenant });
        self.tasks.insert(stored.id, Arc::clone(&task));
        Ok(task)
    }

    /// What a tenant is called today. An agent chooses by it as whom a task runs: whoever cannot be told it is told of no
    /// task. Blocks on the store if the tenant is not known here.
    pub fn tenant_name(&self, id: TenantId) -> Result<String, StoreError> {
        if let Some(known) = self.tenants.get(id) {
            return Ok(known.name.clone());
        }
        // Another server may have made it a moment ago.
        let kept = self.reads.tenants(Instant::now() + READ_WITHIN)?.into_iter().find(|tenant| tenant.id == id);
        kept.map(|tenant| tenant.name).ok_or_else(|| StoreError::Corrupt(format!("tenant {} is gone", id.0)))
    }

    fn needs(&self, task: &[u8], source: ContentId) -> Result<Option<Needs>, StoreError> {
        if !task.windows(USES.len()).any(|part| part == USES) {
            return Ok(None);
        }
        let unreadable = |error: serde_json::Error| StoreError::Corrupt(format!("a task cannot be read: {error}"));
        let body: TaskBody = serde_json::from_slice(task).map_err(unreadable)?;
        let Some(uses) = body.uses else { return Ok(None) };
        // Where the job was when this version was applied: it runs with what it was promised then.
        let folder = JobBody::decode(&self.content(source)?).map_err(unreadable)?.folder.unwrap_or_default();
        Ok(Some(Needs { uses, own: body.variables.into_iter().collect(), folder }))
    }

    pub fn content(&self, id: ContentId) -> Result<Arc<Vec<u8>>, StoreError> {
        if let Some(body) = self.contents.get(&id) {
            return Ok(body);
        }
        let gone = || StoreError::Corrupt(format!("content {id} is gone"));
        let body = Arc::new(self.reads.content(id, Instant::now() + READ_WITHIN)?.ok_or_else(gone)?);
        self.contents.insert(id, Arc::clone(&body));
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use engine::change::{Change, Commit};
    use model::{Actor, JobMode, JobRecord, ShardId, TenantRecord, Timestamp};
    use store::Store;
    use store::memory::MemoryStore;

    use super::*;

    const ACME: TenantId = TenantId(70);

    fn commit(store: &mut MemoryStore, changes: Vec<Change>) {
        let own = store.standing(ShardId(0)).unwrap();
        let (term, batch) = (own.term, model::Batch(own.batch.0 + 1));
        let commit =
            Commit { shard: ShardId(0), term, batch, horizon: Timestamp(1), next_id: 10, changes, claims: vec![] };
        store.commit(&commit).unwrap();
    }

    fn job_of(store: &mut MemoryStore, tenant: TenantId) -> JobRecord {
        let contents = store.intern(&[b"rule".to_vec(), b"task".to_vec(), b"source".to_vec()]).unwrap();
        JobRecord {
            id: JobId(1),
            tenant,
            name: "nightly".into(),
            version: VersionId(2),
            rule: contents[0],
            task: contents[1],
            source: contents[2],
            folder: String::new(),
            labels: Default::default(),
            mode: JobMode::Enabled,
            since: Timestamp(1),
            fired: 0,
            alias: 1,
            changed_by: "ann".into(),
        }
    }

    #[test]
    fn a_deleted_jobs_task_is_still_its_own_tenants() {
        let mut store = MemoryStore::new();
        store.take_over(ShardId(0)).unwrap();
        let job = job_of(&mut store, ACME);
        let (version, by) = (job.version, Actor("ann".into()));
        let removed = Change::JobRemoved { job: job.id, tenant: ACME, at: Timestamp(2), by: by.clone() };
        commit(&mut store, vec![Change::JobPut(Box::new(job)), removed]);

        let tenants = Arc::new(Tenants::new(vec![TenantRecord::first(Timestamp(1))]));
        let tasks = Tasks::new(Arc::new(store.clone()), Arc::clone(&tenants));
        let task = tasks.task(version).unwrap();
        assert_eq!((task.tenant, task.job_name.as_str()), (ACME, "nightly"));
        let unknown = tasks.tenant_name(task.tenant).err().map(|error| error.to_string());
        assert_eq!(unknown.as_deref(), Some("the store is damaged: tenant 70 is gone"));

        tenants.replace(vec![TenantRecord::new(ACME, "acme", Timestamp(1), by)]);
        assert_eq!(tasks.tenant_name(task.tenant).unwrap(), "acme");
    }
}
