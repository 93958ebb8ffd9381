//! What one shard tells another: kept with what made it say so, taken once.

use engine::change::{Change, Ends, Message, MessageId};
use model::{InstanceId, JobId, ShardId, State};

use super::Bed;
use super::world::{World, ann, at, soon};
use crate::read::Letter;

fn said(number: i64) -> Message {
    Message::Ended { job: JobId(1), instance: InstanceId(number), state: State::Dead, of: engine::EndOf::Both }
}

fn told(to: i64, number: i64) -> Change {
    Change::Told { to: ShardId(to), message: said(number) }
}

fn heard(w: &World, shards: &[i64]) -> Vec<Letter> {
    let shards: Vec<_> = shards.iter().map(|shard| ShardId(*shard)).collect();
    w.reads.outbox(&shards, 100, soon()).unwrap()
}

pub fn a_message_is_taken_once_by_whom_it_is_for(bed: &impl Bed) {
    let (mut from, mut to) = (World::of(bed, ShardId(0)), World::of(bed, ShardId(1)));
    from.commit([told(1, 7)]);
    let letters = heard(&to, &[1]);
    assert_eq!(letters.len(), 1);
    let Letter { id, message, .. } = letters[0].clone();
    assert_eq!((letters[0].to, letters[0].from, message), (ShardId(1), ShardId(0), said(7)));
    from.refuse([Change::Took { id }], 0);
    to.refuse([Change::Took { id: MessageId(id.0 + 1) }], 0);
    to.commit([Change::Took { id }]);
    assert!(heard(&to, &[0, 1]).is_empty());
    to.refuse([Change::Took { id }], 0);
}

pub fn messages_wait_in_order_and_only_the_written_ones(bed: &impl Bed) {
    let (mut zero, mut one) = (World::of(bed, ShardId(0)), World::of(bed, ShardId(1)));
    zero.commit([told(1, 1), told(0, 2), told(1, 3)]);
    one.commit([told(1, 4)]);
    // A batch that fails tells nobody.
    one.refuse([told(1, 5), Change::Took { id: MessageId(i64::MAX) }], 1);
    let numbers = |letters: Vec<Letter>| {
        let number = |letter: Letter| match letter.message {
            Message::Ended { instance, .. } => instance.0,
            other => panic!("{other:?}"),
        };
        letters.into_iter().map(number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(heard(&zero, &[1])), [1, 3, 4]);
    assert_eq!(numbers(heard(&zero, &[0])), [2]);
    assert_eq!(numbers(heard(&zero, &[0, 1])), [1, 2, 3, 4]);
    assert_eq!(numbers(zero.reads.outbox(&[ShardId(1)], 2, soon()).unwrap()), [1, 3]);
    assert!(zero.reads.outbox(&[], 9, soon()).unwrap().is_empty());
}

pub fn followers_from_elsewhere_are_loaded(bed: &impl Bed) {
    let (mut zero, mut one) = (World::of(bed, ShardId(0)), World::of(bed, ShardId(1)));
    let (job, other) = (zero.job("a"), zero.job("b"));
    let follower = |job: JobId, follower: i64, ends: Option<u8>| {
        let (follower, ends) = (JobId(follower), ends.map(Ends));
        Change::Follower { job, follower, ends }
    };
    zero.commit([follower(job.id, 901, Some(1)), follower(job.id, 902, Some(2)), follower(other.id, 901, Some(63))]);
    zero.commit([follower(job.id, 901, Some(5)), follower(job.id, 902, None), follower(job.id, 999, None)]);
    let loaded = |w: &mut World| {
        let mut followers = w.store.load(w.shard).unwrap().followers;
        followers.sort_by_key(|(job, follower, _)| (*job, *follower));
        followers
    };
    assert_eq!(loaded(&mut zero), [(job.id, JobId(901), Ends(5)), (other.id, JobId(901), Ends(63))]);
    assert_eq!(loaded(&mut one), []);
    zero.commit([Change::JobRemoved { job: job.id, tenant: job.tenant, at: at(1), by: ann() }]);
    assert_eq!(loaded(&mut zero), [(other.id, JobId(901), Ends(63))]);
}
