//! What shards tell one another. Each message is a row of the commit that decided it, is delivered until it is taken,
//! and is taken once: the row goes with the commit that acts on it.
//!
//! A job may follow one of another shard. Its shard tells the other so, once, and from then on is told of each end it
//! wants to hear of; what follows from that is decided where the follower is, by what the follower is then.

use std::collections::VecDeque;

use model::{Cause, Follow, InstanceId, JobId, On, ResourceKind, ShardId, State, Timestamp};
use rustc_hash::FxHashSet;

use crate::change::{Change, TicketId};
use crate::effect::Decisions;
use crate::make::Making;
use crate::shard::Shard;

/// A message's number, given by the store: a shard's messages to another grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub i64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Our job follows yours and wants to hear of these ends; said again when they are others.
    Follow {
        job: JobId,
        follower: JobId,
        ends: Ends,
    },
    Unfollow {
        job: JobId,
        follower: JobId,
    },
    /// A job that some of yours follow has ended.
    Ended {
        job: JobId,
        instance: InstanceId,
        state: State,
        of: EndOf,
    },
    /// An instance of yours holds something it waited for.
    Granted {
        instance: InstanceId,
        ticket: TicketId,
        kind: ResourceKind,
        name: String,
    },
    /// Stands for a message that could not be acted on, so that it is taken all the same.
    Nothing,
}

/// What ended: followers may wait for a broadcast as a whole or for each share of it. An instance that is not spread
/// is both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOf {
    Whole,
    Share,
    Both,
}

/// Which ends of a job one follows: three bits for the whole (success, failure, stop), three for each share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends(pub u8);

const GOOD: u8 = 1;
const BAD: u8 = 2;
const STOPPED: u8 = 4;
const SHARE: u32 = 3;

impl Ends {
    pub fn of(follows: &[Follow], leader: JobId) -> Ends {
        let bits = |follow: &Follow| {
            let bits = match follow.on {
                On::Success => GOOD,
                On::Failure => BAD,
                On::End => GOOD | BAD | STOPPED,
            };
            if follow.each { bits << SHARE } else { bits }
        };
        Ends(follows.iter().filter(|follow| follow.job == leader).fold(0, |all, follow| all | bits(follow)))
    }

    pub fn has(self, state: State, share: bool) -> bool {
        let bit = match state {
            State::Succeeded | State::Warned | State::Forced => GOOD,
            State::Failed | State::Dead => BAD,
            State::Stopped => STOPPED,
            State::Skipped
            | State::Scheduled
            | State::Ready
            | State::Dispatched
            | State::Running
            | State::RetryWait => 0,
        };
        self.0 & (if share { bit << SHARE } else { bit }) != 0
    }

    fn has_any(self, state: State, of: EndOf) -> bool {
        of.shares().iter().any(|share| self.has(state, *share))
    }
}

impl EndOf {
    /// Whether as a share, for each way it is followed.
    fn shares(self) -> &'static [bool] {
        match self {
            EndOf::Whole => &[false],
            EndOf::Share => &[true],
            EndOf::Both => &[false, true],
        }
    }
}

/// Messages are read from the store before we have taken them for good, so they may come again: remembered are the last
/// so many, far more than are read at once.
const REMEMBERED: usize = 16_384;

#[derive(Debug, Default)]
pub(crate) struct Heard {
    ids: FxHashSet<MessageId>,
    in_order: VecDeque<MessageId>,
}

impl Heard {
    /// False if it was heard before.
    fn take(&mut self, id: MessageId) -> bool {
        if !self.ids.insert(id) {
            return false;
        }
        self.in_order.push_back(id);
        if self.in_order.len() > REMEMBERED
            && let Some(old) = self.in_order.pop_front()
        {
            self.ids.remove(&old);
        }
        true
    }
}

