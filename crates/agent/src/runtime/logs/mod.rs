//! Ships what tasks print, in order, to the server that owns them, on streams and connections of their own: a task that prints without end delays
//! neither heartbeat nor report. Forgets an attempt's files when its ending and all its output are with the server.

mod files;
mod outlets;
mod tail;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wire::link::LogDown;

use super::config::{AgentConfig, ServerAddress};
use super::dial::Dialer;
use super::stream::{Happened, Output};
use crate::process::{self, LogPart};
use crate::session::Server;
use files::Files;
use outlets::Outlets;
use tail::Tail;

/// Bytes on their way that a server has not kept.
const WINDOW: usize = 256 * 1024;
/// In an attempt's directory: the shard of one whose ending is settled while its output is not.
const SHARD: &str = "shard";
/// Of one attempt in one turn, so that others have theirs.
const PART: usize = 64 * 1024;
/// What is printed in such a time travels together.
const PATIENCE: Duration = Duration::from_millis(20);
/// How often an attempt is looked at that the kernel cannot watch for us.
const LOOK_EVERY: Duration = Duration::from_millis(200);
const TIDY_EVERY: Duration = Duration::from_secs(3600);

pub(crate) enum LogWork {
    /// It runs, or its files were found.
    Follow { attempt: i64, shard: Option<u32> },
    /// It will print no more.
    Ended { attempt: i64, shard: Option<u32> },
    /// Its ending is with the server.
    Settled { attempt: i64 },
    /// Whom output of this shard goes to from now on.
    Owner { shard: u32, server: Option<(Server, ServerAddress)> },
    /// This server is out of use.
    Gone { server: Server },
}

#[derive(Clone)]
pub(crate) struct Sender(UnboundedSender<LogWork>);

impl Sender {
    pub(crate) fn send(&self, work: LogWork) {
        // The shipper leaves only when the agent does; the next one finds the files.
        let _ = self.0.send(work);
    }
}

/// Runs until `stop`, on the current runtime.
pub(crate) fn spawn(dialer: &Dialer, stop: CancellationToken) -> io::Result<(Sender, JoinHandle<()>)> {
    let (sender, work) = unbounded_channel();
    let shipper = Shipper {
        config: dialer.config.clone(),
        run_dir: dialer.data.run(),
        files: Files::new()?,
        tails: BTreeMap::new(),
        unwatched: BTreeSet::new(),
        dirty: BTreeSet::new(),
        ship_at: None,
    };
    let outlets = Outlets::new(Dialer { may_join: false, ..dialer.clone() });
    Ok((Sender(sender), tokio::spawn(shipper.run(work, outlets, stop))))
}

/// The shard of an attempt whose ending was settled while its output was not.
pub(crate) fn noted_shard(dir: &Path) -> Option<u32> {
    std::fs::read_to_string(dir.join(SHARD)).ok()?.parse().ok()
}

struct Shipper {
    config: Arc<AgentConfig>,
    run_dir: PathBuf,
    files: Files,
    tails: BTreeMap<i64, Tail>,
    unwatched: BTreeSet<i64>,
    /// To be read at the next turn.
    dirty: BTreeSet<i64>,
    ship_at: Option<Instant>,
}

