//! Jobs and what is kept of them; agents, pools, gaps, notes.

use std::collections::BTreeMap;

use engine::HeldJob;
use engine::change::{Change, Fate, Gap, Note, NoteKind};
use model::{
    Actor, AgentId, AgentKind, AgentRecord, Executor, Exported, InstanceId, JobMode, JobRecord, PoolRecord, Quotas,
    ResourceKind, ResourceName, ShardId, SkipReason, Span, TenantId, TenantRecord, TenantState, Timestamp, VersionId,
};

use super::Bed;
use super::world::{T0, World, ann, at, ended, soon};
use crate::read::NoteFilter;

fn put(job: &JobRecord) -> Change {
    Change::JobPut(Box::new(job.clone()))
}

fn mode(job: &JobRecord, mode: JobMode, since: Timestamp) -> Change {
    Change::JobMode { job: job.id, mode, since, fired: 4, by: ann() }
}

pub fn a_job_is_what_it_was_when(bed: &impl Bed) {
    let mut w = World::new(bed);
    let mut job = w.job("a");
    w.commit([mode(&job, JobMode::Paused, at(10))]);
    let kept = w.reads.job(job.id, soon()).unwrap().unwrap();
    assert_eq!((kept.mode, kept.since, kept.fired, kept.changed_by.as_str()), (JobMode::Paused, at(10), 4, "ann"));
    // Twice at one instant: the first of the two decided nothing.
    w.commit([mode(&job, JobMode::Enabled, at(20))]);
    w.commit([mode(&job, JobMode::Disabled, at(20))]);
    let first = job.version;
    job.version = VersionId(w.id());
    job.rule = w.store.intern(&[b"another rule".to_vec()]).unwrap()[0];
    job.since = at(30);
    w.commit([put(&job)]);

    let seen = |from: i64, to: i64| -> Vec<(Timestamp, Option<Timestamp>, VersionId, JobMode)> {
        let found = w.reads.intervals(Some(job.id), at(from), at(to), soon()).unwrap();
        found.iter().map(|i| (i.since, i.until, i.version, i.mode)).collect()
    };
    let all = [
        (T0, Some(at(10)), first, JobMode::Enabled),
        (at(10), Some(at(20)), first, JobMode::Paused),
        (at(20), Some(at(30)), first, JobMode::Disabled),
        (at(30), None, job.version, JobMode::Enabled),
    ];
    assert_eq!(seen(0, 100), all);
    assert_eq!(seen(12, 15), all[1..2]);
    assert_eq!(seen(25, 31), all[2..]);
    let versions: Vec<_> = w.reads.versions(job.id, soon()).unwrap().iter().map(|v| v.id).collect();
    assert_eq!(versions, [job.version, first]);
    w.refuse([mode(&job, JobMode::Paused, at(29))], 0);
}

pub fn a_version_says_one_thing(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let mut other = job.clone();
    other.rule = job.task;
    w.refuse([put(&other)], 0);
    other = job.clone();
    other.version = VersionId(w.id());
    other.rule = model::ContentId(123_456);
    w.refuse([put(&other)], 0);
    assert_eq!(w.reads.version(job.version, soon()).unwrap().unwrap().rule, job.rule);
    assert_eq!(w.reads.version(other.version, soon()).unwrap(), None);
}

pub fn several_jobs_are_read_by_their_names(bed: &impl Bed) {
    let mut w = World::new(bed);
    let (first, gone, other) = (w.job("a"), w.job("it's \"b\""), w.job("每日"));
    w.commit([Change::JobRemoved { job: gone.id, tenant: gone.tenant, at: at(50), by: ann() }]);
    let named = |names: &[&str]| {
        let mut ids: Vec<_> =
            w.reads.jobs_named(first.tenant, names, soon()).unwrap().iter().map(|job| job.id).collect();
        ids.sort();
        ids
    };
    assert_eq!(named(&["每日", "a", "it's \"b\"", "nobody"]), [first.id, other.id]);
    assert_eq!(named(&["A"]), [], "names are told apart by case");
    assert_eq!(named(&[]), []);
    assert_eq!(w.reads.jobs_named(model::TenantId(9), &["a"], soon()).unwrap(), [], "each tenant has its own");
}

pub fn versions_are_read_with_whose_they_are(bed: &impl Bed) {
    let mut w = World::new(bed);
    let (first, gone) = (w.job("a"), w.job("b"));
    w.commit([Change::JobRemoved { job: gone.id, tenant: gone.tenant, at: at(50), by: ann() }]);
    let asked = [gone.version, VersionId(w.id()), first.version];
    let mut read = w.reads.owned_versions(&asked, soon()).unwrap();
    read.sort_by_key(|one| one.version.id);
    let told = |one: &crate::OwnedVersion| (one.version.id, one.version.job, one.job_name.clone(), one.tenant);
    let expected = [&first, &gone].map(|job| (job.version, job.id, job.name.clone(), job.tenant));
    assert_eq!(read.iter().map(told).collect::<Vec<_>>(), expected, "what was never written is left out");
    assert_eq!(read[0].version, w.reads.version(first.version, soon()).unwrap().unwrap());
    assert_eq!(w.reads.owned_versions(&[], soon()).unwrap(), []);
}