impl Shard {
    pub(crate) fn hear(&mut self, id: MessageId, message: Message, now: Timestamp, out: &mut Decisions) {
        if !self.heard.take(id) {
            return;
        }
        out.change(Change::Took { id });
        match message {
            Message::Follow { job, follower, ends } => self.followed(job, follower, Some(ends), out),
            Message::Unfollow { job, follower } => self.followed(job, follower, None, out),
            Message::Ended { job, instance, state, of } => self.follow_here(job, instance, state, of, now, out),
            Message::Granted { instance, ticket, kind, name } => {
                self.granted(instance, ticket, kind, &name, now, out);
            }
            Message::Nothing => {}
        }
    }

    fn followed(&mut self, job: JobId, follower: JobId, ends: Option<Ends>, out: &mut Decisions) {
        self.blamed = Some(job);
        // One that is gone is followed by nobody, and what the follower waits for will never come.
        if !self.jobs.contains_key(&job) {
            return;
        }
        let followers = self.foreign_followers.entry(job).or_default();
        match ends {
            Some(ends) => drop(followers.insert(follower, ends)),
            None => drop(followers.remove(&follower)),
        }
        if followers.is_empty() {
            self.foreign_followers.remove(&job);
        }
        out.change(Change::Follower { job, follower, ends });
    }

    /// The leaders of other shards are told what has changed about who follows them.
    pub(crate) fn tell_leaders(&self, follower: JobId, before: &[Follow], after: &[Follow], out: &mut Decisions) {
        let mut leaders: Vec<JobId> = before.iter().chain(after).map(|follow| follow.job).collect();
        leaders.sort_unstable();
        leaders.dedup();
        for job in leaders {
            let (old, new) = (Ends::of(before, job), Ends::of(after, job));
            let Some(to) = self.elsewhere(job).filter(|_| old != new) else { continue };
            out.tell(
                to,
                if new.0 == 0 {
                    Message::Unfollow { job, follower }
                } else {
                    Message::Follow { job, follower, ends: new }
                },
            );
        }
    }

    /// The shard of a job that is not ours.
    fn elsewhere(&self, job: JobId) -> Option<ShardId> {
        Some(model::shard_of(job, self.shards)).filter(|shard| self.shards > 1 && *shard != self.id)
    }

    pub(crate) fn followers_of(&self, job: JobId) -> Vec<JobId> {
        let here = self.followers.get(&job).into_iter().flatten();
        let elsewhere = self.foreign_followers.get(&job).into_iter().flat_map(|followers| followers.keys());
        here.chain(elsewhere).copied().collect()
    }

    /// Makes what follows on such an end, here and elsewhere.
    pub(crate) fn follow_up(
        &mut self,
        job: JobId,
        instance: InstanceId,
        state: State,
        of: EndOf,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        let wants =
            |(follower, ends): (&JobId, &Ends)| ends.has_any(state, of).then(|| self.elsewhere(*follower)).flatten();
        let followers = self.foreign_followers.get(&job).into_iter().flatten();
        let mut shards: Vec<ShardId> = followers.filter_map(wants).collect();
        shards.sort_unstable();
        shards.dedup();
        for shard in shards {
            out.tell(shard, Message::Ended { job, instance, state, of });
        }
        self.follow_here(job, instance, state, of, now, out);
    }

    fn follow_here(
        &mut self,
        leader: JobId,
        instance: InstanceId,
        state: State,
        of: EndOf,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        let followers = self.followers.get(&leader).cloned().unwrap_or_default();
        for (share, follower) in of.shares().iter().flat_map(|share| followers.iter().map(move |f| (*share, *f))) {
            let follows = |job: &crate::jobs::Job| job.plans() && Ends::of(job.follows(), leader).has(state, share);
            if self.jobs.get(&follower).is_some_and(follows) {
                let planned = self.moment(follower, now);
                let making = Making { at_once: true, ..Making::planned(planned, Cause::After(instance)) };
                self.create(follower, making, now, out);
            }
        }
    }
}
