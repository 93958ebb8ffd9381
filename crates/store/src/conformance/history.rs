//! Forgetting: days go whole, what is open stays.

use engine::change::{Change, ClaimName, Fate, Gap};
use model::{AttemptId, ContentId, Ending, Failure, Span, State, TenantId, VersionId};

use super::Bed;
use super::world::{T0, World, at, ended, ended_by, retried, soon, wants};
use crate::read::InstanceFilter;
use crate::{Reached, Retention, TenantRetention};

fn forget(w: &mut World, days: i64) {
    let keep = Retention { before_day: T0.day() + days, keys_before: at(0), rows_max: 7 };
    for _ in 0..1000 {
        if !w.store.retain(&keep).unwrap() {
            return;
        }
    }
    panic!("forgetting does not end");
}

pub fn retention_drops_old_days_and_keeps_what_is_open(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let mut kept = Vec::new();
    let mut dropped = Vec::new();
    for day in 0..6_i64 {
        for n in 0..20 {
            let row = w.fire(&job, at(86_400 * day + n));
            let next = w.id();
            // On day 2 one stays open.
            if day != 2 || n != 9 {
                w.commit([retried(row, row.id.0, 1, next)]);
                w.commit([ended_by(row, AttemptId(next), Ending::Succeeded)]);
            }
            if day == 2 || day >= 4 { kept.push((row, next)) } else { dropped.push((row, next)) }
        }
        let gap = Gap {
            job: job.id,
            tenant: job.tenant,
            first: at(86_400 * day),
            last: at(86_400 * day + 5),
            count: 1,
            fate: Fate::Missed,
            why: String::new(),
        };
        w.commit([Change::Gap(gap)]);
    }
    w.tidy_until(at(86_400 * 7));
    forget(&mut w, 4);
    for (row, next) in &dropped {
        assert_eq!(w.reads.instance(row.id, soon()).unwrap(), None);
        assert_eq!(w.reads.instance_of(AttemptId(*next), soon()).unwrap(), None);
        assert!(w.reads.attempts(row.id, soon()).unwrap().is_empty());
    }
    for (row, _) in &kept {
        assert!(w.reads.instance(row.id, soon()).unwrap().is_some());
    }
    let gaps = w.reads.gaps(None, at(0), at(86_400 * 9), soon()).unwrap();
    assert_eq!(gaps.iter().map(|gap| gap.first).collect::<Vec<_>>(), [at(86_400 * 4), at(86_400 * 5)]);
    let open: Vec<_> = kept.iter().filter(|(row, _)| row.planned == at(86_400 * 2 + 9)).collect();
    assert_eq!(w.open(), [open[0].0.id.0]);

    // Once it ends, its day goes as well; and work on kept days goes on.
    w.commit([ended(open[0].0, Ending::Succeeded)]);
    forget(&mut w, 4);
    assert_eq!(w.reads.instance(open[0].0.id, soon()).unwrap(), None);
    assert_eq!(w.reads.ledger(job.id, T0, at(86_400 * 9), soon()).unwrap().len(), 40);
    w.fire(&job, at(86_400 * 5 + 100));
    // A planned time on a dropped day can be used again.
    let old = w.fire(&job, at(3));
    assert_eq!(w.open().len(), 2);
    w.commit([ended(old, Ending::Succeeded)]);
}

