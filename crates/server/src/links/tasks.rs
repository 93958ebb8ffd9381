//! What versions run: looked up once, then kept. A stream asks here before it sends a version's first order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{ContentId, JobId, TenantId, VersionId};
use store::{Reads, StoreError};
use wire::JobBody;
use wire::task::TaskBody;

use super::values::Needs;

/// Bytes of tasks and parameters kept in memory.
const CACHE_BYTES: u64 = 32 << 20;
const READ_WITHIN: Duration = Duration::from_secs(5);
/// Quotes inside of texts are escaped: only a task that names something has these bytes.
const USES: &[u8] = b"\"uses\":";

#[derive(Clone)]
pub struct Tasks {
    reads: Arc<dyn Reads>,
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
    pub fn new(reads: Arc<dyn Reads>) -> Tasks {
        let tasks = moka::sync::Cache::builder()
            .max_capacity(CACHE_BYTES)
            .weigher(|_, task: &Arc<Task>| (task.body.len() + task.job_name.len() + 64) as u32)
            .build();
        let contents = moka::sync::Cache::builder()
            .max_capacity(CACHE_BYTES)
            .weigher(|_, body: &Arc<Vec<u8>>| (body.len() + 64) as u32)
            .build();
        Tasks { reads, tasks, contents }
    }

    /// Blocks on the store if the version has not been asked for lately.
    pub fn task(&self, version: VersionId) -> Result<Arc<Task>, StoreError> {
        if let Some(task) = self.tasks.get(&version) {
            return Ok(task);
        }
        let by = Instant::now() + READ_WITHIN;
        let gone = || StoreError::Corrupt(format!("version {version} is gone"));
        let stored = self.reads.version(version, by)?.ok_or_else(gone)?;
        let job = self.reads.job(stored.job, by)?;
        let tenant = job.as_ref().map_or(TenantId::DEFAULT, |job| job.tenant);
        let job_name = job.map(|job| job.name).unwrap_or_default();
        // Many jobs run the same thing.
        let body = self.content(stored.task)?.to_vec();
        let needs = self.needs(&body, stored.source)?.map(Arc::new);
        let rule = wire::rule::decode(&self.content(stored.rule)?);
        let pool = rule.map(|rule| rule.pool.name).unwrap_or_default();
        let task = Arc::new(Task { job: stored.job, job_name, body, needs, pool, tenant });
        self.tasks.insert(version, Arc::clone(&task));
        Ok(task)
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
