//! Fills a store before a server is started on it: through the store's own seam, so that every row is what the product
//! would have written, without waiting for it to happen.

use std::collections::HashMap;
use std::path::Path;

use engine::Row;
use engine::change::{Change, Commit, Created, Ended};
use model::{
    Actor, AgentId, AgentKind, AgentRecord, AttemptId, Batch, Cause, ContentId, Ending, Failure, InstanceId, JobId,
    JobMode, JobRecord, Outcome, Part, Serves, ShardId, Span, State, TaskSorts, TenantId, TenantRecord, Term,
    Timestamp, Usage, Verdict, VersionId,
};
use store::Store;
use store::sqlite::{Options, SqliteStore};
use wire::job::JobBody;

use crate::measure;

/// A fixture is made by one owner that uses all it takes.
const IDS_AT_ONCE: i64 = 1 << 20;
const SHARD: ShardId = ShardId(0);
/// Changes of one commit.
const CHANGES_MAX: usize = 10_000;

pub(crate) struct Fixture {
    store: SqliteStore,
    term: Term,
    batch: Batch,
    ids: std::ops::Range<i64>,
    changes: Vec<Change>,
    /// Rule and task of what was seen already.
    parts: HashMap<Vec<u8>, [ContentId; 2]>,
    now: Timestamp,
    /// Whose the jobs are.
    tenant: TenantId,
}

impl Fixture {
    /// In a data directory that is set up and that no server has open.
    pub(crate) fn open(data: &Path) -> anyhow::Result<Fixture> {
        let mut store = SqliteStore::open(data, &Options::default())?;
        let owner = store.take_over(SHARD)?;
        let now = Timestamp(measure::now_us());
        let (term, batch) = (owner.term, owner.standing.batch);
        Ok(Fixture {
            store,
            term,
            batch,
            ids: 0..0,
            changes: Vec::new(),
            parts: HashMap::new(),
            now,
            tenant: TenantId::DEFAULT,
        })
    }

    pub(crate) fn jobs(&mut self, bodies: impl Iterator<Item = JobBody>) -> anyhow::Result<Vec<JobRecord>> {
        let mut made = Vec::new();
        let mut bodies = bodies.peekable();
        while bodies.peek().is_some() {
            let some: Vec<JobBody> = bodies.by_ref().take(CHANGES_MAX).collect();
            let sources = self.store.intern(&some.iter().map(JobBody::encode).collect::<Vec<_>>())?;
            for (body, source) in some.iter().zip(sources) {
                let record = self.record(body, source)?;
                made.push(record.clone());
                self.change(Change::JobPut(Box::new(record)))?;
            }
        }
        self.commit()?;
        Ok(made)
    }

    /// A tenant of its own, whose are the jobs made from now on.
    pub(crate) fn tenant(&mut self, name: &str) -> anyhow::Result<TenantId> {
        // Far from the number of the first, which was there before anything was counted.
        let id = TenantId(self.id()? + 1_000);
        self.change(Change::TenantPut(Box::new(TenantRecord::new(id, name, self.now, Actor("ada".into())))))?;
        self.tenant = id;
        Ok(id)
    }

    /// Its rule and its task; jobs that differ in nothing but their names share them.
    fn parts(&mut self, body: &JobBody) -> anyhow::Result<[ContentId; 2]> {
        let key = JobBody { job: "any".into(), ..body.clone() }.encode();
        if let Some(known) = self.parts.get(&key) {
            return Ok(*known);
        }
        let parts = body.to_parts(|_| None).map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
        let kept = self.store.intern(&[wire::rule::encode(&parts.rule), serde_json::to_vec(&parts.task)?])?;
        let kept = [kept[0], kept[1]];
        self.parts.insert(key, kept);
        Ok(kept)
    }

    fn record(&mut self, body: &JobBody, source: ContentId) -> anyhow::Result<JobRecord> {
        let [rule, task] = self.parts(body)?;
        Ok(JobRecord {
            id: JobId(self.id()?),
            tenant: self.tenant,
            name: body.job.clone(),
            version: VersionId(self.id()?),
            rule,
            task,
            source,
            folder: body.folder.clone().unwrap_or_default(),
            labels: Default::default(),
            mode: JobMode::Enabled,
            since: self.now,
            fired: 0,
            changed_by: Actor("ada".into()).0,
            alias: 0,
        })
    }

    /// An agent that was here once, in a pool of that name.
    pub(crate) fn agent(&mut self, name: String, pool: String) -> anyhow::Result<()> {
        let record = AgentRecord {
            id: AgentId(self.id()?),
            tenant: self.tenant,
            serves: Serves::Own,
            name,
            pools: vec![pool],
            labels: Default::default(),
            slots: 8,
            drained: false,
            joined_at: self.now,
            seen_at: Some(self.now),
            version: env!("CARGO_PKG_VERSION").into(),
            runs: TaskSorts::ALL,
            kind: AgentKind::Agent,
        };
        self.change(Change::AgentPut(Box::new(record)))
    }

    /// An instance that has run; well or not.
    pub(crate) fn instance(&mut self, job: &JobRecord, planned: Timestamp, well: bool) -> anyhow::Result<()> {
        self.ended(job, planned, if well { Ending::Succeeded } else { Ending::Failed(Failure::Exit) })
    }

    /// An instance that has run and ended so.
    pub(crate) fn ended(&mut self, job: &JobRecord, planned: Timestamp, ending: Ending) -> anyhow::Result<()> {
        let id = self.id()?;
        let row = Row { id: InstanceId(id), job: job.id, planned };
        self.change(Change::Created(Created {
            row,
            tenant: job.tenant,
            version: job.version,
            part: Part::WHOLE,
            parent: None,
            cause: Cause::Planned,
            params: None,
            state: State::Dispatched,
            attempt: AttemptId(id),
            target: None,
            at: planned - Span::SECOND,
        }))?;
        let (verdict, code) = match ending {
            Ending::Succeeded => (Verdict::Succeeded, 0),
            _ => (Verdict::Failed, 1),
        };
        let ended_at = planned + Span::millis(40);
        let outcome = Outcome {
            verdict,
            exit_code: Some(code),
            message: None,
            outputs: None,
            started_at: Some(planned + Span::millis(1)),
            ended_at,
            usage: Usage { cpu_us: Some(1_500), peak_kb: Some(3_400), log_bytes: Some(120) },
        };
        self.change(Change::Ended(Ended {
            row,
            attempt: AttemptId(id),
            ending,
            target: None,
            ordered_at: Some(planned),
            at: ended_at,
            outcome: Some(Box::new(outcome)),
            why: None,
        }))
    }

    pub(crate) fn commit(&mut self) -> anyhow::Result<()> {
        self.batch = Batch(self.batch.0 + 1);
        let commit = Commit {
            shard: SHARD,
            term: self.term,
            batch: self.batch,
            horizon: self.now,
            next_id: self.ids.start,
            changes: std::mem::take(&mut self.changes),
            claims: Vec::new(),
        };
        self.store.commit(&commit)?;
        Ok(())
    }

    fn change(&mut self, change: Change) -> anyhow::Result<()> {
        self.changes.push(change);
        if self.changes.len() >= CHANGES_MAX { self.commit() } else { Ok(()) }
    }

    fn id(&mut self) -> anyhow::Result<i64> {
        if self.ids.is_empty() {
            self.ids = self.store.take_ids(Some(ShardId(0)), IDS_AT_ONCE)?;
        }
        self.ids.next().ok_or_else(|| anyhow::anyhow!("an empty block of ids"))
    }
}
