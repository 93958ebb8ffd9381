//! What servers ask of the store. Every call takes time there and back; it may be held up by a cut in either direction or
//! by a store that stands still. Whoever has waited too long gives up and does not know: the call may still arrive.

use std::sync::Arc;

use engine::{Answer as Reply, Commit};
use model::{ServerId, ShardId, Span, Term, Timestamp};
use store::leases::{Leases, Life, Picture, ServerRow};
use store::memory::MemoryStore;
use store::read::Letter;
use store::{CommitError, Ownership, Reads, Standing, Store, StoreError, Stored};

use super::Mutant;
use super::network::{Cuts, Place};
use super::sharing::Meddler;
use crate::checker::{Broken, Checker, Promise};
use crate::die::Die;
use crate::world::soon;

/// Letters read at once: few, so that there are more.
const LETTERS_MAX: usize = 3;

#[derive(Clone)]
pub(super) enum Ask {
    Commit(Arc<Commit>),
    Standing(ShardId),
    Load(ShardId),
    Ids(ShardId, i64),
    Renew(Box<ServerRow>, Span),
    Take(ServerId, Vec<ShardId>, Span, Span),
    HandOver(Life, Option<ServerId>, ShardId, Span, Timestamp),
    /// What was told to shards, under the terms they had.
    Letters(Vec<(ShardId, Term)>),
    Leave(Life),
}

pub(super) type Loaded = (Ownership, Stored, std::ops::Range<i64>);

pub(super) enum Answer {
    Commit(Result<Vec<Reply>, CommitError>),
    Standing(ShardId, Result<Standing, StoreError>),
    Load(ShardId, Result<Box<Loaded>, StoreError>),
    Ids(ShardId, i64, Result<std::ops::Range<i64>, StoreError>),
    Renew(Result<Picture, StoreError>),
    Take(Result<Vec<ShardId>, StoreError>),
    HandOver(ShardId, Result<(), StoreError>),
    Letters(Vec<(ShardId, Term)>, Result<Vec<Letter>, StoreError>),
    Left,
}

struct Call {
    asker: Asker,
    ask: Ask,
    arrives: Timestamp,
    /// What met a cut is sent again so much after its end: connections do not notice at the same time.
    backs_off: Span,
    gives_up: Timestamp,
    /// Whoever asked waits no more.
    given_up: bool,
    answered: Option<(Timestamp, Answer)>,
}

/// Who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asker {
    pub server: usize,
    /// Which start of the server.
    pub life: u64,
    /// Which of its shard loops; 0 is the steward.
    pub run: u64,
}

pub(super) struct Desk {
    pub store: MemoryStore,
    calls: Vec<Call>,
    pub stalled_until: Timestamp,
    pub mutant: Option<Mutant>,
    meddler: Meddler,
    slow: u64,
}

impl Desk {
    pub(super) fn new(store: MemoryStore, mutant: Option<Mutant>, slow: u64) -> Desk {
        Desk { store, calls: Vec::new(), stalled_until: Timestamp::MIN, mutant, meddler: Meddler::default(), slow }
    }

    pub(super) fn ask(&mut self, asker: Asker, ask: Ask, now: Timestamp, die: &mut Die) {
        let patience = match &ask {
            Ask::Renew(..) | Ask::Take(..) | Ask::HandOver(..) | Ask::Leave(..) => Span::secs(2),
            Ask::Letters(_) => Span::secs(5),
            Ask::Commit(_) | Ask::Standing(_) | Ask::Load(_) | Ask::Ids(..) => Span(die.between(1_000_000, 8_000_000)),
        };
        let arrives = now + self.way(die);
        let (backs_off, gives_up) = (Span(die.between(0, 3_000_000)), now + patience);
        self.calls.push(Call { asker, ask, arrives, backs_off, gives_up, given_up: false, answered: None });
    }

    /// A server died: of what it asked, some has left its machine.
    pub(super) fn orphan(&mut self, server: usize, die: &mut Die) {
        self.calls.retain_mut(|call| {
            if call.asker.server == server {
                call.given_up = true;
                return call.answered.is_none() && die.one_in(2);
            }
            true
        });
    }

    /// `asleep` tells until when a server stands still.
    pub(super) fn next(&self, cuts: &Cuts, asleep: &dyn Fn(usize) -> Timestamp) -> Option<Timestamp> {
        let due = |call: &Call| match &call.answered {
            None if call.given_up => self.reaches(call, cuts),
            None => self.reaches(call, cuts).min(call.gives_up.max(asleep(call.asker.server))),
            Some((at, _)) => returns(call, *at, cuts).min(call.gives_up).max(asleep(call.asker.server)),
        };
        self.calls.iter().map(due).min()
    }

    fn way(&self, die: &mut Die) -> Span {
        Span(if die.one_in(self.slow) { die.between(3_000, 600_000) } else { die.between(50, 2_000) })
    }

    fn reaches(&self, call: &Call, cuts: &Cuts) -> Timestamp {
        let cut = cuts.until(Place::Server(call.asker.server), Place::Store);
        let arrives = if cut > call.arrives { cut + call.backs_off } else { call.arrives };
        arrives.max(self.stalled_until)
    }