pub fn a_removed_job_leaves_its_history(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let open = w.fire(&job, at(1));
    let remove = Change::JobRemoved { job: job.id, tenant: job.tenant, at: at(50), by: ann() };
    w.commit([remove.clone()]);
    w.refuse([remove], 0);
    w.refuse([mode(&job, JobMode::Paused, at(60))], 0);
    assert_eq!(w.reads.job(job.id, soon()).unwrap(), None);
    assert_eq!(w.reads.job_named(job.tenant, "a", soon()).unwrap(), None);

    let stored = w.store.load(w.shard).unwrap();
    assert!(stored.jobs.is_empty());
    assert_eq!(stored.open[0].id, open.id);
    assert_eq!(stored.versions[0].id, job.version, "what is open can still be decided about");
    assert_eq!(stored.contents, [(job.rule, b"rule of a".to_vec())]);
    let intervals = w.reads.intervals(None, T0, at(100), soon()).unwrap();
    assert_eq!((intervals[0].until, intervals[0].name.as_str()), (Some(at(50)), "a"));
    w.commit([ended(open, model::Ending::Succeeded)]);
    assert_eq!(w.reads.ledger(job.id, T0, at(100), soon()).unwrap().len(), 1);
    let gone = |name| w.reads.job_once_named(job.tenant, name, soon()).unwrap();
    assert_eq!((gone(&job.name), gone("never")), (Some(job.id), None));
}

pub fn two_living_jobs_never_share_a_name(bed: &impl Bed) {
    let mut w = World::new(bed);
    let a = w.job("a");
    let mut b = w.job("b");
    b.name = "a".into();
    b.since = at(5);
    w.refuse([put(&b)], 0);
    b.tenant = TenantId(2);
    w.refuse([put(&b)], 0);
    w.commit([Change::JobRemoved { job: a.id, tenant: a.tenant, at: at(4), by: ann() }]);
    b.tenant = a.tenant;
    w.commit([put(&b)]);
    assert_eq!(w.reads.job_named(a.tenant, "a", soon()).unwrap().unwrap().id, b.id);
    w.refuse([put(&a)], 0);
}

pub fn a_held_job_is_held_until_somebody_looked(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let held = |job| {
        let (input, error) = ("tick".into(), "it broke".into());
        Change::Quarantined { job, input, error, at: at(3), decided: at(5) }
    };
    w.commit([held(Some(job.id)), held(None), Change::JobCounted { job: job.id, fired: 12 }]);
    let stored = w.store.load(w.shard).unwrap();
    let kept = HeldJob { job: job.id, error: "it broke".into(), since: Some((at(3), at(5))) };
    assert_eq!((stored.held, stored.jobs[0].fired), (vec![kept], 12));
    assert_eq!(w.reads.quarantine(soon()).unwrap().len(), 2);
    w.commit([Change::Unquarantined { job: job.id, by: ann() }]);
    assert!(w.store.load(w.shard).unwrap().held.is_empty());
    assert_eq!(w.reads.quarantine(soon()).unwrap().len(), 1);
    w.refuse([Change::JobCounted { job: model::JobId(99_999), fired: 1 }], 0);
}

pub fn agents_pools_and_limits_are_loaded(bed: &impl Bed) {
    let mut w = World::new(bed);
    let mut agent = AgentRecord {
        id: AgentId(w.id()),
        tenant: TenantId(1),
        name: "n1".into(),
        pools: vec!["default".into(), "gpu \"x\"".into()],
        labels: BTreeMap::from([("zone".into(), "北京".into())]),
        slots: 8,
        drained: false,
        joined_at: T0,
        seen_at: None,
        version: "0.1".into(),
        serves: model::Serves::Named(vec![TenantId(4), TenantId(9)]),
        runs: model::TaskSorts::ALL,
        kind: AgentKind::Agent,
    };
    let executor = Executor { listed: Some(3), present: true, tells_busy: false, keeps_logs: true };
    let called = AgentRecord {
        id: AgentId(w.id()),
        name: "x1:9999".into(),
        serves: model::Serves::Everyone,
        kind: AgentKind::Executor(executor),
        ..agent.clone()
    };
    let addresses = vec!["http://10.0.0.1:9999/".to_string()];
    let pool = PoolRecord { tenant: TenantId(1), name: "gpu".into(), limit: Some(2), addresses };
    let put = |agent: &AgentRecord| Change::AgentPut(Box::new(agent.clone()));
    w.commit([put(&agent), put(&called), Change::PoolPut(pool.clone()), Change::GlobalLimit { limit: Some(50) }]);
    (agent.drained, agent.seen_at) = (true, Some(at(9)));
    w.commit([put(&agent), Change::PoolPut(PoolRecord { limit: None, ..pool.clone() })]);

    let stored = w.store.load(w.shard).unwrap();
    assert_eq!(stored.agents, [agent.clone(), called.clone()]);
    assert_eq!(stored.pools, [PoolRecord { limit: None, ..pool }]);
    assert_eq!(stored.global_limit, Some(50));
    assert_eq!((w.store.take_aliases(2).unwrap(), w.store.take_aliases(1).unwrap()), (1..3, 3..4));
    assert_eq!((w.reads.agents(soon()).unwrap(), w.reads.pools(soon()).unwrap()), (stored.agents, stored.pools));
    w.commit([Change::AgentRemoved { agent: agent.id }, Change::GlobalLimit { limit: None }]);
    w.refuse([Change::AgentRemoved { agent: agent.id }], 0);
    let stored = w.store.load(w.shard).unwrap();
    assert_eq!((stored.agents, stored.global_limit), (vec![called], None));
}

