//! Looks after what this server owns: renews its leases, takes and gives shards as `cluster::decide` says, and tells
//! everyone else here who is there. One thread renews and does nothing that could keep it from renewing; what takes
//! longer (loading, stopping, handing over) is done beside it.

mod identity;
mod moves;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cluster::{Tenure, Terms, decide};
use model::{ServerId, ShardId, Span, Term};
use parking_lot::Mutex;
use store::StoreError;
use store::leases::{Leases, Picture, Reserved, ServerRow, Wakes};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::shard::{ShardHandle, Shards};

pub(crate) use identity::identify;

/// After a renewal that failed; the lease is counted on meanwhile.
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// What all servers know of each other, as of the last renewal.
pub(crate) type Pictures = watch::Receiver<Option<Arc<Picture>>>;

/// Shards being taken or given, and those that have been, with when that ended: a picture that was asked for before may
/// show them as they were, so no round that began before touches them.
pub(crate) type Busy = BTreeMap<ShardId, Option<Instant>>;

pub(crate) struct Steward {
    pub me: ServerRow,
    pub terms: Terms,
    pub tenure: Arc<Tenure>,
    pub clock: Clock,
    pub shards: Shards,
    /// For what is moved beside the renewing thread.
    pub moving: Arc<Mutex<Box<dyn Leases>>>,
    pub busy: Arc<Mutex<Busy>>,
    pub pictures: watch::Sender<Option<Arc<Picture>>>,
    pub stop: CancellationToken,
    pub runtime: tokio::runtime::Handle,
}

impl Steward {
    /// Runs on a thread of its own until the server stops; what it owned then is free.
    pub(crate) fn run(self, mut leases: Box<dyn Leases>, mut wakes: Box<dyn Wakes>) {
        let mut complained = false;
        while !self.stop.is_cancelled() {
            let wait = match self.round(&mut *leases) {
                Ok(wait) => {
                    complained = false;
                    wait
                }
                Err(error) => {
                    if !std::mem::replace(&mut complained, true) {
                        tracing::warn!(%error, "the leases could not be renewed; trying again");
                    }
                    std::thread::sleep(TRY_AGAIN);
                    continue;
                }
            };
            if let Err(error) = wakes.wait(wait) {
                tracing::debug!(%error, "cannot be woken; looking by the clock");
                std::thread::sleep(wait.min(self.terms.every()));
            }
        }
    }

    /// Renews, looks, and starts what follows from it. How long to wait for the next.
    fn round(&self, leases: &mut dyn Leases) -> Result<Duration, StoreError> {
        let sent = Instant::now();
        let picture = leases.renew(&self.me, Span::from(self.terms.lease))?;
        let answered = Instant::now();
        self.clock.follow(picture.now, sent, answered);
        if self.tenure.has_run_out(answered) {
            // Others may have what ran here: agents hear nothing of it any more before they hear from us again.
            self.shards.unseat();
        }
        self.tenure.renewed(sent, answered, &self.terms);
        let stretch = self.tenure.stretch();
        if self.stop.is_cancelled() {
            // What was let go for good would be found not to run, and taken again.
            return Ok(Duration::ZERO);
        }
        let term = |handle: &ShardHandle| Term(handle.progress.term.load(Ordering::Relaxed));
        let running: BTreeMap<ShardId, Term> =
            self.shards.running().iter().map(|(shard, handle)| (*shard, term(handle))).collect();
        let mut round = decide(&picture, self.me.id, &running, &self.terms);
        {
            let mut busy = self.busy.lock();
            busy.retain(|_, ended| ended.is_none_or(|ended| ended >= sent));
            round.take.retain(|shard| !busy.contains_key(shard));
            round.give.retain(|(shard, _)| !busy.contains_key(shard));
            round.drop.retain(|shard| !busy.contains_key(shard));
        }
        let is_ours =
            |shard: &ShardId| picture.leases.iter().any(|row| row.shard == *shard && row.server == Some(self.me.id));
        let (mut own, ask): (Vec<ShardId>, Vec<ShardId>) = round.take.iter().partition(|shard| is_ours(shard));
        if !ask.is_empty() {
            let (lease, grace) = (Span::from(self.terms.lease), Span::from(self.terms.grace));
            own.extend(leases.take(self.me.id, &ask, lease, grace)?);
        }
        self.drop_lost(round.drop);
        self.own(own, stretch);
        self.give(round.give);
        self.pictures.send_replace(Some(Arc::new(picture)));
        let look_in = round.look_in.map_or(self.terms.every(), Duration::from);
        Ok(look_in.min(self.terms.every()).saturating_sub(sent.elapsed()).max(Duration::from_millis(1)))
    }
}

/// The servers that are alive in a picture.
pub(crate) fn living(picture: &Picture, terms: &Terms) -> Vec<ServerRow> {
    let grace = Span::from(terms.grace);
    let living = picture.servers.iter().filter(|server| cluster::round::is_living(server, picture.now, grace));
    living.cloned().collect()
}

/// Why nobody schedules a tenant.
pub(crate) fn unserved(reserved: &Reserved) -> String {
    let Reserved { tenant, servers, .. } = reserved;
    let several = if servers.len() == 1 { "server" } else { "servers" };
    let none = if servers.len() == 1 { "it is not" } else { "none of them is" };
    format!("tenant {tenant} may only be scheduled by {several} {}, and {none} there to do it", servers.join(", "))
}

/// Whoever owns the shard, if it is alive.
pub(crate) fn owner(picture: &Picture, shard: ShardId) -> Option<&ServerRow> {
    let row = picture.leases.iter().find(|row| row.shard == shard)?;
    let holder: ServerId = row.server?;
    picture.servers.iter().find(|server| server.id == holder)
}