    pub(super) fn step(
        &mut self,
        now: Timestamp,
        cuts: &Cuts,
        asleep: &dyn Fn(usize) -> Timestamp,
        die: &mut Die,
        checker: &mut Checker,
    ) -> Result<Vec<(Asker, Answer)>, Broken> {
        let mut out = Vec::new();
        let mut calls = std::mem::take(&mut self.calls);
        for call in &mut calls {
            if call.answered.is_none() && self.reaches(call, cuts) <= now {
                let answer = self.execute(call, now, checker)?;
                call.answered = Some((now + self.way(die), answer));
            }
        }
        let mut kept = Vec::with_capacity(calls.len());
        for mut call in calls {
            let awake = asleep(call.asker.server) <= now;
            match call.answered.take() {
                Some(_) if call.given_up => {}
                Some((at, answer)) if awake && returns(&call, at, cuts) <= now => {
                    out.push((call.asker, answer));
                }
                answered if awake && !call.given_up && call.gives_up <= now => {
                    out.push((call.asker, unknown(&call.ask)));
                    call.given_up = true;
                    // What has not arrived may be in the hands of the network for long.
                    if answered.is_none() && die.one_in(2) {
                        kept.push(call);
                    }
                }
                answered => {
                    call.answered = answered;
                    kept.push(call);
                }
            }
        }
        self.calls = kept;
        Ok(out)
    }

    fn execute(&mut self, call: &Call, now: Timestamp, checker: &mut Checker) -> Result<Answer, Broken> {
        self.store.set_now(now);
        let (store, leases) = (&mut self.store.clone(), &mut self.store.leases());
        Ok(match &call.ask {
            Ask::Commit(commit) => Answer::Commit(self.write(call.asker.server, commit, checker)?),
            Ask::Standing(shard) => Answer::Standing(*shard, store.standing(*shard)),
            Ask::Load(shard) => Answer::Load(*shard, load(store, *shard).map(Box::new)),
            Ask::Ids(shard, count) => Answer::Ids(*shard, *count, store.take_ids(Some(*shard), *count)),
            Ask::Renew(row, lease) => Answer::Renew(leases.renew(row, *lease)),
            Ask::Take(me, shards, lease, grace) => Answer::Take(leases.take(*me, shards, *lease, *grace)),
            Ask::HandOver(me, to, shard, lease, by) => {
                Answer::HandOver(*shard, leases.hand_over(*me, *to, &[*shard], *lease, *by))
            }
            Ask::Letters(terms) => {
                let shards: Vec<ShardId> = terms.iter().map(|(shard, _)| *shard).collect();
                Answer::Letters(terms.clone(), store.outbox(&shards, LETTERS_MAX, soon()))
            }
            Ask::Leave(me) => {
                let _ = leases.leave(*me);
                Answer::Left
            }
        })
    }

    fn write(
        &mut self,
        server: usize,
        commit: &Arc<Commit>,
        checker: &mut Checker,
    ) -> Result<Result<Vec<Reply>, CommitError>, Broken> {
        let before = self.store.standing(commit.shard).expect("the memory store answers");
        for change in &commit.changes {
            crate::server_node::trace(self.store.now(), "commits", change);
        }
        let mut sent = (**commit).clone();
        if self.mutant == Some(Mutant::TermNotChecked) {
            (sent.term, sent.batch) = (before.term, model::Batch(before.batch.0 + 1));
        }
        self.meddler.changes(self.mutant, &mut sent);
        let mut written = self.store.commit(&sent);
        if let Ok(answers) = &mut written {
            self.meddler.answers(self.mutant, &sent, answers);
        }
        if let Err(CommitError::Impossible { index, what }) = &written {
            checker.decides(commit.shard, commit.term, server as u64, "writes")?;
            let what = format!("an impossible commit: {what}: {:?}", commit.changes.get(*index));
            return Err(Broken::new(Promise::OneEnding, what));
        }
        // Whatever it answers: what counts is where it stands.
        let after = self.store.standing(commit.shard).expect("the memory store answers");
        if after.batch != before.batch {
            checker.decides(commit.shard, commit.term, server as u64, "writes")?;
            checker.committed(commit)?;
        }
        Ok(written)
    }
}

fn returns(call: &Call, at: Timestamp, cuts: &Cuts) -> Timestamp {
    at.max(cuts.until(Place::Store, Place::Server(call.asker.server)))
}

fn load(store: &mut MemoryStore, shard: ShardId) -> Result<Loaded, StoreError> {
    let ownership = store.take_over(shard)?;
    let stored = store.load(shard)?;
    let ids = store.take_ids(Some(shard), engine::FIRST_BLOCK)?;
    Ok((ownership, stored, ids))
}

fn unknown(ask: &Ask) -> Answer {
    fn lost<T>() -> Result<T, StoreError> {
        Err(StoreError::Lost("no answer in time".into()))
    }
    match ask {
        Ask::Commit(_) => Answer::Commit(Err(CommitError::Unknown("no answer in time".into()))),
        Ask::Standing(shard) => Answer::Standing(*shard, lost()),
        Ask::Load(shard) => Answer::Load(*shard, lost()),
        Ask::Ids(shard, count) => Answer::Ids(*shard, *count, lost()),
        Ask::Renew(..) => Answer::Renew(lost()),
        Ask::Take(..) => Answer::Take(lost()),
        Ask::HandOver(_, _, shard, ..) => Answer::HandOver(*shard, lost()),
        Ask::Letters(terms) => Answer::Letters(terms.clone(), lost()),
        Ask::Leave(..) => Answer::Left,
    }
}
