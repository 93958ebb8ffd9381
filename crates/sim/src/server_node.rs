//! A server of the simulated world: the real keeper on a memory store, with commits that take time and may fail.

use std::sync::{Arc, Mutex};

use engine::{Caller, Command, Commit, Input};
use model::{Actor, AgentId, ShardId, Term, Timestamp};
use server::shard::keeper::{Keeper, Trouble};
use server::shard::{Answers, Outlets, Parcel, Seat, release};
use store::memory::MemoryStore;
use store::{CommitError, Reads, Store};

use crate::checker::{Broken, Checker, Promise};

pub const SHARD: ShardId = ShardId(0);

/// What left the server, in order.
#[derive(Debug, Clone)]
pub enum Sent {
    Parcel(AgentId, Parcel),
    Greet(Term),
}

#[derive(Clone, Default)]
struct Post(Arc<Mutex<Vec<Sent>>>);

impl Outlets for Post {
    fn deliver(&self, _: Seat, agent: AgentId, parcel: Parcel) {
        self.0.lock().expect("one thread").push(Sent::Parcel(agent, parcel));
    }

    fn greet_all(&self, seat: Seat) {
        self.0.lock().expect("one thread").push(Sent::Greet(seat.term));
    }
}

pub struct ServerNode {
    pub keeper: Keeper,
    pub term: Term,
    store: MemoryStore,
    post: Post,
    callers: u64,
    /// The commit under way and when it will be answered.
    pub flight: Option<(Timestamp, Arc<Commit>)>,
    /// Releases effects before their commit, to see that the checker notices.
    hasty: bool,
    any_term: bool,
    /// It was told something and has not had its turn since.
    stirred: bool,
    /// It lost its shard or its store: somebody must start another.
    pub dead: Option<String>,
}

impl ServerNode {
    pub fn start(store: &MemoryStore, now: Timestamp, hasty: bool) -> ServerNode {
        let mut store = store.clone();
        let (keeper, term) = load(&mut store, now);
        ServerNode {
            keeper,
            term,
            store,
            post: Post::default(),
            callers: 0,
            flight: None,
            hasty,
            any_term: false,
            stirred: false,
            dead: None,
        }
    }

    pub fn tell(&mut self, now: Timestamp, input: Input, checker: &mut Checker) -> Result<(), Broken> {
        self.stirred = true;
        trace(now, "told", &input);
        match self.keeper.tell(now, input) {
            Ok(()) => Ok(()),
            Err(trouble) => self.meet(trouble, now, checker),
        }
    }

    pub fn command(&mut self, now: Timestamp, command: Command, checker: &mut Checker) -> Result<(), Broken> {
        self.callers += 1;
        let by = Actor("sim".into());
        self.tell(now, Input::Command { caller: Caller(self.callers), by, command }, checker)
    }

    /// Ticks if it is time, hands on what was decided. `takes` is how long a commit will take.
    pub fn turn(&mut self, now: Timestamp, takes: model::Span, checker: &mut Checker) -> Result<(), Broken> {
        self.stirred = false;
        while self.dead.is_none() && self.keeper.takes_inputs() && self.keeper.next_wake().is_some_and(|w| w <= now) {
            self.tell(now, Input::Tick, checker)?;
            if self.flight.is_some() {
                break;
            }
        }
        // It has no inbox: what was said has been told.
        if self.dead.is_none() && self.keeper.next_silence().is_some_and(|at| at <= now) {
            self.tell(now, Input::Quiet { until: now }, checker)?;
        }
        if let Err(trouble) = self.keeper.tell_next_again(now) {
            return self.meet(trouble, now, checker);
        }
        let effects = self.keeper.take_effects();
        self.release(effects, now, checker)?;
        if let Some(commit) = self.keeper.take_commit().filter(|_| self.flight.is_none()) {
            if self.hasty {
                let early = self.keeper.effects_under_way().to_vec();
                self.release(early, now, checker)?;
            }
            self.flight = Some((now + takes, commit));
        }
        Ok(())
    }

    /// The commit under way reaches the store and is answered.
    pub fn answer(&mut self, now: Timestamp, checker: &mut Checker) -> Result<(), Broken> {
        let Some((_, commit)) = self.flight.take() else { return Ok(()) };
        let mut sent = (*commit).clone();
        if self.any_term {
            sent.term = self.store.standing(SHARD).expect("the memory store answers").term;
        }
        sent.changes.iter().for_each(|change| trace(now, "commits", change));
        match self.store.commit(&sent) {
            Ok(answers) => {
                checker.committed(&commit)?;
                let (_, effects, trouble) = self.keeper.committed(answers, now);
                self.release(effects, now, checker)?;
                trouble.map_or(Ok(()), |trouble| self.meet(trouble, now, checker))
            }
            Err(CommitError::Impossible { index, what }) => {
                let what = format!("an impossible commit: {what}: {:?}", commit.changes.get(index));
                Err(Broken::new(Promise::OneEnding, what))
            }
            Err(error) => {
                let trouble = self.keeper.failed(error);
                self.meet(trouble, now, checker)
            }
        }
    }

