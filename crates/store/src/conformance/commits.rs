//! The commit itself: term, batch, all or nothing.

use engine::change::Change;
use model::{Batch, Ending, ShardId, Term};

use super::Bed;
use super::world::{T0, World, at, ended, soon};
use crate::{CommitError, Standing};

fn not_owner(result: Result<Vec<engine::change::Answer>, CommitError>) {
    assert!(matches!(result, Err(CommitError::NotOwner { .. })), "{result:?}");
}

pub fn a_shard_is_written_under_its_term_only(bed: &impl Bed) {
    let mut store = bed.store();
    assert_eq!(store.standing(ShardId(0)).unwrap(), Standing::default());
    let mut w = World::new(bed);
    w.job("a");
    let mut commit = w.batch(vec![], vec![]);
    for term in [w.term.0 - 1, w.term.0 + 1] {
        commit.term = Term(term);
        not_owner(w.store.commit(&commit));
    }
}

pub fn batches_follow_one_another(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let row = w.fire(&job, at(1));
    let stands = w.store.standing(w.shard).unwrap();
    let mut commit = w.batch(vec![ended(row, Ending::Succeeded)], vec![]);
    for batch in [stands.batch.0 - 1, stands.batch.0, stands.batch.0 + 2] {
        commit.batch = Batch(batch);
        not_owner(w.store.commit(&commit));
    }
    assert_eq!(w.open(), [row.id.0]);
    w.commit([ended(row, Ending::Succeeded)]);
    assert_eq!(w.store.standing(w.shard).unwrap().batch.0, stands.batch.0 + 1);
}

pub fn a_take_over_fences_the_old_owner(bed: &impl Bed) {
    let mut old = World::new(bed);
    let job = old.job("a");
    let row = old.fire(&job, at(1));
    let mut new = World::new(bed);
    assert!(new.term > old.term);
    assert_eq!(new.batch, old.batch);

    let commit = old.batch(vec![ended(row, Ending::Succeeded)], vec![]);
    not_owner(old.store.commit(&commit));
    assert_eq!(new.open(), [row.id.0]);
    new.commit([ended(row, Ending::Warned)]);
    not_owner(old.store.commit(&commit));
    assert_eq!(new.reads.ending(row.id, soon()).unwrap(), Some(Ending::Warned));
}

pub fn nothing_of_an_impossible_batch_is_written(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let open = w.fire(&job, at(1));
    let before = format!("{:?}", w.store.load(w.shard).unwrap());

    let first = w.creation(&job, at(2));
    // Also on a day that has nothing yet.
    let far = w.creation(&job, at(3 * 86_400));
    let mut renamed = job.clone();
    renamed.name = "b".into();
    renamed.since = at(9);
    let twice = w.creation(&job, at(1));
    w.refuse(
        [
            Change::Created(first.clone()),
            Change::Created(far.clone()),
            ended(open, Ending::Succeeded),
            Change::JobPut(Box::new(renamed)),
            Change::GlobalLimit { limit: Some(3) },
            Change::Quarantined { job: None, input: "x".into(), error: "y".into(), at: T0, decided: T0 },
            Change::Created(twice),
        ],
        6,
    );
    assert_eq!(format!("{:?}", w.store.load(w.shard).unwrap()), before);
    for row in [first.row, far.row] {
        assert_eq!(w.reads.instance(row.id, soon()).unwrap(), None);
    }
    assert!(w.reads.quarantine(soon()).unwrap().is_empty());
    assert!(w.reads.job_named(job.tenant, "b", soon()).unwrap().is_none());
    // And the same things go through once the defect is gone.
    w.commit([Change::Created(first), Change::Created(far), ended(open, Ending::Succeeded)]);
}

pub fn the_standing_tells_what_was_written(bed: &impl Bed) {
    let mut w = World::new(bed);
    w.horizon = at(77);
    w.id();
    let commit = w.batch(vec![], vec![]);
    w.store.commit(&commit).unwrap();
    // As after a lost answer: another look, from another door.
    let stands = bed.store().standing(w.shard).unwrap();
    assert_eq!(stands, Standing { term: w.term, batch: commit.batch, horizon: at(77), next_id: commit.next_id });
    assert_eq!(w.store.take_over(w.shard).unwrap().standing, Standing { term: Term(w.term.0 + 1), ..stands });
}

