//! A shard's owner as the tests see it: commits changes, fires and ends jobs, and says what it expects.

use std::time::{Duration, Instant};

use engine::change::{Answer, Change, Claim, ClaimAnswer, ClaimName, Commit, Created, Ended, Grant, Retried, Row};
use model::{
    Actor, AttemptId, Batch, Cause, Ending, InstanceId, JobId, JobMode, JobRecord, Outcome, Part, ShardId, Span, State,
    TenantId, Term, Timestamp, Verdict, VersionId,
};

use super::Bed;
use crate::{CommitError, Reads, Store};

/// Midnight of the day most tests happen on.
pub(super) const T0: Timestamp = Timestamp(20_000 * Span::DAY.0);

pub(super) fn at(secs: i64) -> Timestamp {
    T0 + Span::secs(secs)
}

pub(super) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

pub(super) struct World {
    pub store: Box<dyn Store>,
    pub reads: Box<dyn Reads>,
    pub shard: ShardId,
    pub term: Term,
    pub batch: i64,
    pub next_id: i64,
    pub horizon: Timestamp,
}

impl World {
    pub(super) fn new(bed: &impl Bed) -> World {
        World::of(bed, ShardId(0))
    }

    pub(super) fn of(bed: &impl Bed, shard: ShardId) -> World {
        let mut store = bed.store();
        let own = store.take_over(shard).unwrap();
        let next_id = store.take_ids(Some(shard), 1 << 20).unwrap().start;
        World { store, reads: bed.reads(), shard, term: own.term, batch: own.standing.batch.0, next_id, horizon: T0 }
    }

    pub(super) fn id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id - 1
    }

    pub(super) fn batch(&self, changes: Vec<Change>, claims: Vec<Claim>) -> Commit {
        Commit {
            shard: self.shard,
            term: self.term,
            batch: Batch(self.batch + 1),
            horizon: self.horizon,
            next_id: self.next_id,
            changes,
            claims,
        }
    }

    pub(super) fn commit(&mut self, changes: impl Into<Vec<Change>>) {
        self.claim(changes, []);
    }

    pub(super) fn claim(&mut self, changes: impl Into<Vec<Change>>, claims: impl Into<Vec<Claim>>) -> Vec<ClaimAnswer> {
        claims_of(self.written(changes.into(), claims.into()))
    }

    /// What the changes let through.
    pub(super) fn grants(&mut self, changes: impl Into<Vec<Change>>) -> Vec<Grant> {
        let granted = |answer| match answer {
            Answer::Granted(grant) => Some(grant),
            Answer::Claim(_) => None,
        };
        self.written(changes.into(), vec![]).into_iter().filter_map(granted).collect()
    }

    fn written(&mut self, changes: Vec<Change>, claims: Vec<Claim>) -> Vec<Answer> {
        let commit = self.batch(changes, claims);
        let answers = self.store.commit(&commit).unwrap_or_else(|e| panic!("{e}: {:?}", commit.changes));
        self.batch += 1;
        answers
    }

    /// The batch must be refused as our own defect at this change, and leave no trace in the standing.
    pub(super) fn refuse(&mut self, changes: impl Into<Vec<Change>>, at: usize) {
        let before = self.store.standing(self.shard).unwrap();
        let commit = self.batch(changes.into(), vec![]);
        match self.store.commit(&commit) {
            Err(CommitError::Impossible { index, .. }) => assert_eq!(index, at, "{:?}", commit.changes),
            other => panic!("{other:?} for {:?}", commit.changes),
        }
        assert_eq!(self.store.standing(self.shard).unwrap(), before);
    }

    pub(super) fn job(&mut self, name: &str) -> JobRecord {
        self.job_of(TenantId(1), name)
    }

    pub(super) fn job_of(&mut self, tenant: TenantId, name: &str) -> JobRecord {
        let bodies = ["rule", "task", "source"].map(|part| format!("{part} of {name}").into_bytes());
        let contents = self.store.intern(&bodies).unwrap();
        let id = self.id();
        let job = JobRecord {
            id: JobId(id),
            tenant,
            name: name.into(),
            version: VersionId(self.id()),
            rule: contents[0],
            task: contents[1],
            source: contents[2],
            folder: "ops".into(),
            labels: Default::default(),
            mode: JobMode::Enabled,
            since: T0,
            fired: 0,
            alias: id as i32,
            changed_by: "ann".into(),
        };
        self.commit([Change::JobPut(Box::new(job.clone()))]);
        job
    }

    pub(super) fn creation(&mut self, job: &JobRecord, planned: Timestamp) -> Created {
        let id = self.id();
        Created {
            row: Row { id: InstanceId(id), job: job.id, planned },
            tenant: job.tenant,
            version: job.version,
            part: Part::WHOLE,
            parent: None,
            cause: Cause::Planned,
            params: None,
            state: State::Scheduled,
            attempt: AttemptId(id),
            target: None,
            at: planned,
        }
    }

    pub(super) fn fire(&mut self, job: &JobRecord, planned: Timestamp) -> Row {
        let created = self.creation(job, planned);
        self.commit([Change::Created(created.clone())]);
        created.row
    }

    pub(super) fn open(&mut self) -> Vec<i64> {
        let mut open: Vec<_> = self.store.load(self.shard).unwrap().open.iter().map(|i| i.id.0).collect();
        open.sort_unstable();
        open
    }

    /// Days pass for the mark behind which nothing is looked at.
    pub(super) fn tidy_until(&mut self, now: Timestamp) {
        for step in [Span::ZERO, Span::HOUR] {
            while self.store.tidy(self.shard, now + step).unwrap() {}
        }
    }
}

