//! What an agent says on its working stream, made into inputs of the shards it is about. Decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::Stretch;
use engine::Input;
use engine::input::Held;
use model::{AgentId, AgentRecord, AttemptId, Load, Report, ShardId, Term, Timestamp};
use tokio::sync::mpsc;
use tonic::{Status, Streaming};
use wire::link::{self, Down, Up, down, up};

use super::service::{LinkService, Stands};
use super::uptime::Uptime;
use crate::shard::Seat;

/// An agent that says nothing for this long is not there.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(8);

type Downs = mpsc::Sender<Result<Down, Status>>;

pub(super) async fn listen(
    link: &LinkService,
    record: &Arc<AgentRecord>,
    uptime: Uptime,
    serial: u64,
    stretch: Option<Stretch>,
    ups: &mut Streaming<Up>,
    downs: &Downs,
) {
    loop {
        let message = match tokio::time::timeout(SILENCE_MAX, ups.message()).await {
            Ok(Ok(Some(message))) => message,
            Ok(Ok(None) | Err(_)) | Err(_) => return,
        };
        // A stream that was taken over says nothing more: the newer one speaks for the agent.
        if !link.switchboard.is_current(record.id, serial) {
            return;
        }
        match message.body {
            Some(up::Body::Reports(reports)) => tell_reports(link, record.id, reports).await,
            Some(up::Body::Beat(beat)) => {
                let now = link.clock.now();
                let load = load_in(&beat);
                link.switchboard.beat(record.id, load, now);
                link.shards.tell_all(&Input::AgentBeat { agent: record.id, load });
                // A leash must not be lengthened by whoever may own nothing any more, nor for what was owned before others
                // may have.
                match link.stands(stretch) {
                    Stands::Yes => {}
                    Stands::NotNow => continue,
                    Stands::NoMore => return,
                }
                let seen = link::BeatSeen { sent_at: beat.sent_at, now: now.0 };
                if downs.send(Ok(Down { body: Some(down::Body::BeatSeen(seen)) })).await.is_err() {
                    return;
                }
            }
            Some(up::Body::TermStored(stored)) => terms_stored(link, record, uptime, serial, vec![stored]).await,
            Some(up::Body::TermsStored(all)) => terms_stored(link, record, uptime, serial, all.items).await,
            Some(up::Body::Answer(answer)) => {
                let attempts = answer.not_here.into_iter().map(AttemptId).collect();
                let shard = ShardId(answer.shard.into());
                link.shards.tell(shard, Input::NotHere { agent: record.id, attempts, up_since: since(link, uptime) });
            }
            // A second hello, or a kind this build does not know: nothing to act on.
            Some(up::Body::Hello(_)) | None => {}
        }
    }
}

fn since(link: &LinkService, uptime: Uptime) -> Timestamp {
    uptime.since(link.clock.now(), Instant::now())
}

/// Each shard hears what the agent holds of it.
async fn terms_stored(
    link: &LinkService,
    record: &Arc<AgentRecord>,
    uptime: Uptime,
    serial: u64,
    items: Vec<link::TermStored>,
) {
    let mut held: BTreeMap<ShardId, Vec<Held>> = BTreeMap::new();
    let mut seats = Vec::with_capacity(items.len());
    for stored in items {
        let seat = Seat { shard: ShardId(stored.shard.into()), term: Term(stored.term) };
        for one in stored.held {
            let shard = shard_of(link, AttemptId(one.attempt), seat.shard).await;
            held.entry(shard).or_default().push(held_in(one));
        }
        seats.push(seat);
    }
    for seat in seats {
        if link.switchboard.holds(seat)
            && let Some(shard) = link.shards.handle(seat.shard)
        {
            shard.holds(
                seat.term,
                Arc::clone(record),
                serial,
                held.remove(&seat.shard).unwrap_or_default(),
                since(link, uptime),
            );
        }
    }
}

/// Where an attempt is: as the agent was told, unless it was told before the store was moved and had one shard only.
async fn shard_of(link: &LinkService, attempt: AttemptId, told: ShardId) -> ShardId {
    link.shards.of_attempt(attempt).await.unwrap_or(told)
}

/// Each to its shard. What is for a shard that is run elsewhere is said again to whoever greets for it.
async fn tell_reports(link: &LinkService, agent: AgentId, reports: link::Reports) {
    let mut parts: BTreeMap<ShardId, Vec<Input>> = BTreeMap::new();
    for item in reports.items {
        let shard = shard_of(link, AttemptId(item.attempt), ShardId(item.shard.into())).await;
        if let Some(report) = Option::<Report>::from(item) {
            parts.entry(shard).or_default().push(Input::Report { agent, report });
        }
    }
    for (shard, inputs) in parts {
        if let Some(shard) = link.shards.handle(shard) {
            shard.tell_many(inputs);
        }
    }
}

fn held_in(held: link::Held) -> Held {
    Held { attempt: AttemptId(held.attempt), started_at: held.started_at.map(Timestamp) }
}

fn load_in(beat: &link::Beat) -> Load {
    Load {
        cpu_percent: beat.cpu_percent,
        memory_percent: beat.memory_percent,
        disk_percent: beat.disk_percent,
        running: beat.running,
    }
}
