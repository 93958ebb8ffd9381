//! Lists and windows, as people page through them.

use engine::change::Change;
use model::rights::Place;
use model::{
    AgentId, Cause, CauseKind, Ending, Failure, Instance, InstanceId, JobId, JobMode, Part, SkipReason, State,
    TenantId, Timestamp,
};

use super::Bed;
use super::world::{T0, World, ann, at, ended, soon};
use crate::read::{InstanceFilter, JobFilter};

/// Every page of a filter, put together.
fn pages(w: &World, filter: &InstanceFilter, limit: usize) -> Vec<Instance> {
    let mut filter = InstanceFilter { limit, ..filter.clone() };
    let mut all: Vec<Instance> = Vec::new();
    loop {
        let page = w.reads.instances(&filter, soon()).unwrap();
        assert!(page.len() <= limit);
        let short = page.len() < limit;
        all.extend(page);
        assert!(all.is_sorted_by(|a, b| (a.planned, a.id) > (b.planned, b.id)), "newest first, none twice");
        if short {
            return all;
        }
        filter.after = all.last().map(|last| (last.planned, last.id));
    }
}

fn ids(instances: &[Instance]) -> Vec<i64> {
    instances.iter().map(|instance| instance.id.0).collect()
}

/// Five jobs, each at the same 24 planned times over three days, in every state.
fn history(bed: &impl Bed) -> (World, Vec<Instance>, [JobId; 2]) {
    let mut w = World::new(bed);
    let mut jobs = ["a", "b", "c", "d", "e"].map(|name| w.job(name));
    jobs[4].tenant = TenantId(2);
    for n in 0..120_i64 {
        // Not in the order of their ids, and ids far apart, so that a day is more than one block of them.
        w.next_id += 150;
        let slot = n / 5 * 7 % 24;
        let created = w.creation(&jobs[n as usize % 5], at(86_400 * (slot % 3) + slot * 10));
        let row = created.row;
        let mut changes = vec![Change::Created(created)];
        match n % 8 {
            0 => changes.push(ended(row, Ending::Failed(Failure::Exit))),
            1 => changes.push(ended(row, Ending::Skipped(SkipReason::Overlap))),
            2 => {}
            _ => changes.push(ended(row, Ending::Succeeded)),
        }
        w.commit(changes);
        if n % 30 == 0 {
            w.tidy_until(at(n * 100_000));
        }
    }
    let mut all = w.reads.instances(&InstanceFilter { limit: 1000, ..Default::default() }, soon()).unwrap();
    assert_eq!(all.len(), 120);
    all.sort_by_key(|i| std::cmp::Reverse((i.planned, i.id)));
    (w, all, [jobs[0].id, jobs[4].id])
}

pub fn pages_are_complete_and_without_repeats(bed: &impl Bed) {
    let (w, all, [a, b]) = history(bed);
    for limit in [1, 2, 7, 119, 120, 500] {
        assert_eq!(ids(&pages(&w, &InstanceFilter::default(), limit)), ids(&all), "limit {limit}");
    }
    for job in [a, b] {
        let mine: Vec<_> = all.iter().filter(|i| i.job == job).cloned().collect();
        let filter = InstanceFilter { job: Some(job), ..Default::default() };
        assert_eq!(ids(&pages(&w, &filter, 4)), ids(&mine));
    }
    assert!(w.reads.instances(&InstanceFilter::default(), soon()).unwrap().is_empty(), "no limit asks for nothing");
}

pub fn filters_choose_what_they_say(bed: &impl Bed) {
    let (w, all, [a, _]) = history(bed);
    let day = 86_400;
    let windows = [(None, None), (Some(at(5)), Some(at(9))), (Some(at(day)), None), (None, Some(at(day + 3)))];
    let states: [&[State]; 6] = [
        &[],
        &[State::Failed],
        &[State::Failed, State::Skipped],
        &[State::Scheduled, State::Running],
        &[State::Succeeded],
        &[State::Scheduled, State::Failed, State::Succeeded],
    ];
    for (from, to) in windows {
        for states in states {
            for (job, tenant) in [(None, None), (Some(a), None), (None, Some(TenantId(2)))] {
                let filter = InstanceFilter { job, tenant, states: states.to_vec(), from, to, ..Default::default() };
                let expected: Vec<_> = all
                    .iter()
                    .filter(|i| job.is_none_or(|job| i.job == job) && tenant.is_none_or(|tenant| i.tenant == tenant))
                    .filter(|i| states.is_empty() || states.contains(&i.state))
                    .filter(|i| from.is_none_or(|from| i.planned >= from) && to.is_none_or(|to| i.planned < to))
                    .cloned()
                    .collect();
                assert_eq!(ids(&pages(&w, &filter, 5)), ids(&expected), "{filter:?}");
            }
        }
    }
}