pub fn tenants_are_loaded_and_gone_with_what_is_theirs(bed: &impl Bed) {
    let mut w = World::new(bed);
    let first = w.store.load(w.shard).unwrap().tenants;
    assert_eq!(first.iter().map(|t| (t.id.0, t.name.as_str())).collect::<Vec<_>>(), [(1, "default")]);
    assert!(first[0].private_network && first[0].quotas == Quotas::default());
    let acme = TenantRecord {
        weight: 3,
        quotas: Quotas {
            jobs: Some(10),
            running: Some(2),
            per_second: Some(5),
            log_bytes: Some(1 << 40),
            history_days: Some(7),
        },
        servers: vec!["a".into(), "b, 北京".into()],
        own: vec![ShardId(64), ShardId(65)],
        ..TenantRecord::new(TenantId(77), "acme 北京", T0, Actor("ann".into()))
    };
    let put = |tenant: &TenantRecord| Change::TenantPut(Box::new(tenant.clone()));
    let pool = PoolRecord { tenant: acme.id, name: "p".into(), limit: Some(2), addresses: vec![] };
    let resource = ResourceName { tenant: acme.id, kind: ResourceKind::Counted, name: "licence".into() };
    w.commit([put(&acme), Change::PoolPut(pool), Change::ResourcePut { name: resource, units: 4 }]);
    assert_eq!(w.reads.tenants(soon()).unwrap(), [first[0].clone(), acme.clone()]);
    let exported = Some(Exported { at: at(9), digest: "abc".into() });
    let acme =
        TenantRecord { state: TenantState::Closing, exported, quotas: Quotas::default(), servers: vec![], ..acme };
    w.commit([put(&acme)]);
    assert_eq!(w.store.load(w.shard).unwrap().tenants, [first[0].clone(), acme.clone()]);
    w.commit([Change::TenantRemoved { tenant: acme.id }]);
    w.refuse([Change::TenantRemoved { tenant: acme.id }], 0);
    assert_eq!(w.reads.tenants(soon()).unwrap(), first);
    assert_eq!((w.reads.pools(soon()).unwrap(), w.reads.resources(soon()).unwrap()), (vec![], vec![]));
}

pub fn gaps_and_notes_are_found_by_their_time(bed: &impl Bed) {
    let mut w = World::new(bed);
    let (a, b) = (w.job("a"), w.job("b"));
    let gap = |job: &JobRecord, first: i64, last: i64, fate| Gap {
        job: job.id,
        tenant: job.tenant,
        first: at(first),
        last: at(last),
        count: 3,
        fate,
        why: "down".into(),
    };
    let of_a = [gap(&a, 10, 20, Fate::Missed), gap(&a, 30, 40, Fate::Merged(InstanceId(77)))];
    let of_b = gap(&b, 15, 35, Fate::Skipped(SkipReason::Paused));
    w.commit([&of_a[1], &of_a[0], &of_b].map(|gap| Change::Gap(gap.clone())));
    let seen = |job, from, to| w.reads.gaps(job, at(from), at(to), soon()).unwrap();
    assert_eq!(seen(Some(a.id), 0, 100), of_a);
    assert_eq!(seen(Some(a.id), 20, 30), of_a[..1]);
    assert_eq!(seen(Some(a.id), 21, 30), []);
    assert_eq!(seen(None, 0, 100), [of_a[0].clone(), of_b, of_a[1].clone()]);
    w.refuse([Change::Gap(gap(&a, 9, 8, Fate::Missed))], 0);

    let note = |n: i64, kind| Note { at: at(n), job: Some(a.id), instance: None, kind };
    let notes = [
        note(1, NoteKind::NotStartedInTime),
        note(2, NoteKind::ClockJumped { by: Span::secs(-5) }),
        note(3, NoteKind::AgentSilent(AgentId(4))),
        note(4, NoteKind::Mode(JobMode::Disabled)),
    ];
    w.commit(notes.clone().map(Change::Note));
    let mut filter = NoteFilter { job: Some(a.id), limit: 3, ..NoteFilter::default() };
    let mut read = Vec::new();
    loop {
        let page = w.reads.notes(&filter, soon()).unwrap();
        let Some(last) = page.last() else { break };
        filter.before = Some(last.id);
        read.extend(page.into_iter().map(|record| record.note));
    }
    read.reverse();
    assert_eq!(read, notes);
    filter = NoteFilter { job: Some(b.id), limit: 3, ..NoteFilter::default() };
    assert!(w.reads.notes(&filter, soon()).unwrap().is_empty());
}
