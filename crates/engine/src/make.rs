//! Makes an instance of a job as the job is now: into the books, and on its way if its time has come.

use std::sync::Arc;

use model::{AgentId, AttemptId, Cause, ContentId, InstanceId, JobId, Part, State, Timestamp};

use crate::change::{Change, Created};
use crate::effect::Decisions;
use crate::open::{Open, Phase};
use crate::shard::Shard;

/// An instance about to be made.
pub(crate) struct Making {
    pub planned: Timestamp,
    pub cause: Cause,
    pub params: Option<ContentId>,
    /// Only there.
    pub on: Option<AgentId>,
    /// A number promised already.
    pub number: Option<InstanceId>,
    /// Its planned time is a moment just made up for it: it need not pass first.
    pub at_once: bool,
}

impl Making {
    pub(crate) fn planned(planned: Timestamp, cause: Cause) -> Making {
        Making { planned, cause, params: None, on: None, number: None, at_once: false }
    }
}

impl Shard {
    pub(crate) fn create(&mut self, id: JobId, making: Making, now: Timestamp, out: &mut Decisions) -> InstanceId {
        let queue = match making.on {
            None => self.jobs[&id].queue,
            on => self.queues.intern(self.jobs[&id].tenant, id, &self.jobs[&id].rule.rule, on, &self.agents),
        };
        let job = &self.jobs[&id];
        let number = making.number.map_or_else(|| self.ids.take(), |number| number.0);
        let mut open = Box::new(Open {
            id: InstanceId(number),
            tenant: job.tenant,
            job: id,
            version: job.version,
            planned: making.planned,
            due: job.rule.due(id, making.planned, &making.cause),
            part: Part::WHOLE,
            parent: None,
            alone: false,
            cause: making.cause,
            params: making.params,
            rule: Arc::clone(&job.rule),
            queue,
            attempt: AttemptId(number),
            attempt_no: 1,
            retries_used: 0,
            redelivered: 0,
            target: making.on,
            pinned: making.on.is_some(),
            created: now,
            note: None,
            written: State::Scheduled,
            phase: Phase::Scheduled,
            ordered_at: None,
            started_at: None,
            stopping: None,
            uncertain: None,
            overdue_at: None,
            fresh: true,
            flush_due: false,
            drew: None,
        });
        // What a round of planning makes waits for the horizon, even if its time has come.
        let undecided = open.by_plan() && open.planned > self.horizon;
        if undecided {
            self.beyond_horizon = Some(id);
        }
        if !open.by_trigger() && !making.at_once && open.planned > self.horizon {
            self.taken.entry(id).or_default().push(open.planned);
        }
        let due = open.due <= now || (making.at_once && open.due == open.planned);
        let starts = due && !undecided;
        if !starts {
            self.propose(&mut open);
            self.due.push(open.tenant, open.due, open.id);
            self.jobs.get_mut(&id).expect("just used").live().scheduled.push(open.id);
        }
        let at = self.put_in_books(open, now, out);
        let id = InstanceId(number);
        if starts {
            self.launch(id, now, out);
        }
        self.write_as_it_is(id, at, out);
        id
    }

    /// A share of a broadcast is made to start now, on its agent.
    pub(crate) fn admit_child(&mut self, mut open: Box<Open>, agent: AgentId, now: Timestamp, out: &mut Decisions) {
        let id = open.id;
        open.queue = self.queues.intern(open.tenant, open.job, &open.rule.rule, Some(agent), &self.agents);
        let at = self.put_in_books(open, now, out);
        self.enqueue(id, now, out);
        self.write_as_it_is(id, at, out);
    }

    fn put_in_books(&mut self, open: Box<Open>, now: Timestamp, out: &mut Decisions) -> usize {
        let id = open.id;
        out.change(Change::Created(created(&open, now)));
        self.attempts.insert(open.attempt, id);
        self.set_deadlines(&open, Timestamp::MIN);
        self.open.insert(id, open);
        out.changes.len() - 1
    }

    /// What became of it in this very step goes into its first row.
    fn write_as_it_is(&mut self, id: InstanceId, at: usize, out: &mut Decisions) {
        if let Some(open) = self.open.get_mut(&id)
            && let Change::Created(row) = &mut out.changes[at]
        {
            open.fresh = false;
            open.written = open.state();
            row.state = open.written;
            row.target = open.target;
        }
    }
}

fn created(open: &Open, at: Timestamp) -> Created {
    Created {
        row: open.row(),
        tenant: open.tenant,
        version: open.version,
        part: open.part,
        parent: open.parent,
        cause: open.cause.clone(),
        params: open.params,
        state: State::Scheduled,
        attempt: open.attempt,
        target: open.target,
        at,
    }
}