pub fn ids_are_lent_once(bed: &impl Bed) {
    let (mut one, mut other) = (bed.store(), bed.store());
    let mut lent = Vec::new();
    for round in 1..20 {
        lent.extend(one.take_ids(Some(ShardId(1)), round).unwrap());
        lent.extend(other.take_ids(None, 1000 + round).unwrap());
    }
    let all = lent.len();
    assert!(lent.is_sorted(), "later blocks are higher");
    lent.dedup();
    assert_eq!(lent.len(), all);
    assert!(lent[0] > 0);
    assert!(one.take_ids(Some(ShardId(0)), 0).unwrap().is_empty());
}

pub fn a_lent_id_tells_its_shard(bed: &impl Bed) {
    let mut store = bed.store();
    assert_eq!(store.shards(), 2);
    let of = |id: i64| bed.reads().lent_to(id, soon()).unwrap().map(|(_, shard)| shard);
    let ranges = [Some(ShardId(1)), None, Some(ShardId(0)), Some(ShardId(1))];
    let ranges = ranges.map(|shard| (shard, store.take_ids(shard, 1_000).unwrap()));
    for (shard, range) in &ranges {
        assert_eq!([of(range.start), of(range.start + 7), of(range.end - 1)], [*shard; 3]);
    }
    assert_eq!((of(0), of(ranges[3].1.end)), (None, None));
}

pub fn each_shard_has_its_horizon(bed: &impl Bed) {
    let (mut zero, mut one) = (World::of(bed, ShardId(0)), World::of(bed, ShardId(1)));
    (zero.horizon, one.horizon) = (at(5), at(9));
    zero.commit([]);
    one.commit([]);
    let reads = bed.reads();
    assert_eq!(reads.horizons(soon()).unwrap(), [(ShardId(0), at(5)), (ShardId(1), at(9))]);
    assert_eq!(reads.horizon(soon()).unwrap(), at(9), "where there are no jobs, nothing is behind");
    let job = one.job("b");
    assert_eq!(reads.horizon(soon()).unwrap(), at(9), "a shard without jobs keeps nobody waiting");
    zero.job("a");
    assert_eq!(reads.horizon(soon()).unwrap(), at(5));
    assert_eq!(one.store.load(ShardId(1)).unwrap().jobs, [job]);
    assert_eq!(one.store.load(ShardId(1)).unwrap().shards, 2);
}

pub fn bytes_are_kept_once(bed: &impl Bed) {
    let mut store = bed.store();
    let bodies: Vec<Vec<u8>> = vec![b"one".to_vec(), b"two".to_vec(), b"one".to_vec(), vec![], vec![0xff; 70_000]];
    let ids = store.intern(&bodies).unwrap();
    assert_eq!(ids[0], ids[2]);
    assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    assert_eq!(bed.store().intern(&bodies).unwrap(), ids);
    for (id, body) in ids.iter().zip(&bodies) {
        assert_eq!(bed.reads().content(*id, soon()).unwrap().as_ref(), Some(body));
    }
    assert_eq!(bed.reads().content(model::ContentId(9999), soon()).unwrap(), None);
    assert!(store.intern(&[]).unwrap().is_empty());
}

pub fn shards_are_apart(bed: &impl Bed) {
    let mut zero = World::of(bed, ShardId(0));
    let mut one = World::of(bed, ShardId(1));
    let (a, b) = (zero.job("a"), one.job("b"));
    let (in_zero, in_one) = (zero.fire(&a, at(1)), one.fire(&b, at(1)));
    zero.tidy_until(at(9));
    one.tidy_until(at(9));
    assert_eq!((zero.open(), one.open()), (vec![in_zero.id.0], vec![in_one.id.0]));
    let names = |w: &mut World| -> Vec<String> {
        w.store.load(w.shard).unwrap().jobs.into_iter().map(|job| job.name).collect()
    };
    assert_eq!((names(&mut zero), names(&mut one)), (vec!["a".into()], vec!["b".into()]));
    // A take-over of one leaves the other's owner alone.
    World::of(bed, ShardId(0));
    one.commit([ended(in_one, Ending::Succeeded)]);
}