pub fn children_are_listed_under_their_parent(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let parent = w.fire(&job, at(1));
    w.fire(&job, at(2));
    let mut children = Vec::new();
    for index in 0..5 {
        let mut share = w.creation(&job, at(1));
        share.part = Part::child(index, 5);
        share.parent = Some(parent.id);
        share.cause = Cause::Shard(parent.id);
        children.push(share.row.id.0);
        w.commit([Change::Created(share)]);
    }
    children.reverse();
    let under = InstanceFilter { parent: Some(parent.id), ..Default::default() };
    assert_eq!(ids(&pages(&w, &under, 2)), children);
    assert_eq!(pages(&w, &under, 9)[0].part, Part::child(4, 5));
    assert_eq!(pages(&w, &InstanceFilter::default(), 9).len(), 2);
    assert!(pages(&w, &InstanceFilter { parent: Some(InstanceId(999)), ..Default::default() }, 9).is_empty());
    assert_eq!(w.open().len(), 7);
    assert_eq!(w.reads.ledger(job.id, T0, at(9), soon()).unwrap().len(), 2, "parts are not planned times");
}

pub fn jobs_are_listed_by_name(bed: &impl Bed) {
    let mut w = World::new(bed);
    for (n, name) in ["beta", "Alpha", "gamma", "alpha-2", "delta"].into_iter().enumerate() {
        let mut job = w.job(name);
        job.folder = ["ops", "ops/db", "ops-2", "ops/db/x", ""][n].into();
        job.since = at(1);
        w.commit([Change::JobPut(Box::new(job.clone()))]);
        if name == "delta" {
            w.commit([Change::JobRemoved { job: job.id, tenant: job.tenant, at: at(2), by: ann() }]);
        }
        if name == "gamma" {
            w.commit([Change::JobMode { job: job.id, mode: JobMode::Paused, since: at(2), fired: 0, by: ann() }]);
        }
    }
    let list = |filter: JobFilter| -> Vec<String> {
        let mut filter = JobFilter { limit: 2, ..filter };
        let mut names = Vec::new();
        loop {
            let page = w.reads.jobs(&filter, soon()).unwrap();
            let Some(last) = page.last() else { return names };
            filter.after = Some((last.name.clone(), last.id));
            names.extend(page.into_iter().map(|job| job.name));
        }
    };
    assert_eq!(list(JobFilter::default()), ["Alpha", "alpha-2", "beta", "gamma"]);
    assert_eq!(list(JobFilter { name: Some("LPH".into()), ..Default::default() }), ["Alpha", "alpha-2"]);
    assert_eq!(list(JobFilter { folder: Some("ops".into()), ..Default::default() }), ["Alpha", "alpha-2", "beta"]);
    assert_eq!(list(JobFilter { folder: Some("ops/db".into()), ..Default::default() }), ["Alpha", "alpha-2"]);
    assert_eq!(list(JobFilter { mode: Some(JobMode::Paused), ..Default::default() }), ["gamma"]);
    assert!(list(JobFilter { tenant: Some(TenantId(2)), ..Default::default() }).is_empty());
}

