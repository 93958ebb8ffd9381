//! The reads, as plain scans: the simulation asks seldom.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

use engine::change::Gap;
use model::rights::Place;
use model::{
    AgentRecord, AttemptId, ContentId, Ending, Instance, InstanceId, JobId, JobRecord, PoolRecord, ResourceName,
    ShardId, State, TenantId, TenantRecord, Timestamp, VersionId,
};

use super::MemoryStore;
use super::between::ticket_record;
use super::state;
use crate::read::{
    AttemptRecord, InstanceFilter, Interval, JobFilter, LedgerEntry, Letter, NoteFilter, NoteRecord, OpenCounts,
    Orphan, QuarantineRecord, Reads, ResourceRecord, TicketRecord, VersionRecord, worst_first,
};
use crate::values::{SealedSecret, UsingJob, Variable};
use crate::{OwnedVersion, StoreError, StoredVersion};

impl MemoryStore {
    fn read<T>(&self, read: impl FnOnce(&state::State) -> T) -> Result<T, StoreError> {
        let mut inner = self.inner.lock();
        inner.ready()?;
        Ok(read(&inner.state))
    }
}

impl Reads for MemoryStore {
    fn jobs(&self, filter: &JobFilter, _by: Instant) -> Result<Vec<JobRecord>, StoreError> {
        self.read(|state| {
            let living = state.jobs.values().filter(|kept| kept.removed_at.is_none()).map(|kept| &kept.record);
            let mut jobs: Vec<_> = living.filter(|job| wants_job(filter, job)).collect();
            jobs.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
            jobs.into_iter().take(filter.limit).cloned().collect()
        })
    }

    fn folders(
        &self,
        tenant: TenantId,
        within: Option<&[Place]>,
        limit: usize,
        _by: Instant,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        let within = within.map(<[Place]>::to_vec);
        let filter = JobFilter { tenant: Some(tenant), within, ..JobFilter::default() };
        self.read(|state| {
            let living = state.jobs.values().filter(|kept| kept.removed_at.is_none()).map(|kept| &kept.record);
            let mut folders = BTreeMap::new();
            for job in living.filter(|job| !job.folder.is_empty() && wants_job(&filter, job)) {
                *folders.entry(job.folder.clone()).or_insert(0) += 1;
            }
            folders.into_iter().take(limit).collect()
        })
    }

    fn job(&self, id: JobId, _by: Instant) -> Result<Option<JobRecord>, StoreError> {
        self.read(|state| state.jobs.get(&id).filter(|kept| kept.removed_at.is_none()).map(|kept| kept.record.clone()))
    }

    fn job_past_or_present(&self, id: JobId, _by: Instant) -> Result<Option<JobRecord>, StoreError> {
        self.read(|state| state.jobs.get(&id).map(|kept| kept.record.clone()))
    }

    fn job_named(&self, tenant: TenantId, name: &str, _by: Instant) -> Result<Option<JobRecord>, StoreError> {
        self.read(|state| {
            let id = state.names.get(&(tenant, name.to_string()))?;
            state.jobs.get(id).map(|kept| kept.record.clone())
        })
    }

    fn jobs_named(&self, tenant: TenantId, names: &[&str], by: Instant) -> Result<Vec<JobRecord>, StoreError> {
        names.iter().filter_map(|name| self.job_named(tenant, name, by).transpose()).collect()
    }

    fn job_once_named(&self, tenant: TenantId, name: &str, _by: Instant) -> Result<Option<JobId>, StoreError> {
        self.read(|state| {
            let living = |job| state.intervals.values().any(|other| other.job == job && other.until.is_none());
            let named = state.intervals.values().filter(|one| one.tenant == tenant && one.name == name);
            named.filter(|one| !living(one.job)).max_by_key(|one| (one.until, one.job)).map(|one| one.job)
        })
    }

    fn versions(&self, job: JobId, _by: Instant) -> Result<Vec<VersionRecord>, StoreError> {
        self.read(|state| state.versions.values().rev().filter(|version| version.job == job).cloned().collect())
    }

    fn version(&self, id: VersionId, _by: Instant) -> Result<Option<StoredVersion>, StoreError> {
        self.read(|state| {
            state.versions.get(&id).map(|v| StoredVersion {
                id,
                job: v.job,
                rule: v.rule,
                task: v.task,
                source: v.source,
            })
        })
    }

