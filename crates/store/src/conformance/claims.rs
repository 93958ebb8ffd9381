//! The only thing a store may refuse.

use engine::change::{Change, ClaimName};
use model::{TenantId, VersionId};

use super::Bed;
use super::world::{T0, World, ann, at, claims_of, job_name, wants};

pub fn a_name_has_one_holder(bed: &impl Bed) {
    let mut w = World::new(bed);
    let key = |key: &str| ClaimName::Key { tenant: TenantId(1), key: key.into() };
    let elsewhere = ClaimName::JobName { tenant: TenantId(2), name: "a".into() };
    let asked = [
        wants(job_name("a"), 1, T0),
        wants(job_name("a"), 2, T0),
        wants(key("a"), 3, T0),
        wants(elsewhere, 4, T0),
        wants(job_name("a"), 1, T0),
    ];
    let answers = w.claim([], asked.clone());
    let holders: Vec<_> = answers.iter().map(|answer| (answer.wanted, answer.holder, answer.granted())).collect();
    assert_eq!(holders, [(1, 1, true), (2, 1, false), (3, 3, true), (4, 4, true), (1, 1, true)]);
    assert!(answers.iter().zip(&asked).all(|(answer, asked)| answer.name == asked.name), "answered in order");

    // Changes come first: what this batch releases, it can claim.
    let answers = w.claim([Change::Released { claim: job_name("a") }], [wants(job_name("a"), 2, at(1))]);
    assert_eq!(answers[0].holder, 2);
    w.commit([Change::Released { claim: job_name("nobody's") }]);
}

pub fn a_removed_or_renamed_job_frees_its_name(bed: &impl Bed) {
    let mut w = World::new(bed);
    let mut job = w.job("a");
    w.claim([], [wants(job_name("a"), job.id.0, T0), wants(job_name("b"), job.id.0, T0)]);
    job.name = "b".into();
    job.since = at(1);
    job.version = VersionId(w.id());
    w.commit([Change::JobPut(Box::new(job.clone()))]);
    let answers = w.claim([], [wants(job_name("a"), 7, T0), wants(job_name("b"), 7, T0)]);
    assert_eq!((answers[0].holder, answers[1].holder), (7, job.id.0));

    let remove = Change::JobRemoved { job: job.id, tenant: job.tenant, at: at(2), by: ann() };
    let answers = w.claim([remove], [wants(job_name("b"), 7, T0), wants(job_name("a"), 8, T0)]);
    assert_eq!((answers[0].holder, answers[1].holder), (7, 7));
}

pub fn a_refused_claim_does_not_refuse_the_batch(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    w.claim([], [wants(job_name("x"), 1, T0)]);
    let created = w.creation(&job, at(1));
    let answers = w.claim([Change::Created(created.clone())], [wants(job_name("x"), 2, T0)]);
    assert!(!answers[0].granted());
    assert_eq!(w.open(), [created.row.id.0]);

    // A batch that fails grants nothing.
    let mut commit = w.batch(vec![Change::Created(created)], vec![wants(job_name("y"), 3, T0)]);
    assert!(w.store.commit(&commit).is_err());
    commit.changes.clear();
    commit.claims = vec![wants(job_name("y"), 4, T0)];
    assert_eq!(claims_of(w.store.commit(&commit).unwrap())[0].holder, 4);
}