/// Rights may be about some folders or labels: every list has exactly what lies in them.
pub fn lists_have_what_lies_in_the_places_they_are_bound_to(bed: &impl Bed) {
    let mut w = World::new(bed);
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let mut jobs = Vec::new();
    for (folder, labels) in [
        ("ops", vec![]),
        ("ops/db", vec![label("team", "data")]),
        ("ops-2", vec![label("team", "data"), label("env", "prod")]),
        ("", vec![label("team", "web"), label("it's", "a \"quote\"")]),
    ] {
        let mut job = w.job(&format!("j{}", jobs.len()));
        job.folder = folder.into();
        job.labels = labels.into_iter().collect();
        job.since = at(1);
        w.commit([Change::JobPut(Box::new(job.clone()))]);
        for n in 0..6 {
            let created = w.creation(&job, at(86_400 * (n % 2) + 10 * n + jobs.len() as i64));
            let end = ended(created.row, Ending::Failed(Failure::Exit));
            w.commit([Change::Created(created)]);
            if n % 3 == 0 {
                w.commit([end]);
            }
        }
        assert_eq!(w.reads.job(job.id, soon()).unwrap().as_ref(), Some(&job));
        jobs.push(job);
    }
    let place = |folder: Option<&str>, labels: &[(&str, &str)]| Place {
        folder: folder.map(Into::into),
        labels: labels.iter().map(|(key, value)| label(key, value)).collect(),
    };
    let data = [("team", "data")];
    for within in [
        vec![],
        vec![place(Some("ops"), &[])],
        vec![place(Some("ops/db"), &[])],
        vec![place(None, &data)],
        vec![place(Some("ops"), &data)],
        vec![place(None, &[("team", "data"), ("env", "prod")]), place(None, &[("it's", "a \"quote\"")])],
        vec![place(Some(""), &[])],
        vec![place(Some("%' or 1=1 --"), &[])],
    ] {
        let covered = |job: &JobId| {
            let job = jobs.iter().find(|one| one.id == *job).unwrap();
            within.iter().any(|place| place.covers(&job.folder, &job.labels))
        };
        let filter = JobFilter { within: Some(within.clone()), limit: 9, ..Default::default() };
        let listed: Vec<JobId> = w.reads.jobs(&filter, soon()).unwrap().iter().map(|job| job.id).collect();
        let expected: Vec<JobId> = jobs.iter().map(|job| job.id).filter(covered).collect();
        assert_eq!(listed, expected, "jobs in {within:?}");
        let mut folders: std::collections::BTreeMap<String, i64> = Default::default();
        for job in jobs.iter().filter(|job| covered(&job.id) && !job.folder.is_empty()) {
            *folders.entry(job.folder.clone()).or_default() += 1;
        }
        let told = w.reads.folders(jobs[0].tenant, Some(&within), 9, soon()).unwrap();
        assert_eq!(told, folders.into_iter().collect::<Vec<_>>(), "folders in {within:?}");
        for states in [vec![], vec![State::Failed], vec![State::Scheduled]] {
            let everything = InstanceFilter { states: states.clone(), ..Default::default() };
            let mut all = pages(&w, &everything, 100);
            all.retain(|instance| covered(&instance.job));
            let bound = InstanceFilter { within: Some(within.clone()), ..everything };
            assert_eq!(ids(&pages(&w, &bound, 4)), ids(&all), "{states:?} in {within:?}");
        }
    }
    let gone = &jobs[1];
    w.commit([Change::JobRemoved { job: gone.id, tenant: gone.tenant, at: at(2), by: ann() }]);
    assert_eq!(w.reads.job(gone.id, soon()).unwrap(), None);
    let past = w.reads.job_past_or_present(gone.id, soon()).unwrap().unwrap();
    assert_eq!((past.folder, past.labels), (gone.folder.clone(), gone.labels.clone()));
}

pub fn the_ledger_is_read_by_windows(bed: &impl Bed) {
    let mut w = World::new(bed);
    let (a, b) = (w.job("a"), w.job("b"));
    let planned: Vec<Timestamp> = (0..50).map(|n| at(n * 3600 * 3)).collect();
    for time in &planned {
        w.fire(&a, *time);
    }
    w.fire(&b, planned[3]);
    let mut manual = w.creation(&a, at(5));
    manual.cause = Cause::Manual(ann());
    w.commit([Change::Created(manual)]);
    for (from, to) in [(0, 50), (1, 2), (7, 9), (8, 8), (10, 30)] {
        let entries = w.reads.ledger(a.id, planned[from], planned.get(to).copied().unwrap_or(at(1 << 30)), soon());
        let times: Vec<_> = entries.unwrap().iter().filter(|e| e.by_trigger).map(|e| e.planned).collect();
        assert_eq!(times, planned[from..to], "{from}..{to}");
    }
    let early = w.reads.ledger(a.id, at(1), at(60), soon()).unwrap();
    assert_eq!((early.len(), early[0].by_trigger, early[0].state), (1, false, State::Scheduled));
    w.horizon = at(42);
    w.commit([]);
    assert_eq!(w.reads.horizon(soon()).unwrap(), at(42));
}

