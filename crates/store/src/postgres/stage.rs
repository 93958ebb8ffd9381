//! Gathers changes that may be written together, whatever their order: no two of them about the same row. What does not
//! fit begins the next stage, so that each batch means what it means one by one.

use std::collections::BTreeMap;

use engine::change::{Change, Commit, Created, Ended, Gap, Note, Progress, Retried, Row};
use model::{Actor, AgentId, AgentRecord, AttemptId, JobId, JobMode, JobRecord, Timestamp};
use rustc_hash::FxHashSet;

/// Changes of one kind, by planned day.
pub(super) type ByDay<T> = BTreeMap<i64, Vec<T>>;

/// What must be written with its shard, and the batch that tells which it is.
pub(super) type Of<'c, T> = (&'c Commit, &'c T);

#[derive(Default)]
pub(super) struct Stage<'c> {
    pub jobs: Vec<Of<'c, JobRecord>>,
    pub modes: Vec<ModeOf<'c>>,
    pub agents: Vec<&'c AgentRecord>,
    pub created: ByDay<Of<'c, Created>>,
    pub withdrawn: ByDay<Row>,
    pub placed: ByDay<Placed<'c>>,
    pub progressed: ByDay<&'c Progress>,
    pub retried: ByDay<&'c Retried>,
    pub stopping: ByDay<(Row, &'c Actor, Timestamp)>,
    pub ended: ByDay<&'c Ended>,
    pub counted: Vec<(JobId, u64)>,
    pub gaps: Vec<Of<'c, Gap>>,
    pub notes: Vec<Of<'c, Note>>,
    rows: FxHashSet<i64>,
    /// Planned times that are free again once what is withdrawn is gone.
    freed: FxHashSet<(JobId, Timestamp)>,
    job_ids: FxHashSet<JobId>,
    agent_ids: FxHashSet<AgentId>,
    counted_ids: FxHashSet<JobId>,
}

pub(super) struct ModeOf<'c> {
    pub job: JobId,
    pub mode: JobMode,
    pub since: Timestamp,
    pub fired: u64,
    pub by: &'c Actor,
}

pub(super) struct Placed<'c> {
    pub row: Row,
    pub attempt: AttemptId,
    pub target: Option<AgentId>,
    pub note: Option<&'c str>,
}

impl<'c> Stage<'c> {
    /// Takes the change, if it can be written together with what is here already.
    pub(super) fn take(&mut self, commit: &'c Commit, change: &'c Change) -> bool {
        match change {
            Change::Created(c) => {
                let fits = !self.freed.contains(&(c.row.job, c.row.planned)) && self.has_room(c.row);
                if fits {
                    of_day(&mut self.created, c.row).push((commit, c));
                }
                fits
            }
            Change::Withdrawn { row } => {
                self.has_room(*row) && {
                    self.freed.insert((row.job, row.planned));
                    put(&mut self.withdrawn, *row, *row)
                }
            }
            Change::Placed { row, attempt, target, note } => {
                let placed = Placed { row: *row, attempt: *attempt, target: *target, note: note.as_deref() };
                self.has_room(*row) && put(&mut self.placed, *row, placed)
            }
            Change::Progress(p) => self.has_room(p.row) && put(&mut self.progressed, p.row, p),
            Change::Retried(r) => self.has_room(r.row) && put(&mut self.retried, r.row, r),
            Change::Stopping { row, by, at } => self.has_room(*row) && put(&mut self.stopping, *row, (*row, by, *at)),
            Change::Ended(e) => self.has_room(e.row) && put(&mut self.ended, e.row, e),
            Change::JobCounted { job, fired } => {
                let fits = self.job_ids.is_empty() && self.counted_ids.insert(*job);
                if fits {
                    self.counted.push((*job, *fired));
                }
                fits
            }
            Change::JobPut(job) => {
                let fits = self.is_about_jobs_only() && self.modes.is_empty() && self.job_ids.insert(job.id);
                if fits {
                    self.jobs.push((commit, &**job));
                }
                fits
            }
            Change::JobMode { job, mode, since, fired, by } => {
                let fits = self.is_about_jobs_only() && self.jobs.is_empty() && self.job_ids.insert(*job);
                if fits {
                    self.modes.push(ModeOf { job: *job, mode: *mode, since: *since, fired: *fired, by });
                }
                fits
            }
            Change::AgentPut(agent) => {
                let fits = self.agent_ids.insert(agent.id);
                if fits {
                    self.agents.push(agent);
                }
                fits
            }
            Change::Gap(gap) => {
                self.gaps.push((commit, gap));
                true
            }
            Change::Note(note) => {
                self.notes.push((commit, note));
                true
            }
            Change::Reopened { .. }
            | Change::JobRemoved { .. }
            | Change::Quarantined { .. }
            | Change::Unquarantined { .. }
            | Change::AgentRemoved { .. }
            | Change::PoolPut(_)
            | Change::TenantPut(_)
            | Change::TenantRemoved { .. }
            | Change::GlobalLimit { .. }
            | Change::Orphan { .. }
            | Change::Released { .. }
            | Change::Told { .. }
            | Change::Took { .. }
            | Change::Follower { .. }
            | Change::Drawn(_)
            | Change::Returned(_)
            | Change::ResourcePut { .. } => false,
        }
    }

