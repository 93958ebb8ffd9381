//! Brings shards what others told them: reads what waits in the store for the shards that run here, when somebody says
//! that there is something, and now and then. A shard that runs elsewhere is woken there. Losing a wake-up is only a delay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use model::{ServerId, ShardId, Term};
use store::StoreError;
use store::read::Letter;
use tokio::sync::mpsc;

use crate::app::App;

/// Letters read at once.
const LETTERS_MAX: usize = 1_000;
const READ_WITHIN: Duration = Duration::from_secs(5);
/// When there is more than was read: what was read has to be taken first.
const MORE_AFTER: Duration = Duration::from_millis(20);

/// Where shards say that another has something to hear.
#[derive(Clone)]
pub(crate) struct Bell(mpsc::UnboundedSender<ShardId>);

impl Bell {
    pub(crate) fn new() -> (Bell, mpsc::UnboundedReceiver<ShardId>) {
        let (rings, rung) = mpsc::unbounded_channel();
        (Bell(rings), rung)
    }

    pub(crate) fn ring(&self, shard: ShardId) {
        let _ = self.0.send(shard);
    }
}

/// Until the server stops.
pub(crate) async fn run(app: Arc<App>, mut rung: mpsc::UnboundedReceiver<ShardId>) {
    let Some(cluster) = &app.cluster else { return };
    // Another server wakes us by our leases, and every look at them is a reason to look here.
    let mut pictures = cluster.pictures.clone();
    let mut more = false;
    loop {
        let mut for_whom = BTreeSet::new();
        tokio::select! {
            () = app.stop.cancelled() => return,
            shard = rung.recv() => for_whom.extend(shard),
            changed = pictures.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(MORE_AFTER), if more => {}
        }
        while let Ok(shard) = rung.try_recv() {
            for_whom.insert(shard);
        }
        wake_others(&app, &for_whom).await;
        more = match deliver(&app).await {
            Ok(read) => read == LETTERS_MAX,
            Err(error) => {
                tracing::debug!(%error, "what shards told each other could not be read; trying again");
                false
            }
        };
    }
}

async fn deliver(app: &Arc<App>) -> Result<usize, StoreError> {
    let running = app.shards.running();
    // Before it is read: what is read under an older term is dropped, and read again.
    let terms: BTreeMap<ShardId, Term> =
        running.iter().map(|(shard, handle)| (*shard, Term(handle.progress.term.load(Ordering::Relaxed)))).collect();
    let shards: Vec<ShardId> = terms.keys().copied().collect();
    if shards.is_empty() {
        return Ok(0);
    }
    let reads = Arc::clone(&app.reads);
    let read = tokio::task::spawn_blocking(move || reads.outbox(&shards, LETTERS_MAX, Instant::now() + READ_WITHIN));
    let letters = read.await.unwrap_or_else(|panic| Err(StoreError::Failed(panic.to_string())))?;
    let count = letters.len();
    let mut parts: BTreeMap<ShardId, Vec<Letter>> = BTreeMap::new();
    for letter in letters {
        parts.entry(letter.to).or_default().push(letter);
    }
    for (shard, handle) in running {
        if let Some(letters) = parts.remove(&shard) {
            handle.heard(terms[&shard], letters);
        }
    }
    Ok(count)
}

async fn wake_others(app: &Arc<App>, shards: &BTreeSet<ShardId>) {
    let (Some(cluster), Some(peers)) = (&app.cluster, &app.peers) else { return };
    let elsewhere = shards.iter().filter(|shard| app.shards.handle(**shard).is_none());
    let owners: BTreeSet<ServerId> = elsewhere.filter_map(|shard| peers.owner(*shard)).map(|owner| owner.id).collect();
    for owner in owners {
        if let Err(error) = cluster.change(move |leases| leases.wake(Some(owner))).await {
            tracing::debug!(%error, server = %owner, "a server could not be woken; it looks by itself");
        }
    }
}
