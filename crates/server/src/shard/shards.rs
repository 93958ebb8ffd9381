//! The shards this server runs, and the way to all of them: here, or at the server that owns them. Knows nothing of
//! leases; who runs what is decided by whoever calls `own` and `let_go`.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use cluster::Stretch;
use engine::{Command, Input, Reply, Scope};
use model::{
    Actor, AttemptId, InstanceId, JobId, Report, ShardId, TenantId, shard_of, shard_of_name, shard_of_name_in,
};
use parking_lot::RwLock;
use store::StoreError;
use tokio::sync::mpsc;

use super::driver::{End, Surroundings};
use super::handle::{AskError, ShardHandle};
use super::lane::Lane;
use super::place::{FIRST, Place, place_of};
use super::start;
use crate::peers::Peers;
use crate::tenants::Tenants;

/// How long a command waits for its shard to have an owner.
const OWNED_WITHIN: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const READ_WITHIN: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Shards(Arc<Inner>);

struct Inner {
    /// Those that all tenants share; fixed when the store was made.
    count: i64,
    lanes: Vec<Lane>,
    around: Surroundings,
    tenants: Arc<Tenants>,
    running: RwLock<BTreeMap<ShardId, ShardHandle>>,
    ended: mpsc::UnboundedSender<(ShardId, End)>,
    /// None: there are no others.
    others: OnceLock<Others>,
}

struct Others {
    peers: Peers,
    /// Something that all share was changed here: they should look.
    changed: Box<dyn Fn() + Send + Sync>,
}

impl Shards {
    pub(crate) fn new(
        count: i64,
        lanes: Vec<Lane>,
        around: Surroundings,
        tenants: Arc<Tenants>,
    ) -> (Shards, mpsc::UnboundedReceiver<(ShardId, End)>) {
        let (ended, ends) = mpsc::unbounded_channel();
        let (running, others) = (RwLock::default(), OnceLock::new());
        (Shards(Arc::new(Inner { count, lanes, around, tenants, running, ended, others })), ends)
    }

    /// `changed` is called when something that all servers share was changed here.
    pub(crate) fn meet(&self, peers: Peers, changed: impl Fn() + Send + Sync + 'static) {
        let others = Others { peers, changed: Box::new(changed) };
        assert!(self.0.others.set(others).is_ok(), "a server meets the others once");
    }

    fn peers(&self) -> Option<&Peers> {
        self.0.others.get().map(|others| &others.peers)
    }

    /// Whom a shard waits for that none of the living servers may own, in words.
    pub(crate) fn unserved(&self, shard: ShardId) -> Option<String> {
        self.peers().filter(|_| self.handle(shard).is_none())?.unserved(shard)
    }

    // ---- which

    pub fn count(&self) -> i64 {
        self.0.count
    }

    pub(crate) fn of_job(&self, job: JobId) -> ShardId {
        shard_of(job, self.0.count)
    }

    fn of_new_job(&self, tenant: TenantId, name: &str) -> ShardId {
        let own = self.0.tenants.get(tenant).and_then(|record| shard_of_name_in(&record.own, tenant, name));
        own.unwrap_or_else(|| shard_of_name(tenant, name, self.0.count))
    }

    pub(crate) async fn of_instance(&self, id: InstanceId) -> Result<ShardId, AskError> {
        if self.0.count == 1 {
            return Ok(FIRST);
        }
        let reads = Arc::clone(&self.0.around.reads);
        let read = tokio::task::spawn_blocking(move || reads.instance(id, Instant::now() + READ_WITHIN));
        let found = read.await.map_err(|_| AskError::Gone)?.map_err(|error| AskError::Stalled(error.to_string()))?;
        // What nobody knows is refused by whoever is asked.
        Ok(found.map_or(FIRST, |instance| self.of_job(instance.job)))
    }

    pub(crate) async fn of_attempt(&self, id: AttemptId) -> Result<ShardId, AskError> {
        if self.0.count == 1 {
            return Ok(FIRST);
        }
        if let Some(shard) = self.0.around.lent.to(id.0) {
            return Ok(shard);
        }
        let (reads, lent) = (Arc::clone(&self.0.around.reads), self.0.around.lent.clone());
        let count = self.0.count;
        let read = tokio::task::spawn_blocking(move || {
            let by = Instant::now() + READ_WITHIN;
            if let Some((ids, shard)) = reads.lent_to(id.0, by)? {
                lent.note(ids, shard);
                return Ok(shard);
            }
            // Made before there were several shards.
            let instance = reads.instance_of(id, by)?.map(|instance| reads.instance(instance, by)).transpose()?;
            Ok(instance.flatten().map_or(FIRST, |instance| shard_of(instance.job, count)))
        });
        let found: Result<ShardId, StoreError> = read.await.map_err(|_| AskError::Gone)?;
        found.map_err(|error| AskError::Stalled(error.to_string()))
    }

    // ---- asking