pub fn the_history_of_one_tenant_goes_before_the_others(bed: &impl Bed) {
    let mut w = World::new(bed);
    let ours = w.job("ours");
    let theirs = w.job_of(TenantId(7), "theirs");
    let mut rows = Vec::new();
    for day in 0..5_i64 {
        for n in 0..9 {
            for job in [&ours, &theirs] {
                let row = w.fire(job, at(86_400 * day + n));
                let next = w.id();
                // On day 1 one stays open.
                if (day, n) != (1, 4) {
                    w.commit([retried(row, row.id.0, 1, next)]);
                    w.commit([ended_by(row, AttemptId(next), Ending::Failed(Failure::Exit))]);
                }
                rows.push((row, next, job.tenant == TenantId(7) && day != 1 && day < 3));
            }
        }
    }
    w.tidy_until(at(86_400 * 6));
    let keep = TenantRetention { tenant: TenantId(7), before_day: T0.day() + 3, rows_max: 4 };
    let mut from = Reached::NOTHING;
    for _ in 0..1000 {
        match w.store.retain_of(&keep, from).unwrap() {
            Some(reached) => from = reached,
            None => break,
        }
    }
    assert_eq!(w.store.retain_of(&keep, from).unwrap(), None, "forgetting ends");
    for (row, next, gone) in &rows {
        assert_eq!(w.reads.instance(row.id, soon()).unwrap().is_none(), *gone, "{row:?}");
        assert_eq!(w.reads.attempts(row.id, soon()).unwrap().is_empty(), *gone || w.open().contains(&row.id.0));
        let of = w.reads.instance_of(AttemptId(*next), soon()).unwrap();
        assert_eq!(of.is_none(), *gone || w.open().contains(&row.id.0));
    }
    let filter = |tenant| InstanceFilter {
        tenant: Some(TenantId(tenant)),
        states: vec![State::Failed],
        limit: 100,
        ..InstanceFilter::default()
    };
    let count = |w: &World, tenant| w.reads.instances(&filter(tenant), soon()).unwrap().len();
    assert_eq!((count(&w, 1), count(&w, 7)), (44, 26));
    assert_eq!(w.open().len(), 2);
    // What is kept is worked with as before, and a planned time that was forgotten can be used again.
    let again = w.fire(&theirs, at(3));
    w.commit([ended(again, Ending::Succeeded)]);
}

pub fn retention_keeps_what_the_ledger_refers_to(bed: &impl Bed) {
    let mut w = World::new(bed);
    let mut job = w.job("a");
    let first = job.version;
    let params = w.store.intern(&[b"given by hand".to_vec()]).unwrap()[0];
    let mut created = w.creation(&job, at(86_400 * 20));
    created.params = Some(params);
    let ahead = created.row;
    w.commit([Change::Created(created.clone()), ended(ahead, Ending::Succeeded)]);
    let mut missing = created;
    missing.row.planned = at(7);
    missing.params = Some(ContentId(55_555));
    w.refuse([Change::Created(missing)], 0);

    job.version = VersionId(w.id());
    job.since = at(10);
    w.commit([Change::JobPut(Box::new(job.clone()))]);
    forget(&mut w, 15);
    assert!(w.reads.instance(ahead.id, soon()).unwrap().is_some());
    assert!(w.reads.version(first, soon()).unwrap().is_some(), "an instance is frozen with it");
    assert!(w.reads.content(params, soon()).unwrap().is_some());
    let intervals = w.reads.intervals(Some(job.id), T0, at(86_400 * 99), soon()).unwrap();
    assert_eq!(intervals.iter().map(|i| i.version).collect::<Vec<_>>(), [job.version], "only the old one is over");
    let stored = w.store.load(w.shard).unwrap();
    assert_eq!((stored.versions.len(), stored.unreadable.len()), (1, 0));
}

pub fn idempotency_keys_expire(bed: &impl Bed) {
    let mut w = World::new(bed);
    let key = |key: &str| ClaimName::Key { tenant: TenantId(1), key: key.into() };
    let name = ClaimName::JobName { tenant: TenantId(1), name: "old".into() };
    let old = T0 - Span::HOUR;
    w.claim([], [wants(key("old"), 1, old), wants(key("new"), 1, at(1)), wants(name.clone(), 1, old)]);
    forget(&mut w, 0);
    let answers = w.claim([], [wants(key("old"), 2, at(2)), wants(key("new"), 2, at(2)), wants(name, 2, at(2))]);
    assert_eq!(answers.iter().map(|answer| answer.holder).collect::<Vec<_>>(), [2, 1, 1]);
}
