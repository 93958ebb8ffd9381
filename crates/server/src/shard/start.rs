//! Begins to run a shard: takes it over, makes the engine's memory from what the store has, and gives it a thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::Stretch;
use engine::Shard;
use model::{ShardId, Timestamp};
use store::{Reads, StoreError};
use tokio_util::sync::CancellationToken;

use super::driver::{Channel, Driver, End, Surroundings};
use super::handle::{Message, Progress, ShardHandle};
use super::keeper::Keeper;
use super::lane::{Back, Lane, Wish, Written};
use super::load;
use super::release::Seat;
use crate::short_slice;

/// Takes the shard over, loads it and starts its thread; blocks until it runs. `ended` is called on that thread.
pub(crate) fn start(
    shard: ShardId,
    stretch: Option<Stretch>,
    lane: Lane,
    around: Surroundings,
    ended: impl FnOnce(End) + Send + 'static,
) -> Result<(ShardHandle, Seat), StoreError> {
    let (loads, loaded) = crossbeam_channel::bounded(1);
    let back: Back = Arc::new(move |written| drop(loads.send(written)));
    let gone = || StoreError::Failed("the writer has stopped".into());
    if !lane.wish(Wish::Load(shard), &back) {
        return Err(gone());
    }
    let Written::Load(loaded) = loaded.recv().map_err(|_| gone())? else { return Err(gone()) };
    let (ownership, stored, ids) = *loaded?;
    around.lent.note(ids.clone(), shard);
    let revived = revive(ownership, stored, ids, shard, &*around.reads, around.clock.now());
    let keeper = Keeper::new(revived, ownership.standing);
    let (messages, received) = crossbeam_channel::bounded(around.messages_max);
    let (written, own) = (messages.clone(), messages.clone());
    let (progress, over) = (Arc::new(Progress::default()), CancellationToken::new());
    progress.term.store(ownership.term.0, std::sync::atomic::Ordering::Relaxed);
    let back: Back = Arc::new(move |w| drop(written.send(Message::Written(w))));
    let channel = Channel { received, own, back };
    let driver = Driver::new(keeper, channel, lane, around, stretch, Arc::clone(&progress), over.clone().drop_guard());
    std::thread::Builder::new()
        .name(format!("duly-shard-{shard}"))
        .spawn(move || {
            short_slice::ask_on_time();
            ended(driver.run());
        })
        .map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))?;
    Ok((ShardHandle { messages, over, progress }, Seat { shard, term: ownership.term }))
}

/// The engine's memory, made from what the store has.
pub fn revive(
    ownership: store::Ownership,
    stored: store::Stored,
    ids: std::ops::Range<i64>,
    shard: ShardId,
    reads: &dyn Reads,
    now: Timestamp,
) -> Shard {
    let mut loaded = load::decode(ownership, stored, ids, shard);
    for parent in load::broadcasts(&loaded) {
        let filter = store::read::InstanceFilter { parent: Some(parent), limit: 10_000, ..Default::default() };
        let by = Instant::now() + Duration::from_secs(10);
        let children = reads.instances(&filter, by).unwrap_or_default();
        let failed = children.iter().filter(|c| matches!(c.state, model::State::Failed | model::State::Dead)).count();
        loaded.spread_failures.push((parent, failed as u32));
    }
    Shard::load(loaded, now)
}