    fn owned_versions(&self, ids: &[VersionId], by: Instant) -> Result<Vec<OwnedVersion>, StoreError> {
        let mut found = Vec::new();
        for id in ids {
            let Some(version) = self.version(*id, by)? else { continue };
            let Some(job) = self.job_past_or_present(version.job, by)? else { continue };
            found.push(OwnedVersion { version, job_name: job.name, tenant: job.tenant });
        }
        Ok(found)
    }

    fn content(&self, id: ContentId, _by: Instant) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(|state| state.content(id).cloned())
    }

    fn instances(&self, filter: &InstanceFilter, _by: Instant) -> Result<Vec<Instance>, StoreError> {
        self.read(|state| {
            let all = state.instances.values().map(|kept| &kept.instance);
            let in_places = |i: &Instance| match (&filter.within, state.jobs.get(&i.job)) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(places), Some(kept)) => {
                    places.iter().any(|place| place.covers(&kept.record.folder, &kept.record.labels))
                }
            };
            let mut found: Vec<_> =
                all.filter(|i| wants_instance(filter, i) && in_places(i) && !state.spoilt.contains(&i.id)).collect();
            found.sort_by_key(|i| std::cmp::Reverse((i.planned, i.id)));
            found.into_iter().take(filter.limit).cloned().collect()
        })
    }

    fn instance(&self, id: InstanceId, _by: Instant) -> Result<Option<Instance>, StoreError> {
        self.read(|state| {
            if state.spoilt.contains(&id) {
                return Err(StoreError::Corrupt(format!("instance {id}: told to be unreadable")));
            }
            Ok(state.instances.get(&id).map(|kept| kept.instance.clone()))
        })?
    }

    fn ending(&self, id: InstanceId, _by: Instant) -> Result<Option<Ending>, StoreError> {
        self.read(|state| state.instances.get(&id).and_then(|kept| kept.ending.clone()))
    }

    fn attempts(&self, id: InstanceId, _by: Instant) -> Result<Vec<AttemptRecord>, StoreError> {
        self.read(|state| {
            let mine = (id, 0, i64::MIN)..=(id, u32::MAX, i64::MAX);
            state.attempts.range(mine).map(|(_, attempt)| attempt.clone()).collect()
        })
    }

    fn instance_of(&self, attempt: AttemptId, _by: Instant) -> Result<Option<InstanceId>, StoreError> {
        self.read(|state| state.instance_of(attempt))
    }

    fn ledger(&self, job: JobId, from: Timestamp, to: Timestamp, _by: Instant) -> Result<Vec<LedgerEntry>, StoreError> {
        self.read(|state| {
            if from >= to {
                return Vec::new();
            }
            let window = state.ledger.range((job, from, 0)..(job, to, 0));
            let wholes = window.filter(|((_, _, part), _)| *part == 0);
            wholes
                .map(|((_, planned, _), id)| {
                    let instance = &state.instances[id].instance;
                    LedgerEntry {
                        planned: *planned,
                        instance: *id,
                        state: instance.state,
                        by_trigger: by_trigger(instance),
                        started: instance.started_at.filter(|_| instance.attempt_no == 1),
                        reopened: instance.attempt_no > instance.retries_used + 1,
                    }
                })
                .collect()
        })
    }

    fn gaps(&self, job: Option<JobId>, from: Timestamp, to: Timestamp, _by: Instant) -> Result<Vec<Gap>, StoreError> {
        self.read(|state| {
            let all = state.gaps.values().map(|(_, gap)| gap);
            let window = all.filter(|gap| gap.last >= from && gap.first < to);
            let mut gaps: Vec<_> = window.filter(|gap| job.is_none_or(|job| gap.job == job)).cloned().collect();
            gaps.sort_by_key(|gap| gap.first);
            gaps
        })
    }

    fn intervals(
        &self,
        job: Option<JobId>,
        from: Timestamp,
        to: Timestamp,
        _by: Instant,
    ) -> Result<Vec<Interval>, StoreError> {
        self.read(|state| {
            let window = |i: &&Interval| i.since < to && i.until.is_none_or(|until| until >= from);
            let mine = |i: &&Interval| job.is_none_or(|job| i.job == job);
            state.intervals.values().filter(window).filter(mine).cloned().collect()
        })
    }

    fn agents(&self, _by: Instant) -> Result<Vec<AgentRecord>, StoreError> {
        self.read(|state| {
            let mut agents: Vec<_> = state.agents.values().cloned().collect();
            agents.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
            agents
        })
    }

    fn pools(&self, _by: Instant) -> Result<Vec<PoolRecord>, StoreError> {
        self.read(|state| state.pools.values().cloned().collect())
    }

    fn tenants(&self, _by: Instant) -> Result<Vec<TenantRecord>, StoreError> {
        self.read(|state| state.tenants())
    }

    fn orphans(&self, _by: Instant) -> Result<Vec<Orphan>, StoreError> {
        self.read(|state| {
            let mut orphans: Vec<_> = state.orphans.values().cloned().collect();
            orphans.sort_by_key(|orphan| std::cmp::Reverse((orphan.at, orphan.attempt)));
            orphans
        })
    }

    fn quarantine(&self, _by: Instant) -> Result<Vec<QuarantineRecord>, StoreError> {
        self.read(|state| state.quarantine.values().rev().map(|(_, record, _)| record.clone()).collect())
    }

    fn notes(&self, filter: &NoteFilter, _by: Instant) -> Result<Vec<NoteRecord>, StoreError> {
        self.read(|state| {
            let older = state.notes.range(..filter.before.unwrap_or(i64::MAX)).rev().map(|(_, record)| record);
            let mine = older.filter(|r| filter.job.is_none_or(|job| r.note.job == Some(job)));
            let mine = mine.filter(|r| filter.instance.is_none_or(|instance| r.note.instance == Some(instance)));
            mine.take(filter.limit).cloned().collect()
        })
    }

    fn counts(
        &self,
        tenant: Option<TenantId>,
        from: Timestamp,
        to: Timestamp,
        _by: Instant,
    ) -> Result<Vec<(State, u64)>, StoreError> {
        self.read(|state| {
            let mut counts = State::ALL.map(|state| (state, 0));
            let all = state.instances.values().map(|kept| &kept.instance);
            let wanted = |i: &&Instance| tenant.is_none_or(|tenant| tenant == i.tenant);
            for instance in all.filter(wanted).filter(|i| i.planned >= from && i.planned < to && i.parent.is_none()) {
                if let Some((_, count)) = counts.iter_mut().find(|(state, _)| *state == instance.state) {
                    *count += 1;
                }
            }
            counts.into_iter().filter(|(_, count)| *count > 0).collect()
        })
    }

    fn open_counts(&self, tenant: TenantId, late: Timestamp, _by: Instant) -> Result<OpenCounts, StoreError> {
        self.read(|state| {
            let mut counts = OpenCounts::default();
            let all = state.instances.values().map(|kept| &kept.instance);
            for i in all.filter(|i| i.tenant == tenant && i.state.is_open() && i.parent.is_none()) {
                counts.add(i.state, 1, u64::from(i.planned < late));
            }
            counts
        })
    }

    fn failures(
        &self,
        tenant: TenantId,
        from: Timestamp,
        to: Timestamp,
        _by: Instant,
    ) -> Result<Vec<(JobId, u64)>, StoreError> {
        self.read(|state| {
            let all = state.instances.values().map(|kept| &kept.instance);
            let bad = |i: &&Instance| matches!(i.state, State::Failed | State::Dead) && i.parent.is_none();
            let inside = |i: &&Instance| i.tenant == tenant && i.planned >= from && i.planned < to;
            worst_first(all.filter(bad).filter(inside).map(|i| (i.job, 1)))
        })
    }

    fn horizon(&self, _by: Instant) -> Result<Timestamp, StoreError> {
        self.read(|state| {
            let has_jobs =
                |shard: &ShardId| state.jobs.values().any(|kept| kept.shard == *shard && kept.removed_at.is_none());
            let busy = state.shards.iter().filter(|(shard, _)| has_jobs(shard)).map(|(_, standing)| standing.horizon);
            let latest = || state.shards.values().map(|standing| standing.horizon).max();
            busy.min().or_else(latest).unwrap_or_default()
        })
    }

    fn horizons(&self, _by: Instant) -> Result<Vec<(ShardId, Timestamp)>, StoreError> {
        self.read(|state| state.shards.iter().map(|(shard, standing)| (*shard, standing.horizon)).collect())
    }

    fn lent_to(&self, id: i64, _by: Instant) -> Result<Option<(Range<i64>, ShardId)>, StoreError> {
        self.read(|state| {
            let (first, (until, shard)) = state.lent.range(..=id).next_back()?;
            (id < *until).then_some((*first..*until, *shard))
        })
    }

    fn revision(&self, _by: Instant) -> Result<i64, StoreError> {
        self.read(|state| state.revision())
    }

    fn outbox(&self, shards: &[ShardId], limit: usize, _by: Instant) -> Result<Vec<Letter>, StoreError> {
        self.read(|state| {
            let letters = state.outbox.values().filter(|letter| shards.contains(&letter.to));
            letters.take(limit).cloned().collect()
        })
    }

    fn resources(&self, _by: Instant) -> Result<Vec<ResourceRecord>, StoreError> {
        self.read(state::State::resource_records)
    }

    fn line(&self, of: &ResourceName, limit: usize, _by: Instant) -> Result<Vec<TicketRecord>, StoreError> {
        self.read(|state| {
            let mut line: Vec<_> = state.line(of).map(|(_, ticket)| ticket_record(of, ticket)).collect();
            line.sort_by_key(|ticket| !ticket.held);
            line.truncate(limit);
            line
        })
    }

    fn tickets_of(&self, instance: InstanceId, _by: Instant) -> Result<Vec<TicketRecord>, StoreError> {
        self.read(|state| {
            let tickets = state.tickets.iter().filter(|(_, ticket)| ticket.instance == instance);
            tickets.map(|((of, _), ticket)| ticket_record(of, ticket)).collect()
        })
    }

    fn global_limit(&self, _by: Instant) -> Result<Option<u32>, StoreError> {
        self.read(|state| state.global_limit.get(&()).copied().flatten())
    }

    // Nobody can be told a value here, so nobody has any.

    fn variables(
        &self,
        _tenant: TenantId,
        _names: Option<&[String]>,
        _by: Instant,
    ) -> Result<Vec<Variable>, StoreError> {
        Ok(Vec::new())
    }

    fn secrets(
        &self,
        _tenant: TenantId,
        _names: Option<&[String]>,
        _by: Instant,
    ) -> Result<Vec<SealedSecret>, StoreError> {
        Ok(Vec::new())
    }

    fn using_jobs(&self, _tenant: TenantId, _by: Instant) -> Result<Vec<UsingJob>, StoreError> {
        Ok(Vec::new())
    }
}