pub(super) fn claims_of(answers: Vec<Answer>) -> Vec<ClaimAnswer> {
    let claim = |answer| match answer {
        Answer::Claim(answer) => Some(answer),
        Answer::Granted(_) => None,
    };
    answers.into_iter().filter_map(claim).collect()
}

/// The ending of a first attempt.
pub(super) fn ended(row: Row, ending: Ending) -> Change {
    ended_by(row, AttemptId(row.id.0), ending)
}

pub(super) fn ended_by(row: Row, attempt: AttemptId, ending: Ending) -> Change {
    let at = row.planned + Span::SECOND;
    Change::Ended(Ended { row, attempt, ending, target: None, ordered_at: None, at, outcome: None, why: None })
}

/// A retry of the job's policy, as long as nothing was delivered in vain: each attempt but the first is one.
pub(super) fn retried(row: Row, attempt: i64, no: u32, next: i64) -> Change {
    Change::Retried(Box::new(Retried {
        row,
        attempt: AttemptId(attempt),
        attempt_no: no,
        target: Some(model::AgentId(3)),
        ordered_at: Some(row.planned),
        outcome: outcome(Verdict::Failed, row.planned + Span::SECOND),
        next: AttemptId(next),
        retry_at: row.planned + Span::MINUTE,
        retries_used: no,
    }))
}

pub(super) fn outcome(verdict: Verdict, ended_at: Timestamp) -> Outcome {
    Outcome {
        verdict,
        exit_code: Some(7),
        message: Some("said this".into()),
        outputs: Some(r#"{"n":"1"}"#.into()),
        started_at: Some(ended_at - Span::millis(5)),
        ended_at,
        usage: model::Usage { cpu_us: Some(1), peak_kb: Some(2), log_bytes: Some(3) },
    }
}

pub(super) fn ann() -> Actor {
    Actor("ann".into())
}

pub(super) fn job_name(name: &str) -> ClaimName {
    ClaimName::JobName { tenant: TenantId(1), name: name.into() }
}

pub(super) fn wants(name: ClaimName, holder: i64, at: Timestamp) -> Claim {
    Claim { name, holder, at }
}
