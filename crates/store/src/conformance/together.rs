//! Batches of several shards in one call: each gets its own answer.

use std::sync::Arc;

use engine::change::{Change, Claim, ClaimName, Commit};
use model::{Ending, ShardId, TenantId};

use super::Bed;
use super::world::{World, at, claims_of, ended};
use crate::CommitError;

fn both(bed: &impl Bed) -> [World; 2] {
    [0, 1].map(|shard| World::of(bed, ShardId(shard)))
}

fn key(world: &World, key: &str) -> Claim {
    let name = ClaimName::Key { tenant: TenantId(1), key: key.into() };
    Claim { name, holder: 1_000 + world.shard.0, at: at(1) }
}

fn commit_all(worlds: &mut [World; 2], batches: [Commit; 2]) -> Vec<Result<Vec<i64>, CommitError>> {
    let answers = worlds[0].store.commit_all(&batches.map(Arc::new));
    let holders = |answer: Result<Vec<engine::change::Answer>, _>| {
        answer.map(|answers| claims_of(answers).iter().map(|claim| claim.holder).collect())
    };
    answers.into_iter().map(holders).collect()
}

pub fn batches_of_several_shards_are_written_at_once(bed: &impl Bed) {
    let mut worlds = both(bed);
    let jobs = [worlds[0].job("a"), worlds[1].job("b")];
    let mut runs = Vec::new();
    for (world, job) in worlds.iter_mut().zip(&jobs) {
        runs.push((world.fire(job, at(1)), world.fire(job, at(2))));
    }
    worlds[0].horizon = at(10);
    worlds[1].horizon = at(20);
    // One that must see what is before it, and others that need not.
    let a = vec![
        ended(runs[0].0, Ending::Succeeded),
        Change::GlobalLimit { limit: Some(4) },
        Change::Stopping { row: runs[0].1, by: model::Actor("ann".into()), at: at(9) },
        ended(runs[0].1, Ending::Stopped(model::Actor("ann".into()))),
    ];
    let b = vec![ended(runs[1].1, Ending::Succeeded)];
    let claims = [vec![key(&worlds[0], "one"), key(&worlds[0], "two")], vec![key(&worlds[1], "two")]];
    let [of_a, of_b] = claims;
    let batches = [worlds[0].batch(a, of_a), worlds[1].batch(b, of_b)];
    let answers = commit_all(&mut worlds, batches);
    let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers, [vec![1_000, 1_000], vec![1_000]], "the first to ask holds it");
    assert!(worlds[0].open().is_empty());
    assert_eq!(worlds[1].open(), [runs[1].0.id.0]);
    for world in &mut worlds {
        let stands = world.store.standing(world.shard).unwrap();
        assert_eq!((stands.batch.0, stands.horizon), (world.batch + 1, world.horizon));
    }
}

pub fn a_refused_batch_refuses_no_other(bed: &impl Bed) {
    let mut worlds = both(bed);
    let jobs = [worlds[0].job("a"), worlds[1].job("b")];
    let runs = [worlds[0].fire(&jobs[0], at(1)), worlds[1].fire(&jobs[1], at(1))];

    // One that cannot be: it is told which change, and the other is written.
    let twice = vec![ended(runs[1], Ending::Succeeded), ended(runs[1], Ending::Succeeded)];
    let batches = [worlds[0].batch(vec![ended(runs[0], Ending::Succeeded)], vec![]), worlds[1].batch(twice, vec![])];
    let answers = commit_all(&mut worlds, batches);
    assert!(answers[0].is_ok(), "{answers:?}");
    assert!(matches!(answers[1], Err(CommitError::Impossible { index: 1, .. })), "{answers:?}");
    worlds[0].batch += 1;
    assert_eq!((worlds[0].open(), worlds[1].open()), (vec![], vec![runs[1].id.0]));

    // One that is another's by now.
    bed.store().take_over(ShardId(0)).unwrap();
    let batches = [worlds[0].batch(vec![], vec![]), worlds[1].batch(vec![ended(runs[1], Ending::Succeeded)], vec![])];
    let answers = commit_all(&mut worlds, batches);
    assert!(matches!(answers[0], Err(CommitError::NotOwner { shard: ShardId(0) })), "{answers:?}");
    assert!(answers[1].is_ok(), "{answers:?}");
    assert!(worlds[1].open().is_empty());
}
