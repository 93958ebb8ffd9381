//! What a simulation can make the memory store do.

mod support;

use duly_store::memory::{Fault, MemoryStore};
use duly_store::{CommitError, Store, StoreError};
use model::ShardId;
use support::{Owner, created, ended};

/// Ten batches in.
fn owner() -> Owner<MemoryStore> {
    let mut owner = Owner::new(MemoryStore::new());
    for _ in 0..10 {
        owner.step().unwrap();
    }
    owner
}

fn stands(owner: &mut Owner<MemoryStore>) -> i64 {
    owner.store.standing(ShardId(0)).unwrap().batch.0
}

#[test]
fn a_refused_batch_can_be_sent_again() {
    let mut owner = owner();
    owner.store.plan([Some(Fault::Retry), Some(Fault::Retry), None, Some(Fault::Fatal)]);
    assert!(matches!(owner.step(), Err(CommitError::Retry(_))));
    assert!(matches!(owner.step(), Err(CommitError::Retry(_))));
    owner.step().unwrap();
    assert!(matches!(owner.step(), Err(CommitError::Fatal(_))));
    assert_eq!((stands(&mut owner), owner.open()), (11, vec![11]));
}

#[test]
fn a_stalled_store_answers_nobody() {
    let mut owner = owner();
    owner.store.stall(3);
    assert!(matches!(owner.store.standing(ShardId(0)), Err(StoreError::Busy(_))));
    assert!(matches!(owner.step(), Err(CommitError::Retry(_))));
    assert!(matches!(owner.store.take_ids(None, 1), Err(StoreError::Busy(_))));
    owner.step().unwrap();
}

#[test]
fn a_lost_answer_is_found_in_the_standing() {
    let mut owner = owner();
    owner.store.plan([Some(Fault::DroppedUnknown), Some(Fault::AppliedUnknown)]);
    assert!(matches!(owner.step(), Err(CommitError::Unknown(_))));
    assert_eq!(stands(&mut owner), 10, "it was not written: the same batch is sent again");
    assert!(matches!(owner.step(), Err(CommitError::Unknown(_))));
    assert_eq!(stands(&mut owner), 11, "it was written");
    owner.batch = 11;
    owner.step().unwrap();
    assert_eq!(owner.open(), [12]);
}

#[test]
fn a_store_that_went_back_is_as_it_was() {
    let mut owner = owner();
    owner.store.remember(8);
    let ids = owner.store.take_ids(None, 5).unwrap();
    for _ in 0..6 {
        owner.step().unwrap();
    }
    owner.store.plan([Some(Fault::GoBack { batches: 4 })]);
    assert!(matches!(owner.step(), Err(CommitError::Unknown(_))));
    assert_eq!((stands(&mut owner), owner.open()), (12, vec![12]));
    let mut owner = Owner::new(owner.store);
    assert!(owner.term.0 > 1);
    owner.step().unwrap();
    assert_eq!(owner.open(), [13]);
    assert!(owner.store.take_ids(None, 1).unwrap().start >= ids.end, "an id lent stays lent");
}

#[test]
fn a_lost_owner_writes_nothing() {
    let mut owner = owner();
    owner.store.plan([Some(Fault::LoseOwner)]);
    assert!(matches!(owner.step(), Err(CommitError::NotOwner { .. })));
    assert!(matches!(owner.step(), Err(CommitError::NotOwner { .. })));
    assert_eq!((stands(&mut owner), owner.open()), (10, vec![10]));
}

#[test]
fn an_impossible_batch_under_a_lost_answer_is_not_written() {
    let mut owner = owner();
    owner.store.plan([Some(Fault::AppliedUnknown)]);
    let commit = owner.commit_of(vec![engine::change::Change::Created(created(11)), ended(3)]);
    assert!(matches!(owner.store.commit(&commit), Err(CommitError::Unknown(_))));
    assert_eq!((stands(&mut owner), owner.open()), (10, vec![10]));
}