    /// A crash in the middle of a commit: it may have reached the disk.
    pub fn crash(self, reached_disk: bool, checker: &mut Checker) -> Result<(), Broken> {
        let mut store = self.store;
        let Some((_, commit)) = self.flight.filter(|_| reached_disk) else { return Ok(()) };
        // Nobody hears the answer; only where the store stands tells whether it was written.
        let _ = store.commit(&commit);
        let standing = store.standing(SHARD).expect("the memory store answers");
        if (standing.term, standing.batch) == (commit.term, commit.batch) { checker.committed(&commit) } else { Ok(()) }
    }

    fn meet(&mut self, trouble: Trouble, now: Timestamp, checker: &mut Checker) -> Result<(), Broken> {
        match trouble {
            Trouble::SendAgain(commit) => {
                self.flight = Some((now + model::Span::millis(200), commit));
                Ok(())
            }
            Trouble::AskStanding => {
                let standing = self.store.standing(SHARD).expect("the memory store answers");
                match self.keeper.stands_at(standing) {
                    Some(trouble) => self.meet(trouble, now, checker),
                    None => {
                        let (commit, effects, trouble) = self.keeper.done_after_all();
                        checker.committed(&commit)?;
                        self.release(effects, now, checker)?;
                        trouble.map_or(Ok(()), |trouble| self.meet(trouble, now, checker))
                    }
                }
            }
            Trouble::Reload => {
                let (ownership, stored, ids) = loaded(&mut self.store);
                let reads: &dyn Reads = &self.store;
                let shard = server::shard::revive(ownership, stored, ids, SHARD, reads, now);
                self.keeper.reloaded(shard, ownership.standing);
                self.term = ownership.term;
                self.post.greet_all(Seat { shard: SHARD, term: ownership.term });
                Ok(())
            }
            Trouble::ReloadAfterCommit => Ok(()),
            Trouble::LetGo => {
                self.dead = Some("another owner has the shard".into());
                Ok(())
            }
            Trouble::Die(what) => {
                self.dead = Some(what);
                Ok(())
            }
        }
    }

    fn release(&mut self, effects: Vec<engine::Effect>, now: Timestamp, checker: &mut Checker) -> Result<(), Broken> {
        effects.iter().for_each(|effect| trace(now, "releases", effect));
        if let Some(count) =
            release(effects, Seat { shard: SHARD, term: self.term }, &self.post, &mut Answers::default())
        {
            let ids = self.store.take_ids(Some(SHARD), count).expect("the memory store has ids");
            self.tell(now, Input::Ids { from: ids.start, until: ids.end }, checker)?;
        }
        Ok(())
    }

    /// The planted bug: its commits are taken under whatever term is in force.
    pub fn forget_term(&mut self) {
        self.any_term = true;
    }

    /// What left since the last look.
    pub fn take_sent(&mut self) -> Vec<Sent> {
        std::mem::take(&mut *self.post.0.lock().expect("one thread"))
    }

    /// When it next has something to do by itself.
    pub fn next(&self) -> Option<Timestamp> {
        if self.stirred {
            return Some(Timestamp::MIN);
        }
        let answer = self.flight.as_ref().map(|(at, _)| *at);
        let wake = self.keeper.next_wake().filter(|_| self.keeper.takes_inputs());
        [answer, wake, self.keeper.next_silence()].into_iter().flatten().min()
    }
}

/// `DULY_TRACE=AttemptId(7)` prints everything in which that text occurs: what happened to one attempt, job or agent.
pub(crate) fn trace(now: Timestamp, what: &str, thing: &dyn std::fmt::Debug) {
    static WANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    if let Some(wanted) = WANTED.get_or_init(|| std::env::var("DULY_TRACE").ok()) {
        let text = format!("{what} {thing:?}");
        if text.contains(wanted.as_str()) {
            eprintln!("{} {text}", now.0);
        }
    }
}

fn loaded(store: &mut MemoryStore) -> (store::Ownership, store::Stored, std::ops::Range<i64>) {
    let ownership = store.take_over(SHARD).expect("the memory store can be taken over");
    let stored = store.load(SHARD).expect("the memory store loads");
    let ids = store.take_ids(Some(SHARD), engine::FIRST_BLOCK).expect("the memory store has ids");
    (ownership, stored, ids)
}

fn load(store: &mut MemoryStore, now: Timestamp) -> (Keeper, Term) {
    let (ownership, stored, ids) = loaded(store);
    let reads: &dyn Reads = store;
    let shard = server::shard::revive(ownership, stored, ids, SHARD, reads, now);
    (Keeper::new(shard, ownership.standing), ownership.term)
}
