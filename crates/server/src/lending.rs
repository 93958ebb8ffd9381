//! Brings what shards have and want of shared limits to the lender, and what they are lent to the shards. The lender is
//! the server that runs the first shard; `cluster::lend` decides. Whatever is lost on the way is said again: losing it is
//! only a delay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use cluster::{Lender, Stretch};
use engine::Input;
use model::{Account, ServerId, ShardId, Slices, Term};
use parking_lot::Mutex;
use store::leases::ServerRow;
use tokio::sync::Notify;
use wire::lending::{AccountBody, SlicesBody};
use wire::peer::{ACCOUNTS, SLICES};

use crate::app::App;
use crate::membership::Membership;
use crate::peers::Peers;
use crate::shard::FIRST;

/// What is said within this time is said together.
const TOGETHER: Duration = Duration::from_millis(10);
/// What was not heard, or not confirmed, is said again.
const AGAIN: Duration = Duration::from_millis(300);
/// Whoever does not lend says everything so often: the lender may have become another without anybody noticing.
const ALL_EVERY: Duration = Duration::from_secs(5);
/// What is heard later than this is said again anyway.
const HEARD_WITHIN: Duration = Duration::from_secs(2);

/// Where shards that run here, and other servers, say what they have and want.
#[derive(Clone, Default)]
pub(crate) struct Lending(Arc<Inner>);

#[derive(Default)]
struct Inner {
    accounts: Mutex<Accounts>,
    news: Notify,
}

#[derive(Default)]
struct Accounts {
    /// The latest of each shard that runs here.
    own: BTreeMap<ShardId, Account>,
    /// Of own shards, those that have said something since.
    unsaid: BTreeSet<ShardId>,
    /// Of shards that run elsewhere.
    others: BTreeMap<ShardId, Account>,
    /// This server lends.
    is_lender: bool,
}

impl Lending {
    pub(crate) fn say(&self, account: Account) {
        let mut accounts = self.0.accounts.lock();
        accounts.unsaid.insert(account.shard);
        accounts.own.insert(account.shard, account);
        drop(accounts);
        self.0.news.notify_one();
    }

    /// The shard is not run here any more.
    pub(crate) fn forget(&self, shard: ShardId) {
        let mut accounts = self.0.accounts.lock();
        accounts.own.remove(&shard);
        accounts.unsaid.remove(&shard);
        drop(accounts);
        self.0.news.notify_one();
    }

    /// Other servers say what their shards have and want. False: it is not this server that lends.
    pub(crate) fn hear(&self, said: impl Iterator<Item = Account>) -> bool {
        let mut accounts = self.0.accounts.lock();
        if accounts.is_lender {
            accounts.others.extend(said.map(|account| (account.shard, account)));
            self.0.news.notify_one();
        }
        accounts.is_lender
    }

    /// Whether this server lends from now on, and what was said since the last time: all, if `all`.
    fn take(&self, is_lender: bool, all: bool) -> Vec<Account> {
        let mut accounts = self.0.accounts.lock();
        accounts.is_lender = is_lender;
        let unsaid = std::mem::take(&mut accounts.unsaid);
        let own = accounts.own.values().filter(|account| all || unsaid.contains(&account.shard));
        let said = own.cloned().chain(accounts.others.values().cloned()).collect();
        accounts.others.clear();
        said
    }
}

/// Until the server stops.
pub(crate) async fn run(app: Arc<App>) {
    let (Some(cluster), Some(peers)) = (&app.cluster, &app.peers) else { return };
    let mut clerk =
        Clerk { app: &app, cluster, peers, lender: None, lends: None, to: None, again_at: None, all_at: None };
    let mut pictures = cluster.pictures.clone();
    loop {
        let wake = clerk.turn().await;
        let woken = async {
            match wake {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = app.stop.cancelled() => return,
            () = app.lending.0.news.notified() => tokio::time::sleep(TOGETHER).await,
            changed = pictures.changed() => if changed.is_err() { return },
            () = woken => {}
        }
    }
}

struct Clerk<'a> {
    app: &'a Arc<App>,
    cluster: &'a Membership,
    peers: &'a Peers,
    /// This server lends.
    lender: Option<Lender>,
    /// Under which term it last did, and since which stretch of its lease.
    lends: Option<(Term, Stretch)>,
    /// Who was last told, and under which term it lends: another is told everything.
    to: Option<(ServerId, Term)>,
    /// Something is to be said again then.
    again_at: Option<Instant>,
    /// All is to be said again then.
    all_at: Option<Instant>,
}

