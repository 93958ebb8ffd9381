//! What the memory store holds, table by table as the SQLite one does.

use engine::change::{ClaimName, Ends, Gap, MessageId};
use model::{
    AgentRecord, ContentId, Ending, Instance, InstanceId, JobId, JobRecord, PoolRecord, ResourceName, ShardId,
    TenantId, TenantRecord, Timestamp, Verdict, VersionId,
};
use rustc_hash::FxHashMap;

use super::between::{Resource, Ticket};
use super::table::Table;
use crate::Standing;
use crate::read::{AttemptRecord, Interval, Letter, NoteRecord, Orphan, QuarantineRecord, VersionRecord};

#[derive(Debug, Default)]
pub(super) struct State {
    pub shards: Table<ShardId, Standing>,
    pub instances: Table<InstanceId, Kept>,
    /// Unique by job, planned time and part.
    pub ledger: Table<(JobId, Timestamp, u32), InstanceId>,
    pub open: Table<(ShardId, InstanceId), ()>,
    pub attempts: Table<(InstanceId, u32, i64), AttemptRecord>,
    /// Attempts after the first.
    pub later: Table<i64, InstanceId>,
    pub gaps: Table<i64, (ShardId, Gap)>,
    pub jobs: Table<JobId, KeptJob>,
    /// Of living jobs.
    pub names: Table<(TenantId, String), JobId>,
    pub versions: Table<VersionId, VersionRecord>,
    pub intervals: Table<(JobId, Timestamp), Interval>,
    pub agents: Table<i64, AgentRecord>,
    pub pools: Table<(TenantId, String), PoolRecord>,
    pub tenants: Table<TenantId, TenantRecord>,
    pub quarantine: Table<i64, (ShardId, QuarantineRecord, Timestamp)>,
    pub orphans: Table<(i64, i64, u8), Orphan>,
    pub notes: Table<i64, NoteRecord>,
    pub claims: Table<ClaimName, (i64, Timestamp)>,
    pub global_limit: Table<(), Option<u32>>,
    /// Raised with every change to agents, pools and limits.
    pub revisions: Table<(), i64>,
    pub outbox: Table<MessageId, Letter>,
    pub followers: Table<(JobId, JobId), (ShardId, Ends)>,
    pub resources: Table<ResourceName, Resource>,
    /// By what they are for, then in order.
    pub tickets: Table<(ResourceName, i64), Ticket>,
    // Never taken back: an id lent stays lent, bytes kept stay kept, and a term only rises.
    pub next_id: i64,
    /// Where each lent range begins: its end, and the shard that has it.
    pub lent: std::collections::BTreeMap<i64, (i64, ShardId)>,
    /// Fixed when the store is made; 0 is as good as 1.
    pub shards_max: i64,
    pub next_alias: i32,
    pub next_row: i64,
    pub contents: Vec<Vec<u8>>,
    pub content_ids: FxHashMap<Vec<u8>, ContentId>,
    /// Instances that tests made unreadable.
    pub spoilt: std::collections::BTreeSet<InstanceId>,
}

#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub shard: ShardId,
    pub instance: Instance,
    pub ending: Option<Ending>,
    pub verdict: Option<Verdict>,
}

#[derive(Clone, Debug)]
pub(super) struct KeptJob {
    pub shard: ShardId,
    pub record: JobRecord,
    pub removed_at: Option<Timestamp>,
}

macro_rules! each_table {
    ($self:ident, $do:ident $(, $arg:expr)*) => {{
        $self.shards.$do($($arg),*);
        $self.instances.$do($($arg),*);
        $self.ledger.$do($($arg),*);
        $self.open.$do($($arg),*);
        $self.attempts.$do($($arg),*);
        $self.later.$do($($arg),*);
        $self.gaps.$do($($arg),*);
        $self.jobs.$do($($arg),*);
        $self.names.$do($($arg),*);
        $self.versions.$do($($arg),*);
        $self.intervals.$do($($arg),*);
        $self.agents.$do($($arg),*);
        $self.pools.$do($($arg),*);
        $self.tenants.$do($($arg),*);
        $self.quarantine.$do($($arg),*);
        $self.orphans.$do($($arg),*);
        $self.notes.$do($($arg),*);
        $self.claims.$do($($arg),*);
        $self.global_limit.$do($($arg),*);
        $self.revisions.$do($($arg),*);
        $self.outbox.$do($($arg),*);
        $self.followers.$do($($arg),*);
        $self.resources.$do($($arg),*);
        $self.tickets.$do($($arg),*);
    }};
}

impl State {
    pub(super) fn seal(&mut self, keep: usize) {
        each_table!(self, seal, keep);
    }

    pub(super) fn undo(&mut self) {
        each_table!(self, undo);
    }

    /// The last written batch never was; but a term that was seen stays.
    pub(super) fn go_back(&mut self) {
        let terms: Vec<_> = self.shards.iter().map(|(shard, standing)| (*shard, standing.term)).collect();
        each_table!(self, go_back);
        for (shard, term) in terms {
            if self.shards.contains_key(&shard) {
                self.shards.edit(&shard, |standing| standing.term = term);
            }
        }
        self.shards.forget_undo();
    }

    /// By their numbers; the first is there though nobody has written it.
    pub(super) fn tenants(&self) -> Vec<TenantRecord> {
        let unwritten = !self.tenants.contains_key(&TenantId::DEFAULT);
        let first = unwritten.then(|| TenantRecord::first(Timestamp(0)));
        first.into_iter().chain(self.tenants.values().cloned()).collect()
    }

    pub(super) fn revision(&self) -> i64 {
        self.revisions.get(&()).copied().unwrap_or(0)
    }

    pub(super) fn raise_revision(&mut self) {
        self.revisions.put((), self.revision() + 1);
    }

    pub(super) fn row_number(&mut self) -> i64 {
        self.next_row += 1;
        self.next_row
    }

    pub(super) fn intern(&mut self, body: &[u8]) -> ContentId {
        if let Some(id) = self.content_ids.get(body) {
            return *id;
        }
        self.contents.push(body.to_vec());
        let id = ContentId(self.contents.len() as i64);
        self.content_ids.insert(body.to_vec(), id);
        id
    }

    pub(super) fn has_content(&self, id: ContentId) -> bool {
        self.content(id).is_some()
    }

    pub(super) fn content(&self, id: ContentId) -> Option<&Vec<u8>> {
        usize::try_from(id.0).ok()?.checked_sub(1).and_then(|at| self.contents.get(at))
    }
}