pub fn filters_by_agent_and_cause_choose_what_they_say(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    for n in 0..12_i64 {
        let mut created = w.creation(&job, at(86_400 * (n % 3) + n));
        created.cause = if n % 2 == 0 { Cause::Manual(ann()) } else { Cause::Planned };
        created.target = (n % 4 < 3).then_some(AgentId(1 + n % 4));
        let row = created.row;
        let mut changes = vec![Change::Created(created)];
        match n % 3 {
            0 => changes.push(ended(row, Ending::Failed(Failure::Exit))),
            1 => changes.push(ended(row, Ending::Succeeded)),
            _ => {}
        }
        w.commit(changes);
    }
    let all = pages(&w, &InstanceFilter::default(), 100);
    assert_eq!(all.len(), 12);
    let open = State::ALL.into_iter().filter(|state| state.is_open()).collect::<Vec<_>>();
    for states in [vec![], vec![State::Failed], open] {
        for agent in [None, Some(AgentId(1)), Some(AgentId(3)), Some(AgentId(9))] {
            for cause in [None, Some(CauseKind::Manual), Some(CauseKind::Planned), Some(CauseKind::After)] {
                for job in [None, Some(job.id)] {
                    let expected: Vec<_> = all
                        .iter()
                        .filter(|i| states.is_empty() || states.contains(&i.state))
                        .filter(|i| agent.is_none_or(|agent| i.target == Some(agent)))
                        .filter(|i| cause.is_none_or(|cause| i.cause.kind() == cause))
                        .cloned()
                        .collect();
                    let filter = InstanceFilter { job, agent, cause, states: states.clone(), ..Default::default() };
                    assert_eq!(ids(&pages(&w, &filter, 2)), ids(&expected), "{filter:?}");
                }
            }
        }
    }
}

pub fn what_is_open_and_what_failed_is_counted(bed: &impl Bed) {
    let (mut w, all, [a, _]) = history(bed);
    let mine: Vec<&Instance> = all.iter().filter(|i| i.tenant == TenantId(1)).collect();
    let open = mine.iter().filter(|i| i.state.is_open()).count() as u64;
    assert!(open > 0);
    let counts = w.reads.open_counts(TenantId(1), T0, soon()).unwrap();
    assert_eq!(counts.by_state, [(State::Scheduled, open)]);
    assert_eq!(counts.late, 0, "what waits for its time is not late");
    assert!(w.reads.open_counts(TenantId(3), at(86_400 * 9), soon()).unwrap().by_state.is_empty());

    let (from, to) = (at(5), at(86_400 * 2 + 100));
    let failed = |job: Option<JobId>| {
        let inside = |i: &&&Instance| i.state == State::Failed && i.planned >= from && i.planned < to;
        mine.iter().filter(inside).filter(|i| job.is_none_or(|job| i.job == job)).count() as u64
    };
    let told = w.reads.failures(TenantId(1), from, to, soon()).unwrap();
    assert!(told.is_sorted_by(|a, b| a.1 >= b.1), "the worst first");
    assert_eq!(told.iter().map(|(_, count)| count).sum::<u64>(), failed(None));
    assert_eq!(told.iter().find(|(job, _)| *job == a).map_or(0, |(_, count)| *count), failed(Some(a)));
    assert!(w.reads.failures(TenantId(1), at(86_400 * 20), at(86_400 * 30), soon()).unwrap().is_empty());

    let job = w.job("late");
    let mut ready = w.creation(&job, at(86_400 * 40));
    ready.state = State::Ready;
    w.commit([Change::Created(ready)]);
    let late = |at| w.reads.open_counts(TenantId(1), at, soon()).unwrap().late;
    assert_eq!([late(at(86_400 * 40)), late(at(86_400 * 40 + 1))], [0, 1]);
}

pub fn counts_agree_with_the_list(bed: &impl Bed) {
    let (w, all, _) = history(bed);
    for (from, to) in [(at(0), at(86_400 * 9)), (at(3), at(86_400 + 10)), (at(86_400 * 2), at(86_400 * 2 + 105))] {
        for (state, count) in w.reads.counts(None, from, to, soon()).unwrap() {
            let listed = all.iter().filter(|i| i.state == state && i.planned >= from && i.planned < to).count();
            assert_eq!(count, listed as u64, "{state}");
        }
        let of = |tenant: i64| -> u64 {
            w.reads.counts(Some(TenantId(tenant)), from, to, soon()).unwrap().iter().map(|(_, count)| count).sum()
        };
        let listed = |tenant: i64| {
            let inside = |i: &&Instance| i.tenant.0 == tenant && i.planned >= from && i.planned < to;
            all.iter().filter(inside).count() as u64
        };
        assert_eq!([of(1), of(2), of(3)], [listed(1), listed(2), 0], "each tenant's own");
        let total: u64 = w.reads.counts(None, from, to, soon()).unwrap().iter().map(|(_, count)| count).sum();
        assert_eq!(total, all.iter().filter(|i| i.planned >= from && i.planned < to).count() as u64);
    }
}