impl Clerk<'_> {
    /// Says what there is to say; when to look again although nobody has said anything.
    async fn turn(&mut self) -> Option<Instant> {
        let first = self.app.shards.handle(FIRST);
        let term = first.map(|handle| Term(handle.progress.term.load(Ordering::Relaxed)));
        match term.filter(|term| self.may_lend(*term)) {
            Some(term) => self.lend(term),
            None => {
                self.lender = None;
                self.tell_lender().await;
                self.again_at.into_iter().chain(self.all_at).min()
            }
        }
    }

    /// Whoever was paused for longer than its lease does not lend: another may, and the first shard's thread has only not
    /// been told yet.
    fn may_lend(&mut self, term: Term) -> bool {
        let begun = match self.lends {
            Some((of, begun)) if of == term => begun,
            _ => self.cluster.tenure.stretch(),
        };
        self.lends = Some((term, begun));
        self.cluster.tenure.holds(begun, Instant::now())
    }

    fn lend(&mut self, term: Term) -> Option<Instant> {
        self.to = None;
        let is_new = self.lender.as_ref().is_none_or(|lender| lender.term() != term);
        if is_new {
            self.lender = Some(Lender::new(term, self.all_shards()));
            self.again_at = None;
        }
        let lender = self.lender.as_mut().expect("just made if there was none");
        for account in self.app.lending.take(true, is_new) {
            lender.hear(&account);
        }
        let again = self.again_at.is_some_and(|at| at <= Instant::now());
        let now = self.app.clock.now();
        let said = lender.lend(now, again);
        if again || self.again_at.is_none() {
            self.again_at = lender.is_waiting().then(|| Instant::now() + AGAIN);
        }
        let next = lender.next(now).map(|at| self.app.clock.instant_of(at));
        self.hand_out(said);
        next.into_iter().chain(self.again_at).min()
    }

    /// Those that all tenants share, and those that some have of their own.
    fn all_shards(&self) -> Vec<ShardId> {
        let own = self.cluster.picture().into_iter().flat_map(|picture| picture.reserved.clone());
        let own = own.flat_map(|reserved| reserved.shards);
        (0..self.app.shards.count()).map(ShardId).chain(own).collect()
    }

    /// Shards here are told at once, others by whoever runs them.
    fn hand_out(&self, said: Vec<Slices>) {
        let mut elsewhere: BTreeMap<ServerId, (ServerRow, Vec<SlicesBody>)> = BTreeMap::new();
        for slices in said {
            if let Some(handle) = self.app.shards.handle(slices.shard) {
                handle.tell(Input::Lent(Arc::new(slices)));
            } else if let Some(owner) = self.peers.owner(slices.shard) {
                let (_, bodies) = elsewhere.entry(owner.id).or_insert_with(|| (owner, Vec::new()));
                bodies.push(SlicesBody::from(&slices));
            }
        }
        for (_, (server, bodies)) in elsewhere {
            let peers = self.peers.clone();
            tokio::spawn(async move {
                if let Err(error) = peers.post(&server, SLICES, &bodies, HEARD_WITHIN).await {
                    tracing::debug!(%error, "what shards are lent was not heard; it is said again");
                }
            });
        }
    }

    async fn tell_lender(&mut self) {
        let Some((server, term)) = self.whoever_lends() else {
            self.again_at = Some(Instant::now() + AGAIN);
            return;
        };
        let overdue = self.all_at.is_some_and(|at| at <= Instant::now());
        let all = overdue || self.to != Some((server.id, term)) || self.again_at.is_some();
        if all {
            self.all_at = None;
        }
        let accounts = self.app.lending.take(false, all);
        let bodies: Vec<AccountBody> = accounts.iter().map(AccountBody::from).collect();
        (self.to, self.again_at) = (Some((server.id, term)), None);
        if bodies.is_empty() {
            return;
        }
        match self.peers.post(&server, ACCOUNTS, &bodies, HEARD_WITHIN).await {
            Ok(status) if status.is_success() => {
                if accounts.iter().any(|account| !account.holdings.is_empty()) {
                    self.all_at.get_or_insert(Instant::now() + ALL_EVERY);
                }
            }
            // It is of a version that does not lend.
            Ok(status) if status.is_client_error() && status != StatusCode::CONFLICT => {
                self.app.shards.tell_all(&Input::LentByNobody);
                self.again_at = Some(Instant::now() + HEARD_WITHIN);
            }
            Ok(_) | Err(_) => self.again_at = Some(Instant::now() + AGAIN),
        }
    }

    fn whoever_lends(&self) -> Option<(ServerRow, Term)> {
        let picture = self.cluster.picture()?;
        let lease = picture.leases.iter().find(|lease| lease.shard == FIRST)?;
        Some((self.peers.owner(FIRST)?, lease.term))
    }
}