    /// Asks whoever owns what the command is about, and waits until it is on disk.
    pub async fn ask(&self, by: Actor, command: Command) -> Result<Reply, AskError> {
        let shard = match place_of(&command) {
            Place::First => FIRST,
            Place::Job(job) => self.of_job(job),
            Place::NewJob(tenant, name) => self.of_new_job(tenant, &name),
            Place::Instance(id) => self.of_instance(id).await?,
            Place::Reports => {
                let Command::Callback { scope, reports } = command else { unreachable!("only they are reports") };
                return self.call_back(scope, reports).await;
            }
        };
        self.ask_owner(shard, by, command).await
    }

    async fn ask_owner(&self, shard: ShardId, by: Actor, command: Command) -> Result<Reply, AskError> {
        let give_up = Instant::now() + OWNED_WITHIN;
        loop {
            if let Some(why) = self.unserved(shard) {
                return Err(AskError::Unserved(why));
            }
            let told = match (self.handle(shard), self.peers()) {
                (Some(handle), None) => return handle.ask(by, command).await,
                (Some(_), Some(_)) => self.ask_here(shard, by.clone(), command.clone()).await,
                (None, Some(peers)) => peers.ask(shard, &by, &command).await,
                (None, None) => Err(AskError::Gone),
            };
            match told {
                // Nobody was told: its owner is changing.
                Err(AskError::Gone) if self.peers().is_some() && Instant::now() < give_up => {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                told => return told,
            }
        }
    }

    /// Only here: the shard is ours, or another server thinks that it is.
    pub(crate) async fn ask_here(&self, shard: ShardId, by: Actor, command: Command) -> Result<Reply, AskError> {
        let handle = self.handle(shard).ok_or(AskError::Gone)?;
        let shared = place_of(&command) == Place::First;
        let reply = handle.ask(by, command).await?;
        if let Some(others) = self.0.others.get().filter(|_| shared) {
            (others.changed)();
        }
        Ok(reply)
    }

    async fn call_back(&self, scope: Scope, reports: Vec<Report>) -> Result<Reply, AskError> {
        let mut parts: BTreeMap<ShardId, Vec<Report>> = BTreeMap::new();
        for report in reports {
            parts.entry(self.of_attempt(report.attempt).await?).or_default().push(report);
        }
        let asks = parts.into_iter().map(|(shard, reports)| {
            let command = Command::Callback { scope: scope.clone(), reports };
            self.ask_owner(shard, Actor::system(), command)
        });
        let (mut all_ended, mut all_foreign) = (0, 0);
        for reply in futures::future::join_all(asks).await {
            if let Reply::CalledBack { ended, foreign } = reply? {
                (all_ended, all_foreign) = (all_ended + ended, all_foreign + foreign);
            }
        }
        Ok(Reply::CalledBack { ended: all_ended, foreign: all_foreign })
    }

    // ---- telling: only shards that run here listen

    pub(crate) fn tell(&self, shard: ShardId, input: Input) {
        if let Some(handle) = self.handle(shard) {
            handle.tell(input);
        }
    }

    pub(crate) fn tell_all(&self, input: &Input) {
        for (_, handle) in self.running() {
            handle.tell(input.clone());
        }
    }

    pub(crate) fn handle(&self, shard: ShardId) -> Option<ShardHandle> {
        self.0.running.read().get(&shard).cloned()
    }

    pub fn running(&self) -> Vec<(ShardId, ShardHandle)> {
        self.0.running.read().iter().map(|(shard, handle)| (*shard, handle.clone())).collect()
    }

    // ---- owning

    pub(crate) fn lane(&self, shard: ShardId) -> &Lane {
        &self.0.lanes[shard.0 as usize % self.0.lanes.len()]
    }

    /// Takes a shard over and runs it for as long as that stretch lasts, or for good. Blocks while it is loaded.
    pub(crate) fn own(&self, shard: ShardId, stretch: Option<Stretch>) -> Result<(), StoreError> {
        let this = self.clone();
        let (begin, begun) = crossbeam_channel::bounded::<()>(1);
        let (handle, seat) =
            start::start(shard, stretch, self.lane(shard).clone(), self.0.around.clone(), move |end| {
                let _ = begun.recv();
                // In this order: once it is seen not to run, it may be owned again.
                this.0.around.outlets.let_go(shard);
                this.0.around.lending.forget(shard);
                this.0.running.write().remove(&shard);
                let _ = this.0.ended.send((shard, end));
            })?;
        self.0.running.write().insert(shard, handle);
        self.0.around.outlets.greet_all(seat);
        drop(begin);
        // What it was told while nobody ran it.
        self.0.around.outlets.wake(shard);
        Ok(())
    }

    /// Nothing that runs here is ours for certain any more: agents are told so, and each shard looks for itself.
    pub(crate) fn unseat(&self) {
        for (shard, handle) in self.running() {
            self.0.around.outlets.let_go(shard);
            handle.nudge();
        }
    }

    /// Takes no more work, writes what is decided, and runs it no more.
    pub(crate) async fn let_go(&self, shard: ShardId) {
        if let Some(handle) = self.handle(shard) {
            handle.stop().await;
        }
    }

    pub(crate) async fn let_all_go(&self) {
        futures::future::join_all(self.running().into_iter().map(|(shard, _)| self.let_go(shard))).await;
    }
}