impl Shipper {
    async fn run(mut self, mut work: UnboundedReceiver<LogWork>, mut outlets: Outlets, stop: CancellationToken) {
        let mut look = tokio::time::interval(LOOK_EVERY);
        let mut tidy = tokio::time::interval(TIDY_EVERY);
        loop {
            let ship_at = self.ship_at;
            let turn = async {
                match ship_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            // Without output there is no need for a second connection.
            let needed = !self.tails.is_empty();
            tokio::select! {
                () = stop.cancelled() => return,
                Some(work) = work.recv() => self.work(work, &mut outlets),
                (server, happened) = outlets.next(needed) => self.happened(server, happened, &mut outlets),
                written = self.files.written() => self.written(written),
                () = turn => self.ship(&mut outlets),
                _ = look.tick(), if !self.unwatched.is_empty() => self.look(),
                _ = tidy.tick() => self.tidy(),
            }
        }
    }

    fn work(&mut self, work: LogWork, outlets: &mut Outlets) {
        match work {
            LogWork::Follow { attempt, shard } => {
                if !self.files.watch(attempt, &self.dir(attempt)) {
                    self.unwatched.insert(attempt);
                }
                self.tails.entry(attempt).or_insert_with(|| Tail::new(attempt, shard));
                self.touch(attempt);
            }
            LogWork::Ended { attempt, shard } => {
                self.files.forget(attempt);
                self.unwatched.remove(&attempt);
                self.tails.entry(attempt).or_insert_with(|| Tail::new(attempt, shard)).ended = true;
                self.touch(attempt);
            }
            LogWork::Settled { attempt } => match self.tails.get_mut(&attempt) {
                Some(tail) => {
                    tail.settled = true;
                    self.finish(attempt);
                    self.note_shard(attempt, outlets);
                }
                None => self.remove(attempt),
            },
            LogWork::Owner { shard, server: Some((server, address)) } => {
                if outlets.owned(shard, server, address) {
                    self.start_over(|tail| tail.shard.is_none_or(|of| of == shard), outlets);
                }
            }
            LogWork::Owner { server: None, .. } => {}
            LogWork::Gone { server } => outlets.gone(server),
        }
    }

    /// Its record of having been taken is gone by now; where there are several owners, the next agent must know whose it
    /// is.
    fn note_shard(&self, attempt: i64, outlets: &Outlets) {
        let Some(shard) = self.tails.get(&attempt).and_then(|tail| tail.shard) else { return };
        if outlets.has_several_shards() {
            let noted = std::fs::write(self.dir(attempt).join(SHARD), shard.to_string());
            noted.unwrap_or_else(|error| tracing::debug!(attempt, %error, "cannot note whose output this is"));
        }
    }

    /// What was under way may not have arrived, or not where it belongs now.
    fn start_over(&mut self, concerned: impl Fn(&Tail) -> bool, outlets: &mut Outlets) {
        let mut again = Vec::new();
        for (attempt, tail) in self.tails.iter_mut().filter(|(_, tail)| concerned(tail)) {
            outlets.arrived(tail.sent_to.take(), tail.start_over());
            again.push(*attempt);
        }
        again.into_iter().for_each(|attempt| self.touch(attempt));
    }

    fn happened(&mut self, server: Server, happened: Happened<Output>, outlets: &mut Outlets) {
        match happened {
            Happened::Opened(sender) => {
                outlets.opened(server, sender);
                let of = outlets.shards_of(server);
                self.start_over(|tail| tail.shard.is_none_or(|shard| of.contains(&shard)), outlets);
            }
            Happened::Came(LogDown { attempt, kept }) => {
                if let Some(tail) = self.tails.get_mut(&attempt) {
                    outlets.arrived(tail.sent_to, tail.keep(kept));
                    self.finish(attempt);
                }
                if !self.dirty.is_empty() {
                    self.ship(outlets);
                }
            }
            Happened::Lost(error) => {
                outlets.lost(server);
                tracing::debug!(%error, "no stream for the output of tasks; it is kept here meanwhile");
            }
        }
    }

    fn written(&mut self, written: io::Result<Vec<i64>>) {
        match written {
            Ok(attempts) => attempts.into_iter().for_each(|attempt| self.touch(attempt)),
            Err(error) => tracing::warn!(%error, "cannot hear of new output"),
        }
    }

    fn look(&mut self) {
        let attempts: Vec<i64> = self.unwatched.iter().copied().collect();
        attempts.into_iter().for_each(|attempt| self.touch(attempt));
    }

    fn touch(&mut self, attempt: i64) {
        if self.tails.contains_key(&attempt) {
            self.dirty.insert(attempt);
            self.ship_at.get_or_insert(Instant::now() + PATIENCE);
        }
    }

    /// Gives each attempt with new output its turn, until the window is full.
    fn ship(&mut self, outlets: &mut Outlets) {
        self.ship_at = None;
        let mut turn: BTreeSet<i64> = std::mem::take(&mut self.dirty);
        while let Some(attempt) = turn.pop_first() {
            let shard = self.tails.get(&attempt).and_then(|tail| tail.shard);
            if outlets.is_full(shard) {
                self.dirty.insert(attempt);
            } else if self.ship_one(attempt, outlets) {
                // There may be more: behind all others.
                self.dirty.insert(attempt);
                if turn.is_empty() {
                    turn = std::mem::take(&mut self.dirty);
                }
            }
        }
    }

    /// Whether something was read.
    fn ship_one(&mut self, attempt: i64, outlets: &mut Outlets) -> bool {
        let dir = self.dir(attempt);
        let Some(tail) = self.tails.get_mut(&attempt) else { return false };
        let part = process::read_log(&dir, tail.offset(), PART).unwrap_or_else(|error| {
            tracing::warn!(attempt, %error, "output of a task cannot be read");
            LogPart { frames: Vec::new(), next: tail.offset() }
        });
        let moved = !part.frames.is_empty();
        match outlets.to(tail.shard) {
            Some(outlet) => {
                if let Some((up, bytes)) = tail.take(part) {
                    tail.sent_to = Some(outlet.send(up, bytes));
                }
            }
            // An attempt that printed nothing need not wait for a stream; the others are read again when it is there.
            None if tail.offset() == 0 && !moved => drop(tail.take(part)),
            None => return false,
        }
        self.finish(attempt);
        moved
    }

    fn finish(&mut self, attempt: i64) {
        if self.tails.get(&attempt).is_some_and(|tail| tail.settled && tail.is_done()) {
            self.forget(attempt);
        }
    }

    fn forget(&mut self, attempt: i64) {
        self.tails.remove(&attempt);
        self.dirty.remove(&attempt);
        self.remove(attempt);
    }

    /// Output that no server took is dropped some day.
    fn tidy(&mut self) {
        let old = |dir: &PathBuf| {
            let changed = std::fs::metadata(dir).and_then(|dir| dir.modified());
            changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > self.config.log_keep))
        };
        let settled = self.tails.iter().filter(|(_, tail)| tail.settled).map(|(attempt, _)| *attempt);
        let expired: Vec<i64> = settled.filter(|attempt| old(&self.dir(*attempt))).collect();
        for attempt in expired {
            tracing::warn!(attempt, "no server took the output of this attempt for too long; it is dropped");
            self.forget(attempt);
        }
    }

    fn remove(&self, attempt: i64) {
        if let Err(error) = process::remove(&self.dir(attempt)) {
            tracing::warn!(attempt, %error, "cannot remove the files of an attempt");
        }
    }

    fn dir(&self, attempt: i64) -> PathBuf {
        self.run_dir.join(attempt.to_string())
    }
}
