//! The living state of one shard, and the one door to it: `step` is told what happened and when, and names what must
//! be written and what happens after. It never reads a clock and never touches a disk or an agent.

use std::collections::{BTreeMap, VecDeque};

use model::{AgentId, AttemptId, Instance, InstanceId, JobId, ShardId, TenantId, TenantRecord, Term, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::agents::Agent;
use crate::alarm::Alarms;
use crate::change::{Change, ClaimName};
use crate::due::Due;
use crate::effect::Decisions;
use crate::ids::Ids;
use crate::input::Input;
use crate::jobs::Job;
use crate::missed::Missed;
use crate::open::Open;
use crate::queue::Queues;
use crate::slices::Lent;
use crate::turns::Turns;
use crate::wheel::{Wheel, tick_of};

/// How far ahead of their time instances are created, so that the due instant needs no disk.
/// Planning falls between whole seconds, when most jobs are due.
pub const AHEAD: model::Span = model::Span::millis(1_500);

/// How many instances one step creates at most, so that a burst is many commits instead of one long one.
pub(crate) const SLICE: usize = 4_000;
/// Ahead of time there is no hurry: what falls due meanwhile should not have to wait for a long commit.
pub(crate) const SLICE_AHEAD: usize = 128;

pub struct Shard {
    pub(crate) id: ShardId,
    /// Of so many.
    pub(crate) shards: i64,
    pub(crate) term: Term,
    pub(crate) ids: Ids,
    /// No number above this was given by an owner before us.
    pub(crate) inherited: i64,
    /// Every planned time up to here is decided.
    pub(crate) horizon: Timestamp,
    pub(crate) jobs: FxHashMap<JobId, Job>,
    /// Jobs by the second of their next planned time.
    pub(crate) wheel: Wheel,
    /// Jobs whose tick has come and which this round of planning has still to look at.
    pub(crate) planning: VecDeque<JobId>,
    /// Boxed: they are looked up far more often than they are walked.
    pub(crate) open: FxHashMap<InstanceId, Box<Open>>,
    pub(crate) attempts: FxHashMap<AttemptId, InstanceId>,
    /// Scheduled instances by the instant they may start.
    pub(crate) due: Due,
    pub(crate) alarms: Alarms,
    pub(crate) agents: BTreeMap<AgentId, Agent>,
    pub(crate) queues: Queues,
    pub(crate) lent: Lent,
    pub(crate) tenants: BTreeMap<TenantId, TenantRecord>,
    /// Which agents were chosen for jobs whose route remembers that.
    pub(crate) usage: FxHashMap<JobId, crate::route::Usage>,
    /// Which jobs of ours follow a job, wherever that one is.
    pub(crate) followers: FxHashMap<JobId, Vec<JobId>>,
    /// Which jobs of other shards follow a job of ours, and which of its ends they want to hear of.
    pub(crate) foreign_followers: FxHashMap<JobId, BTreeMap<JobId, crate::Ends>>,
    /// What other shards told us and we have taken.
    pub(crate) heard: crate::between::Heard,
    /// Commands that wait for the store's word on a claim.
    pub(crate) claiming: BTreeMap<ClaimName, VecDeque<crate::claims::Waiting>>,
    /// Missed times of jobs that have too many to count in one step.
    pub(crate) counting: FxHashMap<JobId, Missed>,
    /// What this round of planning decided and no open instance shows: written when the horizon moves.
    pub(crate) unwritten: BTreeMap<JobId, Vec<Change>>,
    /// Something was made, or looked at, beyond the horizon, by a round of planning or by a change of its job: the horizon
    /// must reach the disk before it starts. One of the jobs.
    pub(crate) beyond_horizon: Option<JobId>,
    /// Times beyond the horizon that have their instance already, because somebody named them.
    pub(crate) taken: FxHashMap<JobId, Vec<Timestamp>>,
    /// Jobs in quarantine whose plan nobody has dared to ask.
    pub(crate) unasked: FxHashSet<JobId>,
    /// Instances made late under a number promised before a crash.
    pub(crate) adopted: FxHashSet<InstanceId>,
    /// Jobs with a fixed delay that had no open instance when they were loaded.
    pub(crate) cut_chains: Vec<JobId>,
    /// Jobs that follow others, in a store that was moved here and in which nobody has told anybody yet.
    pub(crate) untold: Vec<JobId>,
    /// The last tick launched what was due and left planning to the next.
    pub(crate) plan_next: bool,
    /// What is planned now is due already.
    pub(crate) behind: bool,
    /// Whom the current step is about, so that a panic can be blamed on one job.
    pub(crate) blamed: Option<JobId>,
}

/// What a shard starts from: what the store had, decoded.
#[derive(Default)]
pub struct Loaded {
    pub shard: ShardId,
    /// How many the store was made with; none said is one.
    pub shards: i64,
    /// Nothing was ever committed here: a new store, or one that was moved from where there were fewer shards.
    pub first: bool,
    pub term: Term,
    pub horizon: Timestamp,
    pub ids: std::ops::Range<i64>,
    pub jobs: Vec<crate::jobs::LoadedJob>,
    pub open: Vec<(Instance, std::sync::Arc<crate::plan::Compiled>)>,
    pub agents: Vec<model::AgentRecord>,
    pub pools: Vec<model::PoolRecord>,
    pub tenants: Vec<TenantRecord>,
    pub global_limit: Option<u32>,
    pub held: Vec<crate::jobs::HeldJob>,
    /// Broadcasts under way: how many of their shards have failed.
    pub spread_failures: Vec<(model::InstanceId, u32)>,
    /// Tickets of open instances, each for one thing.
    pub tickets: Vec<crate::share::LoadedTicket>,
    /// Jobs of this shard that jobs of others follow: which, by whom, and which ends they want to hear of.
    pub followers: Vec<(JobId, JobId, crate::Ends)>,
}

impl Shard {
    pub fn load(loaded: Loaded, now: Timestamp) -> Shard {
        // A store that has never planned anything starts with the present, not with 1970.
        let horizon = if loaded.horizon == Timestamp(0) { now } else { loaded.horizon };
        let mut shard = Shard {
            id: loaded.shard,
            shards: loaded.shards.max(1),
            term: loaded.term,
            inherited: loaded.ids.start - 1,
            ids: Ids::new(loaded.ids),
            horizon,
            jobs: FxHashMap::default(),
            wheel: Wheel::new(horizon),
            planning: VecDeque::new(),
            open: FxHashMap::default(),
            attempts: FxHashMap::default(),
            due: Due::default(),
            alarms: Alarms::default(),
            agents: BTreeMap::new(),
            queues: Queues::new(loaded.pools, Turns::new(&loaded.tenants), loaded.global_limit, loaded.shards > 1),
            lent: Lent::default(),
            tenants: loaded.tenants.into_iter().map(|tenant| (tenant.id, tenant)).collect(),
            usage: FxHashMap::default(),
            followers: FxHashMap::default(),
            foreign_followers: FxHashMap::default(),
            heard: Default::default(),
            claiming: BTreeMap::new(),
            counting: FxHashMap::default(),
            unwritten: BTreeMap::new(),
            beyond_horizon: None,
            taken: FxHashMap::default(),
            unasked: FxHashSet::default(),
            adopted: FxHashSet::default(),
            cut_chains: Vec::new(),
            untold: Vec::new(),
            plan_next: false,
            behind: false,
            blamed: None,
        };
        for record in loaded.agents {
            shard.enlist(std::sync::Arc::new(record));
        }
        shard.jobs.reserve(loaded.jobs.len());
        let mut held: FxHashMap<JobId, crate::jobs::HeldJob> = FxHashMap::default();
        for one in loaded.held {
            // Held more than once, it is held since the first time.
            held.entry(one.job).or_insert(one);
        }
        for job in loaded.jobs {
            let held = held.remove(&job.id);
            shard.admit_loaded_job(job, held, now);
        }
        for (job, follower, ends) in loaded.followers {
            shard.foreign_followers.entry(job).or_default().insert(follower, ends);
        }
        shard.reopen_loaded(loaded.open, loaded.spread_failures, loaded.tickets, now);
        if loaded.first {
            shard.untold = shard.jobs.iter().filter(|(_, job)| !job.follows().is_empty()).map(|(id, _)| *id).collect();
            shard.untold.sort();
        }
        shard.resume_planning();
        shard.find_cut_chains();
        shard
    }

    /// Decides about one input. Everything it wants is in `out`; memory is as if that had happened.
    pub fn step(&mut self, now: Timestamp, input: Input, out: &mut Decisions) {
        self.blamed = None;
        match input {
            Input::Tick => self.tick(now, out),
            Input::Quiet { until } => self.quiet(until, now, out),
            Input::ClockJumped { by } => self.note(now, None, None, crate::change::NoteKind::ClockJumped { by }, out),
            Input::Command { caller, by, command } => self.command(caller, by, command, now, out),
            Input::ClaimAnswered(answer) => self.claim_answered(answer, now, out),
            Input::AgentUp { agent, held, up_since } => self.agent_up(agent, held, up_since, now, out),
            Input::AgentBeat { agent, load } => self.agent_beat(agent, load, now),
            Input::AgentGone { agent } => self.agent_gone(agent, "its agent is not connected", now, out),
            Input::AgentRemoved { agent } => self.agent_removed(agent, now, out),
            Input::Report { agent, report } => self.report(agent, report, now, out),
            Input::NotHere { agent, attempts, up_since } => self.not_here(agent, attempts, up_since, now, out),
            Input::Unanswered { agent, attempt, why } => self.unanswered(agent, attempt, &why, now),
            Input::Asked { attempt, chosen, trail } => self.asked(attempt, chosen, trail, now, out),
            Input::Reconcile { agent, ordered_before } => self.inspect(agent, ordered_before, out),
            Input::Roster(roster) => self.roster(&roster, now, out),
            Input::Lent(slices) => self.lend(&slices, now, out),
            Input::LentByNobody => self.count_alone(now, out),
            Input::Granted(grant) => self.let_in(grant, now, out),
            Input::Heard { id, message } => self.hear(id, message, now, out),
            Input::Ids { from, until } => self.ids.lend(from, until),
            Input::Quarantine { job, input, error } => self.quarantine(job, input, error, now, out),
        }
        self.ids.ask_when_low(out);
    }

    fn tick(&mut self, now: Timestamp, out: &mut Decisions) {
        for job in std::mem::take(&mut self.untold) {
            if let Some(follower) = self.jobs.get(&job) {
                self.tell_leaders(job, &[], follower.follows(), out);
            }
        }
        for job in std::mem::take(&mut self.cut_chains) {
            self.schedule_first(job, now, out);
        }
        // What is due needs no disk, what is planned ahead does: due orders leave by themselves, and planning has the
        // next tick, which follows at once.
        let before = out.effects.len();
        self.launch_due(now, out);
        let launched = out.effects.len() > before;
        self.plan_next = launched && !self.plan_next;
        if self.plan_next {
            return;
        }
        self.plan_ahead(now, out);
        self.launch_due(now, out);
        self.ring_alarms(now, out);
    }

    /// When the next tick is needed; a tick earlier than that decides nothing.
    pub fn next_wake(&self) -> Option<Timestamp> {
        if self.plan_next
            || !self.cut_chains.is_empty()
            || !self.untold.is_empty()
            || (!self.planning.is_empty() && !self.ids_run_low())
        {
            return Some(Timestamp::MIN);
        }
        // Whole seconds are planned: a tick is taken up once the instant `AHEAD` of it has come.
        let planned = self.wheel.next_tick().filter(|_| self.planning.is_empty());
        let planned = planned.map(|tick| Timestamp::from_secs(tick) - AHEAD);
        planned.into_iter().chain(self.next_due()).chain(self.alarms.next()).min()
    }

    /// The same while a commit is under way: planning ahead in peace waits for it, so that what falls due meanwhile
    /// waits for one short commit and not for all of them.
    pub fn next_wake_while_writing(&self) -> Option<Timestamp> {
        if self.behind { self.next_wake() } else { self.next_due().into_iter().chain(self.alarms.next()).min() }
    }

    /// When somebody will have been silent for too long, if nothing is heard until then: `Input::Quiet` decides it.
    pub fn next_silence(&self) -> Option<Timestamp> {
        self.alarms.next_silence()
    }

    /// When the next instance may start, of those that are planned.
    pub fn next_due(&self) -> Option<Timestamp> {
        // What is planned beyond the horizon may not be complete; nothing of it starts before it is.
        let complete = |at: &Timestamp| self.planning.is_empty() || *at <= self.horizon;
        self.due.first().filter(complete)
    }

    pub fn id(&self) -> ShardId {
        self.id
    }

    pub fn term(&self) -> Term {
        self.term
    }

    pub fn horizon(&self) -> Timestamp {
        self.horizon
    }

    pub fn next_id(&self) -> i64 {
        self.ids.peek()
    }

    /// The job the last step was about when it stopped, if it was about one.
    pub fn blamed(&self) -> Option<JobId> {
        self.blamed
    }

    /// How much there is of everything, for metrics.
    pub fn census(&self) -> Census {
        Census {
            jobs: self.jobs.len(),
            open: self.open.len(),
            scheduled: self.due.len(),
            queued: self.queues.waiting(),
            running: self.queues.running(),
            agents_online: self.agents.values().filter(|a| a.connected).count(),
        }
    }

    pub(crate) fn tick_is_stale(&self, wake: Option<Timestamp>, until: Timestamp) -> bool {
        wake.is_none_or(|wake| tick_of(wake) > tick_of(until))
    }

    pub(crate) fn note(
        &mut self,
        at: Timestamp,
        job: Option<JobId>,
        instance: Option<InstanceId>,
        kind: crate::change::NoteKind,
        out: &mut Decisions,
    ) {
        out.change(crate::Change::Note(crate::change::Note { at, job, instance, kind }));
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    pub jobs: usize,
    pub open: usize,
    pub scheduled: usize,
    pub queued: usize,
    pub running: usize,
    pub agents_online: usize,
}