fn wants_job(filter: &JobFilter, job: &JobRecord) -> bool {
    let folder = filter.folder.as_deref().filter(|folder| !folder.is_empty());
    let inside =
        |folder: &str| job.folder.strip_prefix(folder).is_some_and(|below| below.is_empty() || below.starts_with('/'));
    let part = filter.name.as_ref().map(|part| part.to_ascii_lowercase());
    let in_places = |places: &Vec<Place>| places.iter().any(|place| place.covers(&job.folder, &job.labels));
    filter.tenant.is_none_or(|tenant| job.tenant == tenant)
        && filter.within.as_ref().is_none_or(in_places)
        && folder.is_none_or(inside)
        && part.is_none_or(|part| job.name.to_ascii_lowercase().contains(&part))
        && filter.mode.is_none_or(|mode| job.mode == mode)
        && filter.after.as_ref().is_none_or(|(name, id)| (&job.name, job.id) > (name, *id))
}

fn wants_instance(filter: &InstanceFilter, i: &Instance) -> bool {
    filter.tenant.is_none_or(|tenant| i.tenant == tenant)
        && filter.job.is_none_or(|job| i.job == job)
        && (filter.states.is_empty() || filter.states.contains(&i.state))
        && filter.from.is_none_or(|from| i.planned >= from)
        && filter.to.is_none_or(|to| i.planned < to)
        && i.parent == filter.parent
        && filter.agent.is_none_or(|agent| i.target == Some(agent))
        && filter.cause.is_none_or(|cause| i.cause.kind() == cause)
        && filter.after.is_none_or(|after| (i.planned, i.id) < after)
}

fn by_trigger(instance: &Instance) -> bool {
    match instance.cause {
        model::Cause::Planned | model::Cause::Misfire { .. } => true,
        model::Cause::Manual(_) | model::Cause::After(_) | model::Cause::Shard(_) => false,
    }
}