    fn has_room(&mut self, row: Row) -> bool {
        self.job_ids.is_empty() && self.rows.insert(row.id.0)
    }

    fn is_about_jobs_only(&self) -> bool {
        self.rows.is_empty() && self.counted_ids.is_empty()
    }
}

/// Changes that no stage takes.
pub(super) fn stands_alone(change: &Change) -> bool {
    match change {
        Change::Reopened { .. }
        | Change::JobRemoved { .. }
        | Change::Quarantined { .. }
        | Change::Unquarantined { .. }
        | Change::AgentRemoved { .. }
        | Change::PoolPut(_)
        | Change::TenantPut(_)
        | Change::TenantRemoved { .. }
        | Change::GlobalLimit { .. }
        | Change::Orphan { .. }
        | Change::Released { .. }
        | Change::Told { .. }
        | Change::Took { .. }
        | Change::Follower { .. }
        | Change::Drawn(_)
        | Change::Returned(_)
        | Change::ResourcePut { .. } => true,
        Change::Created(_)
        | Change::Withdrawn { .. }
        | Change::Placed { .. }
        | Change::Progress(_)
        | Change::Retried(_)
        | Change::Ended(_)
        | Change::Stopping { .. }
        | Change::JobCounted { .. }
        | Change::JobPut(_)
        | Change::JobMode { .. }
        | Change::AgentPut(_)
        | Change::Gap(_)
        | Change::Note(_) => false,
    }
}

fn of_day<T>(kind: &mut ByDay<T>, row: Row) -> &mut Vec<T> {
    kind.entry(row.planned.day()).or_default()
}

fn put<T>(kind: &mut ByDay<T>, row: Row, one: T) -> bool {
    of_day(kind, row).push(one);
    true
}

#[cfg(test)]
mod tests {
    use model::{Ending, InstanceId};

    use super::*;

    fn row(id: i64, planned: i64) -> Row {
        Row { id: InstanceId(id), job: JobId(1), planned: Timestamp(planned) }
    }

    fn ended(id: i64) -> Change {
        let (row, attempt) = (row(id, id), AttemptId(id));
        let at = row.planned;
        let ending = Ending::Succeeded;
        Change::Ended(Ended { row, attempt, ending, target: None, ordered_at: None, at, outcome: None, why: None })
    }

    #[test]
    fn two_changes_of_one_row_are_two_stages() {
        let mut stage = Stage::default();
        let commit = Commit {
            shard: model::ShardId(0),
            term: model::Term(1),
            batch: model::Batch(1),
            horizon: Timestamp(0),
            next_id: 9,
            changes: vec![],
            claims: vec![],
        };
        let stop = Change::Stopping { row: row(1, 1), by: Actor("ann".into()), at: Timestamp(1) };
        let counted = Change::JobCounted { job: JobId(1), fired: 1 };
        assert!(stage.take(&commit, &stop));
        let (one, other) = (ended(1), ended(2));
        assert!(!stage.take(&commit, &one) && stage.take(&commit, &other) && stage.take(&commit, &counted));
        assert!(!stage.take(&commit, &counted));
        assert_eq!(stage.ended.values().flatten().count(), 1);
    }
}
